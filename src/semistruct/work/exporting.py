"""Labels for other programs, in every format; and files that a model labels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from semistruct.corpus import Example
from semistruct.errors import DataError, ParameterError, meant, quoted
from semistruct.formats import FORMATS, write
from semistruct.labels import spans
from semistruct.work.bench import Bench
from semistruct.work.pool import Cut

ENDINGS = {
    "tsv": "tsv", "conll": "conll", "csv": "csv", "csv-texts": "csv", "json": "json", "text": "txt", "inline": "txt",
    "transposed": "txt", "spacy": "spacy", "label-studio": "json",
}  # fmt: skip
WHAT = ("labels", "pool")


def examples(bench: Bench, what: str) -> Iterator[Example]:
    """What was labelled; or all of the pool, with proposals where nobody has decided."""
    if what not in WHAT:
        raise ParameterError(f"there is no part {quoted(what)}; {meant(what, WHAT)}")
    with bench.lock:
        for number in sorted(bench.decisions.last) if what == "labels" else range(len(bench.pool)):
            cut_by = bench.pool.tokens if isinstance(bench.pool.rows[number], str) else None
            made, proposal = bench.decisions.last.get(number), bench.proposals.get(number)
            if made is not None and made.is_labelled:
                yield _example(made.cut(bench.pool), list(made.labels or ()), number, cut_by)
            elif what == "pool":
                cut = bench.pool.cut(number)
                fits = proposal is not None and len(proposal.codes) == len(cut.tokens)
                yield _example(cut, list(proposal.labels) if proposal is not None and fits else None, number, cut_by)


def _example(cut: Cut, labels: list[Any] | None, number: int, cut_by: str | None) -> Example:
    has_text = isinstance(cut.tokens[0], str)
    text, offsets = (cut.text, cut.offsets) if has_text else (None, None)
    return Example(cut.tokens, labels, text, offsets, number + 1, cut_by=cut_by, about={"id": number})


def content(found: Iterable[Example], format: str, scheme: str | None = None) -> bytes:
    """A file with these sequences."""
    rows = list(found)
    if not rows:
        raise DataError("nothing is labelled yet, so there is nothing to export")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        write(rows, path, format, scheme=scheme or None)
        return path.read_bytes()


def file_name(stem: str, format: str) -> str:
    return f"{stem}.{ENDINGS.get(format, 'jsonl')}"


def answer_format(format: str) -> str:
    """The format in which labels are given back for a file of this one."""
    return FORMATS[format].answer or format


def labelled(found: list[Example], rows: list[dict[str, Any]]) -> list[Example]:
    """Sequences with the labels of a model."""
    return [replace(example, labels=row["labels"]) for example, row in zip(found, rows, strict=True)]


def spans_of(example: Example) -> list[dict[str, Any]]:
    """Labelled stretches of a text, each checked against it."""
    out = []
    for span in spans(example.labels or [], "plain"):
        assert example.text is not None
        assert example.offsets is not None
        start, end = example.offsets[span.start][0], example.offsets[span.end - 1][1]
        out.append({"start": start, "end": end, "label": span.label, "text": example.text[start:end]})
    return out
