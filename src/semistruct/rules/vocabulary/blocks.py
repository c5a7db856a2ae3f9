"""Rules about the blocks of labels: how many there are, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from semistruct.rules.base import Rule, Term
from semistruct.rules.events import LengthEvent, StartEvent
from semistruct.rules.label_sets import LabelSet, labels_text, members, named


class AtMostOnce(Rule):
    """Each of these labels ("all" for every one) is one contiguous block, if it occurs.

    counting  "blocks": every further block of a label counts; "labels": every label with further blocks counts once
    """

    key: ClassVar = "at_most_once"
    at_most_once: Literal["all"] | LabelSet = "all"
    counting: Literal["blocks", "labels"] = "blocks"

    @property
    def says(self) -> str:
        return f"{'each label' if self.at_most_once == 'all' else labels_text(self.at_most_once, 'and')} at most once"

    def mentioned(self) -> set[str]:
        return set() if self.at_most_once == "all" else named(self.at_most_once)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = members(labels if self.at_most_once == "all" else self.at_most_once, labels)
        joint = self.counting == "labels"
        return [Term(f"blocks of {label}", StartEvent(label), high=1, joint=joint) for label in which]


class ExactlyOnce(Rule):
    """Each of these labels occurs as one contiguous block."""

    key: ClassVar = "exactly_once"
    exactly_once: LabelSet

    @property
    def says(self) -> str:
        return f"{labels_text(self.exactly_once, 'and')} exactly once"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = members(self.exactly_once, labels)
        return [Term(f"blocks of {label}", StartEvent(label), 1, 1) for label in which]


class Present(Rule):
    """Each of these labels occurs."""

    key: ClassVar = "present"
    present: LabelSet

    @property
    def says(self) -> str:
        return f"{labels_text(self.present, 'and')} present"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), low=1) for label in members(self.present, labels)]


class _Length(Rule):
    """What rules about lengths share; the value is the limit."""

    labels: LabelSet | None = None

    def mentioned(self) -> set[str]:
        return named(self.labels)

    def _term(self, labels: Sequence[str], least: int = 0, most: int | None = None) -> list[Term]:
        which = members(labels if self.labels is None else self.labels, labels)
        return [Term(self.says, LengthEvent(frozenset(which), least, most), high=0)] if which else []

    @property
    def _blocks(self) -> str:
        return "blocks" if self.labels is None else f"blocks of {labels_text(self.labels)}"


class MinLength(_Length):
    """Blocks have at least this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "min_length"
    min_length: Annotated[int, Field(ge=1, le=10_000)]

    @property
    def says(self) -> str:
        return f"{self._blocks} have at least {self.min_length} tokens"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return self._term(labels, least=self.min_length)


class MaxLength(_Length):
    """Blocks have at most this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "max_length"
    max_length: Annotated[int, Field(ge=1, le=10_000)]

    @property
    def says(self) -> str:
        return f"{self._blocks} have at most {self.max_length} tokens"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return self._term(labels, most=self.max_length)
