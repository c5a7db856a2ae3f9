"""Rules about the edges of blocks: where one must end, and with which tokens blocks begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from semistruct.rules.base import Marks, Rule, Term
from semistruct.rules.edge_events import EdgeEvent, StayEvent
from semistruct.rules.label_sets import LabelSet, labels_text, members, named
from semistruct.rules.wording import any_of
from semistruct.rules.words import WordTest


class ChangeAfter(Rule):
    """The label changes after every mark: "punctuation", "newline", a pattern, or one of several.

    labels  restricts the rule to marks that have one of these labels
    """

    key: ClassVar = "change_after"
    change_after: Marks
    labels: LabelSet | None = None

    @property
    def says(self) -> str:
        inside = "" if self.labels is None else f" in {labels_text(self.labels)}"
        return f"the label changes after {any_of(self.change_after)}{inside}"

    def mentioned(self) -> set[str]:
        return named(self.labels)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = None if self.labels is None else frozenset(members(self.labels, labels))
        return [Term(self.says, StayEvent(WordTest.of(self.change_after), which), high=0)]


class _Edge(Rule):
    """What rules about one end of blocks share; the value has marks for labels."""

    side: ClassVar[Literal["start", "end"]]

    @property
    def says(self) -> str:
        marks = getattr(self, self.key).items()
        return "; ".join(f"{label} {self.side}s with {any_of(some)}" for label, some in marks)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        tests = tuple((label, WordTest.of(marks)) for label, marks in getattr(self, self.key).items())
        return [Term(self.says, EdgeEvent(tests, self.side), high=0)]


class BlockStartsWith(_Edge):
    """The first token of a block of label z is one of the marks block_starts_with[z]: classes of words, or patterns."""

    key: ClassVar = "block_starts_with"
    side: ClassVar = "start"
    block_starts_with: Annotated[dict[str, Marks], Field(min_length=1)]


class BlockEndsWith(_Edge):
    """The last token of a block of label z is one of the marks block_ends_with[z]: classes of words, or patterns."""

    key: ClassVar = "block_ends_with"
    side: ClassVar = "end"
    block_ends_with: Annotated[dict[str, Marks], Field(min_length=1)]
