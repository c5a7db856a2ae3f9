"""Rules about how much of a label there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from semistruct.rules.base import Rule
from semistruct.rules.events import Event, Term, TokenEvent
from semistruct.rules.values import AmountRange, Level, ShareRange, Unit, any_of, bounds, factor, range_text
from semistruct.rules.vocabulary.blocks import StartEvent


class Proportion(Rule):
    """The share of the tokens that have a label: a number or a range, for the corpus or for every sequence."""

    key: ClassVar = "proportion"
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    of_sequences: ClassVar = True
    level: Level = "corpus"
    penalty: Literal["absolute", "square"] = "square"
    proportion: Annotated[dict[str, ShareRange], Field(min_length=1)]
    unit: Unit = "percent"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        least = sum(bounds(share)[0] for share in self.proportion.values() if bounds(share)[0] > 0)
        if least > 1 + 1e-9:
            raise ValueError(f"the proportions add up to {least:.0%}, more than all tokens")
        return self

    @property
    def says(self) -> str:
        return any_of([f"{range_text(share, percent=True)} {label}" for label, share in self.proportion.items()], "and")

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [
            Term(f"share of {label}", TokenEvent(frozenset({label})), *bounds(share), "tokens", unit=factor(self.unit))
            for label, share in self.proportion.items()
        ]


class Count(Rule):
    """How many blocks (or tokens) of a label there are per sequence: a number or a range.

    On the corpus level that is the mean over the sequences, on the instance level it holds for each.
    """

    key: ClassVar = "count"
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    of_sequences: ClassVar = True
    level: Level = "corpus"
    penalty: Literal["absolute", "square"] = "square"
    count: Annotated[dict[str, AmountRange], Field(min_length=1)]
    of: Literal["blocks", "tokens"] = "blocks"

    @property
    def says(self) -> str:
        amounts = any_of([f"{range_text(n)} {self.of} of {label}" for label, n in self.count.items()], "and")
        return f"{amounts} {'in each sequence' if self.level == 'instance' else 'per sequence on average'}"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        per: Literal["sequences"] | None = "sequences" if self.level == "corpus" else None

        def event(label: str) -> Event:
            return StartEvent(label) if self.of == "blocks" else TokenEvent(frozenset({label}))

        return [Term(f"{self.of} of {label}", event(label), *bounds(n), per) for label, n in self.count.items()]
