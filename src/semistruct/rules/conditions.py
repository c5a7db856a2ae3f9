"""Conditions of rules: a rule holds only in sequences that have, or have not, certain labels or words.

What a condition says of the text is known before any label is: the events of a rule are entered only where it holds.
What it says of labels becomes events of its own, on which a term depends (`needs`, `bars`); so does what it says of the
text, where no event may mean a violation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from semistruct.base.errors import meant, quoted
from semistruct.rules.building import Builder
from semistruct.rules.events import Event, Term, TokenEvent
from semistruct.rules.values import Labels, Patterns, WordList, any_of, pattern_text, words_text
from semistruct.rules.words import Texts, Wanted, wanted_patterns, wanted_words


@dataclass(frozen=True)
class TextTest:
    """Does a text have all of this, and none of that?"""

    has: tuple[Wanted, ...] = ()
    lacks: tuple[Wanted, ...] = ()

    def __call__(self, tokens: Sequence[Any]) -> bool:
        def found(wanted: Wanted) -> bool:
            return bool(_anywhere(wanted).about(tokens))

        return all(map(found, self.has)) and not any(map(found, self.lacks))

    def where(self, texts: Texts) -> np.ndarray:
        """(N,): the tokens of the sequences that pass."""
        passing = np.ones(len(texts.X), bool)
        for wanted, wish in [*((w, True) for w in self.has), *((w, False) for w in self.lacks)]:
            found = np.zeros(len(passing), bool)
            found[np.searchsorted(texts.offsets, _anywhere(wanted).tokens(texts), "right") - 1] = True
            passing &= found == wish
        return np.repeat(passing, np.diff(texts.offsets))


def _anywhere(wanted: Wanted) -> TokenEvent:
    return TokenEvent(frozenset(), wanted.word, run=wanted.run)


@dataclass(frozen=True)
class InText(Event):
    """An event that counts only in sequences whose text passes."""

    event: Event
    text: TextTest

    @property
    def local(self) -> bool:  # type: ignore[override]
        return self.event.local

    @property
    def what(self) -> str:  # type: ignore[override]
        return self.event.what

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return self.event.places(tokens, labels) if self.text(tokens) else []

    def enter(self, builder: Builder, k: int) -> None:
        self.event.enter(builder.within(self.text.where(builder)), k)

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int] | None:
        found = self.event.possible(tokens, labels)
        return found if found is None or self.text(tokens) else []

    def tokens(self, texts: Texts) -> np.ndarray | None:
        found = self.event.tokens(texts)
        return None if found is None else found[self.text.where(texts)[found]]

    @property
    def having(self) -> frozenset[str] | None:
        return self.event.having

    @property
    def has_indicators(self) -> bool:
        return self.event.has_indicators


class If(BaseModel):
    """The condition of a rule: all that is given must hold.

    present, absent       one of these labels occurs; none of them does
    words, no_words       one of these words or phrases is in the text; none of them is
    pattern, no_pattern   a token (several patterns: tokens in a row) matches; none does
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    present: Labels | None = None
    absent: Labels | None = None
    words: WordList | None = None
    no_words: WordList | None = None
    pattern: Patterns | None = None
    no_pattern: Patterns | None = None

    @model_validator(mode="before")
    @classmethod
    def _known_entries(cls, fields: Any) -> Any:
        if isinstance(fields, Mapping):
            for name in fields:
                if name not in cls.model_fields:
                    raise ValueError(f"if: there is no entry {quoted(name)}; {meant(str(name), cls.model_fields)}")
        return fields

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError(f"if: expected a condition: {any_of(list(type(self).model_fields))}")
        return self

    @property
    def says(self) -> str:
        said = []
        for verb, labels, words, pattern in (
            ("is", self.present, self.words, self.pattern),
            ("is no", self.absent, self.no_words, self.no_pattern),
        ):
            said += [f"there {verb} {any_of(labels)}"] if labels else []
            said += [f"there {verb} word {words_text(words)}"] if words else []
            said += [f"there {verb} {pattern_text(pattern)}"] if pattern else []
        return " and ".join(said)

    def mentioned(self) -> set[str]:
        return {*(self.present or ()), *(self.absent or ())}

    @cached_property
    def text(self) -> TextTest | None:
        """What it says of the text."""
        has = [wanted_words(self.words)] if self.words else []
        lacks = [wanted_words(self.no_words)] if self.no_words else []
        has += [wanted_patterns(self.pattern)] if self.pattern else []
        lacks += [wanted_patterns(self.no_pattern)] if self.no_pattern else []
        return TextTest(tuple(has), tuple(lacks)) if has or lacks else None

    def holds(self, tokens: Sequence[Any], labels: Sequence[str]) -> bool:
        """Whether it holds in a sequence."""
        has = set(labels)
        if (self.present and not has & set(self.present)) or (self.absent and has & set(self.absent)):
            return False
        return self.text is None or self.text(tokens)

    def limit(self, term: Term, labels: Sequence[str]) -> Term:
        """The same term, where the condition holds."""
        if isinstance(term.event, InText) or term.has_condition:
            return term
        text = self.text
        needs: Event | None = TokenEvent(frozenset(self.present)) if self.present else None
        if text is not None and term.event.local and term.low == -inf:
            term = replace(term, event=InText(term.event, text))
        elif text is not None:
            needs = InText(needs or TokenEvent(frozenset(labels)), text)
        return replace(term, needs=needs, bars=TokenEvent(frozenset(self.absent)) if self.absent else None)
