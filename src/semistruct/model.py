"""What learning leaves behind: labels, features and weights, enough to label new sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.chain.inference import ChainWeights, decode, decode_k
from semistruct.features import Encoder

CHUNK = 20_000  # sequences encoded at a time, which bounds the memory needed to label very many


@dataclass(frozen=True)
class Model:
    """A chain model over `labels`; label y is column y of the weights."""

    labels: tuple[str, ...]
    encoder: Encoder
    weights: ChainWeights

    def compact(self) -> Model:
        """The same model without the features that have no weight."""
        unused = np.all(self.weights.tokens[: self.encoder.n_features] == 0, axis=1)
        encoder, rows = self.encoder.without(np.asarray(unused))
        tokens = self.weights.tokens[rows] if len(rows) else np.zeros((1, len(self.labels)))
        return Model(self.labels, encoder, ChainWeights(tokens, self.weights.trans))

    def predict(self, X: Sequence[Any], n_jobs: int | None = None) -> list[list[str]]:
        """The best labelling of each sequence."""
        names = np.array(self.labels, object)
        out: list[list[str]] = []
        for part in _chunks(X):
            batch = self.encoder.transform(part)
            path, _ = decode(batch, self.weights, n_jobs=n_jobs)
            out.extend(labels.tolist() for labels in batch.split(names[path]))
        return out

    def predict_k(self, X: Sequence[Any], k: int, n_jobs: int | None = None) -> list[list[tuple[list[str], float]]]:
        """The k best labellings of each sequence with their scores, fewer where there are no more."""
        names = np.array(self.labels, object)
        out = []
        for part in _chunks(X):
            batch = self.encoder.transform(part)
            paths, scores = decode_k(batch, self.weights, k, n_jobs=n_jobs)
            for i, (a, b) in enumerate(zip(batch.offsets, batch.offsets[1:], strict=False)):
                ranked = zip(paths[:, a:b], scores[i].tolist(), strict=True)
                out.append([(names[path].tolist(), score) for path, score in ranked if score > -np.inf])
        return out

    def margins(self, X: Sequence[Any], n_jobs: int | None = None) -> np.ndarray:
        """(n, 2): the score of the best labelling, and by how much it beats the second best."""
        out = [np.empty((0, 2))]
        for part in _chunks(X):
            _, scores = decode_k(self.encoder.transform(part), self.weights, 2, n_jobs=n_jobs)
            out.append(np.column_stack([scores[:, 0], scores[:, 0] - scores[:, 1]]))
        return np.concatenate(out)

    def heaviest(self, k: int) -> dict[str, list[tuple[str, float]]]:
        """For each label the k features of largest weight (in absolute value), heaviest first."""
        names = self.encoder.feature_names()
        out = {}
        for y, label in enumerate(self.labels):
            column = self.weights.tokens[: len(names), y]
            order = np.argsort(-np.abs(column), kind="stable")[:k]
            out[label] = [(names[j], float(column[j])) for j in order if column[j] != 0]
        return out


def _chunks(X: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (X[i : i + CHUNK] for i in range(0, len(X), CHUNK))
