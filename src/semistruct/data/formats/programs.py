"""JSON files of other programs: doccano, Label Studio, Prodigy and Hugging Face datasets.

In all of them text in no span is outside.  Label Studio and doccano know text and spans only, and keep other keys:
"token_offsets" is written where the tokens are not simply the words of the text.
"""

from __future__ import annotations

from typing import Any

from semistruct.base.errors import DataError, quoted
from semistruct.data.corpus import Example
from semistruct.data.formats.base import Sample
from semistruct.data.formats.marked import Offsets, Reader, check_length, known, marks_of, text_of
from semistruct.data.formats.records import (
    SPAN,
    TOKENS,
    Records,
    label_of,
    list_in,
    mark_of,
    offsets_in,
    shown,
    text_and_tokens,
    text_in,
    tokens_in,
)
from semistruct.data.labels import OUTSIDE, Span

DOCCANO_ENTITY = ("start_offset", "end_offset", "label")
LABEL_STUDIO_KEYS = (
    "created_at", "updated_at", "inner_id", "total_annotations", "cancelled_annotations", "total_predictions",
    "comment_count", "unresolved_comment_count", "last_comment_updated_at", "project", "updated_by", "comment_authors",
    "file_upload", "drafts",
)  # fmt: skip
PRODIGY_KEYS = (
    "answer", "_input_hash", "_task_hash", "_view_id", "_session_id", "_annotator_id", "_timestamp", "_is_binary",
)  # fmt: skip
TAGS = ("ner_tags", "tags")
UNKNOWN_TAG = -100  # as losses of networks skip it


class Doccano(Records):
    """JSON lines of doccano, in its two kinds, the first of which is written.

    {"id": 1, "text": "A. Turing 1936", "label": [[0, 9, "author"]], "Comments": []}
    {"id": 1, "text": "A. Turing 1936", "relations": [], "Comments": [],
     "entities": [{"id": 7, "label": "author", "start_offset": 0, "end_offset": 9}]}
    """

    name = "doccano"
    rank = 13
    outside = OUTSIDE
    words_only = True
    read_keys = ("text", "label", "labels", "entities", TOKENS)

    def looks_like(self, sample: Sample) -> bool:
        keys = sample.record.keys()
        return "text" in keys and bool({"label", "entities", "Comments"} & keys)

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        text, marks = text_in(record), None
        for key, names in (("entities", DOCCANO_ENTITY), ("label", SPAN), ("labels", SPAN)):
            if (spans := list_in(record, key)) is not None:
                marks = [mark_of(span, names) for span in spans]
        return reader.example(text, marks, number, offsets_in(record, text))

    def record_of(self, example: Example) -> dict[str, Any]:
        record = text_and_tokens(example)
        if example.labels is not None:
            record["label"] = [[a, b, label] for label, a, b in marks_of(example, complete=True)]
        return record


class LabelStudio(Records):
    """Tasks of Label Studio: a JSON array (its files of columns are read as `conll`).

    [{"id": 1, "data": {"text": "A. Turing 1936"}, "annotations": [{"result": [{"type": "labels", "from_name": "label",
      "to_name": "text", "value": {"start": 0, "end": 9, "text": "A. Turing", "labels": ["author"]}}]}]}]

    Of several annotations of a task the first one that was not cancelled counts; without one, the task has no labels.
    """

    name = "label-studio"
    rank = 10
    in_array = True
    end_to_end = False
    outside = OUTSIDE
    words_only = True
    read_keys = ("data", "annotations", *LABEL_STUDIO_KEYS)

    def looks_like(self, sample: Sample) -> bool:
        data = sample.record.get("data")
        return isinstance(data, dict) and any(isinstance(value, str) for value in data.values())

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        data = _object(record.get("data"))
        texts = {key: value for key, value in data.items() if isinstance(value, str)}
        if "text" not in texts and len(texts) != 1:
            raise DataError(f'"data" must have a "text", or one string: {shown(data)}')
        text = texts["text"] if "text" in texts else next(iter(texts.values()))
        annotations = [a for a in list_in(record, "annotations") or () if not _object(a).get("was_cancelled")]
        if len(annotations) > 1:
            reader.note("a task has several annotations; the first one counts", number)
        marks = None
        if annotations:
            results = [_object(result) for result in list_in(annotations[0], "result") or ()]
            reader.ignore((str(r.get("type")) for r in results if r.get("type") != "labels"), number)
            marks = [_labelled_mark(_object(r.get("value")), text) for r in results if r.get("type") == "labels"]
        return reader.example(text, marks, number, offsets_in(data, text))

    def record_of(self, example: Example) -> dict[str, Any]:
        data = text_and_tokens(example)
        if example.labels is None:
            return {"data": data}
        results = [
            {
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": {"start": a, "end": b, "text": data["text"][a:b], "labels": [label]},
            }
            for label, a, b in marks_of(example, complete=True)
        ]
        return {"data": data, "annotations": [{"result": results}]}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"expected a JSON object, not {shown(value)}")
    return value


def _labelled_mark(value: dict[str, Any], text: str) -> Span:
    labels = value.get("labels")
    if not isinstance(labels, list) or len(labels) != 1:
        raise DataError(f"a span must have one label: {shown(value)}")
    mark = mark_of([value.get("start"), value.get("end"), labels[0]])
    if (said := value.get("text")) not in (None, found := text[mark.start : mark.end]):
        raise DataError(f"span {mark.start}-{mark.end} is {quoted(said)}, but the text has {quoted(found)} there")
    return mark


class Prodigy(Records):
    """JSON lines of Prodigy: a text with its tokens, and spans of characters and tokens.

    {"text": "A. Turing", "answer": "accept", "tokens": [{"text": "A.", "start": 0, "end": 2, "id": 0, "ws": true}],
     "spans": [{"start": 0, "end": 9, "label": "author", "token_start": 0, "token_end": 1}]}

    A record whose answer is not "accept" is left out.  Tokens that are blank, as spaCy makes them, are left out too.
    """

    name = "prodigy"
    rank = 11
    outside = OUTSIDE
    words_only = True
    read_keys = ("text", "tokens", "spans", *PRODIGY_KEYS)

    def looks_like(self, sample: Sample) -> bool:
        record = sample.record
        tokens = record.get("tokens")
        return "text" in record and (
            bool({*PRODIGY_KEYS} & record.keys())
            or (isinstance(tokens, list) and all(isinstance(t, dict) for t in tokens))
        )

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example | None:
        if record.get("answer", "accept") != "accept":
            reader.note("records whose answer is not accept, such as this one, are left out", number)
            return None
        text, tokens, spans = text_in(record), list_in(record, "tokens"), list_in(record, "spans")
        if spans is None and "answer" in record:
            spans = []  # it was looked at, and nothing was found
        marks = None if spans is None else map(mark_of, spans)
        offsets = None if tokens is None else _prodigy_offsets(tokens, text)
        example = reader.example(text, marks, number, offsets)
        if offsets is not None and len(example) > len(offsets):
            reader.note("a span begins or ends inside a token, which is split there", number)
        return example

    def record_of(self, example: Example) -> dict[str, Any]:
        text, offsets = text_of(example)
        after = [a for a, _ in offsets[1:]] + [len(check_length(text))]
        tokens = [
            {"text": text[a:b], "start": a, "end": b, "id": i, "ws": b < after[i]} for i, (a, b) in enumerate(offsets)
        ]
        record: dict[str, Any] = {"text": text, "tokens": tokens}
        if example.labels is not None:
            starts, ends = {a: i for i, (a, _) in enumerate(offsets)}, {b: i for i, (_, b) in enumerate(offsets)}
            record["spans"] = [
                {"start": a, "end": b, "token_start": starts[a], "token_end": ends[b], "label": label}
                for label, a, b in marks_of(example, complete=True)
            ]
        return record


def _prodigy_offsets(tokens: list[Any], text: str) -> Offsets:
    """Where the tokens that are not blank are."""
    offsets, at = [], 0
    for token in tokens:
        start, end = (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
        if type(start) is not int or type(end) is not int or not at <= start <= end <= len(text):
            raise DataError(f"a token must have start and end in the text, after the token before it: {shown(token)}")
        if token.get("text", text[start:end]) != text[start:end]:
            found = f"there is {quoted(text[start:end])}"
            raise DataError(f"the token {quoted(token['text'])} is not in its place: {found}")
        if text[start:end].strip():
            offsets.append((start, end))
        at = end
    return offsets


class HuggingFace(Records):
    """JSON lines of Hugging Face datasets: tokens, and their tags as names or as numbers.

    {"tokens": ["A.", "Turing"], "ner_tags": [1, 2]}

    What the numbers mean is said by the argument `label_names`, or by the first record of the file,
    {"label_names": ["O", "B-author", "I-author"]}.  Tags are written as names, -100 is an unknown tag.
    """

    name = "huggingface"
    rank = 12
    read_keys = ("tokens", "label_names", *TAGS)

    def looks_like(self, sample: Sample) -> bool:
        keys = sample.record.keys()
        return "label_names" in keys or ("tokens" in keys and bool({*TAGS} & keys))

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example | None:
        if "label_names" in record:
            reader.label_names = _names(record["label_names"])
        if "tokens" not in record and "label_names" in record:
            return None
        if "tokens" not in record:
            raise DataError('expected a JSON object with "tokens" and "ner_tags"')
        tags = list_in(record, next((key for key in TAGS if key in record), TAGS[0]))
        labels = None if tags is None else known(_tag(tag, reader) for tag in tags)
        return Example(tokens_in(record), labels, line=number)

    def record_of(self, example: Example) -> dict[str, Any]:
        if example.labels is None:
            return {"tokens": example.tokens}
        return {"tokens": example.tokens, "ner_tags": [UNKNOWN_TAG if y is None else y for y in example.labels]}


def _tag(tag: Any, reader: Reader) -> str | None:
    if tag is None or (type(tag) is int and tag == UNKNOWN_TAG):
        return None
    if type(tag) is not int:
        return label_of(tag)
    if reader.label_names is None:
        raise DataError(f"the tag {tag} is a number, and nothing names it; begin the file with a record of label_names")
    if not 0 <= tag < len(reader.label_names):
        raise DataError(f"there is no name for the tag {tag}: {len(reader.label_names)} are named, from 0")
    return reader.label_names[tag]


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise DataError(f"label names must be a list of strings, not {shown(value)}")
    names = [label_of(name) for name in value]
    if len({*names}) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the label name {quoted(twice)} is there twice")
    return names
