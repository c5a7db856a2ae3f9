"""`predict --resume`: killed, interrupted or out of room, and continued to the very same output."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from semistruct import SSVM, make_citations
from semistruct.app.cli import answers
from semistruct.base.errors import UncertainWarning
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, Written, write

CHUNK = 4


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    data = make_citations(10, seed=1)
    for name, C in (("m", 0.5), ("other", 0.01)):
        SSVM(C=C, tol=0.1, features="identity").fit(data.tokens, data.labels).save(folder / name)
    return folder


@pytest.fixture
def place(home, tmp_path, monkeypatch, run):
    """A folder with two models, two inputs, and what the first model says of them in `whole`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answers, "CHUNK", CHUNK)
    for name in ("m", "other"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    write(make_citations(15, seed=2), "a.txt", "text")
    write(make_citations(7, seed=3), "b.txt", "text")
    assert run("predict", "m", "a.txt", "b.txt", "-o", "whole") == (0, "", "")
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """How many sequences the model was asked about."""
    asked, real = [], answers.Answering.__call__
    monkeypatch.setattr(answers.Answering, "__call__", lambda self, X: (asked.append(len(X)), real(self, X))[1])
    return asked


def stop_after(monkeypatch, chunks, action):
    """After so many chunks the model does something else."""
    real, left = answers.Answering.__call__, [chunks]

    def call(self, X):
        left[0] -= 1
        if left[0] < 0:
            action()
        return real(self, X)

    monkeypatch.setattr(answers.Answering, "__call__", call)


def interrupt():
    raise KeyboardInterrupt


COMMAND = ("predict", "m", "a.txt", "b.txt", "-o", "out", "--resume")


def begun(run, monkeypatch, *command, chunks=2):
    """A command that was interrupted; its last line."""
    with monkeypatch.context() as patch:
        stop_after(patch, chunks, interrupt)
        code, _, err = run(*(command or COMMAND))
    assert code == 130
    return err.splitlines()[-1]


def names(folder):
    return {path.name for path in folder.iterdir()} - {"m", "other", "a.txt", "b.txt", "whole"}


def test_without_an_interruption_the_output_is_the_same(place, run):
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()
    assert names(place) == {"out"}


@pytest.mark.parametrize("chunks", [1, 5])
def test_an_interrupted_command_goes_on(place, run, monkeypatch, asked, chunks):
    told = begun(run, monkeypatch, chunks=chunks)
    n = chunks * CHUNK
    kept = f"{n} sequences are kept in out.parts; give the same command again to continue"
    assert told == f"semistruct: interrupted, {kept}"
    assert names(place) == {"out.parts"}
    asked.clear()
    assert run(*COMMAND) == (0, "", "")
    assert sum(asked) == 22 - n
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()
    assert names(place) == {"out"}


def test_a_command_that_is_interrupted_at_once_leaves_nothing(place, run, monkeypatch):
    told = begun(run, monkeypatch, chunks=0)
    assert told == "semistruct: interrupted, nothing was kept; give the same command again"
    assert not names(place)


KILLED = """
import os, shutil, signal, sys
from semistruct.app.cli import answers, main
answers.CHUNK = 4
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
moment, replace = sys.argv[1], os.replace
def move(source, target):
    end = target.name == "out"
    if moment == ("at the end" if end else "before a part") and (end or int(target.stem) > 8):
        die()
    replace(source, target)
    if moment == "after a part" and target.suffix == ".part":
        die()
os.replace = lambda source, target: replace(source, target) if target.suffix == ".json" else move(source, target)
if moment == "after the end":
    shutil.rmtree = die
main(sys.argv[2:])
"""


@pytest.mark.parametrize("moment", ["before a part", "after a part", "at the end", "after the end"])
def test_a_killed_command_goes_on(place, run, moment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, moment, *COMMAND], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (place / "out").exists() == (moment == "after the end")
    assert "out.parts" in names(place)
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()
    assert {name for name in names(place) if not name.endswith(".tmp")} == {"out"}


SLOW = """
import sys, time
from semistruct.base import processes
from semistruct.app.cli import answers, main
answers.CHUNK, processes.PATIENCE = 20, 0.0
main(sys.argv[1:])
"""


def test_a_command_with_processes_is_killed_at_any_moment(place, run, monkeypatch):
    write(make_citations(3000, seed=5), "a.txt", "text")
    command = (*COMMAND[:3], "-o", "out", "--resume", "--jobs", "2")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for least in (100, 1500):
        with subprocess.Popen([sys.executable, "-c", SLOW, *command], env=environment) as process:
            while process.poll() is None and done_so_far(place) < least:
                time.sleep(0.01)
            process.kill()
    assert not (place / "out").exists()
    monkeypatch.setattr(answers, "CHUNK", 20)
    assert run(*command[:-1], "1") == (0, "", "")
    assert run(*COMMAND[:3], "-o", "whole") == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


def done_so_far(place):
    return max((int(part.stem) for part in place.glob("out.parts/*.part")), default=0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (["other", "a.txt", "b.txt"], "out.parts: was started with another model; give the command as it was then"),
        (["m", "a.txt", "b.txt", "--to", "jsonl"], "with another --to"),
        (["m", "a.txt", "b.txt", "-r", "citations"], "with another rules"),
        ("changed input", "with another inputs"),
        ("damaged record", "out.parts: is damaged"),
        ("damaged part", "out.parts: is damaged"),
        ("version", "with another version of semistruct"),
    ],
)
def test_parts_of_something_else_are_refused(place, run, monkeypatch, change, problem):
    begun(run, monkeypatch)
    parts = place / "out.parts"
    record, command = parts / "made-from.json", COMMAND
    if not isinstance(change, str):
        command = ("predict", *change, "-o", "out", "--resume")
    elif change == "changed input":
        (place / "b.txt").write_text("One more. 1999.\n")
    elif change == "damaged record":
        record.write_text("[]")
    elif change == "damaged part":
        (parts / "000000000008.part").write_text("x")
    else:
        record.write_text(record.read_text().replace('"version of semistruct": "', '"version of semistruct": "0.'))
    before = sorted(parts.iterdir())
    code, _, err = run(*command)
    assert (code, err.count("\n")) == (2, 1)
    assert problem in err
    assert sorted(parts.iterdir()) == before
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["a.txt"], "--resume needs an output file: --output (-o)"),
        (["-", "-o", "out"], "--resume needs files as inputs; standard input cannot be read a second time"),
        (["a.txt", "-o", "/dev/null"], "--resume cannot continue /dev/null, which is not a file"),
        (["a.txt", "-o", "out", "--to", "json"], "--resume cannot continue a file in the format json; it can continue"),
        (["a.txt", "-o", "out", "--accept", "0.9", "--to", "jsonl"], "--accept cannot go with --resume"),
        (["none.txt", "-o", "out"], "none.txt: cannot read: no such file"),
        (["a.txt", "-o", "no/out"], "no/out: cannot write: no such folder"),
    ],
)
def test_what_cannot_be_resumed(place, run, command, problem):
    code, _, err = run("predict", "m", *command, "--resume")
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert not names(place)


def test_parts_that_another_process_writes(place, run, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    begun(run, monkeypatch)
    with open("out.parts/lock", "ab") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        code, _, err = run(*COMMAND)
    assert (code, err) == (2, "semistruct: out.parts: another process is writing it\n")


@pytest.mark.parametrize(("chunks", "told"), [(0, "nothing was kept"), (2, "8 sequences are kept in out.parts")])
def test_a_full_disk_keeps_what_is_done(place, run, monkeypatch, chunks, told):
    real = os.replace

    def move(source, target):
        if target.suffix == ".part" and int(target.stem) > chunks * CHUNK:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", move)
        code, _, err = run(*COMMAND, "--jobs", "1")
    assert (code, err.count("\n")) == (2, 1)
    assert f"cannot write: no space left on device; {told}" in err
    assert names(place) == ({"out.parts"} if chunks else set())
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


@pytest.mark.filterwarnings("default::semistruct.base.errors.UncertainWarning")
def test_uncertain_sequences_are_counted_from_the_beginning(place, run, monkeypatch):
    real = answers.Answering.__call__

    def call(self, X):
        found = real(self, X)
        return found._replace(warnings=[UncertainWarning(1, len(X))])

    monkeypatch.setattr(answers.Answering, "__call__", call)
    whole = run("predict", "m", "a.txt", "b.txt", "-o", "whole")[2]
    assert "6 of 22 sequences" in whole
    begun(run, monkeypatch)
    assert run(*COMMAND) == (0, "", whole)


def test_columns_are_checked_across_parts(place, run, monkeypatch):
    (place / "a.tsv").write_text("A\tx\n\n" * 8)
    (place / "b.tsv").write_text("A\tb\tx\n\n" * 4)
    command = ("predict", "m", "a.tsv", "b.tsv", "-o", "out", "--resume")
    begun(run, monkeypatch, *command)
    problem = "sequence 8: 2 columns, but the sequences before it have 1; use jsonl instead"
    assert run(*command)[2] == f"semistruct: {problem}\n"


@pytest.mark.parametrize("name", FORMATS)
def test_formats_that_are_end_to_end(name, tmp_path):
    """Their files are what `Written` writes in two goes; files of the others are not the sum of two."""
    if name == "spacy":
        assert not FORMATS[name].end_to_end
        return
    label = "B-a" if name in ("tsv", "conll") else "a"
    examples = [Example(["x", str(i)], [label, label], "x " + str(i), [(0, 1), (2, 3)]) for i in range(4)]
    examples[0] = replace(examples[0], tokens=["\ufeff", "0"], text="\ufeff 0")
    for which, part in (("all", examples), ("first", examples[:2]), ("second", examples[2:])):
        write(part, tmp_path / which, name)
    all_, first, second = ((tmp_path / which).read_bytes() for which in ("all", "first", "second"))
    assert (all_ == first + second) == FORMATS[name].end_to_end
    if FORMATS[name].end_to_end:
        written = Written(FORMATS[name])
        with open(tmp_path / "parts", "w", encoding="utf-8", newline="\n") as file:
            written.add(examples[:2], file)
            written.add(examples[2:], file)
        assert (tmp_path / "parts").read_bytes() == all_
        assert written.sequences == 4
