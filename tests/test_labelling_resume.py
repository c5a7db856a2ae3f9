"""`predict --resume`: killed, interrupted or out of room, and continued to the very same output."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from semistruct import SSVM, Rules, make_citations
from semistruct.cli import answering, labelling, resuming
from semistruct.corpus import Example
from semistruct.errors import UncertainWarning
from semistruct.formats import FORMATS, Written, write

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
    monkeypatch.setattr(labelling, "CHUNK", CHUNK)
    for name in ("m", "other"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    write(make_citations(15, seed=2), "a.txt", "text")
    write(make_citations(7, seed=3), "b.txt", "text")
    assert run("predict", "m", "a.txt", "b.txt", "-o", "whole") == (0, "", "")
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """How many sequences the model was asked about."""
    asked, real = [], answering.Answering.__call__
    monkeypatch.setattr(answering.Answering, "__call__", lambda self, X: (asked.append(len(X)), real(self, X))[1])
    return asked


def stop_after(monkeypatch, chunks, action):
    """After so many chunks the model does something else."""
    real, left = answering.Answering.__call__, [chunks]

    def call(self, X):
        left[0] -= 1
        if left[0] < 0:
            action()
        return real(self, X)

    monkeypatch.setattr(answering.Answering, "__call__", call)


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


@pytest.mark.parametrize("chunks", [1, 3, 5])
def test_an_interrupted_command_goes_on(place, run, monkeypatch, asked, chunks):
    told = begun(run, monkeypatch, chunks=chunks)
    n = chunks * CHUNK
    kept = f"{n} sequences are kept in out.part; give the same command again to continue"
    assert told == f"semistruct: interrupted, {kept}"
    assert names(place) == {"out.part", "out.part.json"}
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
import os, signal, sys
from semistruct.cli import labelling, main, resuming
labelling.CHUNK = 4
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
moment, left = sys.argv[1], [2]
def note(self, reached, real=resuming.Part._note):
    left[0] -= reached.sequences > 0
    if left[0] < 0 and moment == "before the record":
        die()
    real(self, reached)
    if left[0] < 0 and moment == "after the record":
        die()
resuming.Part._note = note
if moment == "at the end":
    resuming.os.replace = lambda a, b, real=os.replace: die() if str(b) == "out" else real(a, b)
elif moment == "after the end":
    resuming.Path.unlink = die
elif moment == "within a chunk":
    resuming.os.fsync = lambda fd, real=os.fsync: die() if os.fstat(fd).st_size > 2500 else real(fd)
main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    "moment", ["before the record", "after the record", "within a chunk", "at the end", "after the end"]
)
def test_a_killed_command_goes_on(place, run, moment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, moment, *COMMAND], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (place / "out").exists() == (moment == "after the end")
    assert "out.part.json" in names(place)
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()
    assert names(place) == {"out"}


SLOW = """
import sys, time
from semistruct import processes
from semistruct.cli import labelling, main
labelling.CHUNK, processes.PATIENCE = 20, 0.0
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
    monkeypatch.setattr(labelling, "CHUNK", 20)
    assert run(*command[:-1], "1") == (0, "", "")
    assert run(*COMMAND[:3], "-o", "whole") == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


def done_so_far(place):
    record = place / "out.part.json"
    return json.loads(record.read_text())["reached"]["sequences"] if record.exists() else 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("other model", "was started with another model; give the command as it was then, or delete out.part and "),
        ("--to", "was started with another --to"),
        ("--encoding", "was started with another --encoding"),
        ("rules", "was started with other rules"),
        ("fewer inputs", "was started for other inputs"),
        ("changed input", "b.txt changed; give the command as it was then"),
        ("record", "out.part.json: is damaged; delete out.part"),
        ("part", "out.part: has changed since it was written"),
        ("short part", "out.part: has changed since it was written"),
        ("no record", "out.part: exists, but was not written by --resume"),
        ("version", "was started by version 0.0 of semistruct"),
    ],
)
def test_a_part_of_something_else_is_refused(place, run, monkeypatch, change, problem):
    begun(run, monkeypatch)
    command = [*COMMAND]
    part, record = place / "out.part", place / "out.part.json"
    if change == "other model":
        command[1] = "other"
    elif change == "--to":
        command += ["--to", "jsonl"]
    elif change == "--encoding":
        command += ["--encoding", "latin-1"]
    elif change == "rules":
        (place / "r.yaml").write_text("rules: [starts_with: author]\n")
        command += ["-r", "r.yaml"]
    elif change == "fewer inputs":
        command.remove("b.txt")
    elif change == "changed input":
        with open("b.txt", "a", encoding="utf-8") as file:
            file.write("One more. 1999.\n")
    elif change == "record":
        record.write_text(record.read_text().replace('"sequences": 8', '"sequences": -8'))
    elif change == "part":
        part.write_bytes(b"X" + part.read_bytes()[1:])
    elif change == "short part":
        part.write_bytes(part.read_bytes()[:-1])
    elif change == "no record":
        record.unlink()
    else:
        about = json.loads(record.read_text())
        about["made from"]["version"] = "0.0"
        record.write_text(json.dumps(about))
    before = part.read_bytes()
    code, _, err = run(*command)
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert part.read_bytes() == before
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["a.txt"], "--resume needs an output file: --output (-o)"),
        (["-", "-o", "out"], "--resume needs files as inputs; standard input cannot be read a second time"),
        (["a.txt", "-o", "/dev/null"], "--resume cannot continue /dev/null, which is not a file"),
        (["a.txt", "-o", "out", "--to", "json"], "--resume cannot continue a file in the format json; it can continue"),
        (["a.txt", "-o", "out", "--to", "csv"], "--resume cannot continue a file in the format csv; it can continue"),
        (["a.txt", "-o", "out", "--to", "xml"], "there is no format 'xml'"),
        (["a.txt", "-o", "out", "--corpus-rules"], "--resume cannot go with --corpus-rules"),
        (["a.txt", "-o", "out", "--accept", "0.9", "--to", "jsonl"], "--resume cannot go with --accept"),
        (["none.txt", "-o", "out"], "none.txt: cannot read: no such file"),
        (["a.txt", "-o", "no/out"], "out.part.json: cannot write: no such file"),
    ],
)
def test_what_cannot_be_resumed(place, run, command, problem):
    code, _, err = run("predict", "m", *command, "--resume")
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert not names(place)


def test_a_part_without_its_file_is_begun_anew(place, run, monkeypatch):
    begun(run, monkeypatch)
    (place / "out.part").unlink()
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


def test_a_part_that_another_process_writes(place, run, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    begun(run, monkeypatch)
    with open("out.part", "ab") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        code, _, err = run(*COMMAND)
    assert (code, err) == (2, "semistruct: out.part: another process is writing it\n")


def test_a_full_disk_keeps_what_is_done(place, run):
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); " + SLOW.replace("20", "4")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, *COMMAND, "--jobs", "1"], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "out.part: cannot write: file too large; 8 sequences are kept in out.part; give the same" in done.stderr
    assert names(place) == {"out.part", "out.part.json"}
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


@pytest.mark.parametrize(
    ("chunks", "told", "left"),
    [
        (0, "nothing was kept; make room and give the same command again", set()),
        (2, "8 sequences are kept in out.part; make room and give the same command again to continue",
         {"out.part", "out.part.json"}),
    ],
)  # fmt: skip
def test_a_full_disk_needs_room_first(place, run, monkeypatch, chunks, told, left):
    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        stop_after(patch, chunks, full)
        code, _, err = run(*COMMAND)
    assert (code, err) == (2, f"semistruct: out.part: cannot write: no space left on device; {told}\n")
    assert names(place) == left


@pytest.mark.parametrize(("chunks", "told"), [(0, "nothing was kept; make room"), (1, "4 sequences are kept in")])
def test_a_chunk_counts_only_with_its_record(place, run, monkeypatch, chunks, told):
    notes, real = [], os.replace

    def move(source, target):
        notes.append(target)
        if len(notes) > chunks + 1:  # the first is made before any chunk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", move)
        code, _, err = run(*COMMAND, "--jobs", "1")
    assert code == 2
    assert told in err
    assert run(*COMMAND) == (0, "", "")
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


@pytest.mark.filterwarnings("default::semistruct.errors.UncertainWarning")
def test_uncertain_sequences_are_counted_from_the_beginning(place, run, monkeypatch):
    real = answering.Answering.__call__

    def call(self, X):
        answers = real(self, X)
        return answers._replace(warnings=[UncertainWarning(1, len(X))])

    monkeypatch.setattr(answering.Answering, "__call__", call)
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


def test_what_a_part_is_made_from(place):
    reading = labelling.Reading()
    made = resuming.origin(place / "m", ["a.txt"], reading, True, {"--to": "tsv"})
    assert resuming.differences(made, json.loads(json.dumps(made))) == []
    other = resuming.origin(place / "other", ["a.txt"], reading, Rules([]), {"--to": "conll"})
    assert resuming.differences(made, other) == ["with another model", "with other rules", "with another --to"]
