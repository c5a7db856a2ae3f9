"""How sure a model is of its labels."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_allclose

from matching_cases import matching_cases, random_case
from semistruct import CRF, SSVM, Rules, make_citations
from semistruct.app.cli import main
from semistruct.base.errors import DataError
from semistruct.core.chain.inference import ChainWeights, token_margins
from semistruct.rules import AtMostOnce, EndsWith
from semistruct.rules.search import find_best, find_margins
from strategies import batches, dense, seeds

ATOL = 1e-9


@settings(deadline=None, max_examples=50)
@given(batches(), seeds)
def test_a_margin_is_what_another_label_would_cost(batch, seed):
    rng = np.random.default_rng(seed)
    Y = 3
    weights = ChainWeights(rng.normal(size=(batch.n_features, Y)), rng.normal(size=(batch.n_kinds, Y, Y)))
    path = rng.integers(0, Y, batch.n_tokens).astype(np.int16)
    found = token_margins(batch, weights, path, n_jobs=1)
    unary, step = dense(batch) @ weights.tokens, weights.step
    for a, b in zip(batch.offsets, batch.offsets[1:], strict=False):
        T = b - a
        scores = {
            y: sum(unary[a + t, y[t]] for t in range(T))
            + sum(step[batch.kind[a + t], y[t - 1], y[t]] for t in range(1, T))
            for y in product(range(Y), repeat=T)
        }
        for t in range(T):
            own = max(s for y, s in scores.items() if y[t] == path[a + t])
            other = max(s for y, s in scores.items() if y[t] != path[a + t])
            assert_allclose(found[a + t], own - other, rtol=0, atol=ATOL)


@pytest.fixture(scope="module")
def model():
    data = make_citations(30)
    return SSVM().fit(data.tokens, data.labels)


def test_the_least_margin_is_that_of_the_runner_up(model):
    X = make_citations(10, seed=5).tokens
    least = [one.token.min() for one in model.model_.answers(X)[1]]
    assert_allclose(least, model.decision_function(X)[:, 1], rtol=0, atol=1e-6)


def test_labels_against_the_model_have_negative_margins(model):
    tokens = make_citations(1, seed=5).tokens
    wrong = [["note"] * len(tokens[0])]
    assert model.model_.sureness(tokens, wrong)[0].token.max() < 0
    assert model.confidence(tokens, wrong)[0].max() < 0.5


@pytest.mark.parametrize(("name", "line"), [("x.txt", "A. Turing. 1936."), ("x.tsv", "A\ta\n.\ta\nTuring\ta\n1936\ta")])
def test_on_the_command_line(model, tmp_path, capsys, name, line):
    model.save(tmp_path / "m")
    (tmp_path / name).write_text(line + "\n")
    args = ["predict", str(tmp_path / "m"), str(tmp_path / name), "--to", "jsonl"]
    with pytest.raises(SystemExit) as done:
        main([*args, "--confidence"])
    assert done.value.code == 0
    record = json.loads(capsys.readouterr().out)
    if name == "x.txt":
        assert all(isinstance(span["confidence"], float) for span in record["spans"])
    else:
        assert len(record["confidence"]) == len(record["tokens"])


@pytest.mark.parametrize("method", [SSVM, CRF])
def test_confidence_in_a_label_that_the_model_does_not_know(method):
    model = method().fit([["A", "1936"]], [["author", "date"]])
    with pytest.raises(DataError, match="does not know the label 'title'; it has author, date"):
        model.confidence([["B"]], [["title"]])


# under rules -------------------------------------------------------------------------------------------------


def margins_by_enumeration(case, i, path):
    """What another label would cost at each token of sequence i."""
    values = {p: case.scores[i][p] - case.instance(i, p) for p in case.paths(i)}
    own = [max(v for p, v in values.items() if p[t] == z) for t, z in enumerate(path)]
    other = [max((v for p, v in values.items() if p[t] != z), default=-np.inf) for t, z in enumerate(path)]
    return np.array(own) - np.array(other)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(matching_cases(levels=("instance",)), seeds)
def test_margins_under_rules(case, seed):
    """Of any labels; those of the best ones are not negative."""
    best = find_best(case.batch, case.weights, case.tables).labels[0]
    some = np.random.default_rng(seed).integers(0, case.Y, case.batch.n_tokens).astype(np.int16)
    for path in (best, some):
        found = find_margins(case.batch, case.weights, case.tables, path, n_jobs=1)
        for i in range(len(case.X)):
            wanted = margins_by_enumeration(case, i, path[case.tokens(i)])
            assert_allclose(found[case.tokens(i)], wanted, rtol=1e-9, atol=1e-5)
    assert np.all(find_margins(case.batch, case.weights, case.tables, best) >= -1e-6)


@pytest.mark.parametrize("rules", [
    [{"at_most_once": "all", "weight": "hard"}],
    [{"at_most_once": "all", "weight": 2}, {"order": ["c", "a"], "weight": 1}, {"present": ["a", "b"], "weight": 3}],
    [{"exactly_once": ["a", "b", "c"]}, {"min_length": 2, "weight": 1}],
], ids=["hard", "soft", "lengths"])  # fmt: skip
def test_margins_under_rules_that_are_often_broken(rules):
    """So that most tokens need a search; known labellings end many of these early."""
    case = random_case(np.random.default_rng(1), [6, 6, 7, 7, 5], "abc", rules, size=0.8)
    best = find_best(case.batch, case.weights, case.tables).labels[0]
    found = find_margins(case.batch, case.weights, case.tables, best)
    for i in range(len(case.X)):
        wanted = margins_by_enumeration(case, i, best[case.tokens(i)])
        assert_allclose(found[case.tokens(i)], wanted, rtol=1e-9, atol=1e-5)


def test_confidence_follows_the_rules_that_prediction_obeys():
    data = make_citations(12)
    model = SSVM(rules=Rules([EndsWith("author", weight="hard"), AtMostOnce(weight="hard")])).fit(
        data.tokens, data.labels
    )
    X = make_citations(6, seed=5).tokens
    enforced, scores, _ = model.model_.answers(X, rules=model.model_.rules)
    assert enforced == model.predict(X, rules=True)
    assert min(one.token.min() for one in model.model_.sureness(X, enforced)) < 0
    least = [one.token.min() for one in scores]
    assert min(least) >= 0
    under = model.confidence(X, enforced, rules=True)
    for row, wanted in zip(model.confidence(X, rules=model.model_.rules), under, strict=True):
        assert_allclose(row, wanted, rtol=0, atol=1e-9)
    assert_allclose(least, model.decision_function(X, rules=True)[:, 1], rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("option", [[], ["--no-rules"]])
def test_the_command_tells_confidence_under_its_rules(tmp_path, capsys, option):
    data = make_citations(12)
    model = SSVM(rules=Rules([EndsWith("author", weight="hard")])).fit(data.tokens, data.labels)
    model.save(tmp_path / "m")
    (tmp_path / "x.tsv").write_text("\n".join(f"{token}\tauthor" for token in data.tokens[0]) + "\n")
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "m"), str(tmp_path / "x.tsv"), "--to", "jsonl", "--confidence", *option])
    record = json.loads(capsys.readouterr().out)
    (wanted,) = model.confidence(data.tokens[:1], rules=not option)
    assert record["confidence"] == [round(value, 4) for value in wanted.tolist()]
    assert (record["labels"][-1] == "author") == (not option)


def test_a_model_with_probabilities_counts_rules_too():
    data = make_citations(12)
    model = CRF(rules=Rules([EndsWith("author", weight="hard")])).fit(data.tokens, data.labels)
    X = data.tokens[:3]
    labels = model.predict(X)
    for under, alone in zip(model.confidence(X), model.confidence(X, labels, rules=False), strict=True):
        assert alone[-1] < 0.5 < under[-1]
