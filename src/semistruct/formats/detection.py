"""Recognising a format by the first lines of a file."""

from __future__ import annotations

from semistruct.formats.base import FORMATS, Sample


def detect(sample: str) -> str:
    """The name of the format that `sample`, the beginning of a file, is most likely written in."""
    beginning = Sample(sample)
    return next(name for name, form in FORMATS.items() if form.looks_like(beginning))
