"""Telling a format from the first lines of a file."""

from __future__ import annotations

import re
from collections import Counter

from semistruct.formats.columns import DOCSTART, by_blank
from semistruct.formats.inline import NAME

JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')  # also a JSON array: its reader says what is wrong
TAG_PAIR = re.compile(rf"<({NAME})>.*?</\1>")
ENOUGH = 20
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
    """Whether blank lines part the sequences, and the lines between have equally many fields, the last a label.

    Labels repeat; the last words of lines of text hardly do, which shows when there are enough lines.
    """
    fields = [by_blank(line) for line in filled]
    parted = any(not line.strip() for line in lines[lines.index(filled[0]) :])
    (width, count), *_ = Counter(map(len, fields)).most_common(1)
    last = Counter(row[-1] for row in fields)
    labelled = width == 1 or len(filled) < ENOUGH or 2 * len(last) <= len(filled)
    return parted and count >= MOSTLY * len(filled) and labelled
