"""Random small corpora and random rules about them."""

import numpy as np
from hypothesis import strategies as st

from semistruct.core.kernels import kernels
from semistruct.rules import Agree, Differ, Function
from semistruct.rules.vocabulary import VOCABULARY
from vocabulary_strategies import VOCABULARY_OF_WORDS, descriptions, grown

LABELS = ["a", "b", "c", "d"]
MEASURED = ("function", "differ", "agree")

EVERY_KIND = [
    {"starts_with": ["a"]},
    {"ends_with": ["b", "c"], "weight": 0.1},
    {"at_most_once": "all", "penalty": "square", "weight": 1 / 3},
    {"at_most_once": "all", "counting": "labels", "penalty": "square"},
    {"at_most_once": ["a", "b"], "counting": "labels", "penalty": "square", "weight": 3},
    {"exactly_once": ["a", "b"], "weight": "hard"},
    {"present": ["c"]},
    {"change_only_on": ["punctuation"]},
    {"change_only_on": ["newline", "[Pp]+"], "side": "either", "level": "corpus", "fraction": 0.01},
    {"words": ["pp", "CA"], "are": ["a"], "after": r"\W"},
    {"words": ["pp", "ca"], "are": ["b"], "before": "[^x]+"},
    {"words": ["pp ca", "pp. ca", "1984"], "are": ["c"], "after": r"\W", "within": 2, "weight": 3},
    {"words": ["pp", "pp. ca"], "are": {"all_except": ["c"]}, "case": "any", "punctuation": "ignore", "weight": 2},
    {"pattern": ["[a-z]+", r"\W"], "are": ["b"], "place": "last", "if": {"absent": ["a"]}, "weight": 3},
    {"pattern": r"\d+", "are_not": ["a"], "level": "corpus", "fraction": (0.9, None)},
    {"change_after": [",", "newline"], "labels": ["a", "c"], "weight": 2},
    {"block_starts_with": {"a": ["[A-Z]+", "newline"], "b": [r"\w+"]}, "weight": 2},
    {"block_ends_with": {"a": ["punctuation"]}, "weight": 2},
    {"votes": {"column": 2}},
    {"present": ["b"], "if": {"present": ["a"], "no_pattern": "x.*"}, "weight": 5},
    {"at_most_once": {"all_except": ["b"]}, "if": {"absent": ["b"]}, "weight": 5},
    {"at_most_once": ["a", "c"], "if": {"words": ["pp", "ca"]}, "weight": 4},
    {"min_length": 2},
    {"max_length": 3, "labels": ["a", "c"]},
    {"order": ["a", "b", "c"]},
    {"follows": {"b": ["a", "c"], "c": ["b"]}},
    {"never_follows": {"a": ["b"]}},
    {"proportion": {"a": 0.3, "b": (0.5, 0.6)}},
    {"count": {"c": 0.7}},
]
"""Descriptions of rules for the labels a, b and c."""


@st.composite
def corpora(draw, max_sequences=4, max_T=8):
    """(X, y, labels): sequences of words, their labels, and all the labels in any order."""
    labels = tuple(draw(st.permutations(LABELS))[: draw(st.integers(1, 4))])
    lengths = draw(st.lists(st.integers(1, max_T), min_size=1, max_size=max_sequences))
    X = [[draw(st.sampled_from(VOCABULARY_OF_WORDS)) for _ in range(n)] for n in lengths]
    return X, [[draw(st.sampled_from(labels)) for _ in range(n)] for n in lengths], labels


def comparisons(labels):
    """Rules that compare two fields."""
    return st.sampled_from([Agree, Differ]).flatmap(lambda kind: grown(kind, tuple(labels), "instance"))


def has_expectation(rule):
    """Not all rules can be stated of a distribution on a chain."""
    key, condition = next(iter(rule)), rule.get("if", {})
    least = key in ("present", "exactly_once", "count", "proportion")
    if condition and (least or "present" in condition or "absent" in condition):
        return False
    return key not in ("min_length", "max_length", "order", *MEASURED) and "counting" not in rule


def built(rule):
    """The rule of a description."""
    key = next(iter(rule))
    return (Function if key == "function" else VOCABULARY[key])(**rule)


def rules(labels, functions=False):
    return descriptions(labels, functions).map(built)


@st.composite
def cases(draw, functions=False, max_rules=6):
    """(X, y, labels, descriptions of rules)."""
    X, y, labels = draw(corpora())
    some = st.lists(descriptions(labels, functions), max_size=max_rules)
    return X, y, labels, draw(st.one_of(some, st.just(EVERY_KIND)) if set(labels) >= set("abc") else some)


class Tally:
    """The counts of a labelled corpus and what they cost, by the kernels."""

    def __init__(self, tables, y, n_jobs=None):
        lengths = np.diff(tables.offsets)
        self.counts = tables.count(y, n_jobs)
        self.instance = np.array(
            [
                kernels.penalty(tables.targets, tables.instance, row, float(n), 1.0)
                for row, n in zip(self.counts, lengths, strict=True)
            ]
        )
        totals = self.counts.sum(axis=0)
        self.corpus = kernels.penalty(tables.targets, tables.corpus, totals, float(lengths.sum()), float(len(tables)))
        self.penalty = self.instance.sum() + self.corpus


def penalty_of(rules, X, y, labels):
    """What a labelling costs, by what the terms of rules count: slow, and what all fast ways are tested against."""
    total = 0.0
    for rule in rules:
        terms = rule.terms(labels)
        for group in [terms] if terms and terms[0].joint else [[term] for term in terms]:
            if rule.level == "corpus":
                distances = [[term.distance(term.corpus_value(X, y)) for term in group]]
            else:
                distances = [
                    [
                        term.distance(term.value(tokens, row, f"sequence {i}")) * term.matters(tokens, row)
                        for term in group
                    ]
                    for i, (tokens, row) in enumerate(zip(X, y, strict=True))
                ]
            for row in distances:
                v = sum(d > 0 for d in row) if group[0].joint else row[0]
                total += rule.cost * v**rule.power
    return total
