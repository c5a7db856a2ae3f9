"""JSON lines of Prodigy: a text with its tokens, and spans of characters and tokens.

    {"text": "A. Turing", "answer": "accept", "tokens": [{"text": "A.", "start": 0, "end": 2, "id": 0, "ws": true}],
     "spans": [{"start": 0, "end": 9, "label": "author", "token_start": 0, "token_end": 1}]}

A record whose answer is not "accept" is left out.  Tokens that are blank, as spaCy makes them, are left out too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semistruct.corpus import Example, Token
from semistruct.errors import DataError, quoted
from semistruct.formats import marked
from semistruct.formats.base import Sample
from semistruct.formats.marked import Reader, words_of
from semistruct.formats.records import Records, list_in, mark_of, shown, text_in

OWN = ("answer", "_input_hash", "_task_hash", "_view_id", "_session_id", "_annotator_id", "_timestamp", "_is_binary")


class Prodigy(Records):
    name = "prodigy"
    rank = 11
    read_keys = ("text", "tokens", "spans", *OWN)

    def looks_like(self, sample: Sample) -> bool:
        record = sample.record
        tokens = record.get("tokens")
        return "text" in record and (
            bool({*OWN} & record.keys()) or (isinstance(tokens, list) and all(isinstance(t, dict) for t in tokens))
        )

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example | None:
        answer = record.get("answer", "accept")
        if answer != "accept":
            reader.note("records whose answer is not accept, such as this one, are left out", number)
            return None
        text, tokens, spans = text_in(record), list_in(record, "tokens"), list_in(record, "spans")
        if spans is None and "answer" in record:
            spans = []  # it was looked at, and nothing was found
        offsets = None if tokens is None else _offsets(tokens, text)
        marks = None if spans is None else map(mark_of, spans)
        return reader.by_default_outside().example(text, marks, number, offsets)

    def record_of(self, example: Example) -> dict[str, Any]:
        text, offsets = marked.text_to_write(example)
        after = [a for a, _ in offsets[1:]] + [len(text)]
        tokens = [
            {"text": text[a:b], "start": a, "end": b, "id": i, "ws": b < after[i]} for i, (a, b) in enumerate(offsets)
        ]
        record: dict[str, Any] = {"text": text, "tokens": tokens}
        if example.labels is not None:
            starts, ends = {a: i for i, (a, _) in enumerate(offsets)}, {b: i for i, (_, b) in enumerate(offsets)}
            record["spans"] = [
                {"start": a, "end": b, "token_start": starts[a], "token_end": ends[b], "label": label}
                for label, a, b in marked.complete_marks_of(example)
            ]
        return record

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return words_of(example)


def _offsets(tokens: list[Any], text: str) -> list[tuple[int, int]]:
    """Where the tokens that are not blank are."""
    offsets, at = [], 0
    for token in tokens:
        start, end = (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
        if type(start) is not int or type(end) is not int or not at <= start <= end <= len(text):
            raise DataError(f"a token must have start and end in the text, after the token before it: {shown(token)}")
        if token.get("text", text[start:end]) != text[start:end]:
            raise DataError(
                f"the token {quoted(token['text'])} is not in its place: there is {quoted(text[start:end])}"
            )
        if text[start:end].strip():
            offsets.append((start, end))
        at = end
    return offsets
