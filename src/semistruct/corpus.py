"""What a data file holds: sequences of tokens, with labels where they are known.

A token is a string, or a tuple of strings when the file has further columns (word, part of speech, ...).
A label is a string, or None where it is unknown; a sequence without any label has `labels = None`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from semistruct.errors import DataError, quoted

Token = str | tuple[str, ...]
Labels = list[str | None]


class Labelling(NamedTuple):
    """One of the best labellings of a sequence, with its score; confidence as in `Example`."""

    labels: Labels
    score: float
    confidence: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One sequence.

    text and offsets are set when the tokens were cut out of running text: token t is
    text[offsets[t][0]:offsets[t][1]].  line says where in the file the sequence begins, token_lines whether each token
    has a line of its own, confidence how sure a model was of each label, n_best its best labellings, best first.
    """

    tokens: list[Token]
    labels: Labels | None = None
    text: str | None = None
    offsets: list[tuple[int, int]] | None = None
    line: int | None = None
    confidence: list[float] | None = None
    token_lines: bool = False
    n_best: list[Labelling] | None = None

    def __post_init__(self) -> None:
        if not self.tokens:
            raise DataError("a sequence has no tokens")
        for name, part in (("labels", self.labels), ("offsets", self.offsets)):
            if part is not None and len(part) != len(self.tokens):
                raise DataError(f"{len(self.tokens)} tokens but {len(part)} {name}")
        for token in self.tokens:
            word = token if isinstance(token, str) else "".join(token[:1])
            if not word or word.isspace():
                raise DataError(f"a token is empty or only white space: {quoted(word)}")
        for label in set(self.labels or ()) - {None}:
            if not label or label.isspace():
                raise DataError(f"a label is empty or only white space: {quoted(label)}")

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
    """A list of examples, and the file they came from (for messages)."""

    examples: list[Example] = field(default_factory=list)
    source: str = "<memory>"

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
        if labels is None:
            return cls([Example(list(x)) for x in tokens])
        pairs = zip(tokens, labels, strict=True)
        return cls([Example(list(x), None if y is None else list(y)) for x, y in pairs])


def refuse_corpus(*data: object, name: str) -> None:
    """Estimators take lists."""
    if any(isinstance(part, Corpus) for part in data):
        raise DataError(f"{name} data: a Corpus is not a list of sequences; pass corpus.tokens and corpus.labels")
