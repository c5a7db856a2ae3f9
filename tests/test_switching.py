"""Label switching: what it earns, where it stops, and that the fast ways do what the printed algorithm does."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import brute_rules
from matching_cases import Case, agrees, level, matching_cases, near, not_above, random_case, some_known
from rule_strategies import EVERY_KIND, length_less_changes, marks_of_capitals
from semistruct.batch import UNKNOWN
from semistruct.chain.inference import ChainWeights, decode
from semistruct.search.best import scorer_of
from semistruct.switching import matching as switching
from semistruct.switching.matching import change_points, match
from semistruct.switching.switch_kernels import (
    LEAST,
    Current,
    Price,
    candidate_spans,
    cost_window,
    least_value,
    refresh,
    score_window,
    slack_after,
    switch_tokens,
)
from strategies import random_batch, seeds

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


def run(case, scale, **options):
    return match(case.batch, case.weights, case.tables, scale, **options)


MANNERS = [
    {},
    {"greedy": True},
    {"search": True},
    {"search": True, "greedy": True},
    {"moves": "tokens"},
    {"moves": "printed"},
    {"moves": "printed", "counter": "switches", "limit": 2, "order": "random"},
]


# what is returned ------------------------------------------------------------------------------------------


@settings(light, max_examples=150)
@given(switchings(), st.sampled_from(MANNERS), seeds)
def test_the_objective_is_what_it_says(drawn, manner, seed):
    case, scale, options = drawn
    found = run(case, scale, **options, **manner, seed=seed)
    loss, paths = options["loss"], case.split(found.labels)
    assert near(found.slack, [case.slack(i, path, loss) for i, path in enumerate(paths)])
    assert near(found.instance, [case.instance(i, path) for i, path in enumerate(paths)])
    assert near(found.corpus, case.corpus(paths))
    assert near(found.objective, case.objective(found.labels, scale, loss))
    assert near(found.penalty, found.objective - scale @ found.slack)
    assert not_above(found.objective, found.before)
    start = options.get("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    assert near(found.before, case.objective(start, scale, loss))
    if found.switches < 2:
        assert found.switches == (found.labels.tolist() != start.tolist())
    if "known" in options:
        assert agrees(found.labels, options["known"])


FUNCTIONS = [
    {"function": marks_of_capitals, "weight": 3},
    {"function": length_less_changes, "low": -0.5, "high": 0.5, "level": "corpus", "penalty": "square", "weight": 20},
]


@settings(light, max_examples=50)
@given(switchings(), st.sampled_from(MANNERS[:3]), st.sampled_from([FUNCTIONS, FUNCTIONS[:1], FUNCTIONS[1:]]))
def test_functions_have_a_say(drawn, manner, functions):
    case, scale, options = drawn
    case = replace(case, rules=[*case.rules, *functions])
    start = options.setdefault("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    found, loss = run(case, scale, **options, **manner), options["loss"]
    assert near(found.before, case.objective(start, scale, loss))
    assert near(found.objective, case.objective(found.labels, scale, loss))
    assert near(found.corpus, case.corpus(case.split(found.labels)))
    assert not_above(found.objective, found.before)
    assert agrees(found.labels, options.get("known", np.full(len(start), UNKNOWN)))


@light
@given(switchings(), st.sampled_from([{}, {"greedy": True}, {"moves": "tokens"}]))
def test_a_second_time_finds_nothing(drawn, manner):
    case, scale, options = drawn
    first = run(case, scale, **options, **manner)
    assume(first.switches < switching.PASSES)  # surely not stopped by a limit
    second = run(case, scale, **{**options, "start": first.labels}, **manner)
    assert second.switches == 0
    assert second.labels.tolist() == first.labels.tolist()
    assert second.before == first.objective


@settings(light, max_examples=100)
@given(switchings(), st.sampled_from(["spans", "greedy", "tokens", "printed"]), seeds)
def test_the_ledger_is_kept(drawn, manner, seed):
    """Counts, totals, slacks and penalties kept up to date along the moves are those of a recount."""
    case, scale, options = drawn
    scorer, tables, loss = scorer_of(case.batch, case.weights), case.tables, options["loss"]
    price = Price(tables.instance, tables.corpus, float(case.batch.n_tokens), float(len(case.X)))
    y = options.get("start", random_labels(np.random.default_rng(seed), case)).copy()
    known = options.get("known", switching.NOWHERE) if "start" in options else switching.NOWHERE
    ledger = switching._opened(scorer, tables, price, loss, y, 1)
    if manner in ("spans", "greedy"):
        greedy, nowhere = manner == "greedy", switching.NOWHERE
        switching._switch_spans(scorer, tables, price, scale, loss, known, greedy, nowhere, y, ledger, 1)
    else:
        which, order = switching._visits(case.batch, "random", seed)
        args = (scorer, tables.potentials(tables.plain), tables.events, tables.targets, price, scale, loss, known)
        switch_tokens(which, order, *args, manner == "printed", 10**6, True, y, ledger)
    recount = switching._opened(scorer, tables, price, loss, y, 1)
    assert ledger.counts.tolist() == recount.counts.tolist()
    assert ledger.totals.tolist() == recount.totals.tolist()
    assert near(ledger.slack, recount.slack)
    assert near(ledger.instance, recount.instance)
    assert near(ledger.corpus, recount.corpus)


@pytest.mark.parametrize("rules", [EVERY_KIND, EVERY_KIND[:8]], ids=["corpus", "instance"])
@pytest.mark.parametrize("manner", MANNERS[:5], ids=str)
def test_threads_do_not_matter(rules, manner):
    rng = np.random.default_rng(4)
    case = random_case(rng, rng.integers(1, 10, 130).tolist(), "abc", rules)
    one, two = (run(case, np.full(130, 0.5), n_jobs=n, **manner) for n in (1, 2))
    assert one.labels.tolist() == two.labels.tolist()
    assert one.objective == two.objective
    assert one.before == two.before
    assert one.switches == two.switches > 0


# single labels ---------------------------------------------------------------------------------------------


def printed(case, y, scale, loss, known, limit, counter, which, order):
    """Algorithm 2 with everything computed from scratch, the sign of the slack put right."""
    y, switches, visits = y.copy(), 0, 0

    def part(i, labels):
        paths = case.split(labels)
        return case.part(i, paths[i], scale, loss) + case.corpus(paths)

    for i in which:
        first = case.batch.offsets[i]
        for m in order[case.tokens(i)]:
            if counter == "switches" and switches >= limit:
                return y
            least, present = part(i, y), y[first + m]
            label = present
            for r in range(case.Y):
                if r == present or (known is not None and known[first + m] != UNKNOWN):
                    continue
                y[first + m] = r
                value = part(i, y)
                if better(value, least):
                    least, label = value, r
            y[first + m] = label
            switches += label != present
            visits += 1
            if counter == "visits" and visits > limit:
                return y
    return y


@st.composite
def visits(draw):
    return {
        "order": draw(st.sampled_from(["sequential", "random"])),
        "counter": draw(st.sampled_from(["visits", "switches"])),
        "limit": draw(st.sampled_from([0, 1, 2, 4, 100, None])),
        "seed": draw(st.integers(0, 99)),
    }


def one_pass_of_tokens(case, scale, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switching, "PASSES", 1)
        return run(case, scale, moves="tokens", **options)


@settings(light, max_examples=100)
@given(switchings(matching_cases(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4))), visits())
def test_messages_do_what_is_printed(drawn, how):
    case, scale, options = drawn
    slow, fast = run(case, scale, moves="printed", **options, **how), one_pass_of_tokens(case, scale, **options, **how)
    assert fast.labels.tolist() == slow.labels.tolist()
    assert fast.switches == slow.switches
    assert fast.objective == slow.objective


@pytest.mark.parametrize("order", ["sequential", "random"])
@pytest.mark.parametrize("rules", [[], EVERY_KIND[:3], EVERY_KIND], ids=["none", "some", "all"])
def test_messages_do_what_is_printed_over_many_switches(rules, order):
    """From labels at random; messages that an earlier switch has made invalid are not used."""
    rng = np.random.default_rng(len(rules))
    case = random_case(rng, [12] * 15, "abc", [{**rule, "weight": 1} for rule in rules], size=0.5)
    scale, start = np.full(15, 3.0), random_labels(rng, case)
    for loss in (0.0, 1.0):
        slow = run(case, scale, moves="printed", start=start, order=order, loss=loss, seed=3)
        fast = one_pass_of_tokens(case, scale, start=start, order=order, loss=loss, seed=3)
        assert fast.labels.tolist() == slow.labels.tolist()
        assert fast.switches == slow.switches > 30


@settings(light, max_examples=50)
@given(switchings(matching_cases(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=2), max_rules=3)), visits())
def test_what_is_printed(drawn, how):
    case, scale, options = drawn
    start = options.get("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    limit = 1000 if how["limit"] is None else how["limit"]
    visited = switching._visits(case.batch, how["order"], how["seed"])
    wanted = printed(case, start, scale, options["loss"], options.get("known"), limit, how["counter"], *visited)
    found = run(case, scale, moves="printed", **options, **how)
    assert found.labels.tolist() == wanted.tolist()


@light
@given(switchings(matching_cases(lengths=st.lists(st.integers(1, 3), min_size=2, max_size=3))), st.integers(0, 20))
def test_limits_are_on_all_passes_together(drawn, limit):
    case, scale, options = drawn
    visited, n = switching._visits(case.batch, "sequential", 0), case.batch.n_tokens
    options.setdefault("start", decode(case.batch, case.weights, known=options.get("known"))[0])
    args = scale, options["loss"], options.get("known")
    for counter in ("visits", "switches"):
        y, rest = options["start"], limit
        for _ in range(switching.PASSES):
            before, y = y, printed(case, y, *args, rest, counter, *visited)
            rest -= n if counter == "visits" else int((y != before).sum())
            if rest < 0 or y.tolist() == before.tolist():
                break
        found = run(case, scale, moves="tokens", limit=limit, counter=counter, **options)
        assert found.labels.tolist() == y.tolist()


def test_the_printed_limit_is_on_visits():
    """Every label is wrong, but no more than 1001 are looked at."""
    n = 1100
    case = zero_case([["x"]] * n, "ab", [{"words": ["x"], "are": ["b"]}])
    assert run(case, np.ones(n), moves="printed").switches == 1001
    assert run(case, np.ones(n), moves="printed", counter="switches").switches == 1000
    assert run(case, np.ones(n), moves="printed", limit=2000).switches == n
    assert run(case, np.ones(n), moves="tokens").switches == n


@pytest.mark.parametrize(
    ("limit", "counter", "wanted"),
    [(1, "visits", "ab"), (2, "visits", "bb"), (1, "switches", "ab"), (2, "switches", "bb"), (None, "visits", "bb")],
)
def test_a_limit_is_on_all_passes_together(limit, counter, wanted):
    """The first label follows the second, but only in a second pass."""
    rules = [{"words": ["pp"], "are": ["b"], "weight": 5}, {"change_only_on": ["never"], "weight": 1}]
    case = zero_case([["x", "pp"]], "ab", rules)
    start = np.zeros(2, np.int16)
    assert labels_of(case, run(case, np.ones(1), start=start, moves="tokens", limit=limit, counter=counter)) == [wanted]


def test_visits():
    batch = random_batch(np.random.default_rng(0), [3, 1, 2], 1)
    which, order = switching._visits(batch, "sequential", 0)
    assert (which.tolist(), order.tolist()) == ([0, 1, 2], [0, 1, 2, 0, 0, 1])
    found = [switching._visits(batch, "random", seed) for seed in (0, 0, 1, 2)]
    assert found[0][0].tolist() == found[1][0].tolist()
    assert len({(*which.tolist(), *order.tolist()) for which, order in found}) > 1
    for which, order in found:
        assert sorted(which) == [0, 1, 2]
        assert [sorted(part) for part in batch.split(order)] == [[0, 1, 2], [0], [0, 1]]


# spans -----------------------------------------------------------------------------------------------------


def places_for_changes(case, i):
    """Where no rule about changes forbids one; changing everywhere shows all the places where it does."""
    words, free = case.X[i], set(range(len(case.X[i]) + 1))
    for rule in case.rules:
        if "change_only_on" in rule:
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
@given(switchings(single_sequences), st.sampled_from(MANNERS[:4]))
def test_spans_end_in_a_local_optimum(drawn, manner):
    case, scale, options = drawn
    found = run(case, scale, **options, **manner)
    assume(found.switches < switching.MOST)
    check_local_optimum(case, found, scale, options["loss"], options.get("known"))


@settings(light, max_examples=40)
@given(
    switchings(matching_cases(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=2), max_rules=3)), st.booleans()
)
def test_spans_end_in_a_local_optimum_of_the_corpus(drawn, greedy):
    case, scale, options = drawn
    found = run(case, scale, **options, greedy=greedy)
    assume(found.switches < switching.PASSES)
    check_local_optimum(case, found, scale, options["loss"], options.get("known"))


@settings(light, max_examples=60)
@given(small_cases, seeds)
def test_change_points(case, seed):
    free = change_points(case.tables)
    assert len(free) == case.batch.n_tokens + 1
    for i in range(len(case.X)):
        wanted = places_for_changes(case, i) - {len(case.X[i])}
        assert set(np.flatnonzero(free[case.tokens(i)])) == wanted
    # and the moves that are made of them
    i, reach = seed % len(case.X), 1 + seed % 3
    y = case.split(random_labels(np.random.default_rng(seed), case))[i]
    spans = candidate_spans(np.array(y, np.int16), free[case.tokens(i)], case.Y, 100)
    assert {moved(y, *span) for span in spans.tolist()} - {y} == span_moves(y, places_for_changes(case, i), case.Y)
    points = sorted({s for s, _, _ in spans.tolist()} | {len(y)})
    near_ones = candidate_spans(np.array(y, np.int16), free[case.tokens(i)], case.Y, reach)
    wide = {(s, e) for s, e, c in spans.tolist()} - {(s, e) for s, e, c in near_ones.tolist()}
    assert all(points.index(e) - points.index(s) > reach for s, e in wide if s in points and e in points)


def moved(y, s, e, c):
    """The labelling after a move (s, e, c) of the kernel."""
    other = {y[s]: y[e - 1], y[e - 1]: y[s]}
    return tuple(y[:s]) + tuple(c if c >= 0 else other[z] for z in y[s:e]) + tuple(y[e:])


@light
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=4), st.data())
def test_candidates(runs, data):
    """Blocks of labels, and points where they may change besides."""
    y = tuple(z for z, n in runs for _ in range(n))
    cut = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    cut &= data.draw(st.booleans())
    spans = candidate_spans(np.array(y, np.int16), cut, 3, 100).tolist()
    assert {moved(y, *span) for span in spans} - {y} == span_moves(y, set(np.flatnonzero(cut).tolist()), 3)


def test_reach():
    """Spans of one chunk, of two, ..., where every token is a chunk."""
    y, cut = np.zeros(5, np.int16), np.ones(5, bool)
    for reach in range(1, 7):
        spans = candidate_spans(y, cut, 2, reach).tolist()
        wanted = [[s, e, c] for s in range(5) for e in range(s + 1, min(s + reach, 5) + 1) for c in range(2)]
        assert spans == wanted


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


def soft_case(seed):
    """Sequences for which there is much to gain, a little at a time, and their labels at random."""
    rng = np.random.default_rng(seed)
    rules = [{**rule, "weight": 2} for rule in EVERY_KIND if level(rule) == "instance"]
    case = random_case(rng, [9] * 20, "abc", rules, size=0.5)
    return case, np.ones(20), random_labels(rng, case)


def test_the_first_better_move_or_the_best():
    """Greedy moves are more and smaller ones."""
    case, scale, start = soft_case(0)
    best, greedy = (run(case, scale, start=start, greedy=greedy) for greedy in (False, True))
    assert greedy.switches > best.switches


def test_spans_go_on_where_a_jump_does_not_help():
    """From where it leads to, a jump changes nothing."""
    case, scale, _ = soft_case(1)
    jump = switching._search(case.batch, case.weights, case.tables, scale, None, 1.0, 1)[0]
    with_it, without = (run(case, scale, start=jump, search=search) for search in (True, False))
    assert with_it.labels.tolist() == without.labels.tolist()
    assert with_it.switches == without.switches > 0


@light
@given(matching_cases(lengths=st.lists(st.integers(1, 2), min_size=1, max_size=3), levels=("instance",)), seeds)
def test_without_loss_the_search_finds_the_best(case, seed):
    """A jump to the best labelling under the rules, if all sequences have the same scale."""
    rng = np.random.default_rng(seed)
    scale = np.full(len(case.X), rng.choice([0.3, 1.0, 5.0]))
    found = run(case, scale, start=random_labels(rng, case), loss=0.0, search=True)
    best = [min(case.part(i, path, scale, 0.0) for path in case.paths(i)) for i in range(len(case.X))]
    assert near(scale * found.slack + found.instance, best)
    jump = switching._search(case.batch, case.weights, case.tables, scale, None, 0.0, 1)[0]
    assert near([case.part(i, path, scale, 0.0) for i, path in enumerate(case.split(jump))], best)


# the kernels -----------------------------------------------------------------------------------------------


def current(case, i, y, loss):
    """(sequence as the kernel keeps it, costs of local rules, first token)"""
    unary, step, kind = case.chains[i]
    T, Y = unary.shape
    seq = Current(
        unary, kind, np.array(y, np.int16), np.empty(T, np.int16), np.empty((T, Y)), np.empty((T, Y)),
        np.empty(T, np.int16), np.empty((Y, T + 1)), np.empty(T + 1), np.empty((Y, T + 1)), np.empty(T + 1),
    )  # fmt: skip
    costs, first = case.tables.potentials(case.tables.plain), case.batch.offsets[i]
    refresh(seq, step, costs, first, loss)
    return seq, step, costs, first


def local_cost(case, i, path):
    """The penalty of the rules that see a token or two neighbouring labels, by their events."""
    tables = case.tables
    return sum(
        tables.plain[k] * len(tables.terms[k].event.places(case.X[i], case.names(path))) for k in tables.instance
    )


@settings(light, max_examples=60)
@given(matching_cases(lengths=st.integers(1, 4).map(lambda n: [2, n])), losses, st.sampled_from([0.3, 4.0]), seeds)
def test_moves_are_bounded_and_priced(case, loss, scale, seed):
    case = replace(case, rules=[*case.rules, {"change_only_on": ["[A-Z].*"], "weight": 2}])
    y = case.split(random_labels(np.random.default_rng(seed), case))[1]
    seq, step, costs, first = current(case, 1, y, loss)
    T, rival = len(y), tuple(seq.rival.tolist())
    scores, wrong = case.scores[1], sum(a != b for a, b in zip(rival, y, strict=True))
    assert near(loss * wrong + scores[rival] - scores[y], case.slack(1, y, loss))
    for s, e in combinations(range(T + 1), 2):
        for c in range(case.Y):
            new = (*y[:s], *[c] * (e - s), *y[e:])
            least = least_value(seq, step, costs, first, scale, loss, scores[rival], s, e, c)
            wrong = sum(a != b for a, b in zip(rival, new, strict=True))
            shortfall = max(0.0, loss * wrong + scores[rival] - scores[new])
            assert near(least, scale * shortfall + local_cost(case, 1, new))
            assert not_above(least, scale * case.slack(1, new, loss) + case.instance(1, new))
            seq.new[s:e] = c
            found = slack_after(seq, step, loss, scores[y], s, e, np.empty((T, case.Y)))
            assert near(found, case.slack(1, new, loss))
            before, after = (score_window(seq.unary, step, seq.kind, z, s, e) for z in (seq.y, seq.new))
            assert near(after - before, scores[new] - scores[y])
            before, after = (cost_window(costs, first, z, s, e) for z in (seq.y, seq.new))
            assert near(after - before, local_cost(case, 1, new) - local_cost(case, 1, y))
            seq.new[s:e] = y[s:e]


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
        ({"greedy": True}, "bbbbaa"),
        ({"search": True}, "bbbbaa"),
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


def test_a_jump_is_taken_if_it_is_better():
    """Two blocks have to move at once."""
    rules = [{"order": ["c", "a", "b"]}, {"exactly_once": ["a", "b", "c"]}, {"change_only_on": ["never"], "weight": 1}]
    case = zero_case([["x"] * 6], "abc", [*rules, {"starts_with": ["c"], "weight": "hard"}])
    found = run(case, np.ones(1), start=np.array([0, 0, 1, 1, 2, 2], np.int16), search=True)
    assert found.penalty == 2
    assert [z for z, _ in brute_rules.blocks(labels_of(case, found)[0])] == ["c", "a", "b"]


def test_corpus_rules_are_matched_over_sequences():
    """Half of the labels should be b; all of them are a."""
    rules = [{"proportion": {"b": 0.5}}, {"change_only_on": ["never"]}]
    case = zero_case([["x", "y"]] * 6, "ab", rules)
    for greedy in (False, True):
        found = run(case, np.ones(6), start=np.zeros(12, np.int16), greedy=greedy)
        assert found.penalty == 0
        assert sorted(labels_of(case, found)) == ["aa"] * 3 + ["bb"] * 3
        assert found.before == 1000 * 50**2 + 12


def test_nothing_to_do_without_rules():
    case = zero_case([["x", "y"], ["z"]], "ab", [])
    found = run(case, np.ones(2), start=np.array([0, 1, 1], np.int16), search=True)
    assert (found.switches, found.before, found.objective) == (0, 3.0, 3.0)
