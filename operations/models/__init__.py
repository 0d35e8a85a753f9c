"""The tables. Import the modules by name; this list is for Django."""

from __future__ import annotations

from operations.models.people import User
from operations.models.projects import IngestKey, Invitation, Membership, Project, Role, Scope
