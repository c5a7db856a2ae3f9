"""The corpora that semistruct knows by name: where they are, and how to get them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semistruct.datasets import conversion
from semistruct.datasets.fetching import Remote, Show, cache_folder, cached
from semistruct.datasets.grammar import texts
from semistruct.errors import DataError, ParameterError, meant, quoted

TERMS = "other people's data, not part of semistruct: check the terms at its origin before you pass it on"


@dataclass(frozen=True)
class Known:
    """A corpus: `files` are its raw files by their role, `convert` turns them into the parts."""

    what: str
    sizes: str
    origin: str
    terms: str = TERMS
    files: Mapping[str, Remote] = field(default_factory=dict)
    convert: Callable[[Mapping[str, Path]], conversion.Parts] | None = None
    missing: str = ""  # why it cannot be fetched

    def fetched(self, name: str) -> bool:
        """Whether all files are in the cache."""
        folder = cache_folder() / name
        return bool(self.files) and all((folder / remote.name).is_file() for remote in self.files.values())


CONVERTERS = {"citations": conversion.citations, "headers": conversion.headers}


def _known(name: str, entry: dict[str, Any]) -> Known:
    files = {role: Remote(**remote) for role, remote in entry.get("files", {}).items()}
    return Known(**{**entry, "files": files}, convert=CONVERTERS.get(name))


CORPORA = {name: _known(name, entry) for name, entry in texts("corpora").items()}


def get(name: str, *, place: str | None = None, show: Show | None = None) -> conversion.Parts:
    """The parts of a corpus (train, dev, test, pool), fetched if it is not in the cache.

    place  a server to use instead of the public one
    show   called during a transfer with the file, the bytes so far and the bytes in all
    """
    known = named(name)
    if known.convert is None:
        raise DataError(f"{name}: {known.missing}")
    folder = cache_folder() / name
    raw = {role: cached(remote, folder, place=place, show=show) for role, remote in known.files.items()}
    return known.convert(raw)


def named(name: str) -> Known:
    if name not in CORPORA:
        raise ParameterError(f"there is no corpus {quoted(name)}; {meant(name, CORPORA)}")
    return CORPORA[name]
