"""What holds for every method: fits are repeatable, resumed, interrupted, saved and cloned in the same way."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from annealed_cases import CORPUS, LABELLED, POOL, UNLABELLED, N, X, Y, same_weights, timeless
from semistruct import Rules, load
from semistruct.base.errors import DataError, ParameterError
from semistruct.learning.path import PathMethod
from semistruct.methods import METHODS
from semistruct.rules import ChangeOnlyOn, Pattern, StartsWith, Words
from test_checkpoints import Killed, stopping

PATHS = [name for name, method in METHODS.items() if issubclass(method, PathMethod)]
QUICK = {  # settings with which a fit takes little time, and has several rounds
    "annealed": {"schedule": [1.0, 10.0], "rounds": 2, "features": ["word", "shape"]},
    "ap": {"rounds": 3, "learn_iterations": 5, "features": ["word", "shape"]},
    "codl": {"k": 3, "rounds": 3},
    "continuous": {"schedule": [0.03, 0.3], "rounds": 2, "max_steps": 10, "features": ["word", "shape"]},
    "daso": {"schedule": [1.0, 0.8], "rounds": 2, "learn_iterations": 5, "features": ["word", "shape"]},
    "ge": {"tol": 0.01, "features": ["word", "shape"]},
    "pr": {"rounds": 3, "learn_iterations": 5, "features": ["word", "shape"]},
    "transductive": {"rounds": 3, "features": ["word", "shape"]},
}
SHARES = [Pattern(r"\d+", are="date", level="corpus"), ChangeOnlyOn("punctuation", fraction=0.05)]
TOKENS = [StartsWith("author"), Words(["1931"], are="date")]
REPORTS = ("expectations_", "shares_")

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot learn from", "ignore:.*is probably false")


def made(name, **params):
    rules = Rules(SHARES if name == "ge" else TOKENS)
    return METHODS[name](**{"rules": rules, **QUICK.get(name, {}), **params})


def pool_of(name, pool):
    return {"pool": pool} if name in PATHS else {}


def on_citations(name, params=None, pool=UNLABELLED, **given):
    return made(name, **(params or {})).fit(*LABELLED, **pool_of(name, pool), **given)


def same(a, b):
    same_weights(a, b)
    assert timeless(a.history_) == timeless(b.history_)
    for key in ("path_", "labels_", "explanation_", "C_", "search_", "trust_", *REPORTS):
        assert getattr(a, key, None) == getattr(b, key, None), key


@pytest.mark.parametrize("name", METHODS)
def test_threads_do_not_change_the_result(name):
    """With enough sequences for two threads to be used; what is fitted again is the same, too."""
    one, two = (on_citations(name, {"n_jobs": n}, CORPUS.tokens[N:]) for n in (1, 2))
    same(one, two)


@pytest.mark.parametrize("name", METHODS)
def test_fit_starts_afresh_and_leaves_parameters_and_data_alone(name):
    tokens, labels, pool = [list(x) for x in X], [list(y) for y in Y], [list(x) for x in POOL]
    model, given = made(name).fit(*LABELLED), pool_of(name, pool)
    before = model.get_params()
    model.fit(tokens, labels, **given)
    same(model, made(name).fit(tokens, labels, **given))
    assert model.get_params() == before
    assert (tokens, labels, pool) == (X, Y, POOL)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_go_in_and_out(name):
    model = made(name, metric="span", n_jobs=2)
    given = model.get_params(deep=False)
    assert METHODS[name]().set_params(**given).get_params(deep=False) == given
    copy = clone(model.fit(X, Y))
    assert copy.get_params().keys() == model.get_params().keys()
    assert copy._uncalibrated is None
    for call in (copy.predict, copy.decision_function):
        with pytest.raises(NotFittedError):
            call(X)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_saved_comes_back(name, tmp_path):
    model = on_citations(name)
    model.save(tmp_path / "m")
    again, some = load(tmp_path / "m"), CORPUS.tokens[40:50]
    assert type(again) is type(model)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    for rules in (False, True):
        assert again.predict(some, rules=rules) == model.predict(some, rules=rules)


@pytest.mark.parametrize("after", [1, 2, 4, -1])
@pytest.mark.parametrize("name", PATHS)
def test_a_killed_fit_goes_on_as_if_nothing_had_happened(name, after, tmp_path):
    rows = []
    given = {"pool": UNLABELLED[:10], "dev": (CORPUS.tokens[40:45], CORPUS.labels[40:45])}
    whole = on_citations(name, **given, watch=rows.append)
    with pytest.raises(Killed):
        on_citations(
            name, **given, checkpoint=tmp_path, watch=stopping(min(after % (len(rows) + 1), len(rows)), Killed)
        )
    same(on_citations(name, **given, checkpoint=tmp_path, resume=True), whole)


@pytest.mark.parametrize("name", PATHS)
def test_an_interrupted_fit_leaves_a_usable_model(name):
    with pytest.warns(UserWarning, match="interrupted"):
        model = on_citations(name, pool=UNLABELLED[:10], watch=stopping(1, KeyboardInterrupt))
    assert model.stop_ == "interrupted"
    assert len(model.path_) == 1
    assert [len(row) for row in model.labels_] == [len(x) for x in UNLABELLED[:10]]
    assert [len(row) for row in model.predict(POOL)] == [len(x) for x in POOL]


@pytest.mark.parametrize("name", PATHS)
def test_known_labels_and_the_order_of_sequences_stay(name):
    """A label against model and rules, and sequences without labels in X and in the pool."""
    model = made(name, select="last").fit(
        [POOL[0], X[0], X[1], *X[2:]], [None, Y[0], ["date", None, "author", None], *Y[2:]], pool=POOL[1:]
    )
    assert [len(row) for row in model.labels_] == [len(x) for x in POOL]
    assert {type(label) for row in model.labels_ for label in row} == {str}


@pytest.mark.parametrize("name", METHODS)
def test_what_cannot_be_fitted(name):
    with pytest.raises(DataError, match="no sequence has a label"):
        made(name).fit([["a"]], [[None]])
    if name in PATHS:
        with pytest.raises(ParameterError, match=r"select='dev'.*no dev data"):
            made(name, select="dev").fit(X, Y)
        with pytest.raises(ParameterError, match="resume=True needs checkpoint"):
            made(name).fit(X, Y, resume=True)


@pytest.mark.parametrize("name", PATHS)
def test_without_a_pool_there_is_only_the_start(name):
    model = made(name).fit(X, Y)
    assert (len(model.path_), model.labels_, model.history_, model.stop_) == (1, [], [], "finished")


@pytest.mark.parametrize("name", ["ssvm", "annealed", "crf"])
def test_the_seed_decides(name):
    def weights(seed):
        return on_citations(name, {"random_state": seed, "C": "auto"}, UNLABELLED[:10]).model_.weights.tokens

    np.testing.assert_array_equal(weights(3), weights(3))
    np.testing.assert_array_equal(weights(np.random.RandomState(3)), weights(np.random.RandomState(3)))


@pytest.mark.parametrize("name", METHODS)
def test_fitting_gives_no_warnings(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*cannot learn from")
        made(name).fit(X, Y, **pool_of(name, POOL))
