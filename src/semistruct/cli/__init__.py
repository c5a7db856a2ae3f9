"""The command line: `semistruct --help`."""

from __future__ import annotations

import sys

from semistruct.errors import SemistructError


def main(argv: list[str] | None = None) -> None:
    """Run one command. Exit codes: 0 fine, 2 wrong usage or bad input (one sentence), 1 a failure of ours."""
    from semistruct.cli.app import app

    try:
        app(argv, prog_name="semistruct")
    except SemistructError as err:
        print(f"semistruct: {err}", file=sys.stderr)
        sys.exit(2)
