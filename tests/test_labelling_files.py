"""`predict` on files of any size: the same labels on any number of cores, and what it says of odd files."""

import os
import signal
import subprocess
import sys
import time

import pytest

from semistruct import SSVM, Rules, make_citations
from semistruct.app.cli import answers, output
from semistruct.base import processes
from semistruct.base.errors import RuleWarning
from semistruct.base.processes import Workers
from semistruct.data.formats import marked, write

RULES = """rules:
  - starts_with: author
  - words: [In]
    are: booktitle
    weight: hard
  - words: [In]
    are: date
    weight: hard
"""


@pytest.fixture(scope="module")
def model():
    data = make_citations(12, seed=1)
    return SSVM(C=0.5, tol=0.1, features="identity").fit(data.tokens, data.labels)


@pytest.fixture
def place(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answers, "CHUNK", 4)
    model.save("m")
    write(make_citations(30, seed=2), "a.txt", "text")
    write(make_citations(10, seed=3), "b.tsv", "tsv")
    (tmp_path / "r.yaml").write_text(RULES)
    return tmp_path


@pytest.fixture
def at_once(monkeypatch):
    """Other processes are started at once, and waited for; gives how many parts they were given."""
    given, submit = [], Workers.submit
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    monkeypatch.setattr(
        Workers, "ready", property(lambda workers: all(one.result() is None for one in workers._starts))
    )
    monkeypatch.setattr(Workers, "submit", lambda workers, part: (given.append(len(part)), submit(workers, part))[1])
    return given


@pytest.mark.filterwarnings("default::semistruct.base.errors.RuleWarning")
@pytest.mark.parametrize(
    "options",
    [
        ["predict", "m", "a.txt", "b.tsv", "--to", "jsonl", "--confidence"],
        ["predict", "m", "a.txt", "-r", "r.yaml"],
        ["evaluate", "m", "b.tsv", "-r", "r.yaml", "--errors", "2"],
    ],
)
def test_the_answer_is_the_same_on_any_number_of_cores(place, run, at_once, options):
    alone = run(*options, "--jobs", 1)
    assert not at_once
    together = run(*options, "--jobs", 2)
    assert together == alone
    assert alone[0] == 0
    assert sum(at_once) in (40, 30, 10)
    assert ("conflict" in alone[2]) == ("-r" in options)


def test_functions_that_the_user_trusts_are_called_there_too(place, run, at_once):
    (place / "my_own.py").write_text("def size(tokens, t):\n    return [str(len(tokens[t]))]\n")
    data = place / "few.tsv"
    write(make_citations(5, seed=4), data, "tsv")
    command = ["train", data, "-f", "word", "-f", "python(my_own:size)", "-C", "1", "-o", "own", "--quiet", "--json"]
    assert run(*command)[0] == 0
    alone = run("predict", "own", "a.txt", "--trust", "my_own", "--jobs", 1)
    assert run("predict", "own", "a.txt", "--trust", "my_own", "--jobs", 2) == alone
    assert at_once


MANY = """
import sys
from semistruct.base import processes
from semistruct.app.cli import answers, main
import time
answers.CHUNK, processes.PATIENCE = 20, 0.0
real = answers.Answering.__call__
answers.Answering.__call__ = lambda self, X: (time.sleep(0.02), real(self, X))[1]
class Workers(processes.Workers):
    def __init__(self, *args):
        super().__init__(*args)
        with open("pids", "w") as file:
            print(*(worker.process.pid for worker in self._workers), file=file)
    def submit(self, part):
        open("busy", "w").close()
        return super().submit(part)
processes.Workers = Workers
main(sys.argv[1:])
"""


@pytest.fixture
def many(place):
    """A command with other processes, which are at work."""
    write(make_citations(4000, seed=5), "many.txt", "text")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MANY, "predict", "m", "many.txt", "-o", "out", "--jobs", "2"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not (place / "busy").exists():
            assert process.poll() is None
            time.sleep(0.01)
        yield process
        process.kill()


def gone(place):
    """Whether all other processes end soon."""
    until = time.monotonic() + 10
    pids = [int(pid) for pid in (place / "pids").read_text().split()]
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_a_killed_process_ends_the_command_with_a_sentence(place, many):
    os.kill(int((place / "pids").read_text().split()[0]), signal.SIGKILL)
    err = many.communicate()[1]
    assert many.returncode == 2
    problem = "a worker process was killed by signal 9; if memory ran out, use fewer processes, for example --jobs 2"
    assert err == f"semistruct: {problem}\n"
    assert gone(place)
    assert not {"out", "out.part"} & {*os.listdir(place)}


def test_an_interruption_ends_all_processes(place, many):
    many.send_signal(signal.SIGINT)
    err = many.communicate()[1]
    assert (many.returncode, err) == (130, "semistruct: interrupted, nothing was written\n")
    assert gone(place)
    assert [name for name in os.listdir(place) if "out" in name] == []


def test_a_very_long_text(place, run, monkeypatch):
    monkeypatch.setattr(marked, "LONGEST_TEXT", 1000)
    (place / "long.txt").write_text("Short. 1999.\n" + "word " * 201 + "\n")
    code, _, err = run("predict", "m", "long.txt", "-o", "out")
    problem = "the text has 1,005 characters, but a sequence can have at most 1,000; split it into several sequences"
    assert (code, err) == (2, f"semistruct: long.txt:2: {problem}\n")


def test_long_sequences_make_small_chunks(monkeypatch):
    monkeypatch.setattr(answers, "CHUNK", 3)
    monkeypatch.setattr(answers, "CHUNK_TOKENS", 10)
    sizes = [4, 4, 4, 1, 1, 1, 1, 50, 2]
    examples = [("", "x" * size) for size in sizes]
    found = [[len(x) for _, x in chunk] for chunk in answers.chunks(examples)]
    assert found == [[4, 4, 4], [1, 1, 1], [1, 50], [2]]


def test_a_full_disk_leaves_nothing(place):
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); " + MANY
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, "predict", "m", "a.txt", "-o", "out", "--jobs", "1"], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "semistruct: out: cannot write: file too large\n")
    assert [name for name in os.listdir(place) if "out" in name] == []


def test_progress_on_a_terminal(monkeypatch):
    seen, now = [], [100.0]

    class Line:
        def __enter__(self):
            return seen.append

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(output, "status_line", lambda text, quiet: Line())
    monkeypatch.setattr(output.time, "perf_counter", lambda: now[0])
    with output.show_count(False) as show:
        show(2000, 2000)
        now[0] += 4.0
        show(10000, 2000)
    assert seen == ["2,000 sequences  read again", "10,000 sequences  2,000 per second"]


@pytest.mark.filterwarnings("default::semistruct.base.errors.RuleWarning")
def test_rules_of_a_file_are_obeyed_by_all(place, model, run, at_once):
    """The labels are those of the library."""
    write(make_citations(9, seed=6), "c.tsv", "tsv")
    out = run("predict", "m", "c.tsv", "-r", "r.yaml", "--jobs", 2)[1]
    tokens = make_citations(9, seed=6).tokens
    with pytest.warns(RuleWarning, match="conflict"):
        wanted = model.predict(tokens, rules=Rules.from_text(RULES))
    found = [[line.split("\t")[-1] for line in part.splitlines()] for part in out.strip().split("\n\n")]
    assert found == wanted


@pytest.mark.parametrize(
    ("ending", "format"),
    [("jsonl", "jsonl"), ("JSON", "json"), ("csv", "table"), ("tsv", "tsv"), ("conll", "conll"), ("txt", "inline")],
)
def test_the_ending_of_the_output_says_its_format(place, good, ending, format):
    good("predict", "m", "a.txt", "-q", "-o", f"out.{ending}")
    good("predict", "m", "a.txt", "-q", "-o", "named", "--to", format)
    assert (place / f"out.{ending}").read_bytes() == (place / "named").read_bytes()


def test_an_ending_that_fits_the_input_changes_nothing(place, good):
    write(make_citations(3, seed=2), "a.csv", "csv")
    good("predict", "m", "a.csv", "-q", "-o", "out.csv")
    assert (place / "out.csv").read_text().startswith("sequence,token,")
