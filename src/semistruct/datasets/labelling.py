"""From a text whose fields are known to a labelled example."""

from __future__ import annotations

from semistruct.corpus import Example
from semistruct.tokens import WORDS, tokenize


def labelled(text: str, spans: list[tuple[int, str]]) -> Example:
    """The tokens of `text`; `spans` says where each field ends and what it is."""
    tokens, offsets = tokenize(text)
    labels: list[str | None] = []
    fields_left = iter(spans)
    end, label = next(fields_left)
    for start, _ in offsets:
        while start >= end:
            end, label = next(fields_left)
        labels.append(label)
    return Example([*tokens], labels, text, offsets, cut_by=WORDS)
