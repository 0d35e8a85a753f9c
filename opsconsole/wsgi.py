"""What the web server calls."""

from __future__ import annotations

from django.conf import settings
from django.core import wsgi

from opsconsole import checks, deadline, start

start.set_up()
with start.plainly():
    checks.refuse_old_postgresql()
application = deadline.keep(wsgi.get_wsgi_application(), seconds=settings.BODY_DEADLINE_SECONDS)
