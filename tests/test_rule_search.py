"""The best labellings under rules against enumeration."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brute
import brute_rules
from matching_cases import agrees, hard, level, matching_cases, near, not_above, random_case, some_known
from rule_strategies import EVERY_KIND
from semistruct.batch import UNKNOWN
from semistruct.core import kernels
from semistruct.search.best import Aim, find_best, growing_widths, scoring_of, tracked
from semistruct.search.records import PREFIX, Bound, Prefixes, Scores
from strategies import seeds

light = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

INSTANCE_KINDS = [
    *(rule for rule in EVERY_KIND if level(rule) == "instance"),
    {"count": {"a": (1, 2), "b": (None, 1), "c": (2, None)}, "level": "instance", "penalty": "absolute"},
    {"count": {"a": 1.5, "b": (0.5, 2.5)}, "level": "instance", "weight": 2},
    {"count": {"a": (1, 3), "c": 2}, "level": "instance", "of": "tokens", "weight": 3},
    {"proportion": {"a": 0.5, "c": (None, 0.3)}, "level": "instance", "unit": "fraction", "weight": 9},
]


@dataclass
class Wishes:
    """What is asked of a search besides the best labellings, and the value of a labelling under it."""

    scale: float = 1.0
    known: np.ndarray | None = None
    bonus: np.ndarray | None = None

    def value(self, case, i, path):
        total = self.scale * case.scores[i][path] - case.instance(i, path)
        if self.bonus is not None:
            total += sum(self.bonus[case.batch.offsets[i] + t, z] for t, z in enumerate(path))
        return total

    def values(self, case, i):
        """Of every labelling that is allowed."""
        known = [-1] * len(case.X[i]) if self.known is None else self.known[case.tokens(i)]
        return {p: self.value(case, i, p) for p in case.paths(i) if agrees(p, known)}


@st.composite
def wishes(draw, case):
    rng = np.random.default_rng(draw(seeds))
    return Wishes(
        draw(st.sampled_from([1.0, 1.0, 0.1, 3.0, 0.0])),
        draw(st.sampled_from([None, some_known(rng, case)])),
        draw(st.sampled_from([None, rng.normal(0, 5, (case.batch.n_tokens, case.Y))])),
    )


def find(case, wish, **options):
    return find_best(case.batch, case.weights, case.tables, Aim(wish.scale, wish.bonus, wish.known), **options)


def check_the_best(case, wish, found, k):
    """The k best values, the labellings that have them, no labelling twice, and nothing where there are no more."""
    assert found.labels.shape == (k, case.batch.n_tokens)
    assert found.values.shape == (len(case.X), k)
    for i in range(len(case.X)):
        values = wish.values(case, i)
        wanted = sorted(values.values(), reverse=True)[:k]
        assert near(found.values[i, : len(wanted)], wanted)
        assert np.all(found.values[i, len(wanted) :] == -np.inf)
        assert np.all(found.labels[len(wanted) :, case.tokens(i)] == UNKNOWN)
        paths = [tuple(found.labels[r, case.tokens(i)].tolist()) for r in range(len(wanted))]
        assert len(set(paths)) == len(paths)
        assert near([values[path] for path in paths], wanted)
        assert near(found.ceiling[i], wanted[0])
        rest = sorted(values.values(), reverse=True)[len(wanted) :]
        assert not rest or not_above(rest[0], found.unseen[i])
    assert found.exact.all()


@settings(light, max_examples=75)
@given(matching_cases(), st.data())
def test_the_best_labellings(case, data):
    wish, k = data.draw(wishes(case)), data.draw(st.sampled_from([1, 1, 3, 5]))
    check_the_best(case, wish, find(case, wish, k=k), k)


@light
@given(matching_cases(), st.data())
def test_labellings_far_below_the_best_may_be_left_out(case, data):
    wish, k, within = data.draw(wishes(case)), data.draw(st.integers(2, 6)), data.draw(st.sampled_from([0.0, 0.5, 3.0]))
    found = find(case, wish, k=k, within=within)
    for i in range(len(case.X)):
        wanted = sorted(wish.values(case, i).values(), reverse=True)[:k]
        close = [value for value in wanted if value >= wanted[0] - within]
        assert near(found.values[i, : len(close)], close)
        rest = found.values[i, len(close) :]
        assert np.all((rest == -np.inf) | (rest <= wanted[0] - within + 1e-9))
        assert near(found.ceiling[i], wanted[0])


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("penalty", ["absolute", "square"])
@pytest.mark.parametrize("rule", INSTANCE_KINDS, ids=lambda rule: next(iter(rule)))
def test_every_kind_of_rule(rule, penalty, k):
    """On its own and against scores of about its size, so that it is now obeyed and now broken."""
    rng = np.random.default_rng(len(str(rule)))
    for weight in ("hard", 4.0):
        rules = [{**rule, "penalty": penalty, "weight": weight}]
        case = random_case(rng, [1, 2, 5, 5], "abc", rules, size=2.0)
        check_the_best(case, Wishes(), find(case, Wishes(), k=k), k)


@pytest.mark.parametrize("seed", range(4))
def test_all_rules_at_once(seed):
    case = random_case(np.random.default_rng(seed), [6, 1, 5], "abc", EVERY_KIND)
    for k in (1, 3):
        check_the_best(case, Wishes(), find(case, Wishes(), k=k), k)


REPEATED = [
    [{"at_most_once": "all", "weight": 5}, {"present": ["a", "b", "c"], "weight": 5}],
    [{"exactly_once": ["a", "b", "c"]}, {"min_length": 2, "weight": 3}],
    [{"count": {"a": (2, 3), "b": (None, 1)}, "level": "instance", "weight": 4}, {"order": ["c", "a"], "weight": 2}],
    [{"at_most_once": "all", "counting": "labels", "weight": 6, "penalty": "square"}, {"max_length": 3}],
    [{"count": {"a": 2}, "level": "instance"}, {"at_most_once": ["a", "b"], "weight": 3}, {"present": ["c"]}],
    [{"min_length": 3, "labels": ["a"], "weight": 4}, {"max_length": 2, "labels": ["b"], "penalty": "square"}],
    [{"order": ["a", "b", "c"], "weight": 1}],
    [{"order": ["c", "a"], "weight": 2}, {"order": ["b", "a"], "weight": 1, "penalty": "square"}],
]
"""Rules that a model of labels which change all the time breaks often."""


@pytest.mark.parametrize("rules", REPEATED, ids=[" ".join(next(iter(rule)) for rule in rules) for rules in REPEATED])
def test_longer_sequences(rules):
    """Many prefixes that differ in their counts only, some of which dominate others; multipliers of blocks."""
    rng = np.random.default_rng(len(str(rules)))
    for size in (0.7, 3.0):
        case = random_case(rng, [7, 7, 6, 6], "abc", rules, size=size)
        case.weights.trans[:, range(3), range(3)] -= 2.0
        check_the_best(case, Wishes(), find(case, Wishes()), 1)
        check_the_bounds(case, Wishes(), find(case, Wishes(), width=1))


@pytest.mark.parametrize("rules", REPEATED, ids=[" ".join(next(iter(rule)) for rule in rules) for rules in REPEATED])
def test_a_wider_search_loses_nothing(rules):
    """Even if it is not exact, and keeps prefixes that promise more than they hold."""
    rng = np.random.default_rng(len(str(rules)))
    case = random_case(rng, [20] * 200, "abcd", rules, size=0.7)
    case.weights.trans[:, range(4), range(4)] -= 2.0
    narrow, wide = find(case, Wishes(), k=3, width=4), find(case, Wishes(), k=3, width=32)
    assert np.all(wide.values >= narrow.values - 1e-9)
    assert np.all(np.diff(wide.values) <= 0)
    for i in range(len(case.X)):
        assert len({tuple(row[case.tokens(i)].tolist()) for row in wide.labels}) == 3


TWO_LABELS = [
    [{"min_length": 3, "weight": 2}],
    [{"min_length": 2, "labels": ["a"], "weight": 3}, {"max_length": 2, "labels": ["b"], "weight": 3}],
    [{"max_length": 3, "weight": 5, "penalty": "square"}],
    [{"at_most_once": "all", "weight": 2}],
    [{"at_most_once": "all", "counting": "labels", "weight": 4}],
    [{"at_most_once": "all", "counting": "labels", "weight": 3, "penalty": "square"}],
    [{"count": {"a": (2, 3), "b": 1}, "level": "instance", "penalty": "absolute", "weight": 2}],
    [{"count": {"a": 1.5, "b": (2.5, None)}, "level": "instance", "weight": 1}],
    [{"count": {"a": (2, 4)}, "of": "tokens", "level": "instance", "penalty": "absolute", "weight": 2}],
    [{"order": ["a", "b"], "weight": 1}, {"min_length": 2, "weight": 1}],
    [{"exactly_once": ["a"], "weight": 3}, {"count": {"a": (None, 2)}, "level": "instance", "weight": 2}],
    [{"count": {"a": (None, 3)}, "level": "instance", "penalty": "absolute"}, {"present": ["a"], "weight": 1}],
    [{"pattern": ".", "are": ["a"], "penalty": "square", "weight": 1}, {"present": ["b"], "weight": 2}],
    [{"proportion": {"a": (0.3, 0.5)}, "level": "instance", "unit": "fraction", "weight": 30}],
    [{"proportion": {"b": 0.4}, "level": "instance", "unit": "percent", "weight": 0.1, "penalty": "absolute"}],
    [{"order": ["a", "b"], "weight": 2, "penalty": "square"}, {"order": ["b", "a"], "weight": 1}],
]


@pytest.mark.parametrize("rules", TWO_LABELS, ids=[f"{i} {next(iter(rules[0]))}" for i, rules in enumerate(TWO_LABELS)])
def test_many_sequences_of_two_labels(rules):
    """Scores and penalties are of one size, so that many prefixes are almost as good as the best."""
    rng = np.random.default_rng(len(rules))
    for restless in (0.0, 3.0):
        case = random_case(rng, [8] * 8, "ab", rules, size=1.0)
        case.weights.trans[0, range(2), range(2)] -= restless
        check_the_best(case, Wishes(), find(case, Wishes()), 1)
        check_the_bounds(case, Wishes(), find(case, Wishes(), width=1))


@pytest.mark.parametrize("rules", [*REPEATED, *TWO_LABELS], ids=str)
def test_blocks_are_counted_as_far_as_they_must_be(rules):
    """Of the terms that count the blocks of a label, one is used for the multipliers that sees all the limits."""
    case = random_case(np.random.default_rng(0), [2], "abc", rules)
    track = tracked(case.tables)
    for limit in track.limits[track.limits["term"] >= 0]:
        bounds = [bound for bound in (limit["least"], limit["most"]) if bound < 1000]
        assert track.terms["cap"][limit["term"]] > max(bounds, default=0)
    for term in track.terms:
        assert all(term["cap"] > bound for bound in (term["low"], term["high"]) if np.isfinite(bound))


# narrow searches -------------------------------------------------------------------------------------------


def check_the_bounds(case, wish, found):
    for i in range(len(case.X)):
        values = wish.values(case, i)
        best = max(values.values())
        path = tuple(found.labels[0, case.tokens(i)].tolist())
        assert near(found.values[i, 0], values[path])
        assert not_above(found.values[i, 0], best)
        assert not_above(best, found.ceiling[i])
        if found.exact[i]:
            assert near(found.values[i, 0], best)
            assert near(found.ceiling[i], best)


@settings(light, max_examples=60)
@given(matching_cases(levels=("instance",)), st.data())
def test_a_narrow_search_knows_its_limits(case, data):
    wish, k = data.draw(wishes(case)), data.draw(st.sampled_from([1, 1, 1, 3]))
    check_the_bounds(case, wish, find(case, wish, k=k, width=data.draw(st.sampled_from([1, 2, 3]))))


def test_some_narrow_searches_are_not_exact():
    """Else the tests above would show little."""
    case = random_case(np.random.default_rng(3), [1, 2] + [6] * 20, "abc", REPEATED[5])
    narrow, wide = find(case, Wishes(), width=1), find(case, Wishes())
    assert 0 < narrow.exact.sum() < len(case.X)
    assert np.any(narrow.values < wide.values - 0.1)
    assert wide.exact.all()
    check_the_bounds(case, Wishes(), narrow)


@pytest.mark.parametrize(
    ("rule", "share"), [({"at_most_once": "all"}, 0.4), ({"present": ["a", "b", "c"]}, 0.95)], ids=["most", "least"]
)
def test_multipliers_make_bounds_sharper(rule, share):
    """Without them a bound would be the score of a labelling that breaks the rule; they close some of that gap."""
    case = random_case(np.random.default_rng(1), [8] * 40, "abc", [rule], size=1.0)
    free = find(replace(case, rules=[]), Wishes()).values[:, 0]
    narrow, best = find(case, Wishes(), width=1).ceiling, find(case, Wishes()).values[:, 0]
    assert (free > best + 0.1).sum() > 10
    assert not_above(narrow, free)
    assert np.sum(narrow - best) < share * np.sum(free - best)


@light
@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12), st.data())
def test_the_nth_largest(values, data):
    n = data.draw(st.integers(1, len(values)))
    rank = data.draw(st.integers(0, n - 1))
    assert kernels.nth_largest(np.array(values), n, rank) == sorted(values[:n], reverse=True)[rank]


@light
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12), st.data())
def test_the_best_candidates_are_kept_in_their_order(bounds, data):
    width, n = data.draw(st.integers(1, len(bounds))), len(bounds)
    state, rows = np.zeros(n, PREFIX), np.arange(2 * n, dtype=np.int32).reshape(n, 2)
    state["score"], state["rest"] = np.array(bounds, float).T
    state["run"] = state["label"] = state["parent"] = np.arange(n)
    kept = sorted(sorted(range(n), key=lambda i: (-sum(bounds[i]), i))[:width])
    assert kernels.keep_best(width, n, Prefixes(state, rows), np.empty(n)) == width
    assert state[:width].tolist() == [(*map(float, bounds[i]), i, i, i) for i in kept]
    assert rows[:width].tolist() == [[2 * i, 2 * i + 1] for i in kept]


def test_searches_grow_wider():
    assert growing_widths(1, 1024).tolist() == [4, 16, 64, 256, 1024]
    assert growing_widths(50, 1024).tolist() == [50, 200, 1024]
    assert growing_widths(1, 32).tolist() == [4, 16, 32]
    assert growing_widths(50, 50).tolist() == [50]
    assert growing_widths(1, 2).tolist() == [2]


# bounds ----------------------------------------------------------------------------------------------------


def scores_and_bound(case, i):
    """What kernels read of sequence i, every label being left, and the tracked terms."""
    scoring = scoring_of(case.batch, case.weights, case.tables, Aim())
    T = len(case.X[i])
    label = np.tile(np.arange(case.Y), (T, 1))
    scores = Scores(np.empty((T, case.Y)), scoring.step, np.empty(T, np.int16), int(case.batch.offsets[i]))
    kernels.local_scores(scoring, i, scores.unary, scores.kind)
    return scores, Bound(np.zeros(case.Y), np.empty((T, case.Y)), label, np.full(T, case.Y))


@settings(light, max_examples=50)
@given(matching_cases(levels=("instance",)), st.data())
def test_bounds_leave_what_is_good_enough(case, data):
    """Whatever the floor: labels of labellings that reach it are left, and no labelling beats the bounds."""
    track = tracked(case.tables)
    for i in range(len(case.X)):
        (scores, bound), values = scores_and_bound(case, i), Wishes().values(case, i)
        ranked = sorted(values.values(), reverse=True)
        floor = ranked[data.draw(st.integers(0, min(len(ranked) - 1, 5)))] - 1e-6 * (1 + abs(ranked[0]))
        path = np.array(data.draw(st.sampled_from(sorted(values))), np.int16)
        start = values[tuple(path.tolist())]
        value, ceiling = kernels.sharpen(scores, track, bound, floor, start, np.inf, path)
        assert value >= start
        assert near(value, values[tuple(path.tolist())])
        assert not_above(ranked[0], ceiling)
        left = [set(row[:n].tolist()) for row, n in zip(bound.label, bound.many, strict=True)]
        for labels in (p for p, v in values.items() if v >= floor):
            assert all(z in some for z, some in zip(labels, left, strict=True))
            paid = sum(bound.multiplier[z] for t, z in enumerate(labels) if t == 0 or labels[t - 1] != z)
            assert not_above(values[labels], scores_of(scores, labels) - paid + credited(bound, track))
        for t, y in [(t, y) for t, some in enumerate(left) for y in some]:
            rests = [p[t:] for p in case.paths(i) if p[t] == y and all(z in left[t + s] for s, z in enumerate(p[t:]))]
            assert near(bound.ahead[t, y], max(rest_of(scores, bound, t, rest) for rest in rests))


def scores_of(scores, labels):
    steps = sum(scores.step[scores.kind[t], labels[t - 1], labels[t]] for t in range(1, len(labels)))
    return sum(scores.unary[t, z] for t, z in enumerate(labels)) + steps


def rest_of(scores, bound, t, rest):
    """The score of what follows the first label of `rest`, which token t has, multipliers paid."""
    total = 0.0
    for s, (y, z) in enumerate(pairwise(rest), start=t + 1):
        total += scores.unary[s, z] + scores.step[scores.kind[s], y, z] - (y != z) * bound.multiplier[z]
    return total


def credited(bound, track):
    limits = zip(bound.multiplier.tolist(), track.limits, strict=True)
    return sum(m * (limit["most"] if m > 0 else limit["least"]) for m, limit in limits if m)


def test_bounds_leave_few_labels():
    """Else they would not be worth their time."""
    case = random_case(np.random.default_rng(0), [8] * 20, "abcd", [{"at_most_once": "all"}], size=1.0)
    best, left = find(case, Wishes()), []
    for i in range(len(case.X)):
        scores, bound = scores_and_bound(case, i)
        value = best.values[i, 0]
        kernels.sharpen(
            scores, tracked(case.tables), bound, value - 1e-6, value, np.inf, best.labels[0, case.tokens(i)].copy()
        )
        left += bound.many.tolist()
    assert np.mean(left) < 2


def test_the_last_start_of_a_label():
    """Where only one label is left, a block of it can not begin unless another one comes before."""
    label = np.array([[0, 1], [1, 0], [1, 0], [1, 2], [2, 0]])
    last = np.empty(4, np.int64)
    kernels.last_starts(Bound(np.zeros(4), np.empty((5, 4)), label, np.array([2, 1, 1, 2, 1])), last)
    assert last.tolist() == [0, 1, 4, -1]


# hard rules ------------------------------------------------------------------------------------------------


def obeyed(case, i, path):
    """Nothing is violated, by the plain definitions."""
    rules = map(brute_rules.complete, case.rules)
    names = case.names(path)
    return not any(v for rule in rules for v in brute_rules.sequence_violations(rule, case.X[i], names, case.labels))


@settings(light, max_examples=40)
@given(matching_cases(levels=("instance",), change=hard, max_rules=3, size=0.5))
def test_hard_rules_are_obeyed_if_they_can_be(case):
    found = find(case, Wishes()).labels[0]
    for i in range(len(case.X)):
        if any(obeyed(case, i, path) for path in case.paths(i)):
            assert obeyed(case, i, tuple(found[case.tokens(i)].tolist()))


# and the rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3])
def test_threads_do_not_matter(k):
    rng = np.random.default_rng(8)
    case = random_case(rng, rng.integers(1, 12, 150).tolist(), "abc", EVERY_KIND)
    known = some_known(rng, case)
    one, two = (find(case, Wishes(known=known), k=k, width=32, n_jobs=n) for n in (1, 2))
    assert one.values.tolist() == two.values.tolist()
    assert one.ceiling.tolist() == two.ceiling.tolist()
    assert one.labels.tolist() == two.labels.tolist()


def test_without_rules_it_is_viterbi():
    case = random_case(np.random.default_rng(2), [1, 3, 5], "abc", [])
    for k in (1, 3, 5):
        check_the_best(case, Wishes(), find(case, Wishes(), k=k), k)


def test_nothing_may_be_allowed():
    case = random_case(np.random.default_rng(2), [3, 2], "ab", [{"exactly_once": ["a"]}])
    bonus = np.zeros((5, 2))
    bonus[1] = -np.inf
    for k in (1, 3):
        found = find(case, Wishes(bonus=bonus), k=k)
        assert found.values[0, 0] == found.ceiling[0] == -np.inf
        assert np.isfinite(found.values[1, 0])


@pytest.mark.parametrize(
    ("T", "Y", "rule"), [(400, 3, {"proportion": {"a": 0.5}, "level": "instance"}), (8, 60, {"at_most_once": "all"})]
)
def test_a_search_that_would_be_endless_ends_as_a_beam(T, Y, rule):
    """Its labellings are valued right, and are marked as not certain where a wider search was left out."""
    labels = [f"{chr(97 + y % 26)}{y // 26 or ''}" for y in range(Y)]
    case = random_case(np.random.default_rng(0), [T], labels, [{**rule, "weight": 3}], size=0.3)
    found = find(case, Wishes())
    path = tuple(found.labels[0].tolist())
    score = brute.score(*case.chains[0], path) - case.instance(0, path)
    assert near(found.values[0, 0], score)
    assert found.ceiling[0] >= found.values[0, 0] - 1e-6
