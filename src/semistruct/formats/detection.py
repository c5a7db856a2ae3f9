"""Recognising a format by the first lines of a file, or by its name."""

from __future__ import annotations

from semistruct.files import PathLike, source_name
from semistruct.formats.base import FORMATS, Sample


def detect(sample: str) -> str:
    """The name of the format that `sample`, the beginning of a file, is most likely written in."""
    beginning = Sample(sample)
    return next(name for name, form in FORMATS.items() if form.looks_like(beginning))


def named_after(path: PathLike) -> str | None:
    """The name of the format that the ending of a file's name tells, None if that tells nothing."""
    name = source_name(path)
    return next((form.name for form in FORMATS.values() if form.ending and name.endswith(form.ending)), None)
