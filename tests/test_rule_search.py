"""The best labellings under rules against enumeration."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brute
import brute_rules
from matching_cases import agrees, hard, level, matching_cases, near, not_above, random_case, some_known
from rule_strategies import EVERY_KIND
from semistruct.core.batch import UNKNOWN
from semistruct.rules.search import Aim, find_best, growing_widths, tracked
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


def find(case, wish, within=np.inf, **options):
    aim = Aim(wish.scale, wish.bonus, wish.known, within)
    return find_best(case.batch, case.weights, case.tables, aim, **options)


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


def test_searches_grow_wider():
    assert growing_widths(1, 1024).tolist() == [4, 16, 64, 256, 1024]
    assert growing_widths(50, 1024).tolist() == [50, 200, 1024]
    assert growing_widths(1, 32).tolist() == [4, 16, 32]
    assert growing_widths(50, 50).tolist() == [50]
    assert growing_widths(1, 2).tolist() == [2]


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
