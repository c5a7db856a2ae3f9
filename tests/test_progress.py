"""Progress: one record for all, drawn on a real terminal for every method."""

import os
import pty
import subprocess
import sys

import pytest

from semistruct.cli.progress import line
from semistruct.datasets import make_citations
from semistruct.formats import write
from semistruct.methods import METHODS
from semistruct.progress import Place, Progress

NAMES = sorted(name for name, method in METHODS.items() if method.__module__.startswith("semistruct."))
RULES = "rules:\n  - words: [pp]\n    are: pages\n    fraction: 1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("progress")
    data = make_citations(16, seed=5)
    write(data.examples[:8], path / "labelled.tsv", "tsv")
    write(data.examples[8:], path / "pool.txt", "text")
    (path / "rules.yaml").write_text(RULES)
    return path


def on_a_terminal(args):
    """(exit code, what a command writes to a terminal as its standard error)."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    command = [sys.executable, "-m", "semistruct", *map(str, args)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(ours)
    return process.returncode, seen.decode("utf-8", "replace")


@pytest.mark.parametrize("name", NAMES)
def test_every_method_shows_its_progress_on_a_terminal(folder, name):
    args = ["train", folder / "labelled.tsv", "-m", name, "-o", folder / f"{name}.model", "-f", "word", "--jobs", 1]
    if name == "codl":
        del args[6:8]  # its features are those of its base
    if hasattr(METHODS[name], "axis"):
        args += ["-u", folder / "pool.txt"]
    if name not in ("transductive", "codl"):
        args += ["-r", folder / "rules.yaml"]
    if "C" in METHODS[name]().get_params():
        args += ["-C", 1]
    code, seen = on_a_terminal(args)
    assert code == 0, seen
    assert "objective" in seen
    assert "Traceback" not in seen


def test_rows_have_the_names_of_the_record():
    place = Place("C_u", 0.5, stage=1, stages=3, round=0, rounds=2)
    row = Progress("learn", 4, 1.5, 0.1, gap=0.2, place=place, details={"broken": 3}).row()
    assert row == {
        "C_u": 0.5, "stage": 1, "stages": 3, "round": 0, "rounds": 2,
        "step": "learn", "count": 4, "objective": 1.5, "gap": 0.2, "broken": 3, "seconds": 0.1,
    }  # fmt: skip
    assert Progress("pass", 0, 2.0, 0.0).row() == {"step": "pass", "count": 0, "objective": 2.0, "seconds": 0.0}


def test_a_line_says_where_it_is_and_how_long_it_will_take():
    place = Place("C_u", 0.5, stage=1, stages=2, round=0, rounds=2)
    path = Progress("learn", 6, 1.5, 30.0, place=place, details={"broken": 3, "switched": 4})
    assert line(path) == "C_u 0.5 (2/2) round 1  objective 1.5  broken 3  switched 4  30.0 s, 10 left"
    assert line(Progress("iteration", 7, 2.25, 0.5, details={"gradient": 0.125})) == (
        "iteration 7  objective 2.25  gradient 0.125  0.5 s"
    )
