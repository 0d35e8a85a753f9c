"""The settings as mypy's Django plugin reads them: the addresses only have to parse."""

from __future__ import annotations

import os
import string

os.environ.setdefault("SECRET_KEY", string.ascii_letters)
os.environ.setdefault("DATABASE_URL", "postgresql://nobody@localhost/none")
os.environ.setdefault("REDIS_URL", "redis://localhost/0")
os.environ.setdefault("DATABASE_POOL", "0")

from opsconsole.settings import *
