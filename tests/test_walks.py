"""The walks in CONTRIBUTING.md are true: the functions are called, and for the first time in this order."""

import re
import sys
from pathlib import Path

import pytest

import semistruct

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(Path(semistruct.__file__).parent)
MOST = 60


def walk(command):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(rf"```walk {command}\n(.*?)```", text, re.DOTALL)[1]
    return [line.split()[0] for line in block.splitlines()]


def first_calls(call):
    """The functions of the package in the order in which each is first called, as module:name."""
    seen = {}

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code not in seen and code.co_filename.startswith(PACKAGE):
            seen[code] = f"{frame.f_globals['__name__'].removeprefix('semistruct.')}:{code.co_qualname}"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen.values())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    for name, n, seed, form in (("few.tsv", 12, 0, "tsv"), ("pool.txt", 70, 1, "text"), ("new.txt", 5, 2, "text")):
        semistruct.write(semistruct.make_citations(n, seed=seed), folder / name, form)
    return folder


@pytest.mark.parametrize("command", ["train", "predict"])
def test_the_walk_of_a_command(run, home, command):
    options = {
        "train": ["few.tsv", "-u", "pool.txt", "-r", "citations", "-C", "0.5", "-o", "a.model", "--jobs", 1],
        "predict": ["b.model", "new.txt", "-o", "labelled.jsonl", "--jobs", 1],
    }[command]
    if command == "predict":
        train = [home / "few.tsv", "-r", "citations", "-C", "0.5", "-o", home / "b.model", "-q"]
        assert run("train", *train)[0] == 0
    given = [home / word if "." in str(word) and word != "0.5" else word for word in options]
    called = first_calls(lambda: run(command, *given))
    steps = walk(command)
    assert len(steps) <= MOST
    assert [step for step in steps if step not in called] == []
    order = [called.index(step) for step in steps]
    assert order == sorted(order), [steps[k] for k in range(1, len(order)) if order[k] < order[k - 1]]
