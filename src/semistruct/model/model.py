"""What learning produces: labels, features and weights, all that is needed to label new sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode, decode_k, token_margins
from semistruct.core.chain.posterior import NOBODY, log_odds, posterior
from semistruct.data.labels import Span, continuing, scheme_of
from semistruct.features import Encoder
from semistruct.model.answers import Scores, blocks_of
from semistruct.model.calibration import Calibration
from semistruct.model.prediction import decode_under
from semistruct.model.ranking import WITHIN, Ranker
from semistruct.rules import Rules
from semistruct.rules.search import find_margins
from semistruct.rules.tables import RuleTables

CHUNK = 20_000  # sequences encoded at a time, which bounds the memory needed to label very many


class Part(NamedTuple):
    """Some of the sequences to label, encoded; the number of the first one, the rules for them, and the ranker."""

    first: int
    X: Sequence[Any]
    batch: SequenceBatch
    tables: RuleTables | None
    ranker: Ranker | None


@dataclass(frozen=True)
class Model:
    """A chain model over `labels`; label y is column y of the weights.

    rules        the rules it was learned with, which predictions can be made to obey
    calibration  how right it is, None if nobody has asked
    ranker       chooses among the best labellings under `rules`, or without rules if there are none
    """

    labels: tuple[str, ...]
    encoder: Encoder
    weights: ChainWeights
    rules: Rules | None = None
    calibration: Calibration | None = None
    ranker: Ranker | None = None

    def compact(self) -> Model:
        """The same model without the features whose weights are all 0."""
        unused = np.all(self.weights.tokens[: self.encoder.n_features] == 0, axis=1)
        encoder, rows = self.encoder.without(np.asarray(unused))
        tokens = self.weights.tokens[rows] if len(rows) else np.zeros((1, len(self.labels)))
        return replace(self, encoder=encoder, weights=ChainWeights(tokens, self.weights.trans))

    def rules_to_obey(self, wanted: Rules | bool) -> Rules | None:
        """The rules given; for True those of the model (None if it has none); for False none."""
        if isinstance(wanted, Rules):
            return wanted
        return self.rules if wanted else None

    def predict(
        self, X: Sequence[Any], n_jobs: int | None = None, rules: Rules | None = None, corpus: bool = False
    ) -> list[list[str]]:
        """The best labelling of each sequence; under the instance rules of `rules`, and with corpus=True under all."""
        names = np.array(self.labels, object)
        out: list[list[str]] = []
        for part in self._encoded(X, rules, size=max(len(X), 1) if corpus else CHUNK):
            labels = names[self._best(part, 1, n_jobs, corpus=corpus)[0][0]].tolist()
            out += [labels[a:b] for a, b in pairwise(part.batch.offsets.tolist())]
        return out

    def predict_k(
        self, X: Sequence[Any], k: int, n_jobs: int | None = None, rules: Rules | None = None
    ) -> list[list[tuple[list[str], float]]]:
        """The k best labellings of each sequence with their scores, fewer if there are not as many.

        A ranker adds its ratings to the scores, and orders only as many as it also ranks for `predict`.
        """
        names = np.array(self.labels, object)
        out = []
        for part in self._encoded(X, rules, size=max(CHUNK // k, 1)):
            paths, scores = self._best(part, k, n_jobs)
            for i, (a, b) in enumerate(pairwise(part.batch.offsets)):
                ranked = zip(paths[:, a:b], scores[i].tolist(), strict=True)
                out.append([(names[path].tolist(), score) for path, score in ranked if score > -np.inf])
        return out

    def margins(self, X: Sequence[Any], n_jobs: int | None = None, rules: Rules | None = None) -> np.ndarray:
        """(n, 2): the score of the best labelling, and by how much it beats the second best."""
        scores = np.concatenate([np.empty((0, 2)), *(self._best(p, 2, n_jobs)[1] for p in self._encoded(X, rules))])
        return np.column_stack([scores[:, 0], scores[:, 0] - scores[:, 1]])

    def scores(self, X: Sequence[Any], y: Sequence[Sequence[str | None]], n_jobs: int | None = None) -> np.ndarray:
        """(n,): the score of each labelling of y, in which None stands for the labels that score best there."""
        out = [np.empty(0)]
        for part in self._encoded(X):
            out.append(decode(part.batch, self.weights, known=self._codes(y, part), n_jobs=n_jobs)[1])
        return np.concatenate(out)

    def answers(
        self,
        X: Sequence[Any],
        n_jobs: int | None = None,
        rules: Rules | None = None,
        *,
        y: Sequence[Sequence[str]] | None = None,
        exact: bool = False,
    ) -> tuple[list[list[str]], list[Scores], list[tuple[str, ...]]]:
        """(labels y of each sequence, by default the best ones; how sure the model is of them; broken rules, in words).

        By default a score is a margin: by how much the best labelling with a label beats the best one with another
        label at the token, both under the instance rules of `rules`; users' functions have no say in it.  With
        exact=True it is the logarithm of the odds that the model alone sees, if its scores are those of probabilities.
        """
        scheme, names, out = scheme_of(self.labels), np.array(self.labels, object), list[Scores]()
        labels: list[list[str]] = []
        broken: list[tuple[str, ...]] = []
        for part in self._encoded(X, None if exact and y is not None else rules):
            path = self._best(part, 1, n_jobs)[0][0] if y is None else self._codes(y, part)
            labels += (found := [row.tolist() for row in part.batch.split(names[path])])
            broken += _broken(part, path, n_jobs)
            blocks = [blocks_of(row, scheme) for row in found]
            if exact:
                out += self._log_odds(part.batch, path, blocks, n_jobs)
                continue
            if part.tables is None:
                margins = token_margins(part.batch, self.weights, path, n_jobs=n_jobs)
            else:
                margins = find_margins(part.batch, self.weights, part.tables, path, n_jobs=n_jobs)
            out += [Scores.of_margins(*pair) for pair in zip(part.batch.split(margins), blocks, strict=True)]
        return labels, out, broken

    def sureness(
        self, X: Sequence[Any], y: Sequence[Sequence[str]], n_jobs: int | None = None, rules: Rules | None = None,
        *, exact: bool = False,
    ) -> list[Scores]:  # fmt: skip
        """How sure the model is of the labels y, see `answers`."""
        return self.answers(X, n_jobs, rules, y=y, exact=exact)[1]

    def _log_odds(
        self, batch: SequenceBatch, path: np.ndarray, blocks: list[list[Span]], n_jobs: int | None
    ) -> list[Scores]:
        near = [continuing(label, scheme_of(self.labels)) for label in self.labels]
        number = {label: k for k, label in enumerate(self.labels)}
        beside = np.array([[number.get(label or "", NOBODY) for label in pair] for pair in near], np.int16)[path]
        edges = [[(span.start, span.end) for span in own] for own in blocks]
        token, block, whole = log_odds(batch, self.weights, path, beside, edges, n_jobs=n_jobs)
        return [Scores(*row) for row in zip(batch.split(token), block, whole.tolist(), strict=True)]

    def _codes(self, y: Sequence[Sequence[str | None]], part: Part) -> np.ndarray:
        """The labels of the sequences of a part as numbers, end to end."""
        number: dict[str | None, int] = {None: UNKNOWN, **{label: k for k, label in enumerate(self.labels)}}
        rows = y[part.first : part.first + len(part.batch)]
        return np.array([number[label] for row in rows for label in row], np.int16)

    def marginals(self, X: Sequence[Any], n_jobs: int | None = None) -> list[np.ndarray]:
        """For each sequence (tokens, labels): the probability of each label, if scores are logarithms of it."""
        out: list[np.ndarray] = []
        for part in self._encoded(X):
            out += part.batch.split(posterior(part.batch, self.weights, n_jobs=n_jobs).marginal)
        return out

    def _encoded(self, X: Sequence[Any], rules: Rules | None = None, size: int = CHUNK) -> Iterator[Part]:
        """Parts of `size` sequences."""
        ranker = self.ranker if rules is self.rules else None
        for first in range(0, len(X), size):
            own = X[first : first + size]
            tables = None if rules is None else rules.compile(own, self.labels)
            yield Part(first, own, self.encoder.transform(own), tables, ranker)

    def _best(self, part: Part, k: int, n_jobs: int | None, *, corpus: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """(labellings (k, n_tokens), scores (n, k)), best first; corpus rules leave nothing to rank."""
        ranker = None if corpus else part.ranker
        n, within = (k, np.inf) if ranker is None else (max(k, ranker.size), WITHIN if k == 1 else np.inf)
        if part.tables is not None:
            how: dict[str, Any] = {"within": within, "first": part.first, "corpus": corpus, "n_jobs": n_jobs}
            under = decode_under(part.batch, self.weights, part.tables, k=n, **how)
            found = under.labels, under.values
        elif n == 1:
            path, score = decode(part.batch, self.weights, n_jobs=n_jobs)
            found = path[None], score[:, None]
        else:
            found = decode_k(part.batch, self.weights, n, n_jobs=n_jobs)
        if ranker is not None:
            found = ranker.rank(part.X, part.batch.offsets, self.labels, found)
        return found[0][:k], found[1][:, :k]

    def heaviest(self, k: int) -> dict[str, list[tuple[str, float]]]:
        """For each label the k features of largest weight (in absolute value), heaviest first."""
        names = self.encoder.feature_names()
        out = {}
        for y, label in enumerate(self.labels):
            column = self.weights.tokens[: len(names), y]
            order = np.argsort(-np.abs(column), kind="stable")[:k]
            out[label] = [(names[j], float(column[j])) for j in order if column[j] != 0]
        return out


def _broken(part: Part, path: np.ndarray, n_jobs: int | None) -> list[tuple[str, ...]]:
    """The rules that the labels of each sequence break."""
    if part.tables is None:
        return [()] * len(part.batch)
    names = [rule.text for rule in part.tables.rules]
    return [tuple(names[k] for k in np.flatnonzero(row)) for row in part.tables.broken(path, n_jobs)]
