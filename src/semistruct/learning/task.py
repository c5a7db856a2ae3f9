"""What a method learns from, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.data.corpus import complete
from semistruct.features import Encoder, FeatureSet
from semistruct.features.templates import Features
from semistruct.learning import settings
from semistruct.learning.data import Data, Pairs, is_known, label_codes
from semistruct.rules import Rules
from semistruct.rules.tables import RuleTables


@dataclass(frozen=True)
class DevData:
    """Labelled data to choose by, as it was given and as numbers; known (n_tokens,) are its labels."""

    X: Sequence[Any]
    y: Sequence[Any]
    batch: SequenceBatch
    known: np.ndarray

    @classmethod
    def of(cls, dev: Pairs | None, encoder: Encoder, labels: Sequence[str]) -> DevData | None:
        if dev is None:
            return None
        batch = encoder.transform(dev[0])
        return cls(*dev, batch, label_codes(dev[1], batch.lengths.tolist(), labels))


@dataclass(frozen=True, eq=False)
class Task:
    """Sequences, of which the first n_fixed are fully labelled; the others are open.

    known       (n_tokens,) labels, UNKNOWN where they are to be found
    weight      (n,) the factor of each sequence's loss
    has_labels  (n,) at least one label is known
    tables      the rules, for the open sequences
    """

    labels: tuple[str, ...]
    encoder: Encoder
    batch: SequenceBatch
    n_fixed: int
    known: np.ndarray
    weight: np.ndarray
    has_labels: np.ndarray
    tables: RuleTables = field(repr=False)

    @classmethod
    def of(cls, data: Data, features: FeatureSet) -> Task:
        """The data without rules; templates apply to tokens only."""
        X, y, n_fixed = data.X + data.pool, data.y + [None] * len(data.pool), len(complete(data.y))
        encoder = Encoder(Features.of(features) if data.has_words else None)
        batch = encoder.fit(X)
        return cls(
            data.labels,
            encoder,
            batch,
            n_fixed=n_fixed,
            known=label_codes(y, batch.lengths.tolist(), data.labels),
            weight=np.concatenate([data.weight, np.ones(len(data.pool))]),
            has_labels=np.array([is_known(row) for row in y]),
            tables=Rules([]).compile(X[n_fixed:], data.labels),
        )

    def under(self, rules: Rules) -> Task:
        """The same with these rules."""
        return replace(self, tables=self.tables.reweighted(rules.rules if self.n_open else ()))

    def part(self, which: np.ndarray) -> Task:
        """The same with some of the open sequences only, without rules."""
        chosen = np.concatenate([np.arange(self.n_fixed), self.n_fixed + which])
        return replace(
            self,
            batch=self.batch.take(chosen),
            known=self.known[self.batch.tokens_of(chosen)],
            weight=self.weight[chosen],
            has_labels=self.has_labels[chosen],
            tables=Rules([]).compile([self.tables.X[i] for i in which], self.labels),
        )

    def sample(self, rules: Rules | None, seed: int) -> Task:
        """The task with a sample of its sequences without labels, or the task itself if there are few.

        A sequence of the sample stands for several: its weight is so much larger, so that the pool weighs what it did.
        Rules about the corpus may count sequences, so with these there is no sample.
        """
        if len(self.free) <= settings.SAMPLE or any(rule.level == "corpus" for rule in rules or ()):
            return self
        chosen = np.random.default_rng(seed).choice(self.free, settings.SAMPLE, replace=False)
        some = self.part(np.union1d(np.flatnonzero(self.has_labels[self.n_fixed :]), chosen))
        some.weight[~some.has_labels] *= len(self.free) / settings.SAMPLE
        return some

    @property
    def has_rules(self) -> bool:
        """There are rules for the open sequences."""
        return bool(len(self.tables) and self.tables.rules)

    @cached_property
    def opened(self) -> SequenceBatch:
        """The open sequences."""
        return self.batch.after(self.n_fixed)

    @cached_property
    def free(self) -> np.ndarray:
        """The open sequences without any label."""
        return np.flatnonzero(~self.has_labels[self.n_fixed :])

    @property
    def n_open(self) -> int:
        """The number of open sequences."""
        return len(self.batch) - self.n_fixed

    @property
    def first_open(self) -> int:
        """The number of tokens of the sequences that have all their labels."""
        return int(self.batch.offsets[self.n_fixed])

    @property
    def open_known(self) -> np.ndarray | None:
        """(open tokens,) the labels that are known, None if no label is."""
        known = self.known[self.first_open :]
        return known if (known != UNKNOWN).any() else None

    @cached_property
    def labelled(self) -> tuple[SequenceBatch, np.ndarray, np.ndarray]:
        """(batch, known labels, weights) of the sequences with labels."""
        if self.has_labels.all():
            return self.batch, self.known, self.weight
        which = np.flatnonzero(self.has_labels)
        return self.batch.take(which), self.known[self.batch.tokens_of(which)], self.weight[which]

    def decoded(self, chain: ChainWeights, n_jobs: int | None) -> np.ndarray:
        """(open tokens,): the best labels of the open sequences that agree with the known ones."""
        return decode(self.opened, chain, known=self.open_known, n_jobs=n_jobs)[0]

    def rows_of_free(self, labels: np.ndarray) -> list[list[str]]:
        """For each sequence without any label its labels, given those (open tokens,) of the open sequences."""
        rows = self.opened.split(np.array(self.labels, object)[labels]) if self.n_open else []
        return [rows[i].tolist() for i in self.free]

    def n_broken(self, labels: np.ndarray, n_jobs: int | None) -> int:
        """How many open sequences break a rule if they have these labels."""
        return int(np.sum(self.tables.broken(labels, n_jobs).any(axis=1)))

    def share_of_free(self, total: float) -> float:
        """The weight of each sequence without labels if they weigh `total` together."""
        return total / max(len(self.free), 1)

    def weights_at(self, labelled: float, free: float) -> np.ndarray:
        """(n,): the weights of the losses, given one weight for labelled sequences and one for those without labels."""
        return self.weight * np.where(self.has_labels, labelled, free)
