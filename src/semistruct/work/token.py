"""The token of a folder: whoever has it may use the workbench.  It outlives the server, so that open pages go on."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

NAME = ".token"
TOKEN = re.compile(rb"[\w-]{32}")
OTHERS = 0o077  # what anybody but the owner may do


def token_of(folder: Path) -> str:
    """The token in the folder; a new one if there is none, it is damaged, or others could have read it."""
    return _kept(folder / NAME) or _made(folder / NAME)


def _kept(path: Path) -> str | None:
    try:
        open_to_others = os.name == "posix" and path.stat().st_mode & OTHERS
        found = TOKEN.fullmatch(path.read_bytes().strip())
    except OSError:
        return None
    return None if open_to_others or found is None else found[0].decode()


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(24)
    with suppress(OSError):  # it is good for this start, then
        path.unlink(missing_ok=True)
        with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(token)
    return token
