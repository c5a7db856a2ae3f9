"""Small data for tests of AnnealedSSVM, and what makes two fits the same."""

from numpy.testing import assert_array_equal

from semistruct import AnnealedSSVM, make_citations
from semistruct.learning.data import Data
from semistruct.learning.fitting import Effort
from semistruct.learning.task import Task
from semistruct.rules import Rules

ROUNDING = 1e-9
SHORT = {"schedule": [1.0, 10.0], "rounds": 2, "features": ["word", "shape"]}

X = [["A", ".", "Turing"], ["K", ".", "Godel", "1931"], ["1936"], ["Church", ",", "1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"], ["author", "author", "date"]]
POOL = [["B", ".", "Russell"], ["1905"], ["Post", ",", "1921"], ["G", ".", "Frege", "1879"]]

CORPUS = make_citations(70, seed=0)
N = 6
LABELLED = CORPUS.tokens[:N], CORPUS.labels[:N]
UNLABELLED = CORPUS.tokens[N:40]
HELD_OUT = CORPUS.tokens[40:], CORPUS.labels[40:]
CITATIONS = Rules.from_file("citations")

DEV = ([["Quine", "1908"]], [["author", "date"]])


def long_titles(tokens, labels):
    """How many labels of titles there are beyond twelve."""
    return max(0, labels.count("title") - 12)


def task_of(X, y, pool=None, features=("word",), rules=None, sample_weight=None):
    """The data as numbers, under the rules."""
    data = Data.of(X, y, pool=pool, sample_weight=sample_weight, rules=rules)
    return Task.of(data, list(features)).under(rules or Rules([]))


def fit(*args, params=None, start="labels", **kwargs):
    """One path only, unless `start` is "better"."""
    return AnnealedSSVM(**{**SHORT, **(params or {})}).fit_with(Effort(start=start), *args, **kwargs)


def on_citations(params=None, **kwargs):
    return fit(*LABELLED, params={"rules": CITATIONS, **(params or {})}, pool=UNLABELLED, **kwargs)


def same_weights(a, b):
    a, b = a.model_, b.model_
    assert (a.labels, list(a.encoder.vocabulary)) == (b.labels, list(b.encoder.vocabulary))
    assert_array_equal(a.weights.tokens, b.weights.tokens)
    assert_array_equal(a.weights.trans, b.weights.trans)


def timeless(rows):
    return [{key: value for key, value in row.items() if key not in ("seconds", "spent")} for row in rows]


def same_fit(a, b):
    same_weights(a, b)
    assert timeless(a.history_) == timeless(b.history_)
    assert a.path_ == b.path_
    assert a.labels_ == b.labels_
    assert a.explanation_ == b.explanation_


def chosen(model):
    assert sum(row["chosen"] for row in model.path_) == 1
    return next(i for i, row in enumerate(model.path_) if row["chosen"])
