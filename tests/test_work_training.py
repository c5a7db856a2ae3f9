"""When the workbench learns, from what, and what becomes of it; the process that learns is played by the test."""

import json
import shutil
from concurrent.futures import Future
from dataclasses import replace
from functools import cache

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct import SSVM
from semistruct.app.work.labels import Decision
from semistruct.app.work.messages import TaskStatus
from semistruct.app.work.proposals import Proposal
from semistruct.app.work.rules_text import EMPTY
from semistruct.app.work.tasks import Model, ModelRecord, Pick, Prediction
from semistruct.app.work.worker import CancelledTask, WorkError
from work_cases import LABELS, TEXTS, made


@cache
def whole_model():
    """A model that can be loaded."""
    return SSVM(features=["word"], C=1.0).fit([text.split() for text in TEXTS], [LABELS] * len(TEXTS))


class Played:
    """A worker whose tasks end when the test says so."""

    def __init__(self):
        self.tasks, self.cancelled = [], []

    def ask(self, task, given, tell=None):
        future = Future()
        self.tasks.append((task.__name__, given, future))
        return future

    def cancel(self, future):
        self.cancelled.append(1 + [asked for _, _, asked in self.tasks].index(future))
        future.set_exception(CancelledTask("cancelled"))

    def stop(self):
        pass

    def end(self):
        """The last task ends with a model."""
        _, lesson, future = self.tasks[-1]
        whole_model().save(lesson.output)
        n = len(lesson.material.X)
        future.set_result(record(n, n if lesson.C is None else lesson.chosen_at))


def record(labelled, chosen_at, picks=(5,)):
    picks = [Pick(LABELS, [1.0, 2.0, 3.0], [], number=number, reason="why") for number in picks]
    return ModelRecord(["name", "year"], labelled, 0.5, chosen_at, "now", 1.0, picks, [], [], [], [])


@pytest.fixture
def bench(tmp_path):
    found = made(tmp_path / "home", [*TEXTS, *(f"{text} again" for text in TEXTS * 3)])
    found.trainer.learner = Played()
    yield found
    found.close()


def label(bench, *numbers):
    for number in numbers:
        n = len(bench.pool.cut(number).tokens)
        bench.decide(Decision(number, tuple([*LABELS, "year"][:n]), "typed"))


def test_a_model_is_learned_from_the_second_sequence_on_and_then_after_every_third(bench):
    learner = bench.trainer.learner
    label(bench, 0)
    assert learner.tasks == []
    label(bench, 1)
    assert [lesson.material.X for _, lesson, _ in learner.tasks] == [[text.split() for text in TEXTS[:2]]]
    assert learner.tasks[0][1].C is None
    learner.end()
    assert bench.model.name == "0001"
    assert [turn.number for turn in bench.queue.waiting] == [5]
    assert bench.proposals[5].labels == LABELS
    label(bench, 2, 3)
    assert len(learner.tasks) == 1
    label(bench, 4)
    assert len(learner.tasks) == 2
    assert learner.tasks[1][1].C == 0.5  # that of the model before
    learner.end()
    label(bench, 6, 7, 8)
    assert learner.tasks[2][1].C is None  # chosen anew, from many more labels


def test_skipping_and_noting_teach_nothing(bench):
    label(bench, 0, 1)
    bench.trainer.learner.end()
    for number in range(2, 8):
        bench.decide(Decision(number, None, "skipped"))
        bench.decide(Decision(number, None, "noted", note="x"))
    assert len(bench.trainer.learner.tasks) == 1


def test_what_runs_is_given_up_for_other_rules(bench):
    learner = bench.trainer.learner
    label(bench, 0, 1)
    bench.set_rules("rules: [{present: name}]")
    assert learner.cancelled == [1]
    assert [lesson.material.rules for _, lesson, _ in learner.tasks] == [EMPTY, "rules: [{present: name}]"]
    bench.set_rules("rules: [{present: name")  # broken: what is learned has no rules
    assert [lesson.material.rules for _, lesson, _ in learner.tasks][2:] == [EMPTY]
    learner.end()
    assert bench.model.name == "0001"


def test_labels_that_come_while_it_learns_are_learned_next(bench):
    learner = bench.trainer.learner
    label(bench, 0, 1, 2, 3, 4)
    assert len(learner.tasks) == 1
    learner.end()
    assert len(learner.tasks) == 2
    assert len(learner.tasks[1][1].material.X) == 5


def test_a_failure_is_told_and_the_old_model_stays(bench):
    learner = bench.trainer.learner
    label(bench, 0, 1)
    learner.end()
    bench.trainer.train()
    learner.tasks[-1][2].set_exception(WorkError("no memory"))
    assert bench.trainer.status == TaskStatus(state="failed", problem="no memory")
    assert bench.model.name == "0001"
    bench.trainer.train()
    assert bench.trainer.status.state == "running"
    bench.trainer.cancel()
    assert bench.trainer.status == TaskStatus(state="idle")


def test_one_label_is_not_enough_to_learn_from(bench):
    for number in (0, 1, 2):
        bench.decide(Decision(number, ("name",) * 3, "typed"))
    assert bench.trainer.learner.tasks == []


def restarted(bench):
    """A bench on the same folder, as after a restart."""
    bench.folder.close()
    after = made(bench.folder.path)
    after.trainer.learner = Played()
    after.trainer.resume()
    return after


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied", "no record", "bad record", "poor record"])
def test_a_damaged_newest_model_is_told_and_learned_anew(bench, damage):
    label(bench, 0, 1)
    for _ in range(2):
        bench.trainer.learner.end()
        bench.trainer.train()
    models = bench.folder.path / "models"
    newest, record = models / "0002.model", models / "0002.json"
    data = newest.read_bytes()
    {
        "cut": lambda: newest.write_bytes(data[: len(data) // 2]),
        "changed": lambda: newest.write_bytes(data[: len(data) // 2] + b"xxxxxxxx" + data[len(data) // 2 + 8 :]),
        "emptied": lambda: newest.write_bytes(b""),
        "no record": record.unlink,
        "bad record": lambda: record.write_text("[]"),
        "poor record": lambda: record.write_text('{"picks": [], "labels": []}'),
    }[damage]()
    after = restarted(bench)
    assert (after.model.name, [turn.number for turn in after.queue.waiting]) == ("0001", [5])
    assert after.notices == ["models/0002.model cannot be used: model 1 is used, and a new one is learned"]
    assert [task for task, *_ in after.trainer.learner.tasks] == ["warm_up", "learn"]
    assert after.trainer.learner.tasks[-1][1].output == models / "0003.model"
    after.trainer.learner.end()
    again = restarted(after)
    assert (again.model.name, again.notices) == ("0003", [])
    assert [task for task, *_ in again.trainer.learner.tasks] == ["warm_up"]
    again.close()


def test_if_no_model_is_whole_one_is_learned(bench):
    label(bench, 0, 1)
    bench.trainer.learner.end()
    (bench.folder.path / "models" / "0001.model").write_text("no model")
    after = restarted(bench)
    assert after.model is None
    assert after.notices == ["models/0001.model cannot be used: there is none before it, and a new one is learned"]
    assert after.trainer.status.state == "running"
    after.close()


def test_numbers_of_models_never_begin_again(bench):
    label(bench, 0, 1)
    bench.trainer.learner.end()
    bench.trainer.train()
    bench.trainer.learner.end()
    shutil.rmtree(bench.folder.path / "models")
    after = restarted(bench)
    assert after.trainer.learner.tasks[-1][1].output.name == "0003.model"
    after.trainer.learner.end()
    (after.folder.path / "settings.json").unlink()
    after = restarted(after)
    after.trainer.train()
    assert after.trainer.learner.tasks[-1][1].output.name == "0004.model"
    after.close()


def test_a_model_after_number_9999_is_the_newest(bench):
    label(bench, 0, 1)
    bench.folder.save_settings(replace(bench.settings, models=9998))
    bench.trainer.cancel()
    for _ in range(2):
        bench.trainer.train()
        bench.trainer.learner.end()
    assert bench.model.name == "10000"
    after = restarted(bench)
    assert after.model.name == "10000"
    after.close()


@pytest.mark.parametrize("kept", [0, 1])
def test_labels_that_are_gone_are_told(bench, kept):
    label(bench, *range(6))
    bench.trainer.learner.end()
    bench.trainer.learner.end()
    assert bench.model.record.labelled == 6
    path = bench.folder.path / "labels.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:kept]))
    after = restarted(bench)
    words = f"labels.jsonl has {kept} labelled sequences, but model 2 learned from 6: is the file the right one?"
    assert after.notices == [words]
    after.close()


def test_a_label_taken_back_is_not_reported_as_lost(bench):
    label(bench, *range(6))
    bench.trainer.learner.end()
    bench.trainer.learner.end()
    bench.undo()
    after = restarted(bench)
    assert after.notices == []
    after.close()


def test_a_model_that_fails_while_the_server_runs_is_told(bench):
    label(bench, 0, 1)
    bench.trainer.sweep.worker = Played()
    bench.trainer.learner.end()
    _, _, future = bench.trainer.sweep.worker.tasks[-1]
    future.set_exception(WorkError("0001.model: damaged"))
    assert bench.notices == ["model 1 cannot label the pool: 0001.model: damaged"]


def test_few_models_are_kept(bench):
    label(bench, 0, 1)
    for _ in range(8):
        bench.trainer.learner.end()
        bench.trainer.train()
    bench.trainer.learner.end()
    names = sorted(path.name for path in (bench.folder.path / "models").iterdir())
    assert names == [f"{k:04d}.{ending}" for k in range(5, 10) for ending in ("json", "model")]
    assert json.loads((bench.folder.path / "models" / "0009.json").read_text())["labelled"] == 2


def test_every_eighth_sequence_is_random_and_blind(bench):
    bench.model = Model(bench.folder.path / "models" / "0001.model", record(2, 2, picks=()))
    proposal = Proposal.of(Prediction(LABELS, [1.0] * 3, []), "0001", ("name", "year"))
    blind = []
    for _ in range(16):
        turn = bench.next("a", set())
        blind.append(turn.blind)
        bench.proposals[turn.number] = proposal
        label(bench, turn.number)
        assert bench.decisions.last[turn.number].blind == turn.blind
    assert [k for k, one in enumerate(blind) if one] == [7, 15]
