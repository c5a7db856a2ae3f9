"""What learning produces: labels, features and weights, all that is needed to label new sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights, decode, decode_k, token_margins
from semistruct.chain.posterior import posterior
from semistruct.features import Encoder
from semistruct.prediction import decode_under, margins_under
from semistruct.rules import Rules
from semistruct.rules.tables import RuleTables

CHUNK = 20_000  # sequences encoded at a time, which bounds the memory needed to label very many


@dataclass(frozen=True)
class Model:
    """A chain model over `labels`; label y is column y of the weights.

    rules  the rules it was learned with, which predictions can be made to obey
    """

    labels: tuple[str, ...]
    encoder: Encoder
    weights: ChainWeights
    rules: Rules | None = None

    def compact(self) -> Model:
        """The same model without the features whose weights are all 0."""
        unused = np.all(self.weights.tokens[: self.encoder.n_features] == 0, axis=1)
        encoder, rows = self.encoder.without(np.asarray(unused))
        tokens = self.weights.tokens[rows] if len(rows) else np.zeros((1, len(self.labels)))
        return Model(self.labels, encoder, ChainWeights(tokens, self.weights.trans), self.rules)

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
        for first, batch, tables in self._encoded(X, rules, size=max(len(X), 1) if corpus else CHUNK):
            if tables is None:
                path, _ = decode(batch, self.weights, n_jobs=n_jobs)
            else:
                path = decode_under(batch, self.weights, tables, corpus=corpus, first=first, n_jobs=n_jobs).labels[0]
            out.extend(labels.tolist() for labels in batch.split(names[path]))
        return out

    def predict_k(
        self, X: Sequence[Any], k: int, n_jobs: int | None = None, rules: Rules | None = None
    ) -> list[list[tuple[list[str], float]]]:
        """The k best labellings of each sequence with their scores, fewer if there are not as many."""
        names = np.array(self.labels, object)
        out = []
        for first, batch, tables in self._encoded(X, rules, size=max(CHUNK // k, 1)):
            paths, scores = self._best(batch, tables, k, first, n_jobs)
            for i, (a, b) in enumerate(pairwise(batch.offsets)):
                ranked = zip(paths[:, a:b], scores[i].tolist(), strict=True)
                out.append([(names[path].tolist(), score) for path, score in ranked if score > -np.inf])
        return out

    def margins(self, X: Sequence[Any], n_jobs: int | None = None, rules: Rules | None = None) -> np.ndarray:
        """(n, 2): the score of the best labelling, and by how much it beats the second best."""
        out = [np.empty((0, 2))]
        for first, batch, tables in self._encoded(X, rules):
            _, scores = self._best(batch, tables, 2, first, n_jobs)
            out.append(np.column_stack([scores[:, 0], scores[:, 0] - scores[:, 1]]))
        return np.concatenate(out)

    def scores(self, X: Sequence[Any], y: Sequence[Sequence[str | None]], n_jobs: int | None = None) -> np.ndarray:
        """(n,): the score of each labelling of y, in which None stands for the labels that score best there."""
        number, out = {label: k for k, label in enumerate(self.labels)}, [np.empty(0)]
        for first, batch, _ in self._encoded(X):
            rows = y[first : first + len(batch)]
            known = [UNKNOWN if label is None else number[label] for row in rows for label in row]
            out.append(decode(batch, self.weights, known=np.array(known, np.int16), n_jobs=n_jobs)[1])
        return np.concatenate(out)

    def confidence(
        self, X: Sequence[Any], y: Sequence[Sequence[str]], n_jobs: int | None = None, rules: Rules | None = None
    ) -> list[np.ndarray]:
        """For each token, by how much the best labelling with its label in y beats the best one with another label.

        Both are the best under the instance rules of `rules`; users' functions have no say in it.
        """
        number, out = {label: k for k, label in enumerate(self.labels)}, list[np.ndarray]()
        for first, batch, tables in self._encoded(X, rules):
            path = np.array([number[label] for row in y[first : first + len(batch)] for label in row], np.int16)
            if tables is None:
                out += batch.split(token_margins(batch, self.weights, path, n_jobs=n_jobs))
            else:
                out += batch.split(margins_under(batch, self.weights, tables, path, n_jobs=n_jobs))
        return out

    def marginals(self, X: Sequence[Any], n_jobs: int | None = None) -> list[np.ndarray]:
        """For each sequence (tokens, labels): the probability of each label, if scores are logarithms of it."""
        out: list[np.ndarray] = []
        for _, batch, _ in self._encoded(X):
            out += batch.split(posterior(batch, self.weights, n_jobs=n_jobs).marginal)
        return out

    def _encoded(
        self, X: Sequence[Any], rules: Rules | None = None, size: int = CHUNK
    ) -> Iterator[tuple[int, SequenceBatch, RuleTables | None]]:
        """The number of the first sequence of each chunk of `size`, the chunk, and the rules for it."""
        for first in range(0, len(X), size):
            part = X[first : first + size]
            yield first, self.encoder.transform(part), None if rules is None else rules.compile(part, self.labels)

    def _best(
        self, batch: SequenceBatch, tables: RuleTables | None, k: int, first: int, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(labellings (k, n_tokens), scores (n, k)), best first."""
        if tables is None:
            return decode_k(batch, self.weights, k, n_jobs=n_jobs)
        found = decode_under(batch, self.weights, tables, k=k, first=first, n_jobs=n_jobs)
        return found.labels, found.values

    def heaviest(self, k: int) -> dict[str, list[tuple[str, float]]]:
        """For each label the k features of largest weight (in absolute value), heaviest first."""
        names = self.encoder.feature_names()
        out = {}
        for y, label in enumerate(self.labels):
            column = self.weights.tokens[: len(names), y]
            order = np.argsort(-np.abs(column), kind="stable")[:k]
            out[label] = [(names[j], float(column[j])) for j in order if column[j] != 0]
        return out
