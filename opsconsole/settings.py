"""Every setting as a fact: read from the environment, with a default that is safe in production."""

from __future__ import annotations

import hashlib
import hmac
import os
import pathlib

from opsconsole import env

BASE_DIR = pathlib.Path(__file__).resolve().parent.parent

# --- Secrets --------------------------------------------------------------------------------------
# One secret is enough: what else needs one is derived from it under its own label.
SECRET_KEY = env.secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
# Keys that the deployment issued are HMACs under this pepper, so changing it ends every key at once. Set
# KEY_PEPPER before rotating SECRET_KEY to keep them.
KEY_PEPPER = (
    env.text("KEY_PEPPER").encode()
    or hmac.new(SECRET_KEY.encode(), b"opsconsole key pepper v1", hashlib.sha256).digest()
)

# --- Address and transport ------------------------------------------------------------------------
DEBUG = env.flag("DEBUG")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")
# Where people reach the console, for links in mails and invitations.
PUBLIC_URL = env.http_url("PUBLIC_URL")
# Plain HTTP is for a machine of one's own; `make up` sets it.
PLAIN_HTTP = env.flag("PLAIN_HTTP")
# Believe X-Forwarded-Proto. Only behind a proxy that always sets it.
SECURE_PROXY = env.flag("SECURE_PROXY")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE_PROXY else None
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS") or ([PUBLIC_URL] if PUBLIC_URL else [])
SECURE_SSL_REDIRECT = not PLAIN_HTTP
# Probes come from inside, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$"]
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else env.whole("HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = not PLAIN_HTTP
SECURE_HSTS_PRELOAD = not PLAIN_HTTP
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Django 6's name and shape, so that our middleware can go when Django is raised.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "font-src": ["'self'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}

# --- Cookies and sessions -------------------------------------------------------------------------
# In the database: people stay signed in while Redis is away.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_SECURE = not PLAIN_HTTP
CSRF_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_NAME = "opsconsole_session" if PLAIN_HTTP else "__Host-session"
CSRF_COOKIE_NAME = "opsconsole_csrf" if PLAIN_HTTP else "__Host-csrf"
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600

# --- Django ---------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "opsconsole",
    "operations",
    "analytics",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "django_htmx",
    "lucide",
]
MIDDLEWARE = [
    "opsconsole.telemetry.log_requests",
    "django.middleware.security.SecurityMiddleware",
    "opsconsole.csp.add_policy",
    "operations.middleware.answer_programs_first",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every view asks for a sign-in unless it is marked `login_not_required`, as the API and the probes are.
    "operations.middleware.RequireSignIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "operations.middleware.keep_pages_private",
    "operations.middleware.remember_project",
]
ROOT_URLCONF = "opsconsole.urls"
WSGI_APPLICATION = "opsconsole.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "operations.context.shell",
            ],
        },
    }
]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Forms only; the ingest API reads its stream itself and has limits of its own.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# Messages may stay in a cookie: they carry words of ours, never payloads.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# --- Database -------------------------------------------------------------------------------------
# The app role cannot alter tables. The owner is used by `manage.py migrate` only.
DATABASE_URL = env.text("DATABASE_URL")
DATABASE_OWNER_URL = env.text("DATABASE_OWNER_URL", DATABASE_URL)
# A page that needs longer than this is a fault: fail it, keep the server.
STATEMENT_TIMEOUT_MS = env.whole("STATEMENT_TIMEOUT_MS", 15_000, least=100)
# Connections that one process may hold. Threads beyond it wait up to POOL_WAIT_SECONDS and are then told 503.
# With 0 each thread keeps none between requests, for a pooler outside.
DATABASE_POOL = env.whole("DATABASE_POOL", 16, most=100)
POOL_WAIT_SECONDS = env.whole("POOL_WAIT_SECONDS", 5, least=1, most=60)
DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        DATABASE_URL,
        statement_timeout_ms=STATEMENT_TIMEOUT_MS,
        pool_size=DATABASE_POOL,
        pool_wait_s=POOL_WAIT_SECONDS,
    ),
    "owner": env.database("DATABASE_OWNER_URL", DATABASE_OWNER_URL),
}

# --- Redis and Celery -----------------------------------------------------------------------------
# Carries Celery and short-lived counters; nothing that matters lives there.
REDIS_URL = env.redis_url("REDIS_URL")
CACHES = {
    # Sign-in throttling: shared by all processes, there without Redis. `manage.py migrate` makes the table.
    "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache_entry"},
}

# --- Accounts -------------------------------------------------------------------------------------
AUTH_USER_MODEL = "operations.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "operations.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
# An account is made by an invitation to its address, and nobody can change their own.
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
# Counted in the database, so throttling works without Redis. Unless we know how many proxies stand in front,
# the address is the last one's.
ACCOUNT_RATE_LIMITS = {
    "login": "60/m/ip",
    "login_failed": "30/m/ip,5/5m/key",
    "reset_password": "20/m/ip,5/h/key",
    "reset_password_from_key": "20/m/ip",
    "change_password": "5/m/user",
    "reauthenticate": "10/m/user",
}
ALLAUTH_TRUSTED_PROXY_COUNT = env.whole("PROXIES", 1 if SECURE_PROXY else 0, most=10)

# --- Mail -----------------------------------------------------------------------------------------
# smtp://user:password@host:587?tls=yes, or file:///folder. Without it nothing is sent, and invitations still
# work by their link.
EMAIL = env.email("EMAIL_URL")
EMAIL_BACKEND = EMAIL.backend
EMAIL_HOST = EMAIL.host
EMAIL_PORT = EMAIL.port
EMAIL_HOST_USER = EMAIL.user
EMAIL_HOST_PASSWORD = EMAIL.password
EMAIL_USE_TLS = EMAIL.use_tls
EMAIL_FILE_PATH = EMAIL.folder
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", "opsconsole@localhost")

# --- Static files ---------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = pathlib.Path(env.text("STATIC_ROOT", str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- Web server -----------------------------------------------------------------------------------
# Processes, and in each the threads that serve: a page or a batch takes milliseconds of one.
WEB_WORKERS = env.whole("WEB_WORKERS", min(2, os.cpu_count() or 1), least=1, most=64)
WEB_THREADS = env.whole("WEB_THREADS", 16, least=8, most=64)
# A request must bring its whole body within this time.
BODY_DEADLINE_SECONDS = env.whole("BODY_DEADLINE_SECONDS", 30, least=1, most=600)

# --- API ------------------------------------------------------------------------------------------
# What one key and one project may do in a second: records sent, and requests of the read API. Short bursts
# may use what RATE_BURST_SECONDS would have brought.
RATES = {
    "ingest": (
        env.whole("INGEST_RATE_KEY", 20_000, least=1),
        env.whole("INGEST_RATE_PROJECT", 40_000, least=1),
    ),
    "read": (env.whole("READ_RATE_KEY", 50, least=1), env.whole("READ_RATE_PROJECT", 100, least=1)),
}
RATE_BURST_SECONDS = env.whole("RATE_BURST_SECONDS", 10, least=1, most=3600)
# API requests of one project that one process works on at a time; the threads beyond stay free for the others.
REQUESTS_AT_ONCE = env.whole("REQUESTS_AT_ONCE", WEB_THREADS * 3 // 4, least=1, most=WEB_THREADS - 1)

# --- Logs -----------------------------------------------------------------------------------------
# JSON lines on standard error, without payloads; opsconsole/telemetry.py sets them up.
LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", of={"DEBUG", "INFO", "WARNING", "ERROR"})
LOGGING_CONFIG = "opsconsole.telemetry.set_up_logs"
LOGGING = {"level": LOG_LEVEL}
