"""Progress: one record for all, drawn on a real terminal for every method."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from semistruct.app.cli.output import fit_line
from semistruct.base.progress import Place, Progress
from semistruct.data.datasets import make_citations
from semistruct.data.formats import write
from semistruct.methods import METHODS

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


def command_of(folder, name):
    args = ["train", folder / "labelled.tsv", "-m", name, "-o", folder / f"{name}.model", "--jobs", 1]
    if name != "codl":  # whose features are those of its base
        args += ["-f", "word"]
    if hasattr(METHODS[name], "axis"):
        args += ["-u", folder / "pool.txt"]
    if name in ("transductive", "codl"):
        args += ["-p", "select=last"]
    else:
        args += ["-r", folder / "rules.yaml"]
    if "C" in METHODS[name]().get_params():
        args += ["-C", 1]
    return [str(arg) for arg in args]


ALL = """
import json, sys
from semistruct.app.cli import main
for name, command in json.loads(sys.argv[1]).items():
    try:
        main(command)
        code = 0
    except SystemExit as done:
        code = done.code or 0
    print(f"=== {name} {code}", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def screens(folder):
    """{method: (exit code, what it writes to a terminal as its standard error)}, all by one process."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", ALL, json.dumps({name: command_of(folder, name) for name in NAMES})]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    seen = b""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment):
        os.close(theirs)
        with suppress(OSError):  # when the other end is closed
            while part := os.read(ours, 65536):
                seen += part
    os.close(ours)
    found = re.findall(r"(.*?)=== (\w+) (\d+)", seen.decode("utf-8", "replace"), re.DOTALL)
    return {name: (int(code), screen) for screen, name, code in found}


@pytest.mark.parametrize("name", NAMES)
def test_every_method_shows_its_progress_on_a_terminal(screens, name):
    code, screen = screens[name]
    assert code == 0, screen
    assert "objective" in screen


def test_rows_have_the_names_of_the_record():
    place = Place("C_u", 0.5, stage=1, stages=3, round=0, rounds=2)
    row = Progress("learn", 4, 1.5, 0.1, gap=0.2, place=place, details={"broken": 3}).row()
    assert row == {
        "C_u": 0.5, "stage": 1, "stages": 3, "round": 0, "rounds": 2,
        "step": "learn", "count": 4, "objective": 1.5, "gap": 0.2, "broken": 3, "seconds": 0.1,
    }  # fmt: skip
    without = {"step": "pass", "count": 0, "objective": 2.0, "gap": None, "seconds": 0.0}
    assert Progress("pass", 0, 2.0, 0.0).row() == without


def test_a_line_says_where_it_is_and_how_long_it_will_take():
    place = Place("C_u", 0.5, stage=1, stages=2, round=0, rounds=2)
    path = Progress("learn", 6, 1.5, 30.0, place=place, details={"broken": 3, "switched": 4})
    assert fit_line(path) == "C_u 0.5 (2/2) round 1  objective 1.5  broken 3  switched 4  30.0 s, 10 left"
    assert fit_line(Progress("iteration", 7, 2.25, 0.5, details={"gradient": 0.125})) == (
        "iteration 7  objective 2.25  gradient 0.125  0.5 s"
    )
