"""Labels proposed from elsewhere, as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from semistruct.rules.base import EntryError, Rule, Term
from semistruct.rules.votes import VoteEvent, VoteSource


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
