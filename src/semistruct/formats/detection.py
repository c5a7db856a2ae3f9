"""Telling a format from the first lines of a file."""

from __future__ import annotations

import re
from collections import Counter

from semistruct.formats.columns import DOCSTART, by_blank
from semistruct.formats.inline import NAME

JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')  # also a JSON array: its reader says what is wrong
TAG_PAIR = re.compile(rf"<({NAME})>.*?</\1>")
MOSTLY = 0.9  # a few malformed lines must not hide the format: its reader names them


def detect(sample: str) -> str:
    """The name of the format that `sample`, the beginning of a file, is most likely written in."""
    lines = sample.removeprefix("\ufeff").removesuffix("\n").split("\n")
    filled = [line for line in lines if line.strip() and not line.startswith(DOCSTART)]
    if not filled:
        return "text"
    if JSON_START.match(filled[0]):
        return "jsonl"
    if 2 * sum("\t" in line for line in filled) >= len(filled):
        return "tsv"
    if TAG_PAIR.search("\n".join(filled)):
        return "inline"
    return "conll" if _has_columns(lines, filled) else "text"


def _has_columns(lines: list[str], filled: list[str]) -> bool:
    """Whether the lines have the same number of fields, and blank lines part the sequences."""
    parted = any(not line.strip() for line in lines[lines.index(filled[0]) :])
    (_, count), *_ = Counter(len(by_blank(line)) for line in filled).most_common(1)
    return parted and count >= MOSTLY * len(filled)
