"""Interrupted commands: what is done is kept, and one line says what that is."""

import json
import os

import pytest

from cli_cases import QUICK, train
from semistruct import SSVM, AnnealedSSVM, load
from semistruct.app.cli import training, training_report
from semistruct.learning import checkpoints, fitting, held_out, path
from semistruct.learning import settings as learning


@pytest.fixture
def home(annealed_refs):
    return annealed_refs


@pytest.fixture(autouse=True)
def one_path(monkeypatch):
    """From the supervised model, though labels are few."""
    monkeypatch.setattr(learning, "SECOND_START_UNTIL", 0)


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_training_leaves_a_model(run, home, tmp_path, monkeypatch):
    save = checkpoints.Checkpoint.save  # first of the start, which comes before the path
    monkeypatch.setattr(checkpoints.Checkpoint, "save", interrupted_at(2, save))
    code, out, err = run(*train(home, tmp_path / "m", "--checkpoint", tmp_path / "state", "--json"))
    assert code == 130
    assert (
        err
        == f"semistruct: interrupted, the model in {tmp_path / 'm'} is the supervised start; left out: calibration\n"
    )
    assert json.loads(out)["stop"] == "interrupted"
    assert len(json.loads(out)["path"]) == 1
    assert load(tmp_path / "m").predict([["A", "."]])


def test_an_interrupted_training_tells_that_its_model_is_further(run, home, tmp_path, monkeypatch):
    walk = AnnealedSSVM._walk

    def one_stage(*args):
        yield next(walk(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(AnnealedSSVM, "_walk", one_stage)
    code, _, err = run(*train(home, tmp_path / "m", "-p", "select=last"))
    assert code == 130
    assert err.startswith(f"semistruct: interrupted, the model in {tmp_path / 'm'} is the best point so far")


def interrupted_at(call_number, function):
    """The function, interrupted in one of its calls."""
    calls = []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) == call_number:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return call


LATE = {  # what is interrupted, in which of its calls, and what is left out then
    "the labels": (AnnealedSSVM, "_label_pool", 1, "the labels of the pool, the explanation, the ranker, calibration"),
    "the explanation": (path, "explain", 1, "the explanation, the ranker, calibration"),
    "the weights": (fitting, "best_strength", 1, "the weights of rules, the ranker"),
    "the ranker": (AnnealedSSVM, "_ranking", 1, "the ranker, calibration"),
    "the calibration": (held_out.Uncalibrated, "calibration", 1, "calibration"),
    "a path for the calibration": (AnnealedSSVM, "_walk", 2, "calibration"),
    "the scores": (training, "_score", 1, "scores"),
    "the file": (AnnealedSSVM, "save", 1, ""),
}


@pytest.mark.parametrize("name", LATE)
def test_an_interruption_after_the_path_leaves_a_model(run, home, tmp_path, monkeypatch, name):
    place, attribute, call_number, left_out = LATE[name]
    monkeypatch.setattr(place, attribute, interrupted_at(call_number, getattr(place, attribute)))
    monkeypatch.setattr(learning, "RANK_FROM_RULED", 6)
    dev = ["-d", home / "dev.tsv"] if name == "the weights" else []
    code, out, err = run(*train(home, tmp_path / "m", "-p", "select=last", *dev))
    which = "the best point so far, learned from the pool too" + f"; left out: {left_out}" * bool(left_out)
    assert (code, err) == (130, f"semistruct: interrupted, the model in {tmp_path / 'm'} is {which}\n")
    assert f"model written to {tmp_path / 'm'}\n" in out
    assert "no token has a label" not in out
    model, whole = load(tmp_path / "m"), load(home / "refs.model")
    assert model.predict([["A", "."]], rules=True)
    assert model.confidence([["A", "."]])
    assert model.model_.labels == whole.model_.labels


def test_supervised_training_keeps_its_model_without_calibration(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(held_out.Uncalibrated, "calibration", interrupt)
    code, _, err = run("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    assert (code, err) == (130, f"semistruct: interrupted, the model is in {tmp_path / 'm'}; left out: calibration\n")
    assert load(tmp_path / "m").confidence([["A", "."]])


def test_an_interruption_before_anything_is_written_says_so(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(SSVM, "fit", interrupt)
    code, out, err = run("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    assert (code, out, err) == (130, "", "semistruct: interrupted, nothing was written\n")
    assert not (tmp_path / "m").exists()


def test_an_interruption_while_printing_leaves_the_model(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(training_report, "_weights", interrupt)
    code, _, err = run(*train(home, tmp_path / "m"))
    told = f"the model is in {tmp_path / 'm'}, the report is not complete"
    assert (code, err) == (130, f"semistruct: interrupted, {told}\n")
    assert load(tmp_path / "m")


def test_an_interruption_while_drawing_leaves_the_model(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr("semistruct.app.report.plots.path_of_models", interrupt)
    code, _, err = run(*train(home, tmp_path / "m", "--plot", tmp_path / "x.png"))
    assert (code, err) == (
        130,
        f"semistruct: interrupted, the model is in {tmp_path / 'm'}, the plot is not complete\n",
    )
    assert load(tmp_path / "m")


@pytest.mark.parametrize(("output", "told"), [("-", "the output is not complete"), ("out", "nothing was written")])
def test_an_interrupted_prediction(run, home, tmp_path, monkeypatch, output, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AnnealedSSVM, "predict", interrupt)
    code, _, err = run("predict", home / "refs.model", home / "test.tsv", "-o", output)
    assert (code, err) == (130, f"semistruct: interrupted, {told}\n")
    assert os.listdir(tmp_path) == []
