"""Rules about the first and the last token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from semistruct.rules.base import Labels, Rule, Term
from semistruct.rules.events import TokenEvent
from semistruct.rules.wording import any_of, others


class StartsWith(Rule):
    """The first token has one of these labels."""

    key: ClassVar = "starts_with"
    starts_with: Labels

    @property
    def says(self) -> str:
        return f"starts with {any_of(self.starts_with)}"

    def mentioned(self) -> set[str]:
        return set(self.starts_with)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, TokenEvent(others(labels, self.starts_with), place="first"), high=0)]


class EndsWith(Rule):
    """The last token has one of these labels."""

    key: ClassVar = "ends_with"
    ends_with: Labels

    @property
    def says(self) -> str:
        return f"ends with {any_of(self.ends_with)}"

    def mentioned(self) -> set[str]:
        return set(self.ends_with)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, TokenEvent(others(labels, self.ends_with), place="last"), high=0)]
