"""Rules for parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semistruct.base import parameters as params
from semistruct.base.errors import ParameterError, SemistructError
from semistruct.base.parameters import Check, Estimator
from semistruct.learning.declarations import SHARED, check_params
from semistruct.methods import METHODS


class Thing(Estimator):
    checks = {"size": params.positive, "mode": params.the_word("auto") | params.none}  # noqa: RUF012

    def __init__(self, size=1.0, mode=None):
        self.size = size
        self.mode = mode


VALUES = [0, 1, 2, -1, 0.5, -0.5, 1e300, float("nan"), float("inf"), True, False, None, "auto", "1", [], ["a"], [1], ()]
ACCEPTED = {
    "positive": [1, 2, 0.5],
    "at_least_one": [1, 2],
    "none": [None],
    "seed": [0, 1, 2, None],
    "features": ["auto", "1", [], ["a"], ()],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_each_rule_accepts_just_what_it_says(name):
    rule = getattr(params, name)
    accepted = [repr(value) for value in VALUES if rule.test(value)]  # in words, since True == 1
    assert accepted == [repr(value) for value in VALUES if repr(value) in map(repr, ACCEPTED[name])]


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), np.int64(2)])
def test_numpy_numbers_are_numbers(value):
    assert params.positive.test(value)
    assert params.at_least_one.test(value) == isinstance(value, np.integer)


def test_a_random_state_is_a_seed():
    assert params.seed.test(np.random.RandomState(0))
    assert not params.seed.test(np.random.default_rng(0))


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none()))
def test_or_accepts_what_either_accepts(value):
    both = params.positive | params.the_word("auto")
    assert both.test(value) == (params.positive.test(value) or value == "auto")


def test_or_says_both():
    assert (Check("a cat", bool) | Check("a dog", bool)).words == "a cat or a dog"


def test_good_parameters_pass():
    check_params(Thing())
    check_params(Thing(size=2, mode="auto"))


def test_the_message_shows_class_value_and_rule():
    with pytest.raises(ParameterError) as caught:
        check_params(Thing(mode="car"))
    assert str(caught.value) == "Thing(mode='car'): mode must be 'auto' or None"
    assert isinstance(caught.value, SemistructError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("method", METHODS.values())
def test_every_parameter_of_a_method_has_a_rule_that_its_default_obeys(method):
    estimator = method()
    assert set(estimator.checks) <= set(estimator.get_params(deep=False)) <= {*estimator.checks, *SHARED}
    check_params(estimator)


@pytest.mark.parametrize("method", METHODS.values())
def test_every_parameter_is_checked(method):
    for name in method().get_params(deep=False):
        with pytest.raises(ParameterError, match=rf"\({name}="):
            check_params(method(**{name: object()}))
