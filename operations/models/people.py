"""The people who sign in."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import base_user
from django.db import models
from django.db.models import functions
from django.utils import timezone


class UserManager(base_user.BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create a person who signs in with `email`; without a password nobody can sign in as them."""
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create a person who may create projects on this installation."""
        return self.create_user(email, password, **{"is_staff": True, **fields})

    def get_by_natural_key(self, username: str | None) -> User:
        """Find a person by e-mail in any case; addresses are stored in lower case."""
        return self.get(email=(username or "").strip().lower())


class User(base_user.AbstractBaseUser):
    """A person. What they may do is said by their memberships; `is_staff` only lets them create projects."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        db_table = "person"
        constraints = [
            # Two spellings of one address would be two people, one of whom could be invited as the other.
            models.CheckConstraint(
                condition=models.Q(email=functions.Lower("email")), name="person_email_is_lower_case"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email
