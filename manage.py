#!/usr/bin/env python
"""Django's command line. Without DATABASE_URL it finds the embedded servers, or starts them for itself."""

from __future__ import annotations

import os
import sys

from opsconsole import start


def main() -> None:
    """Run the command of the arguments."""
    if os.environ.get("DATABASE_URL"):
        run()
        return
    from opsconsole.local import account, servers

    try:
        with servers.use(servers.data_folder()) as place:
            os.environ.update(place.environment())
            run()
    except account.CannotStart as error:
        raise SystemExit(f"opsconsole cannot start: {error}") from None


def run() -> None:
    """Run the command with the settings of the environment."""
    start.set_up()
    from django.core import management

    management.execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
