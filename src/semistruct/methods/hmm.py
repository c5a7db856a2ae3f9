"""The hidden Markov model, learned by counting."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.errors import DataError
from semistruct.base.progress import Progress, Watch
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.features import FeatureSet
from semistruct.learning import settings
from semistruct.learning.declarations import Line
from semistruct.learning.fitting import SupervisedMethod
from semistruct.learning.labeller import Probabilities
from semistruct.learning.learners import Learned, filled

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Counts:
    """Counts over weighted sequences.

    features (F, Y)     with each label
    tokens (Y,)         with each label
    steps (K, Y, Y)     of each kind, from label to label
    first (Y,)          labels of first tokens
    begin               the feature that only first tokens have, None if there is none
    """

    features: np.ndarray
    tokens: np.ndarray
    steps: np.ndarray
    first: np.ndarray
    begin: int | None

    @classmethod
    def of(
        cls, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray, n_labels: int
    ) -> Counts:
        """Count labellings (K, n_tokens), each as much as its share (n, K); weight (n,) is that of the sequences."""
        Y, n, starts = n_labels, batch.n_tokens, batch.offsets[:-1]
        owner = np.repeat(np.arange(len(batch)), batch.lengths)
        later = np.setdiff1d(np.arange(n), starts)
        here, steps = np.zeros(n * Y), np.zeros(batch.n_kinds * Y * Y)
        for row, part in zip(labellings, (share * weight[:, None]).T, strict=True):
            y, w = np.maximum(row, 0).astype(np.int64), part[owner]  # UNKNOWN has no share
            here += np.bincount(np.arange(n) * Y + y, w, len(here))
            steps += np.bincount((batch.kind[later] * Y + y[later - 1]) * Y + y[later], w[later], len(steps))
        labels = here.reshape(n, Y)
        return cls(
            features=_matrix(batch).T @ labels,
            tokens=labels.sum(axis=0),
            steps=steps.reshape(-1, Y, Y),
            first=labels[starts].sum(axis=0),
            begin=_begin(batch),
        )

    def weights(self, smoothing: float) -> ChainWeights:
        """The logarithms of relative frequencies, `smoothing` added to every count of what can be."""
        seen = np.max(self.features, axis=1) > 0
        if self.begin is not None:
            seen[self.begin] = False
        tokens = np.zeros(self.features.shape)
        tokens[seen] = np.log(self.features[seen] + smoothing) - np.log(self.tokens + smoothing * max(seen.sum(), 1))
        if self.begin is not None:
            tokens[self.begin] = _log_shares(self.first + smoothing)
        trans = _log_shares(self.steps + smoothing)
        trans[1:] -= trans[0]  # which is in force at every step
        return ChainWeights(tokens, trans)


def _log_shares(counts: np.ndarray) -> np.ndarray:
    return np.log(counts) - np.log(counts.sum(axis=-1, keepdims=True))


def _matrix(batch: SequenceBatch) -> csr_array:
    """The features of tokens, (n_tokens, F)."""
    if (batch.values < 0).any():
        raise DataError("an HMM counts features; it cannot learn from negative values")
    return batch.table


def _seen(chain: ChainWeights) -> np.ndarray:
    """(F,): the features that were seen."""
    return np.max(np.abs(chain.tokens), axis=1) > 0


def _begin(batch: SequenceBatch) -> int | None:
    """The feature that all first tokens have and no other tokens.

    Templates that look at the whole sequence come after words, so it is the last one if a word does the same.
    """
    is_first = np.zeros(batch.n_tokens, bool)
    is_first[batch.offsets[:-1]] = True
    table = batch.table
    at_first = np.repeat(is_first, np.diff(table.indptr))
    total = np.bincount(table.indices, minlength=batch.n_features)
    first = np.bincount(table.indices[at_first], minlength=batch.n_features)
    found = np.flatnonzero((total == len(batch)) & (first == len(batch)))
    return int(found[-1]) if len(found) else None


@dataclass(frozen=True)
class CountLearner:
    """Relative frequencies; weights of sequences matter relative to each other only."""

    grid: ClassVar[tuple[float, ...]] = (1.0,)
    default_C: ClassVar[float] = 1.0

    n_labels: int
    smoothing: float
    n_jobs: int | None = None
    watch: Watch | None = None

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """In turns, unknown labels are filled in to agree with the known ones, and all are counted."""
        target, history, stop = filled(batch, known), list[Progress](), "max_rounds"
        began = time.perf_counter()
        for turn in range(settings.COMPLETIONS):
            learned = self.learn_mixture(batch, target[None], np.ones((len(batch), 1)), weight)
            better = decode(batch, learned.chain, known=known, n_jobs=self.n_jobs)[0]
            details, seconds = {"switched": int(np.sum(better != target))}, time.perf_counter() - began
            history.append(Progress("round", turn + 1, learned.history[0].objective, seconds, details=details))
            if self.watch:
                self.watch(history[-1])
            if np.array_equal(better, target):
                stop = "converged"
                break
            target = better
        return Learned(learned.chain, None, history, stop)

    def learn_mixture(
        self, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
    ) -> Learned:
        """Learn several labellings (K, n_tokens) of each sequence; share (n, K) says how much each of them counts."""
        counts = Counts.of(batch, labellings, share, weight / (weight.mean() or 1.0), self.n_labels)
        chain = counts.weights(self.smoothing)
        likelihood = float((counts.features * chain.tokens).sum() + (counts.steps * chain.step).sum())
        return Learned(chain, None, [Progress("round", 1, likelihood, 0.0)], "converged")

    def blend(self, learned: ChainWeights, supervised: ChainWeights, gamma: float) -> ChainWeights:
        """A mixture of the probabilities of two models, with the share gamma of the second.  A feature that one of them
        has not seen is taken from the other."""
        theirs, ours = gamma * _seen(supervised), (1 - gamma) * _seen(learned)
        total, tokens = ours + theirs, np.zeros(learned.tokens.shape)
        mixed = ours[:, None] * np.exp(learned.tokens) + theirs[:, None] * np.exp(supervised.tokens)
        tokens[total > 0] = np.log(mixed[total > 0] / total[total > 0, None])
        trans = np.asarray(np.log((1 - gamma) * np.exp(learned.step) + gamma * np.exp(supervised.step)))
        trans[1:] -= trans[0]
        return ChainWeights(tokens, trans)


@dataclass(eq=False, repr=False)
class HMM(Probabilities, SupervisedMethod):
    """Hidden Markov model: the probability of labels and features together,

        p(x, y) = p(y_1) p(y_2 | y_1) ... p(y_T | y_T-1) p(x_1 | y_1) ... p(x_T | y_T),

    as relative frequencies in the labelled sequences.  If a token has several features, they are taken to be
    independent given its label.  A feature that was never seen is ignored.  The start p(y_1) is learned if
    first tokens, and no others, have some feature such as `begin`; otherwise all labels are equally likely to be first.

    Sequences without labels are ignored; to learn from a pool, see `CODL`.  Unknown labels within a
    sequence are filled in with the best labelling that agrees with the known ones, in turns with counting.

    Parameters
    ----------
    smoothing : added to every count
    features : a feature set ("hmm": words and the start) or a list of templates; unused if X already holds features
    rules, n_jobs : as for all supervised methods

    Attributes
    ----------
    model_ : labels, features and weights, which are logarithms of probabilities
    history_ : list of dicts, one per round of filling in: objective (the log-likelihood), switched (labels that
        changed)
    stop_ : "converged" or "max_rounds"

    Examples
    --------
    >>> model = HMM().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    """

    name = "hmm"
    lines = (Line("HMM, supervised", 10, own_features=True),)
    checks: ClassVar[params.Checks] = {"smoothing": params.positive}
    C = 1.0
    random_state = 0

    smoothing: float = 0.01
    features: FeatureSet = field(default="hmm", kw_only=True)

    def learner(self, n_labels: int, watch: Watch | None = None) -> CountLearner:
        return CountLearner(n_labels, self.smoothing, self.n_jobs, watch)
