"""Who runs the servers. PostgreSQL refuses to be root, so root lends the work to an account that exists."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
from typing import Any

# Debian's own, then accounts that every Unix has.
CANDIDATES = ("postgres", "nobody", "daemon")
# Where root keeps what the account must reach, when the project's own folder is closed to it.
SHARED_BASE = pathlib.Path("/var/lib/opsconsole")


class CannotStart(Exception):
    """A server cannot be started; the message is the one sentence to show."""


class PortTaken(CannotStart):
    """Something took the port between the look and the start."""


@dataclasses.dataclass(frozen=True)
class Account:
    """An account of this machine, ours or one to drop to."""

    name: str
    uid: int
    gid: int
    is_dropped_to: bool

    def popen(self) -> dict[str, Any]:
        """Return what makes `subprocess` run as this account."""
        if not self.is_dropped_to:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: pathlib.Path) -> None:
        """Give `path`, which we made, to this account."""
        if self.is_dropped_to:
            os.chown(path, self.uid, self.gid)

    def make_folder(self, path: pathlib.Path) -> pathlib.Path:
        """Make a folder that only this account (and root) can open."""
        path.mkdir(mode=0o700, exist_ok=True)
        self.own(path)
        return path

    def can_enter(self, folder: pathlib.Path) -> bool:
        """Tell whether the account can pass through `folder`, by trying."""
        done = subprocess.run(
            ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)], cwd="/", capture_output=True, **self.popen()
        )
        return done.returncode == 0

    def can_run(self, binary: pathlib.Path) -> bool:
        """Tell whether the account can execute `binary`."""
        try:
            done = subprocess.run([binary, "--version"], cwd="/", capture_output=True, **self.popen())
        except PermissionError:
            return False
        return done.returncode == 0


def choose() -> Account:
    """Return the account that runs the servers: ourselves, or an unprivileged one when we are root."""
    if os.geteuid() != 0:
        return Account(name=str(os.geteuid()), uid=os.geteuid(), gid=os.getegid(), is_dropped_to=False)
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid, is_dropped_to=True)
    raise CannotStart(
        f"PostgreSQL does not run as root, and none of the accounts {', '.join(CANDIDATES)} exists here."
    )


def shared_folder(name: str) -> pathlib.Path:
    """Return a root-owned folder under /var/lib that every account can pass through; make it if need be."""
    try:
        for folder in (SHARED_BASE, SHARED_BASE / name):
            folder.mkdir(mode=0o755, exist_ok=True)
            kind = folder.lstat()
            if not stat.S_ISDIR(kind.st_mode) or kind.st_uid != 0 or kind.st_mode & 0o022:
                raise CannotStart(f"{folder} must be a folder that root owns and nobody else can write to.")
    except OSError as error:
        raise CannotStart(f"{SHARED_BASE} cannot be made: {error.strerror}.") from None
    return SHARED_BASE / name


def copy_for_everybody(sources: list[pathlib.Path], destination: pathlib.Path) -> None:
    """Copy `sources` into `destination`, readable by all; whole or not at all, even with two at once."""
    if destination.exists():
        return
    draft = destination.with_name(f"{destination.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o755)
    for source in sources:
        if source.is_dir():
            skip = shutil.ignore_patterns("include", "__pycache__")
            shutil.copytree(source, draft / source.name, symlinks=True, ignore=skip)
        else:
            shutil.copy2(source, draft / source.name)
    for path in [draft, *draft.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    try:
        draft.rename(destination)
    except OSError:
        # Another process was first.
        shutil.rmtree(draft)
