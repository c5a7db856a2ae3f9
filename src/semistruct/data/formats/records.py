"""Files of JSON objects, one on each line (`jsonl`) or all in one array (`json`); what is read is either.

    {"tokens": ["A", ".", "Turing"], "labels": ["author", "author", null]}
    {"text": "A. Turing", "spans": [{"start": 0, "end": 9, "label": "author"}]}
    {"text": "A. Turing", "token_offsets": [[0, 2], [3, 9]]}

A token may be a list of strings (word and further columns), a span also [start, end, label]; null is an
unknown label, and without "labels" or "spans" the sequence has no labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar

from semistruct.base.errors import DataError, quoted, shortened
from semistruct.data.corpus import Confidence, Example, Token
from semistruct.data.formats.base import Format, Sample, naming_line, naming_sequence
from semistruct.data.formats.marked import Offsets, Reader, check_length, cut_anew, known, marks_of, text_of
from semistruct.data.labels import Span
from semistruct.data.tokens import WORDS

BLANKS = re.compile(r"\s*")
TOKENS = "token_offsets"
"""The key of where tokens begin and end, in records of programs that know text and spans only, and keep other keys."""
SPAN = ("start", "end", "label")
COMMON = {"id", "meta", "metadata"}  # about the record, not of it


class Records(Format):
    """A format of JSON objects, which are read from lines and from arrays, and written to lines.

    read_keys  the keys of a record that are read, or that nobody misses; others are told of, and written back
    in_array   whether they are written as one array
    """

    read_keys: ClassVar[tuple[str, ...]]
    in_array: ClassVar[bool] = False

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        for number, place, record in _records(lines, reader.source):
            with naming_line(reader.source, number, place):
                if not isinstance(record, dict):
                    raise DataError(f"expected a JSON object, not {shown(record)}")
                example = self.parse_record(record, number, reader)
            about = {key: value for key, value in record.items() if key not in self.read_keys}
            reader.ignore((key for key, value in about.items() if value and key not in COMMON), number)
            if example is not None:
                yield replace(example, about=about) if about else example

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example | None:
        """The sequence of a record, None if it has none; errors need not say where."""
        raise NotImplementedError

    def render(self, example: Example) -> str:
        return json.dumps({**(example.about or {}), **self.record_of(example)}, ensure_ascii=False) + "\n"

    def record_of(self, example: Example) -> dict[str, Any]:
        """The record of a sequence."""
        raise NotImplementedError

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        if not self.in_array:
            yield from super().pieces(examples)
            return
        i = -1
        for i, example in enumerate(examples):
            with naming_sequence(i):
                text = self.render(example).rstrip("\n")
            yield ("[\n" if i == 0 else ",\n") + text
        yield "\n]\n" if i >= 0 else "[]\n"


class JsonLines(Records):
    name = "jsonl"
    rank = 19
    read_keys = (
        "tokens", "text", "labels", "spans", "confidence", "sequence_confidence", "broken", "alternatives", TOKENS
    )  # fmt: skip

    def looks_like(self, sample: Sample) -> bool:
        return sample.is_json

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        if not record.keys() & {"tokens", "text"}:
            raise DataError('expected a JSON object with "tokens" or "text"')
        if "tokens" in record:
            labels = list_in(record, "labels")
            named = None if labels is None else known(None if y is None else label_of(y) for y in labels)
            return Example(tokens_in(record), named, line=number)
        text, spans = text_in(record), list_in(record, "spans")
        marks = None if spans is None else map(mark_of, spans)
        return reader.example(text, marks, number, offsets_in(record, text))

    def record_of(self, example: Example) -> dict[str, Any]:
        """The text form when the example has a text, else the token form.

        In the text form, unknown tokens are in no span, nor are those labelled "O" if no token is unknown.
        """
        record: dict[str, Any]
        if example.text is None or example.offsets is None or not isinstance(example.tokens[0], str):
            record = {"tokens": example.tokens, "labels": example.labels}
        else:
            record, marks = text_and_tokens(example), marks_of(example)
            shown = [{"start": a, "end": b, "label": label, "text": record["text"][a:b]} for label, a, b in marks]
            record["spans"] = shown
        if example.labels is None:
            record.popitem()
        if example.confidence is not None:
            _add_confidence(record, example.confidence)
        return record


class JsonArray(JsonLines):
    name = "json"
    rank = 18
    in_array = True
    end_to_end = False

    def looks_like(self, sample: Sample) -> bool:
        return sample.is_array


def _add_confidence(record: dict[str, Any], sure: Confidence) -> None:
    """A list for tokens; for a text, a number for each span, unless blocks were joined in another scheme."""
    if "spans" not in record:
        record["confidence"] = [round(value, 4) for value in sure.tokens]
    elif len(record["spans"]) == len(sure.blocks):
        for span, value in zip(record["spans"], sure.blocks, strict=True):
            span["confidence"] = round(value, 4)
    record["sequence_confidence"] = round(sure.sequence, 4)


def _records(lines: Iterable[str], source: str) -> Iterator[tuple[int, str, Any]]:
    """(number of the line, what else says where, the value) of each record."""
    lines = iter(lines)
    numbered = ((number, line) for number, line in enumerate(lines, 1) if not line.isspace())
    first = next(numbered, None)
    if first is not None and first[1].lstrip().startswith("["):
        yield from _array("\n" * (first[0] - 1) + first[1] + "".join(lines), source)
        return
    for number, line in chain([] if first is None else [first], numbered):
        with naming_line(source, number):
            record, end = _decoded(line, _after_blanks(line, 0))
            if _after_blanks(line, end) < len(line):
                raise DataError(f"not JSON: more after the end of the record (column {end + 1})")
        yield number, "", record


def _array(text: str, source: str) -> Iterator[tuple[int, str, Any]]:
    at, number, counted = _after_blanks(text, text.index("[") + 1), 1, 0
    if text[at : at + 1] == "]":
        return
    for i in range(1, len(text) + 1):
        number, counted = number + text.count("\n", counted, at), at
        with naming_line(source, number, f"record {i}: "):
            record, end = _decoded(text, at)
        yield number, f"record {i}: ", record
        at = _after_blanks(text, end)
        if text[at : at + 1] == "]":
            if rest := text[at + 1 :].strip():
                raise DataError.at(source, number, f"not JSON: more after the end of the array, {quoted(rest)}")
            return
        if text[at : at + 1] != ",":
            raise DataError.at(source, number, f"not JSON: expected , or ] after record {i} of the array")
        at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    match = BLANKS.match(text, at)
    return match.end() if match else at


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins there, and where it ends."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except json.JSONDecodeError as err:
        raise DataError(f"not JSON: {err.msg} (column {err.colno})") from None
    except RecursionError:
        raise DataError("not a record: JSON nested too deeply") from None
    except ValueError:  # of the conversion of a number; JSONDecodeError is one of its kinds
        raise DataError("a number has too many digits") from None


def text_and_tokens(example: Example) -> dict[str, Any]:
    """The entries of a record for the text and, unless reading finds them by itself, its tokens."""
    text, offsets = text_of(example)
    check_length(text)
    found = example.cut_by == WORDS and cut_anew(example, text) == example.tokens
    return {"text": text} if found else {"text": text, TOKENS: offsets}


def offsets_in(record: dict[str, Any], text: str) -> Offsets | None:
    """Where the tokens of a text are, None if the record does not say so."""
    found = list_in(record, TOKENS)
    if found is None:
        return None
    offsets, at = [], 0
    for edges in found:
        start, end = edges if isinstance(edges, list) and len(edges) == 2 else (None, None)
        if type(start) is not int or type(end) is not int or not at <= start <= end <= len(text):
            problem = f"must be pairs of start and end in the text, each after the one before it, not {shown(edges)}"
            raise DataError(f'"{TOKENS}" {problem}')
        if not text[start:end].strip():
            raise DataError(f'"{TOKENS}": there is no token at {start}-{end}, only {quoted(text[start:end])}')
        offsets.append((start, end))
        at = end
    return offsets


def tokens_in(record: dict[str, Any]) -> list[Token]:
    found = record["tokens"]
    if not isinstance(found, list):
        raise DataError('"tokens" must be a list')
    for token in found:
        columns = token if isinstance(token, list) and token else [token]
        if not isinstance(token, str) and not all(isinstance(column, str) for column in columns):
            raise DataError(f"a token must be a string or a list of strings, not {shown(token)}")
    return [token if isinstance(token, str) else tuple(token) for token in found]


def text_in(record: dict[str, Any], key: str = "text") -> str:
    if not isinstance(record.get(key), str):
        raise DataError(f'"{key}" must be a string')
    return record[key]


def list_in(record: dict[str, Any], key: str) -> list[Any] | None:
    """The list under a key, None if there is none or null."""
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise DataError(f'"{key}" must be a list or null')
    return value


def label_of(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"a label must be a non-empty string, not {shown(value)}")
    return value


def mark_of(value: Any, keys: tuple[str, str, str] = SPAN) -> Span:
    """A span: an object with the keys, or a list of the three."""
    fields = [value.get(key) for key in keys] if isinstance(value, dict) else value
    if not isinstance(fields, list) or len(fields) != 3 or not all(type(edge) is int for edge in fields[:2]):
        raise DataError(f"a span must have {keys[0]}, {keys[1]} and {keys[2]}, with whole numbers: {shown(value)}")
    return Span(label_of(fields[2]), fields[0], fields[1])


def shown(value: Any) -> str:
    return shortened(json.dumps(value))
