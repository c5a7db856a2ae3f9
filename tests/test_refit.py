"""Learning again from training and dev data together."""

import json
from copy import deepcopy

import pytest

from semistruct import CODL, CRF, HMM, SSVM, AnnealedSSVM, Rules, load, make_citations
from semistruct.cli import main
from semistruct.errors import DataError, ParameterError
from semistruct.fitting import choice
from semistruct.formats import write
from semistruct.rules import AtMostOnce, StartsWith

TRAIN, DEV, POOL = make_citations(12), make_citations(30, seed=3), make_citations(15, seed=4).tokens
RULES = Rules([StartsWith("author"), AtMostOnce()])
BOTH = [*TRAIN.tokens, *DEV.tokens], [*TRAIN.labels, *DEV.labels]


@pytest.mark.parametrize("method", [SSVM(C="auto", rules=RULES), CRF(C="auto"), HMM()])
def test_it_is_what_fitting_to_both_with_the_same_c_gives(method):
    dev = DEV.tokens, DEV.labels
    model = method.fit(TRAIN.tokens, TRAIN.labels, dev=dev)
    chosen, calibration, C = model.model_, deepcopy(model).calibration_, model.C_
    assert model.refit(TRAIN.tokens, TRAIN.labels, dev=dev) is model
    assert model.C_ == C
    assert model.calibration_.to_dict() == calibration.to_dict()
    assert model.model_.rules is chosen.rules
    wanted = type(method)(**{**method.get_params(), **({"C": C} if "C" in method.get_params() else {})}).fit(*BOTH)
    X = make_citations(10, seed=6).tokens
    assert model.predict(X, rules=False) == wanted.predict(X, rules=False)
    assert model.data_["refit"]


def test_the_method_inside_another_keeps_its_C(monkeypatch):
    dev, searched = (DEV.tokens, DEV.labels), []
    model = CODL(base=SSVM(C="auto"), rules=RULES, rounds=1, k=1)
    model.fit(TRAIN.tokens, TRAIN.labels, pool=POOL, dev=dev)
    other = next(row["C"] for row in model.search_ if row["C"] != model.C_)
    model.C_ = other
    monkeypatch.setattr(choice, "search_C", lambda *args: searched.append(args))
    model.refit(TRAIN.tokens, TRAIN.labels, dev=dev, pool=POOL)
    assert (model.C_, searched) == (other, [])


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_a_path_is_followed_as_far_as_was_chosen(chosen):
    dev, settings = (DEV.tokens, DEV.labels), {"rules": RULES, "rounds": 1, "C": 0.3}
    model = AnnealedSSVM(schedule=[0.1, 1.0], **settings).fit(TRAIN.tokens, TRAIN.labels, pool=POOL, dev=dev)
    for k, point in enumerate(model.path_):
        point["chosen"] = k == chosen
    model.refit(TRAIN.tokens, TRAIN.labels, dev=dev, pool=POOL)
    X = make_citations(10, seed=6).tokens
    if chosen:
        other = AnnealedSSVM(schedule=[0.1, 1.0][:chosen], select="last", **settings)
        assert model.predict(X, rules=False) == other.fit(*BOTH, pool=POOL).predict(X, rules=False)
    else:
        assert model.predict(X, rules=False) == SSVM(C=0.3, tol=0.01).fit(*BOTH).predict(X)
    assert len(model.labels_) == len(POOL)


def test_what_cannot_be_refitted():
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    with pytest.raises(DataError, match="nothing to learn again from"):
        model.refit(TRAIN.tokens, TRAIN.labels, dev=None)
    with pytest.raises(ParameterError, match="does not use a pool"):
        model.refit(TRAIN.tokens, TRAIN.labels, dev=(DEV.tokens, DEV.labels), pool=POOL)


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as done:
        main([*map(str, args)])
    out = capsys.readouterr()
    assert done.value.code == code, out.err
    return out


@pytest.mark.filterwarnings("default")
def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(TRAIN, "train.tsv", "tsv")
    write(DEV, "dev.tsv", "tsv")
    out = run(capsys, "train", "train.tsv", "-d", "dev.tsv", "-C", 0.3, "-o", "one", "--json").out
    before = json.loads(out)
    out = run(capsys, "train", "train.tsv", "-d", "dev.tsv", "-C", 0.3, "-o", "both", "--refit", "--json").out
    after = json.loads(out)
    assert after["token_accuracy"] == before["token_accuracy"]
    again = load("both")
    assert again.card_["data"]["refit"]
    assert again.score(DEV.tokens, DEV.labels) > before["token_accuracy"]["dev"]
    assert again.model_.calibration.to_dict() == load("one").model_.calibration.to_dict()
    assert "was also trained on this data" in run(capsys, "evaluate", "both", "dev.tsv").err
    out = run(capsys, "train", "train.tsv", "-d", "dev.tsv", "-C", 0.3, "-o", "both", "--refit").out
    assert "learned again from these and the dev data together" in out
    assert "--refit needs --dev" in run(capsys, "train", "train.tsv", "-o", "x", "--refit", code=2).err
