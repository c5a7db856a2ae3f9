"""What a semi-supervised method learns from, encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights, decode
from semistruct.corpus import complete
from semistruct.errors import DataError
from semistruct.features import Encoder, FeatureSet
from semistruct.fitting.data import (
    all_labels,
    checked_weights,
    is_known,
    label_codes,
    refuse_rules_about_words,
)
from semistruct.rules import Rules
from semistruct.rules.tables import RuleTables


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
    def of(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        pool: Sequence[Any] | None,
        *,
        features: FeatureSet,
        rules: Rules | None,
        sample_weight: Sequence[float] | None,
        labels: tuple[str, ...] | None = None,
    ) -> Task:
        """From data that `check_data` and `sequences` have seen; labels: by default those of y and the rules."""
        weight = checked_weights(sample_weight, len(X))
        pool = list(pool or ())
        if not any(is_known(row) and w > 0 for row, w in zip(y, weight, strict=True)):
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        rules = Rules([]) if rules is None else rules
        labels = all_labels(y, rules) if labels is None else labels
        refuse_rules_about_words(rules, X, labels)
        whole = complete(y)
        others = np.setdiff1d(np.arange(len(X)), whole).tolist()
        ordered = [X[i] for i in whole + others] + pool
        rows = [y[i] for i in whole + others] + [None] * len(pool)
        encoder = Encoder.for_data(ordered, features)
        batch, open_X = encoder.fit(ordered), ordered[len(whole) :]
        return cls(
            labels,
            encoder,
            batch,
            n_fixed=len(whole),
            known=label_codes(rows, batch.lengths.tolist(), labels),
            weight=np.concatenate([weight[whole + others], np.ones(len(pool))]),
            has_labels=np.array([is_known(row) for row in rows]),
            tables=(rules if open_X else Rules([])).compile(open_X, labels),
        )

    def under(self, rules: Rules) -> Task:
        """The same with these rules."""
        return replace(self, tables=(rules if len(self.opened) else Rules([])).compile(self.tables.X, self.labels))

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
        which = np.flatnonzero(self.has_labels)
        return self.batch.take(which), self.known[self.batch.tokens_of(which)], self.weight[which]

    def decoded(self, chain: ChainWeights, n_jobs: int | None) -> np.ndarray:
        """(open tokens,): the best labels of the open sequences that agree with the known ones."""
        return decode(self.opened, chain, known=self.open_known, n_jobs=n_jobs)[0]

    def n_broken(self, labels: np.ndarray, n_jobs: int | None) -> int:
        """How many open sequences break a rule if they have these labels."""
        return int(np.sum(self.tables.broken(labels, n_jobs).any(axis=1)))

    def share_of_free(self, total: float) -> float:
        """The weight of each sequence without labels if they weigh `total` together."""
        return total / max(len(self.free), 1)

    def weights_at(self, labelled: float, free: float) -> np.ndarray:
        """(n,): the weights of the losses, given one weight for labelled sequences and one for those without labels."""
        return self.weight * np.where(self.has_labels, labelled, free)
