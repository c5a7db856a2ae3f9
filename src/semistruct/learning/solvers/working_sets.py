"""Smooth large-margin objectives over working sets of labellings.

    J(w) = 1/2 ||w||^2 + sum_i C_i loss(m_i) + balance * sum_y distance(share_y)^2

    m_i = w.f(x_i, y_i) - softmax over the other labellings y of the working set of  w.f(x_i, y) + L_i(y)

For a labelled sequence y_i is its labelling, L_i(y) the number of wrong labels, and the loss is Huber's hinge:
-1/2 - m  below -1, 1/2 m^2 up to 0, 0 from there on.  For an unlabelled one y_i is the best labelling of its set, L_i
is 0, and the loss is flat where another becomes the best (m <= 0), 1 - 2 m^2 up to 1/2 and 2 (1 - m)^2 up to 1: so J
has a gradient everywhere.  share_y is the share of label y among the tokens of unlabelled sequences, expected over
their working sets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from semistruct.core.batch import SequenceBatch

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SOFT = 0.1  # the temperature of the softmax, in units of the margin


def joint_features(
    batch: SequenceBatch, labels: np.ndarray, n_labels: int, where: np.ndarray | None = None
) -> csr_array:
    """(n, features * Y + kinds * Y * Y): f(x, y) of every sequence, as ChainWeights are laid out.

    where  (n_tokens,): only the tokens that are marked, and the steps that touch them
    """
    from scipy.sparse import csr_array

    Y, here = n_labels, np.ones(batch.n_tokens, bool) if where is None else where
    owner, table = np.repeat(np.arange(len(batch)), batch.lengths), batch.table[here]
    per_token = np.diff(table.indptr)
    columns = [table.indices.astype(np.int64) * Y + np.repeat(labels[here], per_token)]
    rows, data = [np.repeat(owner[here], per_token)], [table.data]
    later = here.copy()
    later[1:] |= here[:-1]
    later[batch.offsets[:-1]] = False
    t = np.flatnonzero(later)
    step = labels[t - 1].astype(np.int64) * Y + labels[t]
    special = batch.kind[t] > 0
    for chosen, table in ((np.ones(len(t), bool), 0), (special, batch.kind[t][special].astype(np.int64))):
        columns.append(batch.n_features * Y + table * Y * Y + step[chosen])
        rows.append(owner[t][chosen])
        data.append(np.ones(int(chosen.sum())))
    shape = (len(batch), batch.n_features * Y + batch.n_kinds * Y * Y)
    return csr_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


@dataclass
class WorkingSets:
    """Up to k labellings of each sequence.

    labels  k arrays (n_tokens,); present  k arrays (n,): the sequences whose labelling counts.  All have the first one.
    """

    batch: SequenceBatch
    n_labels: int
    labels: list[np.ndarray] = field(default_factory=list)
    present: list[np.ndarray] = field(default_factory=list)
    _rows: list[csr_array] = field(default_factory=list, repr=False)
    _counts: list[np.ndarray] = field(default_factory=list, repr=False)

    def add(self, labels: np.ndarray, which: np.ndarray | None = None) -> int:
        """Add a labelling of each sequence (that is marked in `which`) where it is new; returns how many are."""
        new = np.ones(len(self.batch), bool) if which is None else which.copy()
        for other, there in zip(self.labels, self.present, strict=True):
            new &= ~(there & np.logical_and.reduceat(other == labels, self.batch.offsets[:-1]))
        if new.any():
            self.put(labels, new)
        return int(new.sum())

    def put(self, labels: np.ndarray, present: np.ndarray) -> None:
        """Add the labelling of each sequence that is marked."""
        self.labels.append(labels.astype(np.int16))
        self.present.append(present)
        base = self.labels[0]
        differs = np.repeat(present, self.batch.lengths) & (labels != base)
        new, old = (joint_features(self.batch, y, self.n_labels, differs) for y in (labels, base))
        self._rows.append((new - old)[np.flatnonzero(present)])
        self._counts.append(np.add.reduceat(np.eye(self.n_labels)[labels], self.batch.offsets[:-1], axis=0))

    def differences(self) -> csr_array:
        """f(x, y) of all labellings less that of labels[0]: nothing else matters for margins and shares."""
        from scipy.sparse import vstack

        return vstack(self._rows, format="csr")

    def losses(self, cost: np.ndarray) -> np.ndarray:
        """(k, n): the cost (n_tokens,) of the labels that differ from those of labels[0]."""
        wrong = [np.where(row != self.labels[0], cost, 0.0) for row in self.labels]
        return np.array([np.add.reduceat(row, self.batch.offsets[:-1]) for row in wrong])

    def counts(self) -> np.ndarray:
        """(k, n, Y): how often each label occurs in each labelling."""
        return np.array(self._counts)


@dataclass(frozen=True)
class WantedShares:
    """The share of label y should lie in [low[y], high[y]]; leaving it costs balance * distance^2."""

    low: np.ndarray
    high: np.ndarray
    balance: float


class SmoothObjective:
    """J for given working sets: call it with w for (value, gradient).

    labelled  (n,) sequences whose labelling is the first of their set
    weight    (n,) C_i
    cost      (n_tokens,) of a wrong label; 0 for unlabelled sequences
    columns   the features in which labellings of a set differ: w has these only, as all others are 0 at the optimum
    """

    def __init__(
        self, sets: WorkingSets, labelled: np.ndarray, weight: np.ndarray, cost: np.ndarray, shares: WantedShares | None
    ) -> None:
        from scipy.sparse import csr_array

        every = sets.differences()
        occurs = np.zeros(every.shape[1], bool)
        occurs[every.indices] = True
        self.columns, number = np.flatnonzero(occurs), np.cumsum(occurs) - 1
        shape = (every.shape[0], len(self.columns))
        self.features = csr_array((every.data, number[every.indices], every.indptr), shape=shape)
        self.back = self.features.T.tocsr()
        self.there, self.loss = np.array(sets.present), sets.losses(cost)
        self.labelled, self.weight, self.shares = labelled, weight, shares
        self.counts = None if shares is None or labelled.all() else sets.counts()[:, ~labelled]
        self.n_tokens = float(sets.batch.lengths[~labelled].sum())

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.full(self.there.shape, -np.inf)
        scores[self.there] = self.features @ w
        value, pull = self._margins(scores)
        if self.counts is not None and self.shares is not None:
            more, also = self._balance(scores[:, ~self.labelled], self.counts, self.shares)
            value += more
            pull[:, ~self.labelled] += also
        return 0.5 * float(w @ w) + value, w + self.back @ pull[self.there]

    def _margins(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The losses, and their slopes by the scores."""
        every = np.arange(scores.shape[1])
        best = np.where(self.labelled, 0, np.argmax(scores, axis=0))
        others = scores + self.loss
        others[best, every] = -np.inf
        alone = np.isneginf(others).all(axis=0)
        others[:, alone] = -1e300
        share, soft = _softmax(others)
        margin = scores[best, every] - soft
        loss, slope = np.where(self.labelled, labelled_loss(margin), unlabelled_loss(margin))
        loss, slope = np.where(alone, 0.0, self.weight * loss), np.where(alone, 0.0, self.weight * slope)
        pull = -slope * share
        pull[best, every] += slope
        return float(loss.sum()), pull

    def _balance(self, scores: np.ndarray, counts: np.ndarray, shares: WantedShares) -> tuple[float, np.ndarray]:
        likely, _ = _softmax(scores)
        share = np.einsum("kn,kny->y", likely, counts) / self.n_tokens
        over = share - np.clip(share, shares.low, shares.high)
        slope = counts @ (2 * shares.balance * over / self.n_tokens)
        return shares.balance * float(over @ over), likely * (slope - (likely * slope).sum(axis=0)) / SOFT


def labelled_loss(m: np.ndarray) -> np.ndarray:
    """(2, n): Huber's hinge and its slope."""
    inside = np.clip(m, -1.0, 0.0)
    return np.array([0.5 * inside**2 + np.maximum(-1.0 - m, 0.0), inside])


def unlabelled_loss(m: np.ndarray) -> np.ndarray:
    """(2, n): the loss of a margin over the runner-up, and its slope."""
    x = np.clip(m, 0.0, 1.0)
    near = x < 0.5
    return np.array([np.where(near, 1 - 2 * x**2, 2 * (1 - x) ** 2), np.where(near, -4 * x, -4 * (1 - x))])


def _softmax(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over the first axis: (the shares, the soft maximum)."""
    top = scores.max(axis=0)
    share = np.exp((scores - top) / SOFT)
    total = share.sum(axis=0)
    return share / total, top + SOFT * np.log(total)
