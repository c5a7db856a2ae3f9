"""Files from public servers: fetched once, checked, and kept in a cache."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from semistruct.errors import DataError
from semistruct.files import make_folder, replacing

PLACE = "https://raw.githubusercontent.com"
TIMEOUT = 30.0  # seconds without an answer
BLOCK = 1 << 16

Show = Callable[[str, int, int | None], None]  # name of the file, bytes so far, bytes in all if known


class Remote(NamedTuple):
    """A file at a fixed path of a public server, and the SHA-256 of its content."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Interrupted(DataError):
    """A transfer that failed midway."""


def cache_folder() -> Path:
    """Where fetched files are kept: $SEMISTRUCT_CACHE, or `semistruct` in the cache folder of the user."""
    own = os.environ.get("SEMISTRUCT_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semistruct"


def cached(remote: Remote, folder: Path, *, place: str | None = None, show: Show | None = None) -> Path:
    """The file in `folder`, fetched first if it is not there; its content is always checked.

    place  another server that has the same paths; by default $SEMISTRUCT_MIRROR, or the public one
    """
    target = folder / remote.name
    if target.is_file():
        found = _sha256(target)
        if found != remote.sha256:
            problem = f"its SHA-256 is {found}, expected {remote.sha256}; delete the file to fetch it again"
            raise DataError.at(target, None, problem)
        return target
    make_folder(folder)
    place = place or os.environ.get("SEMISTRUCT_MIRROR") or PLACE
    url = f"{place.rstrip('/')}/{remote.path}"
    try:
        _fetch(url, remote, target, show)
    except Interrupted:
        _fetch(url, remote, target, show)
    return target


def _fetch(url: str, remote: Remote, target: Path, show: Show | None) -> None:
    """Write what `url` holds to `target`, all of it or nothing."""
    by_hand = f"a copy of the file put at {target} also works"
    try:
        answer = urllib.request.urlopen(url, timeout=TIMEOUT)
    except urllib.error.HTTPError as err:
        err.close()
        raise DataError(f"{url}: the server answers {err.code} {err.reason}; {by_hand}") from None
    except urllib.error.URLError as err:
        raise DataError(f"{url}: cannot be reached ({_reason(err.reason)}); {by_hand}") from None
    except (OSError, http.client.HTTPException) as err:
        raise Interrupted(f"{url}: the transfer was interrupted ({_reason(err)}); {by_hand}") from None
    except ValueError as err:
        raise DataError(f"{url}: cannot be reached ({err})") from None
    sha = hashlib.sha256()
    with answer, replacing(target) as file:
        total = int(answer.headers.get("Content-Length") or 0) or None
        done = 0
        while block := _read(answer, url, by_hand):
            file.write(block)
            sha.update(block)
            done += len(block)
            if show is not None:
                show(remote.name, done, total)
        if total is not None and done < total:
            raise Interrupted(f"{url}: the transfer was interrupted after {done} of {total} bytes; {by_hand}")
        if sha.hexdigest() != remote.sha256:
            problem = f"its SHA-256 is {sha.hexdigest()}, expected {remote.sha256}; nothing was kept"
            raise DataError(f"{url}: {problem}")


def _read(answer: http.client.HTTPResponse, url: str, by_hand: str) -> bytes:
    """The next bytes; an error here comes from the network, not from the file that is written."""
    try:
        return answer.read(BLOCK)
    except (OSError, http.client.HTTPException) as err:
        raise Interrupted(f"{url}: the transfer was interrupted ({_reason(err)}); {by_hand}") from None


def _reason(err: object) -> str:
    text = (err.strerror if isinstance(err, OSError) else None) or str(err) or type(err).__name__
    return text.lower()


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {_reason(err)}") from None
