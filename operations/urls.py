"""Addresses of this app, a list for each subject. A page's come before the API's."""

from __future__ import annotations

from allauth.account import views as account
from django.urls import URLPattern, URLResolver, include, path, re_path

from operations.views import (
    connect,
    description_api,
    home,
    invitations,
    keys,
    members,
    operations_api,
    otlp_api,
    project_settings,
    read_api,
    tour,
    whoami,
)

# /accounts/: the parts of allauth that we use. Changing one's own address is not among them, for an address
# is what an invitation trusts.
account_urls = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("signup/", account.signup, name="account_signup"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("password/set/", account.password_set, name="account_set_password"),
    path("password/reset/", account.password_reset, name="account_reset_password"),
    path("password/reset/done/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/key/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
]

# /p/<slug>/settings
settings_urls = [
    path("settings", project_settings.page, name="project_settings"),
    path("settings/delete", project_settings.delete, name="delete_project"),
    path("settings/members", members.page, name="members"),
    path("settings/members/<int:member_id>/roles", members.change_roles, name="change_roles"),
    path("settings/members/<int:member_id>/remove", members.remove, name="remove_member"),
    path("settings/invitations/<int:invitation_id>/withdraw", members.withdraw, name="withdraw_invitation"),
    path("settings/keys", keys.page, name="keys"),
    path("settings/keys/<slug:keyid>/rotate", keys.rotate, name="rotate_key"),
    path("settings/keys/<slug:keyid>/revoke", keys.revoke, name="revoke_key"),
]

# /p/<slug>/
project_urls: list[URLPattern | URLResolver] = [
    path("connect", connect.page, name="connect"),
    path("connect/waiting", connect.waiting, name="connect_waiting"),
    path("tour", tour.page, name="tour"),
    *settings_urls,
]

# /v1/
api_urls: list[URLPattern | URLResolver] = [
    path("openapi.json", description_api.openapi_document, name="openapi"),
    path("docs", description_api.page, name="api_docs"),
    path("schema/operation.json", description_api.record_schema, name="record_schema"),
    path("operations", operations_api.operations, name="api_operations"),
    path("operations/<path:operation_id>", read_api.operation, name="api_operation"),
    path("traces", otlp_api.traces, name="otlp_traces"),
    path("metrics", otlp_api.metrics, name="otlp_metrics"),
    path("whoami", whoami.whoami, name="whoami"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("projects/new", home.new_project, name="new_project"),
    path("invitations/<str:token>", invitations.page, name="invitation"),
    path("accounts/", include(account_urls)),
    path("p/<slug:slug>/", include(project_urls)),
    path("v1/", include(api_urls)),
    path("v1/<path:rest>", description_api.no_such_address, name="api_nowhere"),
]
