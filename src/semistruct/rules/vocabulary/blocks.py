"""Rules about the blocks of labels: how many there are, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from semistruct.rules.base import Labels, Rule, Term
from semistruct.rules.events import LengthEvent, StartEvent
from semistruct.rules.wording import all_of, of_labels


class AtMostOnce(Rule):
    """Each of these labels ("all" for every one) is one contiguous block, if it occurs.

    counting  "blocks": every further block of a label counts; "labels": every label with further blocks counts once
    """

    key: ClassVar = "at_most_once"
    at_most_once: Literal["all"] | Labels = "all"
    counting: Literal["blocks", "labels"] = "blocks"

    @property
    def says(self) -> str:
        return f"{'each label' if self.at_most_once == 'all' else all_of(self.at_most_once)} at most once"

    def mentioned(self) -> set[str]:
        return set() if self.at_most_once == "all" else set(self.at_most_once)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = labels if self.at_most_once == "all" else self.at_most_once
        joint = self.counting == "labels"
        return [Term(f"blocks of {label}", StartEvent(label), high=1, joint=joint) for label in dict.fromkeys(which)]


class ExactlyOnce(Rule):
    """Each of these labels occurs as one contiguous block."""

    key: ClassVar = "exactly_once"
    exactly_once: Labels

    @property
    def says(self) -> str:
        return f"{all_of(self.exactly_once)} exactly once"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), 1, 1) for label in dict.fromkeys(self.exactly_once)]


class Present(Rule):
    """Each of these labels occurs."""

    key: ClassVar = "present"
    present: Labels

    @property
    def says(self) -> str:
        return f"{all_of(self.present)} present"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), low=1) for label in dict.fromkeys(self.present)]


class _Length(Rule):
    """What rules about lengths share; the value is the limit."""

    labels: Labels | None = None

    def mentioned(self) -> set[str]:
        return set(self.labels or ())


class MinLength(_Length):
    """Blocks have at least this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "min_length"
    min_length: Annotated[int, Field(ge=1, le=10_000)]

    @property
    def says(self) -> str:
        return f"blocks{of_labels(self.labels)} have at least {self.min_length} tokens"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, LengthEvent(frozenset(self.labels or labels), least=self.min_length), high=0)]


class MaxLength(_Length):
    """Blocks have at most this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "max_length"
    max_length: Annotated[int, Field(ge=1, le=10_000)]

    @property
    def says(self) -> str:
        return f"blocks{of_labels(self.labels)} have at most {self.max_length} tokens"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, LengthEvent(frozenset(self.labels or labels), most=self.max_length), high=0)]
