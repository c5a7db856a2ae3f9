"""How sure a model is of its labels."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from semistruct import CRF, SSVM, make_citations
from semistruct.chain.inference import ChainWeights, token_margins
from semistruct.cli import main
from semistruct.errors import DataError
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
    least = [values.min() for values in model.confidence(X)]
    assert_allclose(least, model.decision_function(X)[:, 1], rtol=0, atol=1e-6)


def test_labels_against_the_model_have_negative_margins(model):
    tokens = make_citations(1, seed=5).tokens
    wrong = [["note"] * len(tokens[0])]
    assert model.confidence(tokens, wrong)[0].max() < 0


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


def test_only_for_jsonl(tmp_path, capsys):
    with pytest.raises(SystemExit) as done:
        main(["predict", "none.model", "--confidence"])
    assert done.value.code == 2
    assert "jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("method", [SSVM, CRF])
def test_confidence_in_a_label_that_the_model_does_not_know(method):
    model = method().fit([["A", "1936"]], [["author", "date"]])
    with pytest.raises(DataError, match="does not know the label 'title'; it has author, date"):
        model.confidence([["B"]], [["title"]])
