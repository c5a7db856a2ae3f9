"""Learning again from training and dev data together."""

from copy import deepcopy

import pytest

from semistruct import CODL, CRF, HMM, SSVM, AnnealedSSVM, Rules, make_citations
from semistruct.base.errors import DataError, ParameterError
from semistruct.learning import fitting
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
    real = fitting.choose_C
    monkeypatch.setattr(fitting, "choose_C", lambda C, *given: searched.append(C) or real(C, *given))
    model.refit(TRAIN.tokens, TRAIN.labels, dev=dev, pool=POOL)
    assert (model.C_, searched) == (other, [other])


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
