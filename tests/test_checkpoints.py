"""Checkpoints: a fit that is killed or interrupted goes on as if nothing had happened."""

import json
import os

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as save_arrays

from annealed_cases import (
    CITATIONS,
    DEV,
    HELD_OUT,
    LABELLED,
    POOL,
    SHORT,
    UNLABELLED,
    X,
    Y,
    chosen,
    fit,
    on_citations,
    same_fit,
    same_weights,
)
from semistruct import SSVM, AnnealedSSVM
from semistruct.base.errors import DataError
from semistruct.learning import checkpoints
from semistruct.learning.settings import MARGIN_GAP
from semistruct.rules import Function, Rules, StartsWith, Words

pytestmark = pytest.mark.usefixtures("crossed_if_small")


class Killed(Exception):
    pass


def stopping(after, how):
    """A watch that raises at the n-th row."""
    rows = []

    def watch(row):
        rows.append(row)
        if len(rows) == after:
            raise how

    return watch


WITH_DEV = {"params": {"rounds": 3}, "dev": (HELD_OUT[0][:5], HELD_OUT[1][:5])}


@pytest.fixture(scope="module")
def uninterrupted():
    return on_citations(**WITH_DEV)


@pytest.mark.parametrize("after", [1, 2, 3, 5, 6, 8, 9])
@pytest.mark.parametrize("how", [Killed, KeyboardInterrupt])
def test_a_killed_fit_goes_on_as_if_nothing_had_happened(uninterrupted, tmp_path, after, how):
    rows = len(uninterrupted.history_) + len(uninterrupted.path_) - 1
    assert after <= rows
    if how is Killed:
        with pytest.raises(Killed):
            on_citations(**WITH_DEV, checkpoint=tmp_path, watch=stopping(after, how))
    else:
        with pytest.warns(UserWarning, match="interrupted"):
            on_citations(**WITH_DEV, checkpoint=tmp_path, watch=stopping(after, how))
    assert sorted(os.listdir(tmp_path)) == [checkpoints.NAME, checkpoints.START][after < 3 :]
    resumed = on_citations(**WITH_DEV, checkpoint=tmp_path, resume=True)
    same_fit(resumed, uninterrupted)
    assert sorted(os.listdir(tmp_path)) == [checkpoints.NAME, checkpoints.START]


def test_resuming_does_not_repeat_what_was_done(uninterrupted, tmp_path):
    with pytest.raises(Killed):
        on_citations(**WITH_DEV, checkpoint=tmp_path, watch=stopping(6, Killed))
    rows = []
    on_citations(**WITH_DEV, checkpoint=tmp_path, resume=True, watch=rows.append)
    assert len(rows) < len(uninterrupted.history_) + len(uninterrupted.path_) - 1
    rows.clear()
    finished = on_citations(**WITH_DEV, checkpoint=tmp_path, resume=True, watch=rows.append)
    assert [row.step for row in rows] == ["point"]  # all that is left to do is to look at the last one
    same_fit(finished, uninterrupted)


def never(*args):
    raise AssertionError("this was done before")


@pytest.mark.parametrize("start", ["labels", "rules"])
def test_resuming_begins_with_the_checkpoint(tmp_path, monkeypatch, start):
    """Neither C nor the start is searched for again."""
    how = {"params": {"C": "auto", "rounds": 1}, "start": start}
    wanted = on_citations(**how)
    for after in (1, 3):
        with pytest.raises(Killed):
            on_citations(**how, checkpoint=tmp_path / str(after), watch=stopping(after, Killed))
        if start == "rules":
            monkeypatch.setattr(AnnealedSSVM, "_taught_by_rules", never)
        monkeypatch.setattr(AnnealedSSVM, "_supervised", never)
        again = on_citations(**how, checkpoint=tmp_path / str(after), resume=True)
        monkeypatch.undo()
        same_fit(again, wanted)
        assert (again.C_, again.search_) == (wanted.C_, wanted.search_)
        assert len(again.search_) == 3


@pytest.mark.parametrize("C", [[], [-1.0], [np.nan], [1.0, 2.0]])
def test_a_kept_start_with_an_impossible_C_is_refused(tmp_path, C):
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    sealed(tmp_path / checkpoints.START, lambda record, arrays: arrays.update({"extra.C": np.array(C)}))
    assert "not a checkpoint, or damaged" in refused(tmp_path, checkpoints.START)


def test_checkpoints_change_nothing(uninterrupted, tmp_path):
    same_fit(on_citations(**WITH_DEV, checkpoint=tmp_path / "new" / "folder"), uninterrupted)
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == [checkpoints.NAME, checkpoints.START]


def test_without_a_checkpoint_resuming_starts_afresh(uninterrupted, tmp_path):
    same_fit(on_citations(**WITH_DEV, checkpoint=tmp_path, resume=True), uninterrupted)


def test_without_resume_an_old_checkpoint_is_written_over(tmp_path):
    last = {"select": "last"}
    fit(X, Y, pool=POOL, checkpoint=tmp_path, params=last)
    other = fit(X, Y, pool=POOL[:2], checkpoint=tmp_path, params=last)
    same_fit(other, fit(X, Y, pool=POOL[:2], checkpoint=tmp_path, resume=True, params=last))


def test_a_fit_killed_while_it_writes_keeps_the_last_checkpoint(monkeypatch, uninterrupted, tmp_path):
    written = []

    def failing(arrays, metadata):
        written.append(1)
        if len(written) == 4:
            raise Killed
        return save_arrays(arrays, metadata)

    monkeypatch.setattr(checkpoints, "save_arrays", failing)
    with pytest.raises(Killed):
        on_citations(**WITH_DEV, checkpoint=tmp_path)
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) == [checkpoints.NAME, checkpoints.START]
    same_fit(on_citations(**WITH_DEV, checkpoint=tmp_path, resume=True), uninterrupted)


def test_an_interrupted_fit_leaves_a_usable_model():
    with pytest.warns(UserWarning, match="interrupted"):
        model = on_citations(watch=stopping(7, KeyboardInterrupt))
    assert model.stop_ == "interrupted"
    assert len(model.path_) == 2
    assert chosen(model) == 1
    assert len(model.history_) == 6
    same_weights(model, on_citations({"schedule": [1.0], "select": "last"}))
    assert [len(row) for row in model.labels_] == [len(x) for x in UNLABELLED]
    with pytest.warns(UserWarning, match="interrupted"):
        model = on_citations(watch=stopping(1, KeyboardInterrupt))
    assert len(model.path_) == 1
    same_weights(model, SSVM(tol=MARGIN_GAP, features=SHORT["features"], rules=CITATIONS).fit(*LABELLED))


def refused(folder, name=checkpoints.NAME, **changed):
    """The message with which a checkpoint is refused."""
    given = {"X": X, "Y": Y, "pool": POOL, "dev": DEV, "params": {}, **changed}
    with pytest.raises(DataError) as caught:
        fit(given["X"], given["Y"], pool=given["pool"], dev=given["dev"], params=given["params"],
            checkpoint=folder, resume=True)  # fmt: skip
    message = str(caught.value)
    assert message.startswith(f"{folder / name}: ")
    assert "\n" not in message
    return message


OTHER_RUNS = {
    "C was 0.5 and is now 0.6": {"params": {"C": 0.6}},
    "rounds was 2 and is now 3": {"params": {"rounds": 3}},
    "schedule was [1.0, 10.0] and is now [1.0, 11.0]": {"params": {"schedule": [1.0, 11.0]}},
    "features was ['word', 'shape'] and is now 'default'": {"params": {"features": "default"}},
    "rules was None and is now Rules([W": {"params": {"rules": Rules([Words(["1905"], are="date")])}},
    "rules was None and is now Rules": {"params": {"rules": Rules([StartsWith("author")])}},
    "select was 'auto' and is now 'last'": {"params": {"select": "last"}},
    "random_state was 0 and is now 1": {"params": {"random_state": 1}},
    "data was ": {"pool": [*POOL[:3], ["X", ".", "Frege", "1879"]]},
    " data was": {"Y": [*Y[:3], ["author", "date", "date"]]},
    "dev data was ": {"dev": ([["Quine", "1908"]], [["date", "date"]])},
    "dev data was": {"dev": None},
}


@pytest.mark.parametrize("found", OTHER_RUNS)
def test_the_checkpoint_of_another_run_is_refused(tmp_path, found):
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    assert found in refused(tmp_path, checkpoints.START, **OTHER_RUNS[found])
    (tmp_path / checkpoints.START).unlink()
    assert found in refused(tmp_path, **OTHER_RUNS[found])


def test_other_words_are_another_run_even_if_the_features_are_the_same(tmp_path):
    params = {"features": ["shape"], "rules": Rules([Words(["Russell"], are="author")])}
    fit(X, Y, pool=POOL, checkpoint=tmp_path, params=params)
    with pytest.raises(DataError, match="data was"):
        fit(X, Y, pool=[["B", ".", "Ramseys"], *POOL[1:]], checkpoint=tmp_path, resume=True, params=params)


def test_other_values_of_features_are_another_run(tmp_path):
    numbers = [[[{"f": 1.0, "g": 2.0}], [{"f": 0.5}]], [["x"], ["y"]]]
    last = {"select": "last"}
    fit(*numbers, pool=[[{"f": 0.7}]], checkpoint=tmp_path, params=last)
    with pytest.raises(DataError, match="data was"):
        fit(*numbers, pool=[[{"f": 0.8}]], checkpoint=tmp_path, resume=True, params=last)


def test_the_number_of_threads_may_change(tmp_path):
    first = fit(X, Y, pool=POOL, checkpoint=tmp_path, params={"n_jobs": 1, "select": "last"})
    again = fit(X, Y, pool=POOL, checkpoint=tmp_path, resume=True, params={"n_jobs": 2, "select": "last"})
    same_fit(again, first)


def test_functions_are_the_same_in_another_process(tmp_path):
    def rules():
        def dated(tokens, labels):
            return labels.count("date") - 1

        return Rules([Function(dated, weight=1.0)])

    first = fit(X, Y, pool=POOL, checkpoint=tmp_path, params={"rules": rules()})
    again = fit(X, Y, pool=POOL, checkpoint=tmp_path, resume=True, params={"rules": rules()})
    same_fit(again, first)


def cut(content):
    return content[: len(content) // 2]


DAMAGE = {
    "empty": lambda content: b"",
    "cut": cut,
    "text": lambda content: b"not a checkpoint",
    "other arrays": lambda content: save_arrays({"x": np.zeros(2)}),
    "other words": lambda content: save_arrays({"x": np.zeros(2)}, {"state": "{}"}),
    "no JSON": lambda content: save_arrays({"x": np.zeros(2)}, {"state": "?"}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    path = tmp_path / checkpoints.NAME
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert "not a checkpoint, or damaged" in refused(tmp_path)


def test_a_wrong_bit_anywhere_is_noticed(tmp_path):
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    path = tmp_path / checkpoints.NAME
    good = path.read_bytes()
    for place in np.linspace(0, len(good) - 1, 60).astype(int):
        content = bytearray(good)
        content[place] ^= 0x10
        path.write_bytes(content)
        assert "not a checkpoint, or damaged" in refused(tmp_path)


def sealed(path, change):
    """The checkpoint again, with a good seal, after `change` has had its record and arrays."""
    with safe_open(path, framework="numpy") as file:
        record, arrays = json.loads(file.metadata()["state"]), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    change(record, arrays)
    text = json.dumps(record)
    seal = checkpoints._seal(text, arrays)
    path.write_bytes(save_arrays(arrays, {"format": str(checkpoints.FORMAT), "state": text, "seal": seal}))


def other(key, change):
    return lambda record, arrays: arrays.update({key: np.ascontiguousarray(change(arrays[key]))})


WRONG = {
    "fewer features": other("tokens", lambda a: a[1:]),
    "flat steps": other("trans", np.ravel),
    "more labels": other("point0.tokens", lambda a: np.hstack([a, a])),
    "fewer tokens": other("labels", lambda a: a[1:]),
    "a label that is not there": other("labels", lambda a: a + 100),
    "a label below": other("point1.labels", lambda a: a - 100),
    "not a number": other("tokens", lambda a: a * np.nan),
    "no steps": lambda record, arrays: arrays.pop("trans"),
    "a point too many": lambda record, arrays: record["points"].append(record["points"][0]),
    "points that are none": lambda record, arrays: record.update(points=[3]),
    "no history": lambda record, arrays: record.pop("history"),
    "a stage too late": lambda record, arrays: record["place"].update(stage=99),
    "a stage in words": lambda record, arrays: record["place"].update(stage="x"),
    "an unknown place": lambda record, arrays: record["place"].update(level=1),
    "a list": lambda record, arrays: record.update(about=[]),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_checkpoint_with_other_content_is_refused(tmp_path, case):
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    sealed(tmp_path / checkpoints.NAME, WRONG[case])
    assert "not a checkpoint, or damaged" in refused(tmp_path)


def test_sealing_alone_leaves_a_good_checkpoint(tmp_path):
    wanted = fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    sealed(tmp_path / checkpoints.NAME, lambda record, arrays: None)
    same_fit(fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path, resume=True), wanted)


@pytest.mark.parametrize("later", [1, -1])
def test_a_checkpoint_of_another_version(tmp_path, later):
    other = str(checkpoints.FORMAT + later)
    fit(X, Y, pool=POOL, dev=DEV, checkpoint=tmp_path)
    (tmp_path / checkpoints.NAME).write_bytes(save_arrays({}, {"format": other}))
    assert f"checkpoint format {other} of another version" in refused(tmp_path)


def test_a_checkpoint_folder_that_is_a_file(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        fit(X, Y, pool=POOL, checkpoint=tmp_path / "x")
