"""Decoding under random rules of the whole vocabulary, against all labellings."""

import warnings
from contextlib import suppress

import numpy as np
from hypothesis import strategies as st

from fuzz.campaign import Part
from matching_cases import Case, near, not_above, random_case
from rule_strategies import EVERY_KIND
from semistruct.model.prediction import decode_under
from vocabulary_strategies import FUNCTIONS, VOCABULARY_OF_WORDS, descriptions


@st.composite
def cases(draw):
    """A small model, sequences and rules, as plain data: functions by their names."""
    labels = "abcd"[: draw(st.sampled_from([3, 2, 3, 4, 1]))]
    rules = draw(st.lists(descriptions(labels, functions=True), min_size=1, max_size=4))
    vote = st.sampled_from([*labels, "", "?"])
    token = st.sampled_from(VOCABULARY_OF_WORDS)
    token = st.tuples(token, vote, vote) if any("votes" in rule for rule in rules) else token
    sequence = st.lists(token, min_size=1, max_size=5 if len(labels) < 4 else 4)
    return {
        "labels": labels,
        "X": draw(st.lists(sequence, min_size=1, max_size=2)),
        "rules": [{k: v.__name__ if k == "function" else v for k, v in rule.items()} for rule in rules],
        "seed": draw(st.integers(0, 2**32 - 1)),
        "size": draw(st.sampled_from([0.0, 0.1, 3.0, 50.0])),
        "whole": draw(st.booleans()),  # small whole numbers, which make ties
        "k": draw(st.sampled_from([1, 1, 2, 5])),
    }


class Decoding(Part):
    """The k best labellings, their worth and the certificates; nothing is broken or uncertain without a word."""

    name = "decoding"
    share = 3.0
    seconds = 20.0

    def warm(self, folder):
        super().warm(folder)
        plain = {"labels": "abc", "X": [["pp", "CA"]], "seed": 0, "size": 1.0, "whole": False, "k": 2}
        for rule in EVERY_KIND:  # compiles all kernels; a fault that shows here shows again
            with suppress(AssertionError):
                self.run({**plain, "rules": [rule]})

    def inputs(self):
        return cases()

    def run(self, given):
        rules = [{k: FUNCTIONS[v] if k == "function" else v for k, v in rule.items()} for rule in given["rules"]]
        X, rng = given["X"], np.random.default_rng(given["seed"])
        made = random_case(rng, [len(x) for x in X], given["labels"], rules, size=given["size"], whole=given["whole"])
        case = Case(X, made.labels, made.batch, made.weights, rules)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = decode_under(case.batch, case.weights, case.tables, k=given["k"], n_jobs=1)
        for i in range(len(X)):
            check(case, i, found, given["k"], told)
        if len(case.tables.corpus):
            one, switched = (
                decode_under(case.batch, case.weights, case.tables, corpus=corpus, n_jobs=1) for corpus in (False, True)
            )  # the best of k may be another one of equals
            before, after = (case.objective(f.labels[0], np.ones(len(X)), 0.0) for f in (one, switched))
            assert not_above(after, before), "corpus rules made it worse"


def check(case, i, found, k, told):
    worth = {path: score - case.instance(i, path) for path, score in case.scores[i].items()}
    best = sorted(worth.values(), reverse=True)
    paths = [tuple(row[case.tokens(i)].tolist()) for row in found.labels]
    there = found.values[i] > -np.inf
    assert there.sum() == min(k, len(best)), f"{there.sum()} labellings, not {min(k, len(best))}"
    values = [worth[path] for path, y in zip(paths, there, strict=True) if y]
    assert near(found.values[i][there], values), f"values are wrong: {found.values[i]}, not {values}"
    assert not_above(best[0], found.ceiling[i]), "there is a better labelling than the ceiling says"
    is_best = near(values[:1], best[:1])
    assert is_best or not found.exact[i], f"not the best labelling: {values[0]}, not {best[0]}"
    assert is_best or told, f"not the best labelling, and no warning: {values[0]}, not {best[0]}"
    are_best = near(values, best[: len(values)])
    assert are_best or found.unseen[i] > values[-1], f"not the best labellings: {values}, not {best[: len(values)]}"
