"""Sequences of length one: the multi-class transductive SVM, beside scikit-learn's LinearSVC and self-training.

    python benchmarks/multiclass.py

Handwritten digits (scikit-learn), a few labels per class, all other digits unlabelled and scored; five draws.  The
annealed SVM is told that every digit makes up about a tenth of the data (`proportion`), and so is the one that swaps
labels (its class counts are those of the labelled data); LinearSVC cannot be.
"""

from __future__ import annotations

import statistics

import numpy as np
from sklearn.datasets import load_digits
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from semistruct import AnnealedSSVM, Rules, TransductiveSVM
from semistruct.rules import Proportion

PER_CLASS, DRAWS = 3, 5


def as_sequences(rows):
    """Each row of numbers as a sequence of one token with these features."""
    return [[{f"p{j}": float(v) for j, v in enumerate(row) if v} | {"bias": 1.0}] for row in rows]


def main():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    names = np.array([f"digit {k}" for k in range(10)])
    rules = Rules([Proportion({name: 0.1 for name in names.tolist()}, weight=10.0)])
    scores = {"LinearSVC": [], "self-training (SVC)": [], "annealed": [], "TransductiveSVM": []}
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        few = np.concatenate([rng.choice(np.flatnonzero(y == k), PER_CLASS, replace=False) for k in range(10)])
        rest = np.setdiff1d(np.arange(len(y)), few)
        scores["LinearSVC"].append(LinearSVC(C=10.0).fit(X[few], y[few]).score(X[rest], y[rest]))
        known = np.full(len(y), -1)
        known[few] = y[few]
        helper = SelfTrainingClassifier(SVC(C=10.0, kernel="linear", probability=True, random_state=0))
        scores["self-training (SVC)"].append(helper.fit(X, known).score(X[rest], y[rest]))
        model = AnnealedSSVM(C=10.0, rules=rules, schedule=[0.1, 0.3, 1.0, 3.0, 10.0], select="last")
        model.fit(as_sequences(X[few]), [[names[k]] for k in y[few]], pool=as_sequences(X[rest]))
        scores["annealed"].append(float(np.mean([row[0] for row in model.labels_] == names[y[rest]])))
        swapping = TransductiveSVM(C=10.0).fit(X, known)
        scores["TransductiveSVM"].append(float(np.mean(swapping.labels_ == y[rest])))
    print(f"{PER_CLASS} labels per class, accuracy on the {len(rest)} others, {DRAWS} draws")
    for name, values in scores.items():
        print(f"  {name:20s} {100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}")


if __name__ == "__main__":
    main()
