"""Tasks of Label Studio: a JSON array (its files of columns are read as `conll`).

    [{"id": 1, "data": {"text": "A. Turing 1936"}, "annotations": [{"result": [{"type": "labels", "from_name": "label",
      "to_name": "text", "value": {"start": 0, "end": 9, "text": "A. Turing", "labels": ["author"]}}]}]}]

Of several annotations of a task the first one that was not cancelled counts; without one, the task has no labels.
What else "data" holds stays there: "token_offsets" is written where the tokens are not simply the words of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semistruct.corpus import Example, Token
from semistruct.errors import DataError, quoted
from semistruct.formats import marked
from semistruct.formats.base import Sample
from semistruct.formats.marked import Reader, words_of
from semistruct.formats.records import Records, example_in, list_in, mark_of, shown, text_and_tokens
from semistruct.labels import Span

OWN = (
    "created_at", "updated_at", "inner_id", "total_annotations", "cancelled_annotations", "total_predictions",
    "comment_count", "unresolved_comment_count", "last_comment_updated_at", "project", "updated_by", "comment_authors",
    "file_upload", "drafts",
)  # fmt: skip


class LabelStudio(Records):
    name = "label-studio"
    rank = 10
    in_array = True
    end_to_end = False
    read_keys = ("data", "annotations", *OWN)

    def looks_like(self, sample: Sample) -> bool:
        data = sample.record.get("data")
        return isinstance(data, dict) and any(isinstance(value, str) for value in data.values())

    def parse_record(self, record: dict[str, Any], number: int, reader: Reader) -> Example:
        text = _text(record.get("data"))
        annotations = [a for a in list_in(record, "annotations") or () if not _dict(a).get("was_cancelled")]
        if len(annotations) > 1:
            reader.note("a task has several annotations; the first one counts", number)
        marks = None
        if annotations:
            results = [_dict(result) for result in list_in(annotations[0], "result") or ()]
            labels = [result for result in results if result.get("type") == "labels"]
            reader.ignore((str(r.get("type")) for r in results if r.get("type") != "labels"), number)
            marks = [_mark(_dict(result.get("value")), text) for result in labels]
        return example_in(record["data"], text, marks, number, reader.by_default_outside())

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
            for label, a, b in marked.complete_marks_of(example)
        ]
        return {"data": data, "annotations": [{"result": results}]}

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return words_of(example)


def _text(data: Any) -> str:
    """The text of a task: what is called "text", or the only string."""
    texts = {key: value for key, value in _dict(data).items() if isinstance(value, str)}
    if "text" not in texts and len(texts) != 1:
        raise DataError(f'"data" must have a "text", or one string: {shown(data)}')
    return texts["text"] if "text" in texts else next(iter(texts.values()))


def _mark(value: dict[str, Any], text: str) -> Span:
    labels = value.get("labels")
    if not isinstance(labels, list) or len(labels) != 1:
        raise DataError(f"a span must have one label: {shown(value)}")
    mark = mark_of([value.get("start"), value.get("end"), labels[0]])
    if (said := value.get("text")) not in (None, found := text[mark.start : mark.end]):
        raise DataError(f"span {mark.start}-{mark.end} is {quoted(said)}, but the text has {quoted(found)} there")
    return mark


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"expected a JSON object, not {shown(value)}")
    return value
