"""JSON objects in one of two forms, one per line (`jsonl`) or all in an array (`json`).

    {"tokens": ["A", ".", "Turing"], "labels": ["author", "author", null]}
    {"text": "A. Turing", "spans": [{"start": 0, "end": 9, "label": "author"}]}
    {"text": "A. Turing", "token_offsets": [[0, 2], [3, 9]]}

A token may be a list of strings (word and further columns), a span also [start, end, label]; null is an
unknown label, and without "labels" or "spans" the sequence has no labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from semistruct.corpus import Confidence, Example, Labelling, Labels, Token
from semistruct.errors import DataError
from semistruct.formats import marked
from semistruct.formats.base import Sample
from semistruct.formats.marked import Reader
from semistruct.formats.records import (
    TOKENS,
    Records,
    example_in,
    label_of,
    list_in,
    mark_of,
    shown,
    text_and_tokens,
    text_in,
)


class JsonLines(Records):
    name = "jsonl"
    rank = 19
    read_keys = ("tokens", "text", "labels", "spans", "confidence", "sequence_confidence", "n_best", TOKENS)

    def looks_like(self, sample: Sample) -> bool:
        return sample.is_json

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        if not record.keys() & {"tokens", "text"}:
            raise DataError('expected a JSON object with "tokens" or "text"')
        if "tokens" in record:
            return Example(tokens_in(record), _labels(record), line=number)
        text, spans = text_in(record), list_in(record, "spans")
        return example_in(record, text, None if spans is None else map(mark_of, spans), number, reader)

    def record_of(self, example: Example) -> dict[str, Any]:
        """The text form when the example has a text, else the token form.

        In the text form, unknown tokens are in no span, nor are those labelled "O" if no token is unknown.
        """
        record = _record(example)
        if example.n_best is not None:
            record["n_best"] = [_ranked(example, one) for one in example.n_best]
        return record


class JsonArray(JsonLines):
    name = "json"
    rank = 18
    in_array = True
    end_to_end = False

    def looks_like(self, sample: Sample) -> bool:
        return sample.is_array


def tokens_in(record: dict[str, Any]) -> list[Token]:
    found = record["tokens"]
    if not isinstance(found, list):
        raise DataError('"tokens" must be a list')
    return [_token(token) for token in found]


def _token(value: Any) -> Token:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise DataError(f"a token must be a string or a list of strings, not {shown(value)}")


def _labels(record: dict[str, Any]) -> Labels | None:
    found = list_in(record, "labels")
    return None if found is None else marked.known(None if y is None else label_of(y) for y in found)


def _ranked(example: Example, one: Labelling) -> dict[str, Any]:
    """One of several labellings of an example: its labels or spans, and its score."""
    record = _record(replace(example, labels=one.labels, confidence=one.confidence))
    kept = {key: value for key, value in record.items() if key not in ("tokens", "text", TOKENS)}
    return {"score": round(one.score, 4), **kept}


def _record(example: Example) -> dict[str, Any]:
    record: dict[str, Any]
    if example.text is None or example.offsets is None or not isinstance(example.tokens[0], str):
        record = {"tokens": example.tokens, "labels": example.labels}
    else:
        marks = [{"start": a, "end": b, "label": label} for label, a, b in marked.marks_of(example)]
        record = {**text_and_tokens(example), "spans": marks}
    if example.labels is None:
        record.popitem()
    if example.confidence is not None:
        _tell_confidence(record, example.confidence)
    return record


def _tell_confidence(record: dict[str, Any], sure: Confidence) -> None:
    """A list for tokens; for a text, a number for each span, unless blocks were joined in another scheme."""
    if "spans" in record:
        for span, value in zip(record["spans"], sure.blocks, strict=False):
            if len(record["spans"]) == len(sure.blocks):
                span["confidence"] = round(value, 4)
    else:
        record["confidence"] = [round(value, 4) for value in sure.tokens]
    record["sequence_confidence"] = round(sure.sequence, 4)
