"""What the web server calls."""

from __future__ import annotations

from django.core import wsgi

from opsconsole import start

start.set_up()
application = wsgi.get_wsgi_application()
