"""Label switching: what it earns, where it stops, and that the fast ways do what the printed algorithm does."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import brute_rules
from matching_cases import Case, agrees, matching_cases, near, not_above, random_case, some_known
from rule_strategies import EVERY_KIND
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.learning import settings as learning
from semistruct.methods.annealed import PoolMatcher
from semistruct.rules import switching
from semistruct.rules.switching import Matcher, change_points
from strategies import random_batch, seeds
from vocabulary_strategies import length_less_changes, marks_of_capitals

LEAST, MOST = 1e-9, 20  # as in core/switching.hpp and core/spans.hpp
light = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

losses = st.sampled_from([0.0, 1.0, 1.0])
small_cases = matching_cases(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
single_sequences = matching_cases(
    lengths=st.integers(1, 6).map(lambda n: [n]), levels=("instance",), max_rules=3
).filter(lambda case: case.Y < 4)


def better(new, old):
    """Strictly, by more than rounding."""
    return new < old - LEAST * (1 + abs(old))


def random_labels(rng, case):
    return rng.integers(0, case.Y, case.batch.n_tokens).astype(np.int16)


def random_scale(rng, case):
    return rng.choice([0.0, 0.3, 1.0, 5.0], len(case.X))


@st.composite
def switchings(draw, cases=small_cases):
    """(case, scale, options of match)"""
    case, rng = draw(cases), np.random.default_rng(draw(seeds))
    options = {"loss": draw(losses)}
    start, known = random_labels(rng, case), None
    if draw(st.booleans()):
        known = some_known(rng, case)
        start = np.where(known == UNKNOWN, start, known)
    if draw(st.booleans()):
        options["start"] = start
    if known is not None:
        options["known"] = known
    return case, random_scale(rng, case), options


def run(case, scale, *, start=None, **options):
    return Matcher(case.batch, case.tables, **options).match(case.weights, scale, start)


MANNERS = [{}, {"moves": "tokens"}, {"moves": "printed"}]


# what is returned ------------------------------------------------------------------------------------------


@settings(light, max_examples=75)
@given(switchings(), st.sampled_from(MANNERS))
def test_the_objective_is_what_it_says(drawn, manner):
    case, scale, options = drawn
    found = run(case, scale, **options, **manner)
    loss, paths = options["loss"], case.split(found.labels)
    assert near(found.slack, [case.slack(i, path, loss) for i, path in enumerate(paths)])
    assert near(found.instance, [case.instance(i, path) for i, path in enumerate(paths)])
    assert near(found.corpus, case.corpus(paths))
    assert near(found.objective, case.objective(found.labels, scale, loss))
    assert near(found.penalty, found.objective - scale @ found.slack)
    start = options.get("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    assert not_above(found.objective, case.objective(start, scale, loss))
    if found.switches < 2:
        assert found.switches == (found.labels.tolist() != start.tolist())
    if "known" in options:
        assert agrees(found.labels, options["known"])


@settings(light, max_examples=40)
@given(matching_cases(levels=("instance",)), st.booleans(), seeds)
def test_matching_by_score_finds_the_best_labels(case, fixed, seed):
    """For each sequence with its own weight, if the search is wide enough."""
    rng = np.random.default_rng(seed)
    scale, known = random_scale(rng, case), some_known(rng, case) if fixed else None
    task = SimpleNamespace(opened=case.batch, n_open=len(case.batch), tables=case.tables, open_known=known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "MATCH_WIDTH", 1024)
        found = PoolMatcher(task, "score", "spans", 1).match(case.weights, scale, None)
    assert near(found.objective, case.objective(found.labels, scale, 1.0))
    for i, path in enumerate(case.split(found.labels)):
        allowed = [z for z in case.paths(i) if known is None or agrees(np.array(z), known[case.tokens(i)])]
        worth = {z: scale[i] * case.scores[i][z] - case.instance(i, z) for z in allowed}
        assert near(worth[path], max(worth.values()))


FUNCTIONS = [
    {"function": marks_of_capitals, "weight": 3},
    {"function": length_less_changes, "low": -0.5, "high": 0.5, "level": "corpus", "penalty": "square", "weight": 20},
]


@settings(light, max_examples=50)
@given(switchings(), st.sampled_from(MANNERS), st.sampled_from([FUNCTIONS, FUNCTIONS[:1], FUNCTIONS[1:]]))
def test_functions_have_a_say(drawn, manner, functions):
    case, scale, options = drawn
    case = replace(case, rules=[*case.rules, *functions])
    start = options.setdefault("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    found, loss = run(case, scale, **options, **manner), options["loss"]
    assert near(found.objective, case.objective(found.labels, scale, loss))
    assert near(found.corpus, case.corpus(case.split(found.labels)))
    assert not_above(found.objective, case.objective(start, scale, loss))
    priced = Matcher(case.batch, case.tables, loss=loss).price(case.weights, scale, found.labels)
    assert near([priced.objective, priced.penalty], [found.objective, found.penalty])
    assert agrees(found.labels, options.get("known", np.full(len(start), UNKNOWN)))


@light
@given(switchings(), st.sampled_from([{}, {"moves": "tokens"}]))
def test_a_second_time_finds_nothing(drawn, manner):
    case, scale, options = drawn
    first = run(case, scale, **options, **manner)
    assume(first.switches < switching.PASSES)  # surely not stopped by a limit
    second = run(case, scale, **{**options, "start": first.labels}, **manner)
    assert second.switches == 0
    assert second.labels.tolist() == first.labels.tolist()
    assert second.objective == first.objective


@settings(light, max_examples=50)
@given(switchings(), st.sampled_from(["spans", "tokens", "printed"]), seeds)
def test_the_ledger_is_kept(drawn, moves, seed):
    """Counts, totals, slacks and penalties kept up to date along the moves are those of a recount."""
    case, scale, options = drawn
    y = options.get("start", random_labels(np.random.default_rng(seed), case)).copy()
    known = options.get("known") if "start" in options else None
    matcher = Matcher(case.batch, case.tables, known, moves, options["loss"], n_jobs=1)
    objective = matcher._objective(case.weights, scale)
    ledger = matcher._opened(objective, y)
    matcher._switch(objective, y, ledger)
    recount = matcher._opened(objective, y)
    assert ledger.counts.tolist() == recount.counts.tolist()
    assert ledger.totals.tolist() == recount.totals.tolist()
    assert near(ledger.slack, recount.slack)
    assert near(ledger.instance, recount.instance)
    assert near(ledger.corpus, recount.corpus)


@pytest.mark.parametrize("rules", [EVERY_KIND, EVERY_KIND[:8]], ids=["corpus", "instance"])
@pytest.mark.parametrize("manner", MANNERS, ids=str)
def test_threads_do_not_matter(rules, manner):
    rng = np.random.default_rng(4)
    case = random_case(rng, rng.integers(1, 10, 130).tolist(), "abc", rules)
    one, two = (run(case, np.full(130, 0.5), n_jobs=n, **manner) for n in (1, 2))
    assert one.labels.tolist() == two.labels.tolist()
    assert one.objective == two.objective
    assert one.switches == two.switches > 0


# single labels ---------------------------------------------------------------------------------------------


def printed(case, y, scale, loss, known, limit):
    """Algorithm 2 with everything computed from scratch, the sign of the slack put right."""
    y, visits = y.copy(), 0

    def part(i, labels):
        paths = case.split(labels)
        return case.part(i, paths[i], scale, loss) + case.corpus(paths)

    for i in range(len(case.X)):
        for m in range(case.batch.offsets[i], case.batch.offsets[i + 1]):
            least, present = part(i, y), y[m]
            label = present
            for r in range(case.Y):
                if r == present or (known is not None and known[m] != UNKNOWN):
                    continue
                y[m] = r
                value = part(i, y)
                if better(value, least):
                    least, label = value, r
            y[m] = label
            visits += 1
            if visits > limit:
                return y
    return y


small_switchings = switchings(matching_cases(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3), max_rules=3))


@settings(light, max_examples=50)
@given(small_switchings, st.sampled_from([0, 1, 2, 4, 1000]))
def test_what_is_printed(drawn, limit):
    case, scale, options = drawn
    start = options.setdefault("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    wanted = printed(case, start, scale, options["loss"], options.get("known"), limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switching, "PRINTED_LIMIT", limit)
        found = run(case, scale, moves="printed", **options)
    assert found.labels.tolist() == wanted.tolist()


@pytest.mark.parametrize("rules", [[], EVERY_KIND[:3], EVERY_KIND], ids=["none", "some", "all"])
def test_what_is_printed_over_many_switches(rules):
    """From labels at random; messages that an earlier switch has made invalid are not used."""
    rng = np.random.default_rng(len(rules))
    case = random_case(rng, [5] * 12, "abc", [{**rule, "weight": 1} for rule in rules], size=0.5)
    scale, start = np.full(12, 3.0), random_labels(rng, case)
    for loss in (0.0, 1.0):
        found = run(case, scale, moves="printed", start=start, loss=loss)
        assert found.labels.tolist() == printed(case, start, scale, loss, None, 1000).tolist()
        assert found.switches > 10


@light
@given(small_switchings)
def test_single_labels_are_visited_until_nothing_changes(drawn):
    case, scale, options = drawn
    y = options.setdefault("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    for _ in range(switching.PASSES):
        before, y = y, printed(case, y, scale, options["loss"], options.get("known"), 10**6)
        if y.tolist() == before.tolist():
            break
    assert run(case, scale, moves="tokens", **options).labels.tolist() == y.tolist()


def test_the_printed_limit_is_on_visits():
    """Every label is wrong, but no more than 1001 are looked at."""
    n = 1100
    case = zero_case([["x"]] * n, "ab", [{"words": ["x"], "are": ["b"]}])
    assert run(case, np.ones(n), moves="printed").switches == 1001
    assert run(case, np.ones(n), moves="tokens").switches == n


# spans -----------------------------------------------------------------------------------------------------


def places_for_changes(case, i):
    """Where no rule about changes forbids one; changing everywhere shows all the places where it does."""
    words, free = case.X[i], set(range(len(case.X[i]) + 1))
    for rule in case.rules:
        if "change_only_on" in rule and "if" not in rule:
            everywhere = list(range(len(words)))
            marks, side = rule["change_only_on"], rule.get("side", "after")
            free -= set(brute_rules.changes_elsewhere(words, everywhere, marks, side))
    return free


def span_moves(y, free, Y):
    """Labellings one move away: relabel between two points, shift a boundary, swap two neighbouring blocks."""
    T = len(y)
    bounds = [0, *(t for t in range(1, T) if y[t] != y[t - 1]), T]
    points = sorted(free | set(bounds))
    moved = [(*y[:s], *[c] * (e - s), *y[e:]) for s in points for e in points if s < e for c in range(Y)]
    for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False):
        moved += [(*y[:t], *[y[b]] * (b - t), *y[b:]) for t in range(a + 1, b)]
        moved += [(*y[:b], *[y[b - 1]] * (t - b), *y[t:]) for t in range(b + 1, c)]
        moved.append((*y[:a], *[y[b]] * (b - a), *[y[a]] * (c - b), *y[c:]))
    return set(moved) - {tuple(y)}


def check_local_optimum(case, found, scale, loss, known):
    paths = case.split(found.labels)
    for i, path in enumerate(paths):
        now = case.part(i, path, scale, loss) + case.corpus(paths)
        for moved in span_moves(path, places_for_changes(case, i), case.Y):
            if known is None or agrees(moved, known[case.tokens(i)]):
                value = case.part(i, moved, scale, loss) + case.corpus([*paths[:i], moved, *paths[i + 1 :]])
                assert not better(value, now - ROUNDING * (1 + abs(now)))


ROUNDING = 1e-10


@settings(light, max_examples=60)
@given(switchings(single_sequences))
def test_spans_end_in_a_local_optimum(drawn):
    case, scale, options = drawn
    found = run(case, scale, **options)
    assume(found.switches < MOST)
    check_local_optimum(case, found, scale, options["loss"], options.get("known"))


@settings(light, max_examples=40)
@given(switchings(matching_cases(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=2), max_rules=3)))
def test_spans_end_in_a_local_optimum_of_the_corpus(drawn):
    case, scale, options = drawn
    found = run(case, scale, **options)
    assume(found.switches < switching.PASSES)
    check_local_optimum(case, found, scale, options["loss"], options.get("known"))


@settings(light, max_examples=60)
@given(small_cases)
def test_change_points(case):
    free = change_points(case.tables)
    assert len(free) == case.batch.n_tokens + 1
    for i in range(len(case.X)):
        wanted = places_for_changes(case, i) - {len(case.X[i])}
        assert set(np.flatnonzero(free[case.tokens(i)])) == wanted


@pytest.mark.parametrize("seed", range(3))
def test_corpus_rules_need_more_than_one_pass(seed):
    """And when they have had them, nothing is left to do."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, [4] * 12, "abc", [{**rule, "weight": 2} for rule in EVERY_KIND], size=0.5)
    start, scale = random_labels(rng, case), np.ones(12)
    found = run(case, scale, start=start)
    assert run(case, scale, start=found.labels).switches == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switching, "PASSES", 1)
        once = run(case, scale, start=start)
    assert found.switches > once.switches
    assert found.objective < once.objective


# hand-made -------------------------------------------------------------------------------------------------


def zero_case(X, labels, rules):
    """A model that does not mind anything."""
    batch, Y = random_batch(np.random.default_rng(0), [len(words) for words in X], 1), len(labels)
    return Case(X, tuple(labels), batch, ChainWeights(np.zeros((1, Y)), np.zeros((1, Y, Y))), rules)


def labels_of(case, found):
    return ["".join(case.names(path)) for path in case.split(found.labels)]


STUCK = zero_case(
    [["x", "y", "z", ".", "x", "y"]],
    "ab",
    [
        {"change_only_on": ["punctuation"]},
        {"starts_with": ["b"], "weight": 500},
        {"ends_with": ["a"], "weight": "hard"},
    ],
)
"""The first label can only become b together with all labels up to the full stop."""


@pytest.mark.parametrize(
    ("manner", "wanted"),
    [
        ({"moves": "tokens"}, "aaaaaa"),
        ({"moves": "printed"}, "aaaaaa"),
        ({}, "bbbbaa"),
    ],
    ids=str,
)
def test_spans_get_where_single_labels_are_stuck(manner, wanted):
    found = run(STUCK, np.ones(1), start=np.zeros(6, np.int16), **manner)
    assert labels_of(STUCK, found) == [wanted]
    assert found.penalty == (0 if wanted[0] == "b" else 500)


A_THEN_B = [{"words": ["ca"], "are": ["a"]}, {"words": ["pp"], "are": ["b"]}]


@pytest.mark.parametrize(
    ("words", "start", "rules", "wanted"),
    [
        ("x x x x x x", "aaabbb", [{"words": ["pp"], "are": ["a"]}, {"exactly_once": ["a", "b"]}], "aaabbb"),
        ("pp pp x x x", "aabbb", [{"starts_with": ["b"]}, {"exactly_once": ["a", "b"], "weight": "hard"}], "bbaaa"),
        ("ca ca ca pp pp", "aaaab", [*A_THEN_B, {"exactly_once": ["a", "b"], "weight": 5}], "aaabb"),
        ("ca ca pp pp pp", "abbbb", [*A_THEN_B, {"exactly_once": ["a", "b"], "weight": 5}], "aabbb"),
    ],
    ids=["nothing", "swap", "left", "right"],
)
def test_moves(words, start, rules, wanted):
    """One move each, where changes are free nowhere else."""
    case = zero_case([words.split()], "ab", [*rules, {"change_only_on": ["never"], "weight": 1}])
    found = run(case, np.ones(1), start=np.array(["ab".index(z) for z in start], np.int16))
    assert labels_of(case, found) == [wanted]
    assert found.switches == (start != wanted)
