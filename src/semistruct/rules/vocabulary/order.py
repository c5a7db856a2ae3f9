"""Rules about what comes after what: where labels change, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from semistruct.rules.base import Labels, Marks, Rule, ShareRule, Term
from semistruct.rules.events import OrderEvent, StepEvent
from semistruct.rules.label_sets import LabelSet, labels_text, members, named, others
from semistruct.rules.wording import any_of, bounds, factor, range_text
from semistruct.rules.words import WordTest


class ChangeOnlyOn(ShareRule):
    """The label changes only after a mark: "punctuation", "newline", a pattern, or one of several.

    side      "either": the change may also be right before a mark
    fraction  makes it a corpus rule: the share of the changes at other places; a number or a range
    """

    key: ClassVar = "change_only_on"
    change_only_on: Marks
    side: Literal["after", "either"] = "after"

    @model_validator(mode="after")
    def _fraction_needs_corpus(self) -> Self:
        if (self.fraction is None) == (self.level == "corpus"):
            raise ValueError("the corpus level needs a fraction, and a fraction needs the corpus level")
        return self

    @property
    def says(self) -> str:
        where = "after or before" if self.side == "either" else "after"
        share = "" if self.fraction is None else f", except {range_text(self.fraction, percent=True)}"
        return f"changes only {where} {any_of(self.change_only_on)}{share}"

    def mentioned(self) -> set[str]:
        return set()

    def terms(self, labels: Sequence[str]) -> list[Term]:
        away = StepEvent(mark=WordTest.of(self.change_only_on), side=self.side)
        if self.fraction is None:
            return [Term(self.says, away, high=0)]
        return [Term(self.says, away, *bounds(self.fraction), per=StepEvent(), unit=factor(self.unit))]


class Order(Rule):
    """Where several of these labels occur, they come in this order."""

    key: ClassVar = "order"
    order: Annotated[Labels, Field(min_length=2)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.order)) < len(self.order):
            raise ValueError("a label is named twice")
        return self

    @property
    def says(self) -> str:
        return f"order {', '.join(self.order)}"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, OrderEvent(self.order), high=0)]


class Follows(Rule):
    """A block of label z comes at the start or right after a block of one of follows[z]."""

    key: ClassVar = "follows"
    follows: Annotated[dict[str, LabelSet], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} only after {labels_text(ys)}" for z, ys in self.follows.items())

    def mentioned(self) -> set[str]:
        return set(self.follows).union(*map(named, self.follows.values()))

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: others(labels, ys) for z, ys in self.follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]


class NeverFollows(Rule):
    """A block of label z never comes right after a block of one of never_follows[z]."""

    key: ClassVar = "never_follows"
    never_follows: Annotated[dict[str, LabelSet], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} never after {labels_text(ys)}" for z, ys in self.never_follows.items())

    def mentioned(self) -> set[str]:
        return set(self.never_follows).union(*map(named, self.never_follows.values()))

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: frozenset(members(ys, labels)) for z, ys in self.never_follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]
