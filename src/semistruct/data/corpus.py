"""What a data file holds: sequences of tokens, with labels where they are known.

A token is a string, or a tuple of strings when the file has further columns (word, part of speech, ...).
A label is a string, or None where it is unknown; a sequence without any label has `labels = None`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from semistruct.base.errors import DataError, quoted

Token = str | tuple[str, ...]
Labels = list[str | None]


def word_of(token: Token) -> str:
    """The token without its further columns."""
    return token if isinstance(token, str) else token[0]


class Confidence(NamedTuple):
    """How likely the labels of a sequence are right: of each token, of each block of them, and all of them."""

    tokens: list[float]
    blocks: list[float]
    sequence: float


@dataclass(frozen=True, slots=True)
class Example:
    """One sequence.

    text and offsets are set when the tokens were cut out of running text: token t is
    text[offsets[t][0]:offsets[t][1]].  line says where in the file the sequence begins, token_lines whether each token
    has a line of its own, confidence how sure a model was of the labels, cut_by how the text was cut into tokens (see
    `semistruct.data.tokens`), None if the file has the tokens, about what else a record of a JSON file holds, such as
    its id.
    """

    tokens: list[Token]
    labels: Labels | None = None
    text: str | None = None
    offsets: list[tuple[int, int]] | None = None
    line: int | None = None
    confidence: Confidence | None = None
    token_lines: bool = False
    cut_by: str | None = None
    about: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not _is_list(self.tokens) or not hasattr(self.tokens, "__len__"):
            raise DataError(f"the tokens are {quoted(self.tokens)}, expected a list")
        if len(self.tokens) == 0:
            raise DataError("a sequence has no tokens")
        if self.labels is not None:
            check_labels(self.labels, len(self.tokens), "")
        if self.offsets is not None and len(self.offsets) != len(self.tokens):
            raise DataError(f"{len(self.tokens)} tokens but {len(self.offsets)} offsets")
        _check_tokens(self.tokens)
        _check_names(self.labels or ())

    def labelled(self, labels: Labels, confidence: Confidence | None = None) -> Example:
        """The same sequence with the labels of a model; its tokens are not checked again."""
        check_labels(labels, len(self.tokens), "")
        _check_names(labels)
        out = copy(self)  # does not call __post_init__
        for name, value in (("labels", labels), ("confidence", confidence)):
            object.__setattr__(out, name, value)
        return out

    def __len__(self) -> int:
        return len(self.tokens)

    def where(self, source: str, t: int | None = None) -> str:
        """`file:line` of the sequence, or of its token t, in the file called `source`."""
        if t is not None and self.token_lines and self.line is not None:
            return f"{source}:{self.line + t}"
        place = source if self.line is None else f"{source}:{self.line}"
        return place if t is None else f"{place}, token {t + 1}"


@dataclass(frozen=True)
class Corpus:
    """A list of examples, the file they came from (for messages), and the name of its format, if it was read."""

    examples: list[Example] = field(default_factory=list)
    source: str = "<memory>"
    format: str | None = None

    @property
    def tokens(self) -> list[list[Token]]:
        return [e.tokens for e in self.examples]

    @property
    def labels(self) -> list[Labels | None]:
        return [e.labels for e in self.examples]

    @property
    def label_set(self) -> list[str]:
        """The known labels, sorted."""
        return sorted({y for e in self.examples for y in e.labels or () if y is not None})

    @property
    def cut_by(self) -> str | None:
        """How running text of the file was cut into tokens, None if the file has tokens only."""
        return next((e.cut_by for e in self.examples if e.cut_by is not None), None)

    @property
    def digest(self) -> str:
        """SHA-256 of the tokens and labels, whatever file format they were stored in."""
        sha = hashlib.sha256()
        for e in self.examples:
            sha.update(repr((e.tokens, e.labels)).encode())
        return sha.hexdigest()

    def where(self, i: int, t: int | None = None) -> str:
        """`file:line` of sequence i, or of its token t."""
        return self.examples[i].where(self.source, t)

    def unseen(self, labels: Container[str]) -> dict[str, str]:
        """The labels that are not among `labels`, and where each is first found."""
        found: dict[str, str] = {}
        for i, example in enumerate(self.examples):
            for t, label in enumerate(example.labels or ()):
                if label is not None and label not in labels and label not in found:
                    found[label] = self.where(i, t)
        return found

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    @classmethod
    def of(cls, tokens: Iterable[list[Token]], labels: Iterable[Labels | None] | None = None) -> Corpus:
        """A corpus from parallel lists."""
        X = listed(tokens)
        y = [None] * len(X) if labels is None else listed(labels)
        if len(X) != len(y):
            raise DataError(f"{len(X)} sequences but {len(y)} label lists")
        return cls([Example(_items(x), None if row is None else _items(row)) for x, row in zip(X, y, strict=True)])


def listed(rows: Any, name: str = "input") -> list[Any]:
    """Sequences, or the labels of sequences, as a list; what can be read only once is read here."""
    if isinstance(rows, Corpus):
        raise DataError(f"{name} data: a Corpus is not a list of sequences; pass corpus.tokens and corpus.labels")
    if not _is_list(rows):
        found = "None" if rows is None else f"a {type(rows).__name__}"
        raise DataError(f"{name} data: found {found}, expected a list of sequences")
    return [list(row) if isinstance(row, Iterator) else row for row in rows]


def complete(y: Sequence[Any]) -> list[int]:
    """The numbers of the sequences all of whose labels are known."""
    return [i for i, row in enumerate(y) if row is not None and None not in row]


def check_labels(labels: Any, n_tokens: int, where: str) -> None:
    """Refuse labels that are not one string, or None, for each token; `where` begins the message."""
    countable = _is_list(labels) and hasattr(labels, "__len__")
    if not countable or len(labels) != n_tokens:
        found = f"{len(labels)} labels" if countable else quoted(labels)
        raise DataError(f"{where}{n_tokens} tokens but {found}")
    odd = next((label for label in labels if label is not None and not isinstance(label, str)), None)
    if odd is not None:
        raise DataError(f"{where}the label {quoted(odd)}, expected a string or None")
    if "" in labels:
        raise DataError(f"{where}an empty label, expected a text or None")


def _check_tokens(tokens: Sequence[Any]) -> None:
    """Refuse tokens that are not texts or tuples of texts, and empty ones."""
    if {*map(type, tokens)} == {str} and all(map(str.strip, tokens)):
        return
    for token in tokens:
        columns = (token,) if isinstance(token, str) else token
        if not isinstance(columns, tuple) or not all(isinstance(column, str) for column in columns):
            raise DataError(f"a token must be a string or a tuple of strings, not {quoted(token)}")
        if not columns or not columns[0] or columns[0].isspace():
            raise DataError(f"a token is empty or only white space: {quoted(token)}")


def _check_names(labels: Iterable[str | None]) -> None:
    for label in set(labels) - {None}:
        if not label or label.isspace():
            raise DataError(f"a label is empty or only white space: {quoted(label)}")


def _items(row: Any) -> list[Any]:
    if not _is_list(row):
        raise DataError(f"found {quoted(row)}, expected a list")
    return list(row)


def _is_list(value: Any) -> bool:
    """Whether it is a list, or as good as one: not a single text, and with an order."""
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | Mapping | Set | type)
