"""One JSON object per line, in one of two forms; other keys are ignored.

    {"tokens": ["A", ".", "Turing"], "labels": ["author", "author", null]}
    {"text": "A. Turing", "spans": [{"start": 0, "end": 9, "label": "author"}]}

A token may be a list of strings (word and further columns), a span also [start, end, label]; null is an
unknown label, and without "labels" or "spans" the sequence has no labels.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import replace
from typing import Any

from semistruct.corpus import Example, Labelling, Labels, Token
from semistruct.errors import DataError, shortened
from semistruct.formats import marked
from semistruct.labels import Span


def parse(line: str, number: int, reader: marked.Reader) -> Example:
    """The example that one line describes."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as err:
        raise DataError(f"not JSON: {err.msg} (column {err.colno})") from None
    except RecursionError:
        raise DataError("not a record: JSON nested too deeply") from None
    except ValueError:  # of the conversion of a number; JSONDecodeError is one of its kinds
        raise DataError("a number has too many digits") from None
    if not isinstance(record, dict) or not record.keys() & {"tokens", "text"}:
        raise DataError('expected one JSON object per line, with "tokens" or "text"')
    if "tokens" in record:
        return Example(_tokens(record["tokens"]), _labels(record.get("labels")), line=number)
    if not isinstance(record["text"], str):
        raise DataError('"text" must be a string')
    return reader.example(record["text"], _marks(record.get("spans")), number)


def render(example: Example) -> str:
    """The text form when the example has a text, else the token form.

    In the text form, unknown tokens are in no span, nor are those labelled "O" if no token is unknown.
    """
    record = _record(example)
    if example.n_best is not None:
        record["n_best"] = [_ranked(example, one) for one in example.n_best]
    return json.dumps(record, ensure_ascii=False) + "\n"


def _ranked(example: Example, one: Labelling) -> dict[str, Any]:
    """One of several labellings of an example: its labels or spans, and its score."""
    record = _record(replace(example, labels=one.labels, confidence=one.confidence))
    kept = {key: value for key, value in record.items() if key not in ("tokens", "text")}
    return {"score": round(one.score, 4), **kept}


def _record(example: Example) -> dict[str, Any]:
    record: dict[str, Any]
    if example.text is None or example.offsets is None:
        record = {"tokens": example.tokens, "labels": example.labels}
    else:
        marks = [{"start": a, "end": b, "label": label} for label, a, b in marked.marks_of(example)]
        record = {"text": example.text, "spans": marks}
    if example.labels is None:
        record.popitem()
    if example.confidence is not None:
        _tell_confidence(record, example.confidence, example.offsets)
    return record


def _tell_confidence(record: dict[str, Any], values: list[float], offsets: list[tuple[int, int]] | None) -> None:
    """A list for tokens; for spans of a text the least of their tokens."""
    if "spans" not in record or offsets is None:
        record["confidence"] = [round(value, 4) for value in values]
        return
    starts = [a for a, _ in offsets]
    for span in record["spans"]:
        own = values[bisect_left(starts, span["start"]) : bisect_left(starts, span["end"])]
        span["confidence"] = round(min(own), 4)


def _tokens(value: Any) -> list[Token]:
    if not isinstance(value, list):
        raise DataError('"tokens" must be a list')
    return [_token(token) for token in value]


def _token(value: Any) -> Token:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise DataError(f"a token must be a string or a list of strings, not {shortened(json.dumps(value))}")


def _labels(value: Any) -> Labels | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise DataError('"labels" must be a list or null')
    return marked.known(None if y is None else _label(y) for y in value)


def _label(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"a label must be a non-empty string, not {shortened(json.dumps(value))}")
    return value


def _marks(value: Any) -> list[Span] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise DataError('"spans" must be a list or null')
    return [_mark(span) for span in value]


def _mark(value: Any) -> Span:
    fields = [value.get(key) for key in ("start", "end", "label")] if isinstance(value, dict) else value
    if not isinstance(fields, list) or len(fields) != 3 or not all(type(edge) is int for edge in fields[:2]):
        raise DataError(f"a span must have start, end and label, with whole numbers: {shortened(json.dumps(value))}")
    return Span(_label(fields[2]), fields[0], fields[1])
