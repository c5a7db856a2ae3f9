"""Work spread over processes is the work done here, in order, whatever happens to the processes."""

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import count

import pytest

from process_cases import fail_at, slower_first, where
from semistruct import SSVM, Rules, make_citations
from semistruct.app.cli.answers import Answering
from semistruct.base import processes
from semistruct.base.errors import DataError, RuleWarning, UncertainWarning
from semistruct.base.processes import AHEAD, ProcessError, Workers, in_order


@pytest.fixture
def at_once(monkeypatch):
    """Other processes are started at once, and waited for."""
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    monkeypatch.setattr(
        Workers, "ready", property(lambda workers: all(one.result() is None for one in workers._starts))
    )


def numbered(values):
    return ((f"part {x}", x) for x in values)


def is_gone(pid):
    """Whether there is no such process, or only what is left of one."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("n", [2, 3])
def test_answers_come_in_order(at_once, n):
    assert [*in_order(slower_first, numbered(range(25)), n)] == [(f"part {x}", -x) for x in range(25)]


def test_all_processes_share_the_work_and_end_with_it(at_once, capfd):
    found = [answer for _, answer in in_order(where, numbered(range(30)), 2)]
    assert [x for x, _ in found] == [*range(30)]
    others = {pid for _, pid in found}
    assert len(others) == 2
    assert os.getpid() not in others
    assert all(map(is_gone, others))
    assert capfd.readouterr().out == ""  # what they print goes elsewhere


def test_a_little_work_is_done_here(monkeypatch):
    monkeypatch.setattr(processes, "Workers", None)
    assert {pid for _, (_, pid) in in_order(where, numbered(range(30)), 2)} == {os.getpid()}
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    assert {pid for _, (_, pid) in in_order(where, numbered(range(30)), 1)} == {os.getpid()}


def test_work_goes_on_here_until_the_others_are_ready(monkeypatch):
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    seen = []

    def until_another():
        for x in count():
            if seen and seen[-1] != os.getpid():
                return
            time.sleep(0.01)
            yield None, x

    for _, (x, pid) in in_order(where, until_another(), 2):
        assert x == len(seen)
        seen.append(pid)
    assert seen[0] == os.getpid()
    assert seen[-1] != os.getpid()


def test_few_parts_are_under_way(at_once):
    taken = given = most = 0

    def parts():
        nonlocal taken
        for x in range(40):
            taken += 1
            yield None, x

    for _ in in_order(slower_first, parts(), 2):
        most = max(most, taken - given)
        given += 1
    assert given == 40
    assert most <= AHEAD * 2 + 1


def test_an_error_comes_when_its_part_would(at_once):
    answers = in_order(fail_at, numbered(range(20)), 2)
    assert [next(answers)[1] for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(DataError, match=r"^bad 4$"):
        next(answers)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: a bug"):
        list(in_order(fail_at, numbered([1, 40, 2]), 2))


def test_a_killed_process_is_told(at_once):
    with pytest.raises(ProcessError, match="was killed by signal 9; if memory ran out, use fewer processes"):
        list(in_order(fail_at, numbered([1, 2, 400, *range(50, 80)]), 2))


def test_a_function_that_cannot_be_had(at_once, monkeypatch):
    monkeypatch.setattr(processes, "START", "import os; os._exit(3)")
    with pytest.raises(ProcessError, match="ended with exit code 3"):
        list(in_order(where, numbered(range(3)), 2))


def test_nobody_is_left_behind_when_the_reader_stops(at_once):
    with closing(in_order(where, numbered(range(100)), 2)) as answers:
        pids = {next(answers)[1][1] for _ in range(6)}
    assert pids
    assert all(map(is_gone, pids))


PARENT = """
import os, time
from process_cases import where
from semistruct.base import processes
processes.PATIENCE = 0.0
seen = set()
def parts():
    while True:
        time.sleep(0.01)
        yield None, 0
for _, (_, pid) in processes.in_order(where, parts(), 2):
    if pid not in seen:
        seen.add(pid)
        os.write(2, f"\\n{pid}\\n".encode())  # in one piece, as the others write there too
"""


def test_processes_end_with_the_one_that_started_them():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command, none = [sys.executable, "-c", PARENT], subprocess.DEVNULL
    with subprocess.Popen(command, stdout=none, stderr=subprocess.PIPE, text=True, env=environment) as parent:
        pids = set()
        while len(pids) < 3:
            line = parent.stderr.readline()
            assert line, "the process has ended"
            pids |= {int(line)} if line.strip().isdigit() else set()
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 20
    while not all(map(is_gone, pids)):
        assert time.monotonic() < until, "processes are left behind"
        time.sleep(0.1)


@pytest.mark.parametrize("warning", [RuleWarning("odd", 3), RuleWarning("odd"), UncertainWarning(2, 5)])
def test_warnings_travel_between_processes(warning):
    again = pickle.loads(pickle.dumps(warning))
    assert type(again) is type(warning)
    assert (str(again), vars(again)) == (str(warning), vars(warning))


@pytest.mark.parametrize("wanted", [{}, {"confidence": True}], ids=str)
@pytest.mark.parametrize("text", [None, "rules: [starts_with: title]", "rules: []"])
def test_another_process_is_asked_the_same(wanted, text):
    data = make_citations(12, seed=1)
    estimator = SSVM(C=0.5).fit(data.tokens[:8], data.labels[:8])
    ask = Answering(estimator, None if text is None else Rules.from_text(text), **wanted)
    elsewhere = pickle.loads(pickle.dumps(ask.on_one_core()))
    assert repr(elsewhere(data.tokens[8:])) == repr(ask(data.tokens[8:]))


def test_a_process_that_gives_labels_does_not_import_what_learning_needs(tmp_path):
    data = make_citations(8, seed=1)
    estimator = SSVM(C=0.5).fit(data.tokens, data.labels)
    (tmp_path / "ask").write_bytes(pickle.dumps(Answering(estimator, None).on_one_core()))
    code = "import pickle, sys; pickle.load(open('ask', 'rb'))([['a']]); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
