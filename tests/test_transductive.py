"""TransductiveSSVM: bits, argmaxes, the inner problem and the objective by enumeration; how it fits."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import brute
from annealed_cases import HELD_OUT, LABELLED, POOL, UNLABELLED, X, Y, task_of
from semistruct import SSVM, TransductiveSSVM
from semistruct.base.errors import RuleWarning
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.rounds import Run, State
from semistruct.learning.solvers.rule_hinge import RuleWorkbench
from semistruct.learning.solvers.sdm import solve
from semistruct.methods.transductive import Objective
from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    Count,
    EndsWith,
    ExactlyOnce,
    Function,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Proportion,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.indicators import Bits

ROUNDING = 1e-9
LABELS = ("x", "y", "z")
LOCAL = [
    StartsWith(["x", "y"]),
    EndsWith(["x", "z"]),
    Words(["c"], are="z"),
    Pattern("[cd]", are_not="y"),
    ChangeOnlyOn("punctuation"),
    NeverFollows({"x": ["z"]}),
]
BLOCKS = {
    "none": [],
    "at most once": [AtMostOnce("all")],
    "exactly once": [ExactlyOnce(["x"])],
    "present": [Present(["y", "z"])],
    "several": [AtMostOnce("all", weight=0.01), Count({"z": (0, 0)}, level="instance")],
}


# ---- what a labelling obeys, written down again


def local_bits(tokens, y):
    """One per place and rule: at each token those about the token, then those about the step into it."""
    out, last = [], len(tokens) - 1
    for t, (token, label) in enumerate(zip(tokens, y, strict=True)):
        out += [label in "xy"] if t == 0 else []
        out += [label in "xz"] if t == last else []
        out += [label == "z"] if token == "c" else []
        out += [label != "y"] if token in "cd" else []
        if t > 0:
            out += [y[t] == y[t - 1]] if tokens[t - 1] != "," else []
            out += [(y[t - 1], y[t]) != ("z", "x")]
    return out


def whole_bit(name, y):
    starts = [label for t, label in enumerate(y) if t == 0 or y[t - 1] != label]
    repeated = len(starts) > len(set(starts))
    return {
        "none": True,
        "at most once": not repeated,
        "exactly once": starts.count("x") == 1,
        "present": "y" in y and "z" in y,
        "several": not repeated and "z" not in y,
    }[name]


def all_bits(name, tokens, path):
    y = [LABELS[k] for k in path]
    return np.array([*local_bits(tokens, y), whole_bit(name, y)], float)


def small(seed, blocks="at most once", partial_labels=False):
    """A task of a few short sequences, of which the first two are labelled."""
    rng = np.random.default_rng(seed)
    tokens = [[str(t) for t in rng.choice(list("abcd,"), rng.integers(1, 5))] for _ in range(5)]
    tokens[1] = ["a", ",", "c"]
    labels = [[str(label) for label in rng.choice(LABELS, len(row))] for row in tokens[:2]]
    if partial_labels:
        labels[1] = ["x", None, "z"]
    rules = Rules(LOCAL + BLOCKS[blocks], labels=LABELS)
    return task_of(tokens[:2], labels, tokens[2:], rules=rules, sample_weight=[1.0, 2.0]), tokens


def bits_for(task):
    return Bits.of(task.batch, task.tables, task.n_fixed + task.free)


def random_chain(task, rng, scale=1.0):
    return ChainWeights(
        scale * rng.normal(size=(task.batch.n_features, 3)), scale * rng.normal(size=(task.batch.n_kinds, 3, 3))
    )


def rows_of(task):
    """Dense features of every token."""
    batch = task.batch
    rows = np.zeros((batch.n_tokens, batch.n_features))
    for t in range(batch.n_tokens):
        rows[t, batch.indices[batch.indptr[t] : batch.indptr[t + 1]]] = 1.0
    return rows


def each_free(task, bits):
    for i in bits.which:
        yield i, slice(task.batch.offsets[i], task.batch.offsets[i + 1]), slice(*bits.tables.start[i : i + 2])


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_bits_are_those_of_the_rules(blocks, seed):
    task, tokens = small(seed, blocks)
    bits, rng = bits_for(task), np.random.default_rng(seed)
    labels = rng.integers(0, 3, task.batch.n_tokens).astype(np.int16)
    found = bits.held(labels)
    for i, where, own in each_free(task, bits):
        assert_array_equal(found[own], all_bits(blocks, tokens[i], labels[where]))
    assert len(found) == sum(len(all_bits(blocks, row, [0] * len(row))) for row in tokens[2:])


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("seed", range(12))
def test_the_best_labelling_by_prices_is_the_best_of_all(blocks, seed):
    task, tokens = small(seed, blocks)
    bits, rng = bits_for(task), np.random.default_rng(seed)
    chain, price = random_chain(task, rng), rng.normal(size=bits.n)
    price[bits.tables.start[1:][bits.which] - 1] *= 3.0 * (-1) ** seed  # the bit of the blocks decides
    labels, values = bits.best(chain, price)
    unary = rows_of(task) @ chain.tokens
    for i, where, own in each_free(task, bits):
        kind = np.zeros(len(tokens[i]), int)
        worth = {
            path: brute.score(unary[where], chain.trans, kind, path) + price[own] @ all_bits(blocks, tokens[i], path)
            for path in brute.labellings(len(tokens[i]), 3)
        }
        assert_allclose(values[i], max(worth.values()), rtol=0, atol=ROUNDING)
        assert_allclose(worth[tuple(labels[where])], values[i], rtol=0, atol=ROUNDING)
    assert_allclose(bits.worth(chain, price, labels), values, rtol=0, atol=ROUNDING)


# ---- the objective and the convex problem by enumeration


def objective_of(task, tokens, blocks, chain, v, weight, mu, target=None):
    """The objective by listing every labelling; with `target` the convex one, in which it replaces the second max."""
    unary, total = rows_of(task) @ chain.tokens, 0.5 * (np.sum(chain.tokens**2) + np.sum(chain.trans**2))
    bits = bits_for(task)
    for i, (a, b) in enumerate(pairwise(task.batch.offsets)):
        paths, kind, known = brute.labellings(b - a, 3), np.zeros(b - a, int), task.known[a:b]
        score = {path: brute.score(unary[a:b], chain.trans, kind, path) for path in paths}
        if i in bits.which:
            own = v[slice(*bits.tables.start[i : i + 2])]
            price = mu / 4 - mu / 2 * own
            worth = {path: price @ all_bits(blocks, tokens[i], path) for path in paths}
            second = [score[p] - worth[p] for p in (paths if target is None else [tuple(target[a:b])])]
            loss = np.sum(np.abs(own - 1)) + mu / 2 * own @ own + max(score[p] + worth[p] for p in paths) - max(second)
        else:
            wrong = {p: sum(k not in (-1, y) for y, k in zip(p, known, strict=True)) for p in paths}
            loss = max(score[p] + wrong[p] for p in paths) - max(score[p] for p in paths if wrong[p] == 0)
        total += weight[i] * loss
    return total


def convex_optimum(task, tokens, blocks, weight, mu, target):
    """min over w, v and a slack per sequence, one row per labelling and sequence."""
    bits, rows = bits_for(task), rows_of(task)
    size, n = 3 * task.batch.n_features + 9, len(task.batch)
    left, right = [], []
    for i, (a, b) in enumerate(pairwise(task.batch.offsets)):
        case = brute.Case(rows[a:b], np.zeros(b - a, int), tuple(target[a:b]), weight[i], np.ones(b - a))
        own = slice(*bits.tables.start[i : i + 2])
        for path, psi, loss in zip(brute.labellings(b - a, 3), *brute.margins(case, 3, 1), strict=True):
            row, slack = np.zeros(size + bits.n), np.zeros(n)
            row[:size], slack[i] = psi, 1.0
            if i in bits.which:
                phi = all_bits(blocks, tokens[i], path)
                row[size:][own] = mu / 2 * phi
                loss = mu / 4 * phi.sum()
            left.append(np.concatenate([row, slack]))
            right.append(loss)
    left, right = np.array(left), np.array(right)
    per_bit = np.repeat(weight, np.diff(bits.tables.start))
    p = bits.held(np.asarray(target, np.int16))
    fixed = per_bit @ (1 + mu / 4 * p)

    def value(u):
        w, v, slack = u[:size], u[size : size + bits.n], u[size + bits.n :]
        return 0.5 * w @ w + per_bit @ (-v + mu / 2 * v * (v - p)) + weight @ slack + fixed

    def gradient(u):
        w, v = u[:size], u[size : size + bits.n]
        return np.concatenate([w, per_bit * (-1 + mu * v - mu / 2 * p), weight])

    # v > 1 never pays, so |v - 1| = 1 - v
    bounds = [(None, None)] * size + [(None, 1.0)] * bits.n + [(None, None)] * n
    begin = np.concatenate([np.zeros(size), np.ones(bits.n), np.full(n, 10.0 + mu * 20)])
    found = minimize(
        value, begin, jac=gradient, bounds=bounds, method="SLSQP", options={"maxiter": 1000, "ftol": 1e-11},
        constraints={"type": "ineq", "fun": lambda u: left @ u - right, "jac": lambda u: left},
    )  # fmt: skip
    assert found.status in (0, 8)  # 8: no step helps any more
    return found.fun, found.x[:size], found.x[size : size + bits.n]


@pytest.mark.parametrize("mu", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_inner_problem_is_solved_to_its_optimum(seed, mu):
    """Against a general solver of the problem that has not eliminated v."""
    blocks = ["at most once", "present"][seed % 2]
    task, tokens = small(seed, blocks)
    bits, rng = bits_for(task), np.random.default_rng(seed)
    weight = np.array([0.7, 1.4, 0.3, 0.5, 0.2])
    target = np.where(task.known >= 0, task.known, rng.integers(0, 3, task.batch.n_tokens)).astype(np.int16)
    v = np.empty(bits.n)
    problem = Objective(task, bits, weight, mu, 1).problem(target)
    found = solve(problem, tol=1e-7, bench=partial(RuleWorkbench, bits=bits, mu=mu, v=v), n_jobs=1)
    best, w, best_v = convex_optimum(task, tokens, blocks, weight, mu, target)
    chain = found.state.chain
    assert_allclose(found.objective, best, rtol=1e-6, atol=0)
    assert_allclose(np.concatenate([chain.tokens.ravel(), chain.trans.ravel()]), w, rtol=0, atol=2e-3)
    assert_allclose(v, best_v, rtol=0, atol=1e-2)
    stated = objective_of(task, tokens, blocks, chain, v, weight, mu, target)
    assert_allclose(found.objective, stated, rtol=1e-9, atol=0)
    duals = [record.details["dual"] for record in found.history]
    assert all(b >= a - ROUNDING for a, b in pairwise(duals))


@pytest.mark.parametrize("mu", [0.5, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_that_of_the_definition(seed, mu):
    task, tokens = small(seed, partial_labels=seed == 1)
    bits, rng = bits_for(task), np.random.default_rng(seed)
    weight, v, chain = rng.uniform(0.1, 1.0, 5), rng.uniform(0.0, 1.0, bits.n), random_chain(task, rng)
    target, value = Objective(task, bits, weight, mu, 1).guide(chain, v, None)
    assert_allclose(value, objective_of(task, tokens, "at most once", chain, v, weight, mu), rtol=ROUNDING, atol=0)
    tight = objective_of(task, tokens, "at most once", chain, v, weight, mu, target)
    assert_allclose(value, tight, rtol=ROUNDING, atol=0)
    assert_array_equal(target[task.known >= 0], task.known[task.known >= 0])


@pytest.mark.parametrize("seed", range(4))
def test_every_row_of_the_history_has_the_objective_of_its_state(seed):
    task, tokens = small(seed, partial_labels=seed % 2 == 1)
    model = TransductiveSSVM(C=0.8, C_u=0.7, mu=5.0, tol=1e-4, rounds=4)
    model.C_ = 0.8
    state = State(model.learner(3).learn(*task.labelled[:2], 0.8 * task.labelled[2]).chain)
    weight = np.array([0.8, 1.6, *[0.7 * 0.8 * 3 / 3] * 3])
    before, seen = (state.chain, np.ones(bits_for(task).n)), []

    def after_round(state):
        nonlocal before
        guide, learn = state.history[-2:]
        value = objective_of(task, tokens, "at most once", *before, weight, 5.0)
        assert_allclose(guide["objective"], value, rtol=ROUNDING, atol=0)
        before = state.chain, state.extra["v"].copy()
        target = np.concatenate([task.known[: task.first_open], state.labels])
        value = objective_of(task, tokens, "at most once", *before, weight, 5.0, target)
        assert_allclose(learn["objective"], value, rtol=ROUNDING, atol=0)
        seen.append(state.stage)

    run = Run(state, model.axis, model._stages(task), save=after_round)
    for _ in model._walk(task, run):
        pass
    assert seen == list(range(len(seen)))
    falls([row["objective"] for row in state.history])


def falls(values):
    assert all(b <= a * (1 + ROUNDING) for a, b in pairwise(values)), values


# ---- fitting

CODL = Rules.from_file("citations-codl")
SHORT = {"features": ["word", "shape"], "rules": CODL, "rounds": 3, "C_u": 0.5}


def on_citations(params=None, pool=UNLABELLED, **kwargs):
    return TransductiveSSVM(**{**SHORT, **(params or {})}).fit(*LABELLED, pool=pool, **kwargs)


@pytest.fixture(scope="module")
def fitted():
    return on_citations()


@pytest.mark.parametrize("mu", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("C_u", [0.1, 3.0])
def test_the_objective_never_rises(mu, C_u):
    rows = on_citations({"mu": mu, "C_u": C_u, "select": "last"}).history_
    falls([row["objective"] for row in rows])
    assert [row["step"] for row in rows] == ["guide", "learn"] * (len(rows) // 2)
    assert (rows[-1]["objective"] < rows[0]["objective"]) == (mu > 1 or C_u > 1)
    assert {"broken", "switched", "gap", "seconds"} <= rows[0].keys()


def test_unlabelled_data_and_rules_help(fitted):
    alone = SSVM(features=SHORT["features"]).fit(*LABELLED)
    assert fitted.score(*HELD_OUT, rules=False) > alone.score(*HELD_OUT) + 0.01
    assert fitted.explanation_["rules"]
    assert len(fitted.labels_) == len(UNLABELLED)


def test_it_ends_when_the_objective_settles():
    model = TransductiveSSVM(rounds=50, rules=Rules([Words(["1931"], are="date")]), select="last")
    model.fit(X, Y, pool=POOL)
    assert len(model.path_) < 20
    assert [row["iteration"] for row in model.path_] == [None, *map(float, range(1, len(model.path_)))]


def test_no_rules_and_no_pool_are_possible():
    model = TransductiveSSVM(features=["word"], select="last").fit(X, Y, pool=POOL)
    assert model.predict([["1936"]], rules=False) == [["date"]]
    alone = TransductiveSSVM(features=["word"]).fit(X, Y)
    assert len(alone.path_) == 1


ASIDE = [
    Order(["author", "title"], name="the odd one"),
    MinLength(2, name="the odd one"),
    Proportion({"author": 0.3}, name="the odd one"),
    ChangeOnlyOn("punctuation", fraction=0.01, name="the odd one"),
    Words(["pp"], are="pages", level="corpus", name="the odd one"),
    Count({"author": 2}, of="tokens", level="instance", name="the odd one", weight=5),
    Function(lambda tokens, labels: 0.0, name="the odd one"),
]


@pytest.mark.parametrize("rule", ASIDE, ids=lambda rule: rule.key)
def test_rules_that_make_no_bits_are_obeyed_only_in_prediction(rule):
    own = AtMostOnce("all")
    with pytest.warns(RuleWarning, match="cannot learn from 1 of 2 rules, .* only in prediction: 'the odd one'$"):
        model = on_citations({"rules": Rules([own, rule], CODL.labels)})
    alone = on_citations({"rules": Rules([own], CODL.labels)})
    assert_array_equal(model.model_.weights.tokens, alone.model_.weights.tokens)
    assert [one.text for one in model.model_.rules] == [own.text, "the odd one"]
