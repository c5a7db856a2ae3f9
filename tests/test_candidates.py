"""Candidates for rules, and what speaks for them, against a recount in plain Python."""

from collections import Counter
from itertools import combinations, pairwise, product
from math import ceil, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_rules as brute
from semistruct.rules import (
    Order,
)
from semistruct.rules.evidence import SURE, WORTH, Examples, cautious_share
from semistruct.rules.files import dump_rule
from semistruct.rules.suggesting import candidates_of

LABELS = ["a", "b", "c"]
WORDS = ["x", "X", "Data", "no", "1984", "12-15", "a@b.c", ".", ",", "*NEWLINE*", "~", "'", "é:"]


@st.composite
def seens(draw, most=6):
    """Labelled sequences and a pool with made-up labels and margins."""

    def sequences(least):
        lengths = draw(st.lists(st.integers(1, 6), min_size=least, max_size=most))
        X = [[draw(st.sampled_from(WORDS)) for _ in range(n)] for n in lengths]
        steady = draw(st.booleans())  # labels in order, so that some rules hold
        rows = [[draw(st.sampled_from(LABELS)) for _ in range(n)] for n in lengths]
        return X, [sorted(row) if steady else row for row in rows]

    (X, y), (pool, found) = sequences(1), sequences(0)
    margins = [np.array([draw(st.integers(0, 5)) for _ in row], float) for row in found]
    return Examples(X, y, pool, found, margins, LABELS)


# ---- a recount


def cases(rule, words, y):
    """(place, does it obey?) of every case of a rule in one sequence; the place is None for the sequence as a whole."""
    key, of = next(iter(rule.items()))
    starts = [t for t in range(len(y)) if t == 0 or y[t] != y[t - 1]]
    runs = [(t, y[t], end - t) for t, end in pairwise([*starts, len(y)])]
    if key in ("words", "pattern"):
        return [(t, brute.obeys(y[t], rule)) for t in brute.places_of_words(words, rule)]
    if key == "starts_with":
        return [(0, y[0] in of)]
    if key == "ends_with":
        return [(len(y) - 1, y[-1] in of)]
    if key == "change_only_on":
        wrong = brute.changes_elsewhere(words, y, of, rule.get("side", "after"))
        return [(t, t not in wrong) for t in brute.changes(y)]
    if key == "follows":
        return [(t, y[t - 1] in of[z]) for t, z, _ in runs if t and z in of]
    if key == "never_follows":
        return [(t, y[t - 1] not in of[z]) for t, z, _ in runs if t and z in of]
    if key in ("min_length", "max_length"):
        which = rule.get("labels", LABELS)
        return [(t, n >= of if key == "min_length" else n <= of) for t, z, n in runs if z in which]
    if key == "order" and len(set(of) & set(y)) < 2:
        return []
    if key == "at_most_once" and of != "all" and not set(of) & set(y):
        return []
    broken = sum(brute.sequence_violations(brute.complete(rule), words, y, LABELS)) > 0
    return [(first_too_many(key, of, runs) if broken else None, not broken)]


def first_too_many(key, of, runs):
    """Where the block is with which the sequence as a whole breaks the rule; None if one is missing."""
    if key == "at_most_once":
        again = [t for i, (t, z, _) in enumerate(runs) if z in [y for _, y, _ in runs[:i]]]
        by_label = [(LABELS.index(z), t) for t, z, _ in runs if t in again and (of == "all" or z in of)]
        return min(by_label)[1]
    if key == "order":
        names = [z for _, z, _ in runs]
        late = [
            t for i, (t, z, _) in enumerate(runs)
            if z in of and any(y in of and of.index(y) > of.index(z) for y in names[:i])
        ]  # fmt: skip
        return min(late)
    return None


def plain_doubts(seen_margins):
    """For every token of the pool the share of tokens of which the model is surer."""
    every = [m for row in seen_margins for m in row]
    return [[sum(m > other for m in every) / len(every) for other in row] for row in seen_margins]


@settings(max_examples=60, deadline=None)
@given(seens())
def test_evidence_is_that_of_a_recount(seen):
    doubts = [list(row) for row in seen.doubt]
    for candidate in candidates_of(seen):
        rule = dump_rule(candidate.rule)
        found = seen.evidence(candidate.rule, candidate.surprises, candidate.weakest)
        here = [cases(rule, x, row) for x, row in zip(seen.X, seen.y, strict=True)]
        there = [cases(rule, x, row) for x, row in zip(seen.pool, seen.guess, strict=True)]
        every = [ok for row in here for _, ok in row]
        assert (found.applies, found.holds) == (len(every), sum(every)), rule
        assert found.sequences == sum(map(bool, here))
        broken = [[t for t, ok in row if not ok] for row in there]
        assert (found.coverage, found.broken) == (sum(map(bool, there)), sum(map(bool, broken)))
        gain = sum(
            min(max(doubts[i]) if t is None else doubts[i][t] for t in row) for i, row in enumerate(broken) if row
        )
        assert found.gain == pytest.approx(found.bound * gain)
        right, total = sum(every) - candidate.surprises, len(every)
        trials = found.sequences if candidate.weakest is None else candidate.weakest
        if "are" in rule or "are_not" in rule:
            sure = [(i, ok) for i, row in enumerate(there) for t, ok in row if doubts[i][t] < SURE]
            n = len({i for i, _ in sure})
            worth = min(WORTH, trials / n) if n else 0
            right, total, trials = (
                right + worth * sum(ok for _, ok in sure),
                total + worth * len(sure),
                trials + worth * n,
            )
        assert found.bound == pytest.approx(cautious_share(max(right, 0) / total, trials) if total else 0)


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), max_size=4))
def test_doubt_is_the_share_of_surer_tokens(margins):
    rows = [["a"] * len(row) for row in margins]
    seen = Examples([["x"]], [["a"]], rows, rows, [np.array(row, float) for row in margins], LABELS)
    for found, wanted in zip(seen.doubt, plain_doubts(margins), strict=True):
        assert list(found) == pytest.approx(wanted)


@given(st.integers(1, 50), st.data())
def test_the_cautious_share_is_one_standard_error_below_what_was_seen(n, data):
    share = data.draw(st.integers(0, n)) / n
    low, high = 0.0, share
    for _ in range(60):  # the smallest share of which what was seen is one standard error away
        middle = (low + high) / 2
        low, high = (middle, high) if share - middle > sqrt(middle * (1 - middle) / n) else (low, middle)
    assert cautious_share(share, n) == pytest.approx(high, abs=1e-9)
    assert cautious_share(1.0, 2) == pytest.approx(2 / 3)
    assert cautious_share(1.0, 0) == 0


# ---- the candidates


def candidates(seen, key):
    return [dump_rule(one.rule) for one in candidates_of(seen, by_words=False) if one.rule.key == key]


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_ends_and_numbers(seen):
    for key, at in (("starts_with", 0), ("ends_with", -1)):
        (rule,) = candidates(seen, key)
        assert set(rule[key]) == {row[at] for row in seen.y}
    having = {z: [row for row in seen.y if z in row] for z in LABELS}
    once = {z for z in LABELS if having[z] and all(brute.n_blocks(row, z) == 1 for row in having[z])}
    said = candidates(seen, "at_most_once")
    if all(z in once for z in LABELS if having[z]):
        assert said == [{"at_most_once": "all"}]
    else:  # of at most six sequences none may be an exception
        assert said == ([{"at_most_once": sorted(once)}] if once else [])
    always = [z for z in LABELS if len(having[z]) == len(seen.y)]
    assert [rule["present"] for rule in candidates(seen, "present")] == [[z] for z in always]


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_order(seen):
    def obeys(first, then):
        rows = [row for row in seen.y if first in row and then in row]
        wrong, other = (sum(brute.disorder(row, list(p)) > 0 for row in rows) for p in ((first, then), (then, first)))
        return len(rows) > 1 and wrong == 0 < other

    wanted = {pair for pair in product(LABELS, repeat=2) if obeys(*pair)}
    found = [set(combinations(rule["order"], 2)) for rule in candidates(seen, "order")]
    assert set().union(*found) == wanted
    for one in candidates_of(seen, by_words=False):
        if isinstance(one.rule, Order):
            pairs = combinations(one.rule.order, 2)
            assert one.weakest == min(sum(a in row and b in row for row in seen.y) for a, b in pairs)


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_steps(seen):
    steps = Counter((row[t - 1], row[t]) for row in seen.y for t in brute.changes(row))
    into, out = Counter(), Counter()
    for (first, then), n in steps.items():
        into[then] += n
        out[first] += n
    follows = {z: set(ys) for rule in candidates(seen, "follows") for z, ys in rule["follows"].items()}
    assert follows == {z: {first for first, then in steps if then == z} for z in into}
    never = {
        (y, z) for rule in candidates(seen, "never_follows") for z, ys in rule["never_follows"].items() for y in ys
    }
    chance = {(y, z): out[y] * into[z] / sum(steps.values()) for y in out for z in into if y != z}
    assert never == {pair for pair, n in chance.items() if n >= 2 and pair not in steps}


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_lengths(seen):
    lengths = {z: [n for row in seen.y for name, n in brute.blocks(row) if name == z] for z in LABELS}
    lengths = {z: n for z, n in lengths.items() if n}
    most = {rule["labels"][0]: rule["max_length"] for rule in candidates(seen, "max_length")}
    assert most == {z: ceil(1.5 * max(n)) for z, n in lengths.items()}
    least = {rule.get("labels", ["all"])[0]: rule["min_length"] for rule in candidates(seen, "min_length")}
    wanted = {z: max(2, int(min(n) / 1.5)) for z, n in lengths.items() if min(n) > 1}
    shortest = min(map(min, lengths.values()))
    assert least == wanted | ({"all": max(2, int(shortest / 1.5))} if shortest > 1 else {})


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_changes_are_the_narrowest(seen):
    def exceptions(marks, side):
        pairs = zip(seen.X, seen.y, strict=True)
        return sum(len(brute.changes_elsewhere(x, row, marks, side)) for x, row in pairs)

    found = {(*rule["change_only_on"], rule.get("side", "after")) for rule in candidates(seen, "change_only_on")}
    for side in ("after", "either"):
        both = exceptions(["newline", "punctuation"], side)
        assert ("newline", "punctuation", side) in found
        assert (("punctuation", side) in found) == (exceptions(["punctuation"], side) == both)
    both = exceptions(["newline", "punctuation"], "after")
    assert (("newline", "after") in found) == (exceptions(["newline"], "after") == both)


@settings(max_examples=60, deadline=None)
@given(seens())
def test_candidates_about_words(seen):
    doubts = [list(row) for row in seen.doubt]
    share = Counter(z for row in seen.y for z in row)
    for one in candidates_of(seen, by_words=True):
        rule = dump_rule(one.rule)
        here = [(i, row[t]) for i, (x, row) in enumerate(zip(seen.X, seen.y, strict=True))
                for t in brute.places_of_words(x, rule)]  # fmt: skip
        sure = [row[t] for i, (x, row) in enumerate(zip(seen.pool, seen.guess, strict=True))
                for t in brute.places_of_words(x, rule) if doubts[i][t] < SURE]  # fmt: skip
        if "are_not" in rule:
            (label,) = rule["are_not"]
            assert label not in [z for _, z in here]
            assert share[label] * len(here) >= 4 * sum(share.values())
            assert sure.count(label) <= 0.05 * len(sure) + 1e-9
            continue
        weight = {z: [y for _, y in here].count(z) + WORTH * sure.count(z) for z in LABELS}
        assert sum(weight[z] for z in rule["are"]) >= 0.95 * sum(weight.values()) - 1e-6
        assert len(rule["are"]) <= (2 if "words" in rule else 3)
        assert here
        if len(rule["are"]) > 1:
            assert all(len({i for i, y in here if y == z}) > 1 for z in rule["are"])
        for word in rule.get("words", ()):
            assert any(c.isalnum() for c in word)
            n = sum(any(brute.is_word(token, word, {}) for token in x) for x in seen.pool)
            assert n >= 3 or not seen.pool
