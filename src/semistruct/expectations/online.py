"""Learning and projecting one sequence at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core import kernels
from semistruct.expectations.projection import Multipliers, Projection, Projector, instance_rows
from semistruct.expectations.records import CorpusRows, Course, Field, Problem
from semistruct.rules.tables import Costs, shifted

PIECE = 32  # steps that are made without looking whether to stop


@dataclass(frozen=True)
class OnlineLearner:
    """Stochastic gradient steps over all sequences in random order.

    batch   those with labels (n_tokens of them,) first, then the open ones, which are those of the projector
    weight  (n,) of each sequence
    eta     step t has the length eta / (1 + eta t / n)
    """

    batch: SequenceBatch
    labels: np.ndarray
    projector: Projector
    weight: np.ndarray
    eta: float

    def one_pass(
        self, chain: ChainWeights, projection: Projection, *, seen: int, seed: int
    ) -> tuple[ChainWeights, Multipliers]:
        """From these weights and multipliers; seen: the number of steps made in earlier passes."""
        projector, expectations = self.projector, self.projector.expectations
        tables, rows, Y = expectations.tables, expectations.corpus, chain.n_labels
        new = ChainWeights(chain.tokens.copy(), chain.trans.copy())
        events = shifted(tables.events, len(self.labels))
        free = np.zeros((len(tables.step_tests), Y + 1, Y))
        costs = Costs(np.zeros_like(events.token_class), np.zeros((1, Y)), events.step_class, free)
        known = NOWHERE if projector.known is None else np.concatenate([self.labels, projector.known])
        order = np.random.default_rng(seed).permutation(len(self.batch))
        multipliers = Multipliers(projection.multipliers.instance.copy(), projection.multipliers.corpus.copy())
        unit = 1.0 / np.sqrt(rows.slack + np.abs(rows.a) @ projection.expected.sum(axis=0) + 1.0)
        scorer = scorer_of(self.batch, new)
        arrays = (
            Field(scorer, costs, 1.0, known),
            (scorer.tokens, new.trans, scorer.step),
            Problem(events, instance_rows(expectations), 1.0, projector.tol, projector.rounds),
            CorpusRows(rows.a, rows.bound, rows.slack, low=rows.low, high=rows.high, unit=unit),
            multipliers.instance,
            multipliers.corpus,
        )
        n, n_fixed = len(self.batch), len(self.batch) - len(projector.batch)
        for first in range(0, n, PIECE):
            part = order[first : first + PIECE]
            kernels.learn_online(Course(part, n, n_fixed, self.labels, self.weight, self.eta, seen + first), *arrays)
        return new, multipliers
