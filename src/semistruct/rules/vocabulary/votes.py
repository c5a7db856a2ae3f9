"""Labels that somebody else proposes: another annotator, a program or a language model.

They stand in a further column of the tokens, or in a file of labelled sequences.  Sequences are found in the file by
their text, without blanks; what is kept of the file are digests of texts and the places that were voted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from semistruct.base.errors import DataError, meant, quoted, shortened
from semistruct.features.words import word_of
from semistruct.rules.base import EntryError, Rule
from semistruct.rules.building import Builder
from semistruct.rules.events import Event, Term

NO_VOTE = ("", "?")

Ballot = tuple[str, tuple[int, ...]]
"""The digest of the tokens of a sequence, and the tokens that are voted for."""


class VoteSource(BaseModel):
    """Where votes are.

    column           the column of the tokens; 0 is the word
    file             labelled sequences in any format; format, outside, tokens: see `semistruct.read`
    cast             what the file said: of every label, by the digests of the texts
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    column: Annotated[int, Field(ge=1, le=1000)] | None = None
    file: str | None = None
    format: str | None = None
    outside: str | None = None
    tokens: str | None = None
    cast: dict[str, dict[str, Ballot]] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping):
            return fields
        for name in fields:
            if name not in cls.model_fields or (name == "cast" and "file" not in fields):
                wanted = [name for name in cls.model_fields if name != "cast"]
                raise ValueError(f"there is no entry {quoted(name)}; {meant(str(name), wanted)}")
        if fields.get("file") == "-":
            raise ValueError("votes cannot come from standard input")
        if isinstance(fields.get("file"), str) and fields.get("cast") is None:
            options = {name: fields[name] for name in ("format", "outside", "tokens") if fields.get(name)}
            return {**fields, "cast": _cast(fields["file"], options)}
        return fields

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.column is None) == (self.file is None):
            raise ValueError("votes are in a `column` or in a `file`")
        return self

    def __hash__(self) -> int:
        return hash((self.column, self.file, None if self.cast is None else tuple(self.cast)))

    @property
    def says(self) -> str:
        return f"column {self.column}" if self.file is None else shortened(self.file)

    def only(self, label: str) -> VoteSource:
        """The same without the votes for other labels."""
        if self.cast is None:
            return self
        return self.model_copy(update={"cast": {label: self.cast.get(label, {})}})

    def votes(self, tokens: Sequence[Any], where: str = "a sequence") -> dict[int, str]:
        """The labels that tokens should have, by their place; `where` names the sequence in messages."""
        if self.column is not None:
            found = ((t, _column(token, self.column)) for t, token in enumerate(tokens))
            return {t: vote for t, vote in found if vote not in NO_VOTE}
        words, cast = [word_of(token) for token in tokens], self.cast or {}
        text, cut = _digest("".join(words)), _digest("\n".join(words))
        ballots = [(label, by_text[text]) for label, by_text in cast.items() if text in by_text]
        for _, (wanted, _) in ballots:
            if wanted != cut:
                problem = f"is cut into other tokens in {self.file}"
                raise DataError(f"votes: {where}, which begins with {quoted(' '.join(words[:5]))}, {problem}")
        return {t: label for label, (_, places) in ballots for t in places}


def _cast(file: str, options: dict[str, Any]) -> dict[str, dict[str, Ballot]]:
    """What a file says: see `VoteSource`."""
    from semistruct.data.formats import read

    found: dict[str, dict[str, Ballot]] = {}
    try:
        examples = read(file, **options)
    except DataError as err:
        raise ValueError(str(err)) from None
    for example in examples:
        words = [word_of(token) for token in example.tokens]
        text, cut = _digest("".join(words)), _digest("\n".join(words))
        for label in sorted({y for y in example.labels or () if y is not None}):
            places = tuple(t for t, y in enumerate(example.labels or ()) if y == label)
            found.setdefault(label, {})[text] = cut, places
    if not found:
        raise ValueError(f"{file} has no labels, so there are no votes")
    return found


def _column(token: Any, number: int) -> str:
    """A column of a token; empty if it has none."""
    value = token[number] if isinstance(token, tuple) and number < len(token) else ""
    return value if isinstance(value, str) else ""


def _digest(text: str) -> str:
    return sha256("".join(text.split(" ")).encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True)
class VoteEvent(Event):
    """A token has another label than the one it has a vote for; only votes for `label` count, if it is given."""

    local: ClassVar = True
    what: ClassVar = "votes"
    source: VoteSource
    label: str | None = None

    def _votes(self, tokens: Sequence[Any], where: str = "a sequence") -> dict[int, str]:
        found = self.source.votes(tokens, where)
        return {t: vote for t, vote in found.items() if self.label in (None, vote)}

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        """The tokens with votes."""
        return sorted(self._votes(tokens))

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return sorted(t for t, vote in self._votes(tokens).items() if labels[t] != vote)

    def enter(self, builder: Builder, k: int) -> None:
        number = {label: y for y, label in enumerate(builder.labels)}
        code, first = np.full(len(builder.first), -1), 0
        for i, tokens in enumerate(builder.X):
            for t, vote in self._votes(tokens, f"sequence {i}").items():
                if vote not in number:
                    problem = f"the vote {quoted(vote)} in {self.source.says} is no label"
                    raise DataError(f"sequence {i}, token {t + 1}: {problem}; {meant(vote, builder.labels)}")
                code[first + t] = number[vote]
            first += len(tokens)
        for label, y in number.items():
            if self.label in (None, label):
                builder.at_tokens(k, np.arange(len(number)) != y, code == y)


class Votes(Rule):
    """Tokens have the labels that somebody else proposes: in a `column` of the tokens, or in a `file`.

    A set of rules holds one such rule for every label, so that each can have its own weight.

    label  the one label whose votes count
    """

    key: ClassVar = "votes"
    votes: VoteSource
    label: str | None = None

    @property
    def says(self) -> str:
        what = "votes" if self.label is None else f"votes for {self.label}"
        return f"{what} in {self.votes.says} are right"

    @classmethod
    def of_data(cls, entries: Mapping[str, Any]) -> Self:
        source = entries.get(cls.key)
        if isinstance(source, Mapping) and source.get("file") is not None and source.get("cast") is None:
            raise EntryError(f"{cls.key}: without the votes of the file, and rules inside a model read no files")
        return super().of_data(entries)

    def mentioned(self) -> set[str]:
        return set(self.votes.cast or ()) if self.label is None else {self.label}

    def expanded(self, labels: Iterable[str] | None) -> Sequence[Rule]:
        named = self.votes.cast if self.votes.cast is not None else labels
        if self.label is not None or not named:
            return [self]
        return [self.model_copy(update={"label": label, "votes": self.votes.only(label)}) for label in sorted(named)]

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, VoteEvent(self.votes, self.label), high=0)]
