"""`semistruct reproduce`: what it writes, how it goes on after it was killed, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from experiment_cases import numbered
from semistruct.app.cli import main
from semistruct.app.experiments import runner
from semistruct.data.formats import write

TINY = ("--quick", "--sizes", "5", "--methods", "ssvm", "--jobs", "1")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The folder of a quick look at synthetic data."""
    folder = tmp_path_factory.mktemp("quick") / "out"
    with pytest.raises(SystemExit) as done:
        main(["reproduce", "synthetic", "--quick", "-o", str(folder)])
    assert not done.value.code
    return folder


def records(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def besides_runs(err):
    """What standard error has besides the lines that announce runs."""
    return [line for line in err.splitlines() if " runs" not in line]


def timeless(folder):
    """The records without what differs from run to run."""
    kept = []
    for row in records(folder):
        history = [{k: v for k, v in stage.items() if k != "seconds"} for stage in row["history"]]
        kept.append({**row, "history": history, "seconds": None, "cpu_seconds": None})
    return kept


@pytest.fixture
def refused(run):
    def call(*args):
        code, out, err = run("reproduce", *args)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err

    return call


# ---- what is written


def test_a_quick_look_writes_everything(quick):
    names = {path.name for path in quick.iterdir()}
    assert names == {"results.jsonl", "tables.md", "report.html", "paths.svg", "labelled.svg", "time.svg"}
    rows = records(quick)
    assert {(row["cell"]["method"], row["cell"]["size"]) for row in rows} == {
        (method, size) for method in ("crf", "ssvm", "annealed") for size in ("5", "20")
    }  # fmt: skip
    assert all(row["data"]["synthetic"] for row in rows)


def test_every_run_is_told(run, tmp_path):
    code, _, err = run("reproduce", "synthetic", *TINY, "--draws", "2", "-o", str(tmp_path / "out"))
    first, second, third = err.splitlines()
    assert (code, first, third) == (0, "0 of 2 runs", "2 of 2 runs: ssvm, 5 labelled, draw 1  about 0 s left")
    assert second.startswith("1 of 2 runs: ssvm, 5 labelled, draw 0  about ")


def test_own_data_and_rules(tmp_path, run, refused):
    for part, n in (("train", 12), ("dev", 3)):
        write(numbered(n, part), tmp_path / f"{part}.tsv", "tsv")
    (tmp_path / "unlabeled.txt").write_text("a\nb\n\n")
    rules = tmp_path / "own.yaml"
    rules.write_text("rules:\n  - starts_with: author\n")
    args = ("shelf", "--data", tmp_path, "-r", rules, *TINY, "--draws", "1", "-o", tmp_path / "out")
    assert run("reproduce", *args)[0] == 0
    found = records(tmp_path / "out")[0]
    assert (found["rules"]["predicting"], found["features"]) == (str(rules), "default")
    rules.write_text("rules:\n  - starts_with: date\n")
    assert "results.jsonl:1: these are results on other data" in refused(*args, "--resume")


def test_all_methods_learn_from_the_same_draws(quick):
    seen = {}
    for row in records(quick):
        seen.setdefault((row["cell"]["size"], row["cell"]["seed"]), set()).add(tuple(row["sequences"]))
    assert all(len(draws) == 1 for draws in seen.values())


def test_tables_are_of_the_records(quick):
    text = (quick / "tables.md").read_text()
    assert "> Synthetic data" in text
    assert "## Accuracy of all methods, under the rules: synthetic citations" in text
    scores = [
        row["points"][row["chosen"]["rules"]["dev"]]["rules"]
        for row in records(quick)
        if (row["cell"]["method"], row["cell"]["size"]) == ("annealed", "5")
    ]
    assert f"{100 * sum(scores) / len(scores):.1f}" in text


def test_a_finished_folder_is_tabulated_without_learning_again(quick, run, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("a run was made again"))
    before = (quick / "results.jsonl").read_bytes()
    code, out, _ = run("reproduce", "synthetic", "--quick", "-o", quick, "--resume", "--json")
    told = json.loads(out)
    assert (code, told["missing"], told["runs"]) == (0, 0, len(records(quick)))
    assert (quick / "results.jsonl").read_bytes() == before


# ---- interruption


def test_a_run_that_was_killed_goes_on_and_ends_as_if_it_had_not(tmp_path, run):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    args = ("reproduce", "synthetic", *TINY, "--draws", "3")
    assert run(*args, "-o", whole)[0] == 0
    command = [sys.executable, "-m", "semistruct", *map(str, args), "-o", str(killed)]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL)
    lines, deadline = killed / "results.jsonl", time.monotonic() + 300
    while not (lines.exists() and lines.read_bytes().count(b"\n")):
        assert process.poll() is None or lines.exists()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = lines.read_bytes()[: lines.read_bytes().rfind(b"\n") + 1]
    lines.write_bytes(kept + b'{"config": {"method": "ssv')
    code, _, err = run(*args, "-o", killed, "--resume")
    assert (code, besides_runs(err)) == (0, [])
    assert lines.read_bytes().startswith(kept)
    assert timeless(killed) == timeless(whole)


def test_an_interruption_leaves_a_usable_folder(tmp_path, run, monkeypatch):
    real, made = runner.run, []

    def stopping(*args, **kwargs):
        if made:
            raise KeyboardInterrupt
        made.append(real(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(runner, "run", stopping)
    code, out, err = run("reproduce", "synthetic", *TINY, "-o", tmp_path)
    assert (code, besides_runs(err)) == (130, [])
    assert "1 runs are missing; continue with --resume" in out
    assert len(records(tmp_path)) == 1
    assert "<table" in (tmp_path / "report.html").read_text()


# ---- what is refused


def test_results_that_are_there_are_not_overwritten(quick, refused):
    assert "continue with --resume, or choose another folder" in refused("synthetic", "--quick", "-o", quick)
    assert "results.jsonl:1: these are results on other data" in refused("synthetic", "-o", quick, "--resume")


def test_other_data_is_refused(tmp_path, refused, run):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for part, n in (("train", 12), ("dev", 3)):
        write(numbered(n, part), data / f"{part}.tsv", "tsv")
    (data / "unlabeled.txt").write_text("a\nb\n\n")
    args = ("citations", "--data", data, *TINY, "--draws", "1", "-o", out)
    assert run("reproduce", *args)[0] == 0
    write(numbered(13, "train"), data / "train.tsv", "tsv")
    assert "results.jsonl:1: these are results on other data" in refused(*args, "--resume")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["shelf"], "for data of your own, give --data and --rules"),
        (["citations"], "give the folder of the citations with --data; `semistruct data get citations"),
        (["citations", "--data", "/nowhere"], "/nowhere: no such folder"),
        (["synthetic", "--data", "/nowhere"], "--data cannot be used with synthetic"),
        (["synthetic", "--quick", "--sizes", "5,x"], "--sizes: 'x' is neither a number > 0 nor 'all'"),
        (["synthetic", "--quick", "--sizes", "500"], "500 labelled sequences, but <citations, seed 7000> has 60"),
        (
            ["synthetic", "--quick", "--methods", "svm"],
            "there is no method 'svm' for these rules; did you mean",
        ),
    ],
)
def test_wrong_usage_is_told_in_one_line(refused, tmp_path, args, told):
    assert told in refused(*args, "-o", tmp_path / "out")


def test_a_malformed_file_is_named_with_its_line(refused, tmp_path):
    write(numbered(3, "train"), tmp_path / "train.tsv", "tsv")
    (tmp_path / "dev.tsv").write_text("a\tauthor\nb\tc\td\n")
    (tmp_path / "unlabeled.txt").write_text("a\nb\n\n")
    assert "dev.tsv:2: 3 columns, expected 2" in refused("citations", "--data", tmp_path, "-o", tmp_path / "out")
