"""A text and the fields that a model finds in it: what `parse` returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from semistruct.base.errors import DataError, nearest, quoted
from semistruct.data.corpus import Confidence, Example
from semistruct.data.formats.marked import text_of
from semistruct.data.formats.records import JsonLines
from semistruct.data.labels import spans
from semistruct.model.answers import Scores


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its label, its text, text[start:end] of the whole, and how likely it is right."""

    label: str
    text: str
    start: int
    end: int
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """A text with the fields that a model finds in it, from left to right.

    parse["author"] is the text of the field, a list of texts where the field occurs several times; a field that does
    not occur raises KeyError, `parse.get("author")` gives None.

    confidence      how likely all fields are right, None for an empty text
    broken          the rules that the answer breaks, by their names
    alternatives    the next best answers, best first
    tokens, labels  the text as the model sees it
    """

    text: str
    fields: tuple[Field, ...] = ()
    confidence: float | None = None
    broken: tuple[str, ...] = ()
    alternatives: tuple[Parse, ...] = ()
    example: Example | None = None

    @classmethod
    def of(
        cls, example: Example, scheme: str, *, sure: Scores | None = None, broken: Iterable[str] = (),
        alternatives: Iterable[Parse] = (),
    ) -> Parse:  # fmt: skip
        """A text with labels of its tokens; `sure` has the probabilities of tokens, blocks and all of them."""
        text, offsets = text_of(example)
        found, fields = spans(example.labels or (), scheme), list[Field]()
        likely = [None] * len(found) if sure is None else sure.block.tolist()
        for span, confidence in zip(found, likely, strict=True):
            start, end = offsets[span.start][0], offsets[span.end - 1][1]
            fields.append(Field(span.label, text[start:end], start, end, confidence))
        whole = None if sure is None else float(sure.sequence)
        if sure is not None:
            example = replace(example, confidence=Confidence(sure.token.tolist(), sure.block.tolist(), sure.sequence))
        return cls(text, tuple(fields), whole, tuple(broken), tuple(alternatives), example)

    @property
    def tokens(self) -> list[Any]:
        return [] if self.example is None else self.example.tokens

    @property
    def labels(self) -> list[str | None]:
        return [] if self.example is None else self.example.labels or []

    def __getitem__(self, label: str) -> str | list[str]:
        texts = self.texts(label)
        if not texts:
            here = dict.fromkeys(field.label for field in self.fields)
            like = nearest(label, here) if isinstance(label, str) else None
            hint = f"; did you mean {quoted(like)}?" if like else f"; there are {', '.join(here) or 'no fields'}"
            raise KeyError(f"no field {quoted(label)} in this text{hint}")
        return texts[0] if len(texts) == 1 else texts

    def __contains__(self, label: object) -> bool:
        return any(field.label == label for field in self.fields)

    def get(self, label: str, default: Any = None) -> Any:
        """The text of a field, or the texts where the field occurs several times; `default` where it does not occur."""
        try:
            return self[label]
        except KeyError:
            return default

    def texts(self, label: str) -> list[str]:
        """The texts of all fields with this label."""
        return [field.text for field in self.fields if field.label == label]

    def as_dict(self) -> dict[str, str | list[str]]:
        """The texts by label, in the order in which the labels first occur."""
        return {label: self[label] for label in dict.fromkeys(field.label for field in self.fields)}

    def record(self) -> dict[str, Any]:
        """The parse as plain data: the record that `predict --to jsonl` writes, which `train` reads back."""
        out: dict[str, Any] = {"text": self.text} if self.example is None else JsonLines().record_of(self.example)
        if self.broken:
            out["broken"] = [*self.broken]
        if self.alternatives:
            out["alternatives"] = [parse.record()["spans"] for parse in self.alternatives]
        return out

    def __str__(self) -> str:
        width = max((len(field.label) for field in self.fields), default=0)
        return "\n".join(f"{field.label:<{width}}  {field.text}" for field in self.fields)


class Parses(list[Parse]):
    """Several parses; `to_frame` makes a table of them."""

    def to_frame(self, *, separator: str = " | ") -> Any:
        """A pandas DataFrame: a row per text, a column per field (repeated ones joined), and the confidence."""
        try:
            import pandas
        except ImportError:
            raise DataError("to_frame needs pandas: pip install pandas") from None
        labels = sorted({field.label for parse in self for field in parse.fields})
        rows = [[parse.text, *_cells(parse, labels, separator), parse.confidence] for parse in self]
        return pandas.DataFrame(rows, columns=["text", *labels, "confidence"])


def _cells(parse: Parse, labels: Iterable[str], separator: str) -> Iterator[str]:
    for label in labels:
        yield separator.join(parse.texts(label))
