"""Rules about the first and the last token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from semistruct.rules.base import Rule, Term
from semistruct.rules.events import TokenEvent
from semistruct.rules.label_sets import LabelSet, labels_text, others


class _End(Rule):
    """One end of the sequence has one of the labels."""

    place: ClassVar[Literal["first", "last"]]

    @property
    def says(self) -> str:
        return f"{self.key.replace('_', ' ')} {labels_text(getattr(self, self.key))}"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        wrong = others(labels, getattr(self, self.key))
        return [Term(self.says, TokenEvent(wrong, place=self.place), high=0)]


class StartsWith(_End):
    """The first token has one of these labels."""

    key: ClassVar = "starts_with"
    place: ClassVar = "first"
    starts_with: LabelSet


class EndsWith(_End):
    """The last token has one of these labels."""

    key: ClassVar = "ends_with"
    place: ClassVar = "last"
    ends_with: LabelSet
