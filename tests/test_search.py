"""Choosing C: what is held out, and what is counted, with a learner whose answers are known beforehand."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semistruct.base.errors import DataError
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights
from semistruct.features import Encoder
from semistruct.learning.choice import Measure, choose_C
from semistruct.learning.settings import MANY, PARTS
from semistruct.learning.task import DevData

ROUNDING = 1e-12
GRID = (0.03, 0.1, 0.3, 1.0)
NAMES = tuple(str(y) for y in range(30))
TOKENS = Measure("token", NAMES)


def numbered(n, first=0):
    """n sequences of two tokens; sequence i has the feature number i only, so that it can be told apart."""
    encoder = Encoder(None, [str(i) for i in range(first + n)])
    return encoder.transform([[[str(i)], [str(i)]] for i in range(first, first + n)])


def members(batch):
    """The numbers of the sequences in a batch."""
    return batch.indices[::2]


class Learner:
    """Labels the sequences in `right[C]` with 1 and all others with 0; notes what it was given."""

    grid, default_C = GRID, GRID[0]

    def __init__(self, right=None):
        self.right, self.calls = right or {}, []

    def learn(self, batch, known, weight, *, rough, start):
        C = min(GRID, key=lambda c: abs(c - weight[0]))
        self.calls.append(SimpleNamespace(C=C, members=members(batch), known=known, weight=weight, start=start))
        tokens = np.zeros((batch.n_features, 2))
        tokens[list(self.right.get(C, [])), 1] = 1.0
        return SimpleNamespace(chain=ChainWeights(tokens, np.zeros((1, 2, 2))), start=SimpleNamespace(C=C))


def choice_of(learner, measure, data, dev, weight, seed=0):
    return choose_C("auto", learner, measure, (*data, weight), dev, seed)


def rows_of(*given, **more):
    return choice_of(*given, **more).rows


def ones(n):
    return np.ones(2 * n, np.int16)


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_every_sequence_is_held_out_once_and_never_trained_on_then(n):
    learner = Learner({C: range(n) for C in GRID})
    found = rows_of(learner, TOKENS, (numbered(n), ones(n)), None, np.ones(n), seed=0)
    assert [row["C"] for row in found] == list(GRID)
    left_out = [np.setdiff1d(np.arange(n), call.members) for call in learner.calls if call.start is None]
    assert len(left_out) == min(n, PARTS)
    assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(n))
    assert all(row["token_accuracy"] == 1.0 for row in found)


def test_accuracies_are_shares_of_all_held_out_tokens():
    n = 12
    right = {C: range(k) for k, C in enumerate(GRID, start=2)}
    found = rows_of(Learner(right), TOKENS, (numbered(n), ones(n)), None, np.ones(n), seed=1)
    assert_allclose([row["token_accuracy"] for row in found], np.arange(2, 2 + len(GRID)) / n, rtol=0, atol=ROUNDING)


def test_tokens_without_a_label_are_not_counted():
    n = 6
    known = ones(n)
    known[1::2] = UNKNOWN
    known[2] = 0  # sequence 1
    found = rows_of(Learner({GRID[0]: range(1, n)}), TOKENS, (numbered(n), known), None, np.ones(n), seed=2)
    assert found[0]["token_accuracy"] == pytest.approx(4 / 6, abs=ROUNDING)  # wrong on sequences 0 and 1
    assert found[1]["token_accuracy"] == pytest.approx(1 / 6, abs=ROUNDING)


def dev_data(batch, known):
    return DevData([], [], batch, known)


def test_with_dev_data_all_else_is_trained_on():
    learner = Learner({C: [0, 1, 2] for C in GRID[:2]})
    found = rows_of(learner, TOKENS, (numbered(4), ones(4)), dev_data(numbered(4), ones(4)), np.ones(4), seed=3)
    assert [call.members.tolist() for call in learner.calls] == [[0, 1, 2, 3]] * len(GRID)
    assert [row["token_accuracy"] for row in found] == [0.75, 0.75] + [0] * (len(GRID) - 2)


def test_each_C_starts_where_the_last_one_ended():
    learner = Learner()
    rows_of(learner, TOKENS, (numbered(4), ones(4)), dev_data(numbered(2), ones(2)), np.ones(4), seed=4)
    assert learner.calls[0].start is None
    assert [call.start.C for call in learner.calls[1:]] == list(GRID[:-1])


def test_weights_and_labels_stay_with_their_sequences():
    n, learner = 7, Learner()
    weight = 1 + np.arange(n) / 1000
    known = np.repeat(np.arange(n), 2).astype(np.int16)
    rows_of(learner, TOKENS, (numbered(n), known), None, weight, seed=5)
    for call in learner.calls:
        assert_allclose(call.weight, call.C * weight[call.members], rtol=ROUNDING, atol=0)
        assert_array_equal(call.known, np.repeat(call.members, 2))


def test_many_sequences_are_held_out_once_only():
    n, learner = MANY, Learner()
    rows_of(learner, TOKENS, (numbered(n), ones(n)), None, np.ones(n), seed=6)
    assert [len(call.members) for call in learner.calls] == [n - n // PARTS] * len(GRID)


def test_the_seed_decides_the_folds():
    def folds(seed):
        learner = Learner()
        rows_of(learner, TOKENS, (numbered(10), ones(10)), None, np.ones(10), seed=seed)
        return [call.members.tolist() for call in learner.calls]

    assert folds(1) == folds(1)
    assert folds(1) != folds(2)


def test_nothing_to_hold_out():
    assert rows_of(Learner(), TOKENS, (numbered(1), ones(1)), None, np.ones(1), seed=0) == []
    unknown = np.full(4, UNKNOWN, np.int16)
    assert rows_of(Learner(), TOKENS, (numbered(3), ones(3)), dev_data(numbered(2), unknown), np.ones(3), seed=0) == []


# ---- what is chosen by


def test_the_weights_learned_without_each_part_are_those_of_the_chosen_C():
    n = 7
    learner = Learner({GRID[1]: range(n)})
    choice = choice_of(learner, TOKENS, (numbered(n), ones(n)), None, np.ones(n))
    assert GRID[1] == choice.C
    assert sorted(i for part, _ in choice.without for i in part) == list(range(n))
    calls = [call for call in learner.calls if GRID[1] == call.C]
    for (part, chain), call in zip(choice.without, calls, strict=True):
        assert set(part) == set(range(n)) - set(call.members)
        assert (chain.tokens[:, 1] == 1).all()


def chosen(metric, right):
    """The number of the C that is taken on dev data of three sequences: the first has two known labels, the others one.

    right  the sequences that each C gets right
    """
    known = np.array([1, 1, 1, UNKNOWN, UNKNOWN, 1], np.int16)
    learner = Learner(dict(zip(GRID, right, strict=False)))
    dev = dev_data(numbered(3), known)
    choice = choice_of(learner, Measure(metric, NAMES), (numbered(3), ones(3)), dev, np.ones(3))
    keys = {"C", "token_accuracy", *([] if metric == "token" else ["sequence_accuracy"])}
    assert all(row.keys() == keys for row in choice.rows)
    assert choice.without == []
    return GRID.index(choice.C)


def test_whole_sequences_may_want_another_C_than_tokens():
    assert chosen("token", [[0], [1, 2]]) == 0
    assert chosen("sequence", [[0], [1, 2]]) == 1


def test_tokens_decide_among_equally_many_whole_sequences():
    assert chosen("sequence", [[1], [0], [2]]) == 1
    assert chosen("sequence", [[1], [2]]) == 0


def test_choosing_by_spans_needs_a_sequence_with_all_labels():
    known = np.array([1, UNKNOWN, 1, UNKNOWN], np.int16)
    data = (numbered(2), ones(2)), dev_data(numbered(2), known), np.ones(2)
    with pytest.raises(DataError, match="span F1 needs a sequence whose labels are all known"):
        choice_of(Learner(), Measure("span", NAMES), *data)
