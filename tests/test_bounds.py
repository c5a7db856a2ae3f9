"""Certificates: no labelling of a tiny corpus may be better than the bound says."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matching_cases import agrees, matching_cases, near, not_above, random_case, some_known
from rule_strategies import EVERY_KIND
from semistruct.switching.bounds import CERTAIN, certify
from semistruct.switching.matching import match
from strategies import seeds

light = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
TINY = {1: (4, 4), 2: (4, 3), 3: (3, 2), 4: (2, 2)}
"""Lengths of two sequences for a number of labels."""


@st.composite
def tiny_cases(draw, levels=("instance", "corpus")):
    n, seed = draw(st.integers(1, 2)), draw(st.integers(0, 99))
    case = draw(matching_cases(lengths=st.just([4, 4][:n]), levels=levels, max_rules=3))
    rng = np.random.default_rng(seed)
    lengths = [int(rng.integers(1, most + 1)) for most in TINY[case.Y][:n]]
    return random_case(rng, lengths, case.labels, case.rules, size=draw(st.sampled_from([0.3, 3.0])))


def least(case, scale, loss, known):
    """The least objective of all labellings of the corpus."""
    options = [
        {p: case.part(i, p, scale, loss) for p in case.paths(i) if known is None or agrees(p, known[case.tokens(i)])}
        for i in range(len(case.X))
    ]
    return min(
        sum(part[p] for part, p in zip(options, paths, strict=True)) + case.corpus(paths)
        for paths in product(*options)
    )  # fmt: skip


def certified(case, scale, loss, known=None, start=None, **options):
    """From a start that is given no switch is made."""
    how = {} if start is None else {"start": start, "moves": "printed", "counter": "switches", "limit": 0}
    matching = match(case.batch, case.weights, case.tables, scale, loss=loss, known=known, **how)
    return certify(case.batch, case.weights, case.tables, matching, known=known, **options), matching


def check_certificate(found, matching, least):
    assert not_above(found.bound, least)
    assert not_above(least, found.objective)
    assert found.objective == matching.objective
    assert found.gap >= 0
    assert near(found.gap, max(0.0, found.objective - found.bound))
    assert near(found.bound, found.lower.sum() + found.constant)
    assert np.all(found.lower <= found.value)


@st.composite
def tasks(draw, levels=("instance", "corpus")):
    """(case, scale, known)"""
    case, rng = draw(tiny_cases(levels)), np.random.default_rng(draw(seeds))
    known = some_known(rng, case) if draw(st.booleans()) else None
    return case, rng.choice([0.0, 0.3, 1.0, 5.0], len(case.X)), known


@settings(light, max_examples=150)
@given(tasks(), st.sampled_from([0.0, 1.0]), st.sampled_from([1, 4]), st.sampled_from([1, 64]))
def test_no_labelling_is_below_the_bound(task, loss, rounds, width):
    case, scale, known = task
    found, matching = certified(case, scale, loss, known, rounds=rounds, width=width)
    check_certificate(found, matching, least(case, scale, loss, known))


@settings(light, max_examples=60)
@given(tasks(levels=("instance",)))
def test_without_loss_the_bound_is_tight(task):
    case, scale, known = task
    found, matching = certified(case, scale, 0.0, known)
    best = least(case, scale, 0.0, known)
    check_certificate(found, matching, best)
    assert near(found.bound, best)
    assert found.constant == 0.0
    for i, certain in enumerate(found.certain):
        paths = [p for p in case.paths(i) if known is None or agrees(p, known[case.tokens(i)])]
        gap = found.value[i] - min(case.part(i, p, scale, 0.0) for p in paths)
        assert certain or gap > 0.9 * CERTAIN * (1 + found.value[i])
        assert not certain or gap < 1.1 * CERTAIN * (1 + found.value[i])


CORPUS_RULES = [
    {"proportion": {"a": 0.9}},
    {"proportion": {"a": (None, 0.1), "b": (0.7, None)}, "unit": "fraction", "weight": 20, "penalty": "absolute"},
    {"count": {"a": 3.5}, "weight": 5},
    {"count": {"b": (None, 0.2)}, "of": "tokens", "weight": 5},
    {"pattern": ".*", "are": ["a"], "fraction": (0.8, None), "level": "corpus", "weight": 30},
    {"pattern": ".*", "are_not": ["a"], "fraction": 1, "level": "corpus", "weight": 3, "unit": "percent"},
    {"change_only_on": ["never"], "fraction": 0.5, "level": "corpus", "weight": 9},
    {"change_only_on": ["[A-Za-z]+"], "fraction": (None, 0.1), "level": "corpus", "weight": 9},
    {"change_only_on": ["[A-Za-z]+"], "fraction": (0.9, None), "level": "corpus", "weight": 9},
]


@pytest.mark.parametrize("loss", [0.0, 1.0])
@pytest.mark.parametrize("penalty", ["absolute", "square"])
@pytest.mark.parametrize("rule", CORPUS_RULES, ids=[next(iter(rule)) + str(i) for i, rule in enumerate(CORPUS_RULES)])
def test_corpus_rules(rule, penalty, loss):
    rng = np.random.default_rng(len(str(rule)))
    for _ in range(4):
        case = random_case(rng, [3, 3], "ab", [{**rule, "penalty": penalty}, {"min_length": 2, "weight": 1}], size=0.5)
        scale = rng.choice([0.5, 2.0], 2)
        best = least(case, scale, loss, None)
        check_certificate(*certified(case, scale, loss), best)
        for _ in range(4):  # a tangent is one wherever it touches
            start = rng.integers(0, 2, 6).astype(np.int16)
            check_certificate(*certified(case, scale, loss, start=start), best)


@pytest.mark.parametrize("penalty", ["absolute", "square"])
@pytest.mark.parametrize(
    "rule",
    [
        {"proportion": {"a": 1.0}, "unit": "fraction"},
        {"proportion": {"b": 0.0}, "unit": "fraction"},
        {"pattern": ".*", "are": ["a"], "level": "corpus"},
    ],
    ids=["low", "high", "words"],
)
def test_tangents_are_tight_where_they_touch(rule, penalty):
    """Three of four labels are known and break the rule; the price of an event says what the fourth is worth."""
    rules = [{**rule, "penalty": penalty, "weight": 6}]
    case = random_case(np.random.default_rng(0), [2, 2], "ab", rules, size=0.0)
    known = np.array([1, -1, 1, 1], np.int16)
    found, matching = certified(case, np.ones(2), 0.0, known)
    assert matching.labels.tolist() == [1, 0, 1, 1]
    wanted = 6 * 0.75 if penalty == "absolute" else 6 * 0.75**2
    assert near([found.bound, found.objective, found.gap], [wanted, wanted, 0.0])


def fictitious_play(case, i, scale, rounds):
    """The bound for one sequence: every rival so far has an equal share in the mixture."""
    scores, length, bounds = case.scores[i], len(case.X[i]), []
    rivals = [max(scores, key=scores.get)]
    for _ in range(rounds):
        mean = sum(scores[z] for z in rivals) / len(rivals)

        def gain(y):
            shared = sum(a == b for z in rivals for a, b in zip(y, z, strict=True)) / len(rivals)
            return scale * (scores[y] + shared) - case.instance(i, y)

        answer = max(scores, key=gain)
        bounds.append(scale * (length + mean) - gain(answer))
        rivals.append(max(scores, key=lambda z: scores[z] + sum(a != b for a, b in zip(z, answer, strict=True))))
    return max(bounds)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_rivals_are_mixed(rounds):
    rng = np.random.default_rng(11)
    case = random_case(rng, [4] * 12, "abc", [{**rule, "weight": 1} for rule in EVERY_KIND[:7]], size=0.5)
    scale = rng.choice([0.5, 2.0], 12)
    found, _ = certified(case, scale, 1.0, rounds=rounds)
    wanted = [fictitious_play(case, i, scale[i], rounds) for i in range(12)]
    assert near(found.lower, np.minimum(wanted, found.value))


def test_a_search_that_is_not_exact_gives_a_bound_too():
    rules = [{"min_length": 3, "labels": ["a"], "weight": 4}, {"max_length": 2, "labels": ["b"], "penalty": "square"}]
    case = random_case(np.random.default_rng(3), [5] * 8, "abc", rules)
    found, _ = certified(case, np.ones(8), 0.0, width=1)
    best = [min(case.part(i, p, np.ones(8), 0.0) for p in case.paths(i)) for i in range(8)]
    assert not_above(found.lower, np.array(best))
    assert np.any(found.lower < np.array(best) - 0.1)


@pytest.mark.parametrize("rules", [EVERY_KIND[:8], EVERY_KIND], ids=["instance", "corpus"])
def test_more_rounds_are_not_worse(rules):
    """Mixtures of rivals close some of the gap."""
    rng = np.random.default_rng(6)
    case = random_case(rng, [6] * 10, "abc", rules, size=1.0)
    matching = match(case.batch, case.weights, case.tables, np.full(10, 8.0))
    bounds = [certify(case.batch, case.weights, case.tables, matching, rounds=n).bound for n in (1, 2, 4, 8)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0] + 1e-3
    assert bounds[-1] <= matching.objective


def test_threads_do_not_matter():
    rng = np.random.default_rng(7)
    case = random_case(rng, rng.integers(1, 8, 130).tolist(), "abc", EVERY_KIND)
    matching = match(case.batch, case.weights, case.tables, rng.choice([0.5, 1.0], 130))
    one, two = (certify(case.batch, case.weights, case.tables, matching, n_jobs=n) for n in (1, 2))
    assert one.lower.tolist() == two.lower.tolist()
    assert one.bound == two.bound
