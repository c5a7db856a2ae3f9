"""JSON lines of doccano, in its two kinds.

    {"id": 1, "text": "A. Turing 1936", "label": [[0, 9, "author"]], "Comments": []}
    {"id": 1, "text": "A. Turing 1936", "relations": [], "Comments": [],
     "entities": [{"id": 7, "label": "author", "start_offset": 0, "end_offset": 9}]}

The first one is written, with the key "token_offsets" where the tokens are not simply the words of the text; doccano
keeps such a key with the text, and exports it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semistruct.corpus import Example, Token
from semistruct.formats import marked
from semistruct.formats.base import Sample
from semistruct.formats.marked import Reader, words_of
from semistruct.formats.records import TOKENS, Records, example_in, list_in, mark_of, text_and_tokens, text_in

OFFSETS = ("start_offset", "end_offset", "label")


class Doccano(Records):
    name = "doccano"
    rank = 13
    read_keys = ("text", "label", "labels", "entities", TOKENS)

    def looks_like(self, sample: Sample) -> bool:
        keys = sample.record.keys()
        return "text" in keys and bool({"label", "entities", "Comments"} & keys)

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        text, marks = text_in(record), None
        if (entities := list_in(record, "entities")) is not None:
            marks = [mark_of(entity, OFFSETS) for entity in entities]
        for key in ("label", "labels"):
            if (spans := list_in(record, key)) is not None:
                marks = [mark_of(span) for span in spans]
        return example_in(record, text, marks, number, reader.by_default_outside())

    def record_of(self, example: Example) -> dict[str, Any]:
        record = text_and_tokens(example)
        if example.labels is not None:
            record["label"] = [[a, b, label] for label, a, b in marked.complete_marks_of(example)]
        return record

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return words_of(example)
