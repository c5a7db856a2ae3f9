"""JSON lines of Hugging Face datasets: tokens, and their tags as names or as numbers.

    {"tokens": ["A.", "Turing"], "ner_tags": [1, 2]}

What the numbers mean is said by `label_names` (a file, on the command line), or by the first record of the file,
{"label_names": ["O", "B-author", "I-author"]}.  Tags are written as names, -100 is an unknown tag.
"""

from __future__ import annotations

import json
from typing import Any

from semistruct.corpus import Example
from semistruct.errors import DataError, quoted
from semistruct.files import PathLike, read_lines, source_name
from semistruct.formats.base import Sample
from semistruct.formats.jsonl import tokens_in
from semistruct.formats.marked import Reader, known
from semistruct.formats.records import Records, label_of, list_in, shown

TAGS = ("ner_tags", "tags")
UNKNOWN = -100  # as losses of networks skip it


class HuggingFace(Records):
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
        key = next((key for key in TAGS if key in record), TAGS[0])
        tags = list_in(record, key)
        labels = None if tags is None else known(_tag(tag, reader) for tag in tags)
        return Example(tokens_in(record), labels, line=number)

    def record_of(self, example: Example) -> dict[str, Any]:
        if example.labels is None:
            return {"tokens": example.tokens}
        return {"tokens": example.tokens, "ner_tags": [UNKNOWN if y is None else y for y in example.labels]}


def _tag(tag: Any, reader: Reader) -> str | None:
    if tag is None or (type(tag) is int and tag == UNKNOWN):
        return None
    if type(tag) is not int:
        return label_of(tag)
    if reader.label_names is None:
        raise DataError(f"the tag {tag} is a number, and nothing names it; see --label-names (label_names=)")
    if not 0 <= tag < len(reader.label_names):
        raise DataError(f"there is no name for the tag {tag}: {len(reader.label_names)} are named, from 0")
    return reader.label_names[tag]


def read_label_names(path: PathLike, encoding: str = "utf-8") -> list[str]:
    """Names from a file: one per line, a JSON list, or a dataset_info.json with the names of `ner_tags`."""
    text = "".join(read_lines(path, encoding))
    try:
        if text.lstrip().startswith(("[", "{")):
            return _names(_listed(json.loads(text)))
        return _names([line.strip() for line in text.splitlines() if line.strip()])
    except (DataError, ValueError, RecursionError) as err:
        problem = str(err) if isinstance(err, DataError) else "not JSON"
        raise DataError.at(source_name(path), None, problem) from None


def _listed(value: Any) -> Any:
    """The list of names in a description of a dataset."""
    for key in ("features", TAGS[0], "feature", "names"):
        value = value.get(key, value) if isinstance(value, dict) else value
    return value


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise DataError(f"label names must be a list of strings, not {shown(value)}")
    names = [label_of(name) for name in value]
    if len({*names}) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the label name {quoted(twice)} is there twice")
    return names
