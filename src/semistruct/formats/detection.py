"""Recognising a format by the first lines of a file."""

from __future__ import annotations

import re
from collections import Counter

from semistruct.formats.columns import DOCSTART, blocks, by_blank
from semistruct.formats.inline import TAG

JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')  # also a JSON array: its reader says what is wrong
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
    if any(map(_has_tags, filled)):
        return "inline"
    if _has_rows(lines):
        return "transposed"
    return "conll" if _has_columns(lines, filled) else "text"


def _has_tags(line: str) -> bool:
    """Whether a tag is opened, and later closed, on the line."""
    opened = set()
    for closing, name in TAG.findall(line):
        if not closing:
            opened.add(name)
        elif name in opened:
            return True
    return False


def _has_rows(lines: list[str]) -> bool:
    """Whether all lines of a sequence have equally many fields, which differ by sequence, and labels come first.

    One sequence alone, or several of one length, might as well be columns.
    """
    found = [rows for _, rows in blocks([line + "\n" for line in lines], by_blank)]
    complete = found[:-1] if len(found) > 2 else found  # the sample may end within the last one
    heights = {len(rows) for rows in complete}
    even = all(len({len(row) for row in rows}) == 1 for rows in complete)
    widths = {len(rows[0]) for rows in complete}
    if not even or len(widths) < 2 or len(heights) != 1 or heights == {1}:
        return False
    labels = [label for rows in complete for label in rows[0]]
    return 2 * len(set(labels)) <= len(labels)


def _has_columns(lines: list[str], filled: list[str]) -> bool:
    """Whether blank lines separate the sequences, and all lines have equally many fields, the last of them a label.

    Labels repeat; the last words of lines of text hardly do, which shows when there are enough lines.
    """
    fields = [by_blank(line) for line in filled]
    parted = any(not line.strip() for line in lines[lines.index(filled[0]) :])
    (width, count), *_ = Counter(map(len, fields)).most_common(1)
    last = Counter(row[-1] for row in fields)
    labelled = width == 1 or len(filled) < ENOUGH or 2 * len(last) <= len(filled)
    return parted and count >= MOSTLY * len(filled) and labelled
