"""JSON lines of doccano, in its two kinds.

    {"id": 1, "text": "A. Turing 1936", "label": [[0, 9, "author"]], "Comments": []}
    {"id": 1, "text": "A. Turing 1936", "relations": [], "Comments": [],
     "entities": [{"id": 7, "label": "author", "start_offset": 0, "end_offset": 9}]}

The first one is written.
"""

from __future__ import annotations

from typing import Any

from semistruct.corpus import Example
from semistruct.formats import marked
from semistruct.formats.base import Sample
from semistruct.formats.marked import Reader
from semistruct.formats.records import Records, list_in, mark_of, text_in

OFFSETS = ("start_offset", "end_offset", "label")


class Doccano(Records):
    name = "doccano"
    rank = 13
    read_keys = ("text", "label", "labels", "entities")

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
        return reader.by_default_outside().example(text, marks, number)

    def record_of(self, example: Example) -> dict[str, Any]:
        text, _ = marked.text_of(example)
        if example.labels is None:
            return {"text": text}
        return {"text": text, "label": [[a, b, label] for label, a, b in marked.complete_marks_of(example)]}
