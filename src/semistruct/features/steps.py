"""Kinds of steps: which table of transition weights is in force between two neighbouring tokens.

A model always has one table for all steps; each further kind adds a table of its own, so that changing the label
after a full stop, say, can be learned apart from changing it in the middle of a name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semistruct.corpus import Token
from semistruct.features.registry import STEPS, template
from semistruct.features.texts import Template, Text
from semistruct.features.words import is_punctuation, word_of

StepTemplate = Callable[[list[Token]], list[int]]

LINE_BREAKS = {"*NEWLINE*", "\n", "\\n", "<br>", "⏎"}


@template(STEPS)
def plain() -> tuple[StepTemplate, int]:
    """One kind for all steps."""
    return Template(lambda tokens: [0] * len(tokens), lambda text: np.zeros(len(text.word), np.int16)), 1


@template(STEPS)
def punctuation() -> tuple[StepTemplate, int]:
    """By the token before the step: a word, a full stop, a comma, other punctuation, a line break."""

    def over(text: Text) -> np.ndarray:
        which, kinds = text.ask(_kind_after)
        return np.where(text.before == 0, 0, np.roll(np.array(kinds, np.int16)[which], 1))

    return Template(lambda tokens: [0, *map(_kind_after, tokens[:-1])], over), 5


def _kind_after(token: Token) -> int:
    text = word_of(token)
    if text in LINE_BREAKS:
        return 4
    if text in (".", ","):
        return 1 if text == "." else 2
    return 3 if is_punctuation(token) else 0
