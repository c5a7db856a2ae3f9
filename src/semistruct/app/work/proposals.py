"""Labels that models propose for sequences of the pool, and which sequence to show next."""

from __future__ import annotations

import random
import time
from array import array
from dataclasses import dataclass
from itertools import chain

from semistruct.app.work.labels import Decisions
from semistruct.app.work.limits import RESERVED
from semistruct.app.work.tasks import Prediction

BLIND = "drawn at random and shown without proposals, so that the estimate of the accuracy stays honest"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Labels of one sequence, kept in little memory: numbers of `names`; confidence of each; rules that they break."""

    model: str
    names: tuple[str, ...]
    codes: bytes
    confidence: array[float]
    broken: tuple[str, ...]

    @classmethod
    def of(cls, prediction: Prediction, model: str, names: tuple[str, ...]) -> Proposal:
        code = {name: k for k, name in enumerate(names)}
        codes = bytes(code[label] for label in prediction.labels)
        return cls(model, names, codes, array("f", prediction.confidence), tuple(prediction.broken))

    @property
    def labels(self) -> list[str]:
        return [self.names[code] for code in self.codes]

    @property
    def least(self) -> float:
        return min(self.confidence)


@dataclass(frozen=True)
class Turn:
    """A sequence to label next, and why; a blind one is shown without proposals."""

    number: int
    reason: str
    blind: bool = False


class Queue:
    """Which sequence to label next.

    waiting  what is worth labelling, the best first
    blind    sequences that were drawn at random
    """

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions
        self.waiting: list[Turn] = []
        self.blind: set[int] = set()
        self._shown: dict[int, tuple[str, float]] = {}

    def next(self, window: str, shown: set[int], blind_every: int | None) -> Turn | None:
        """The sequence to label next; None if nothing is left.

        shown        sequences that are on the page already
        blind_every  each turn of this number is blind
        """
        is_open, moment = self.decisions.is_open, time.monotonic()
        taken = {n for n, (who, when) in self._shown.items() if who != window and moment - when < RESERVED} | shown
        self.waiting = [turn for turn in self.waiting if is_open(turn.number)]
        done = len(self.decisions.labelled()) + sum(map(is_open, shown))
        turn = None
        if blind_every is not None and done % blind_every == blind_every - 1:
            turn = self._drawn(taken, done, BLIND)
        turn = turn or next((turn for turn in self.waiting if turn.number not in taken), None)
        turn = turn or self._drawn(taken, 0, "drawn at random")
        if turn is not None:
            self._shown[turn.number] = window, moment
            if turn.blind:
                self.blind.add(turn.number)
        return turn

    def _drawn(self, taken: set[int], seed: int, reason: str) -> Turn | None:
        """An open sequence at random."""
        n, draw = len(self.decisions.pool), random.Random(seed * 7919 + len(self.decisions.last))
        some = (draw.randrange(n) for _ in range(50 if n else 0))  # if that does not help, nearly all is labelled
        for number in chain(some, range(n)):
            if number not in taken and self.decisions.is_open(number):
                return Turn(number, reason, reason == BLIND)
        return None
