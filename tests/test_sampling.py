"""Large pools: a path with a sample of the pool, then its best stage with all of it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from annealed_cases import CITATIONS, LABELLED, UNLABELLED, on_citations, same_fit, task_of
from semistruct.base.errors import RuleWarning
from semistruct.learning import settings
from semistruct.rules import Rules
from test_checkpoints import Killed, stopping

PART = 12  # sequences of the sample


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(settings, "SAMPLE", PART)


def some_task():
    """Six labelled sequences, one of them only in part, and a pool."""
    X, y = LABELLED
    rows = [*y[:5], [y[5][0], *[None] * (len(X[5]) - 1)]]
    return task_of(X, rows, UNLABELLED)


def test_a_sample_stands_for_the_pool(small_sample):
    task = some_task()
    some = task.sample(CITATIONS, 0)
    assert len(some.free) == PART
    assert (some.n_fixed, some.has_labels.sum()) == (5, 6)  # the labels are all there
    assert some.weight[~some.has_labels].sum() == pytest.approx(task.weight[~task.has_labels].sum())
    assert_array_equal(some.weight[some.has_labels], task.weight[task.has_labels])
    X = [tuple(x) for x in task.tables.X]
    for i, x in enumerate(some.tables.X):
        j = X.index(tuple(x))
        own, other = some.batch.take(np.array([5 + i])), task.batch.take(np.array([5 + j]))
        assert_array_equal(own.indices, other.indices)
        assert_array_equal(some.opened.split(some.known[some.first_open :])[i], task.opened.split(
            task.known[task.first_open :])[j])  # fmt: skip
    assert_array_equal(task.sample(CITATIONS, 0).batch.indices, some.batch.indices)
    assert not np.array_equal(task.sample(CITATIONS, 1).batch.indices, some.batch.indices)


def test_a_small_pool_and_corpus_rules_need_all_of_it(monkeypatch):
    task = some_task()
    assert task.sample(CITATIONS, 0) is task
    monkeypatch.setattr(settings, "SAMPLE", PART)
    assert task.sample(None, 0) is not task
    about_the_corpus = Rules.from_text("rules:\n- proportion: {date: 0.1}\n")
    assert task.sample(about_the_corpus, 0) is task


def test_the_chosen_stage_is_learned_from_the_whole_pool(small_sample):
    model = on_citations()
    best = next(i for i, row in enumerate(model.path_) if row["chosen"])
    assert best > 0
    assert len(model.path_) == 3
    assert len(model.labels_) == len(UNLABELLED)
    assert list(map(len, model.labels_)) == list(map(len, UNLABELLED))
    last = [row["step"] for row in model.history_ if row["sequences"] == len(UNLABELLED)]
    assert last == ["match", "learn"]
    assert {row["sequences"] for row in model.history_[:-2]} == {PART}
    assert {row["stage"] for row in model.history_[-2:]} == {best - 1}
    assert model.history_[-1]["C_u"] == model.path_[best]["C_u"]
    assert 0 < sum(row["spent"] for row in model.history_) < model.history_[-1]["seconds"]


@pytest.mark.parametrize("after", [2, 5, -3, -1])
def test_a_killed_fit_goes_on(small_sample, tmp_path, after):
    rows = []
    whole = on_citations(watch=rows.append)
    assert [row.step for row in rows[-3:]] == ["match", "learn", "point"]
    assert rows[-2].details["sequences"] == len(UNLABELLED)
    with pytest.raises(Killed):
        on_citations(checkpoint=tmp_path, watch=stopping(after % (len(rows) + 1), Killed))
    same_fit(on_citations(checkpoint=tmp_path, resume=True), whole)


def test_an_interruption_leaves_the_model_of_the_sample(small_sample):
    n = len(on_citations().history_) + 2  # both points of the path, and all but the last half-step
    with pytest.warns(UserWarning, match="interrupted"):
        model = on_citations(watch=stopping(n - 1, KeyboardInterrupt))
    assert model.stop_ == "interrupted"
    assert len(model.path_) == 3
    assert len(model.labels_) == len(UNLABELLED)


def test_without_rules_there_is_no_path(small_sample):
    with pytest.warns(RuleWarning, match="nothing tells whether the pool helps"):
        model = on_citations(params={"rules": None})
    assert len(model.path_) == 1
    assert len(model.labels_) == len(UNLABELLED)
