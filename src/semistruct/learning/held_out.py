"""Models that have not learned from some labelled sequences, and how right a model is by what they answer there.

Calibration is learned when somebody first asks how sure the model is, or saves it; a fit only keeps what that needs.
With dev data the model itself is asked.  Without, or with little of it, the labelled sequences are cut into parts, and
each is labelled by a model learned from the others, with the C that was chosen.  Where C was chosen by
cross-validation, supervised methods have such models already; else they start each of them from the one before.
Methods with a path go right to the stage that was chosen, for one round and with a part of the pool, so that all of
this takes little time beside the path itself; their models are somewhat worse than the one that is asked about.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.data.labels import scheme_of
from semistruct.features import Encoder
from semistruct.learning import settings
from semistruct.learning.data import Pairs
from semistruct.learning.learners import Learner
from semistruct.model.answers import Cases, cases
from semistruct.model.calibration import LOG_ODDS, MARGINS, Calibration, Standing
from semistruct.model.model import Model


@dataclass(frozen=True)
class HeldOut:
    """Labelled sequences, and a model that has not learned from them.

    numbers  of the sequences in the training data, none for others
    """

    model: Model
    X: Sequence[Any]
    y: Sequence[Any]
    numbers: Sequence[int] = ()

    @classmethod
    def of(cls, model: Model, data: Pairs, numbers: Sequence[int]) -> HeldOut:
        """With these of the training data."""
        X, y = data
        return cls(model, [X[i] for i in numbers], [y[i] for i in numbers], numbers)

    def take(self, rows: Sequence[int]) -> HeldOut:
        """With some of the same sequences."""
        X, y, numbers = ([column[k] for k in rows] for column in (self.X, self.y, self.numbers))
        return HeldOut(self.model, X, y, numbers)


HeldOutModels = Callable[[], Iterator[HeldOut]]
"""Learns models without parts of the labelled sequences, now; can be pickled."""


def no_models() -> Iterator[HeldOut]:
    return iter(())


def parts_of(n: int, seed: int, n_parts: int = settings.PARTS) -> list[np.ndarray]:
    """The parts of n sequences to hold out, none if there is nothing left to learn from."""
    order = np.random.default_rng(seed).permutation(n)
    if n >= settings.MANY:
        return [order[: settings.ENOUGH]]
    return np.array_split(order, min(n_parts, n)) if n > 1 else []


def learned_without(
    learner: Learner, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, parts: list[np.ndarray],
    start: Any = None,
) -> Iterator[tuple[np.ndarray, ChainWeights]]:  # fmt: skip
    """(part, weights learned without it): its sequences weigh nothing, and learning starts from the one before."""
    for part in parts:
        rest = weight.copy()
        rest[part] = 0.0
        if (rest > 0).any():
            learned = learner.learn(batch, known, rest, rough=True, start=start)
            start = learned.start
            yield part, learned.chain


def chains_without(
    labels: tuple[str, ...], encoder: Encoder, data: Pairs,
    found: Callable[[], Iterator[tuple[np.ndarray, ChainWeights]]],
) -> Iterator[HeldOut]:  # fmt: skip
    """The same as models; `found` gives each part with the weights learned without it."""
    for part, chain in found():
        yield HeldOut.of(Model(labels, encoder, chain), data, part.tolist())


def models_without(learn: Callable[..., Model], data: Pairs, parts: list[list[int]]) -> Iterator[HeldOut]:
    """For each part, what `learn` gives for the other labelled sequences."""
    for part in parts:
        held = {*part}
        rest = [[row for i, row in enumerate(rows) if i not in held] for rows in data]
        yield HeldOut.of(learn(*rest), data, sorted(part))


@dataclass(frozen=True)
class Uncalibrated:
    """What a fit keeps until somebody asks how right its model is; can be pickled.

    without  gives models learned without parts of the labelled sequences
    exact    whether scores are logarithms of probabilities
    """

    model: Model
    dev: Pairs | None
    without: HeldOutModels
    exact: bool
    n_jobs: int | None

    def calibration(self) -> Calibration:
        """How right the model is."""
        dev, rules, asked, sources = self.dev, self.model.rules, list[HeldOut](), list[str]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if dev is not None:
                asked.append(HeldOut(self.model, dev[0][: settings.MANY], dev[1][: settings.MANY]))
                sources.append("dev data")
            if dev is None or len(dev[0]) <= settings.FEW:
                found = list(self.without())
                asked += found
                sources += ["cross-fitting"] * (len(found) > 0)
            asked = [replace(one, model=replace(one.model, rules=rules)) for one in asked]
            plain = [_answers(one, self.exact, self.n_jobs) for one in asked]
            ruled = [] if rules is None else [_answers(one, False, self.n_jobs, under_rules=True) for one in asked]
        return Calibration(
            " and ".join(sources) or "other data",
            Standing.of(LOG_ODDS if self.exact else MARGINS, False, plain),
            None if rules is None else Standing.of(MARGINS, True, ruled),
        )


def _answers(asked: HeldOut, exact: bool, n_jobs: int | None, *, under_rules: bool = False) -> dict[str, Cases]:
    """What the model answers, how sure it is, and whether it is right."""
    model, rules = asked.model, asked.model.rules if under_rules else None
    found, scores, _ = model.answers(asked.X, n_jobs, rules, exact=exact)
    return cases(scores, found, asked.y, scheme_of(model.labels))
