"""`semistruct reproduce`: what it writes, how it goes on after it was killed, and what it refuses."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from matplotlib.image import imread

from experiment_cases import numbered
from semistruct.cli import main
from semistruct.experiments import runner
from semistruct.formats import write

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
    return [line for line in err.splitlines() if not line.startswith("run ")]


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
    figures = {f"{name}.{ending}" for name in ("paths", "labelled", "unlabelled", "time") for ending in ("png", "svg")}
    assert names == {"results.jsonl", "tables.md", "tables.csv", "report.html"} | figures
    for name in figures:
        if name.endswith(".png"):
            assert imread(quick / name).std() > 0.05
    rows = records(quick)
    assert {(row["config"]["method"], row["config"]["size"]) for row in rows} == {
        (method, size) for method in ("crf", "ssvm", "annealed") for size in ("5", "20")
    }  # fmt: skip
    assert all(row["data"]["synthetic"] for row in rows)


def test_every_run_is_announced(run, tmp_path):
    code, _, err = run("reproduce", "synthetic", *TINY, "--draws", "2", "-o", str(tmp_path / "out"))
    first, second = err.splitlines()
    assert (code, first) == (0, "run 1 of 2: ssvm, 5 labelled, draw 0")
    assert second.startswith("run 2 of 2: ssvm, 5 labelled, draw 1  about ")


def test_all_methods_learn_from_the_same_draws(quick):
    seen = {}
    for row in records(quick):
        seen.setdefault((row["config"]["size"], row["config"]["seed"]), set()).add(tuple(row["sequences"]))
    assert all(len(draws) == 1 for draws in seen.values())


def test_tables_are_of_the_records(quick):
    text = (quick / "tables.md").read_text()
    assert "> Synthetic data" in text
    assert "## Table 1. Dataset characteristics" in text
    assert "## Table 2. Accuracy in the layout of the paper: synthetic citations" in text
    with (quick / "tables.csv").open() as file:
        rows = list(csv.DictReader(file))
    scores = [
        row["points"][row["chosen"]["rules"]["dev"]]["rules"]
        for row in records(quick)
        if (row["config"]["method"], row["config"]["size"], row["config"]["pool"]) == ("annealed", "5", None)
    ]
    found = next(
        r for r in rows if (r["method"], r["labelled"], r["decoding"], r["select"]) == ("annealed", "5", "rules", "dev")
    )
    assert float(found["mean"]) == pytest.approx(sum(scores) / len(scores), abs=1e-6)
    assert {row["synthetic"] for row in rows} == {"1"}
    assert {row["select"] for row in rows if row["peeks"] == "1"} == {"best-test"}


def test_another_choice_is_tabulated_without_learning_again(quick, run, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("a run was made again"))
    before = (quick / "results.jsonl").read_bytes()
    args = ("reproduce", "synthetic", "--quick", "-o", quick, "--resume")
    for select, told in (("best-test", "peeks"), ("labels-free", "chosen without labels")):
        code, out, err = run(*args, "--select", select, "--decode", "plain")
        assert (code, err) == (0, "")
        assert told in (quick / "tables.md").read_text()
        assert "under the rules, over" not in out
    assert "(peeks): optimistic" in run(*args, "--select", "best-test")[1]
    assert (quick / "results.jsonl").read_bytes() == before
    code, out, _ = run(*args, "--json")
    told = json.loads(out)
    assert (code, told["missing"], told["runs"]) == (0, 0, len(records(quick)))


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


def test_an_interruption_at_once_says_so(tmp_path, run, monkeypatch):
    def stopping(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", stopping)
    code, out, err = run("reproduce", "synthetic", *TINY, "-o", tmp_path)
    assert (code, besides_runs(err)) == (130, [])
    assert out.endswith("no run is complete yet\n")


# ---- what is refused


def test_results_that_are_there_are_not_overwritten(quick, refused):
    assert "continue with --resume, or choose another folder" in refused("synthetic", "--quick", "-o", quick)
    told = refused("synthetic", "--quick", "--features", "default", "-o", quick, "--resume")
    assert "results.jsonl:1: these are results with features 'paper', not 'default'" in told
    assert "with quick True, not False" in refused("synthetic", "-o", quick, "--resume")


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
        (["refs"], "corpus is 'refs'; there are citations, headers, names, apartments, synthetic"),
        (["synthetc"], "corpus is 'synthetc'; did you mean 'synthetic'?"),
        (["citations"], "give the folder of the citations with --data; `semistruct data get citations"),
        (["citations", "--data", "/nowhere"], "/nowhere: no such folder"),
        (["synthetic", "--data", "/nowhere"], "--data cannot be used with synthetic"),
        (["synthetic", "--quick", "--sizes", "5,x"], "--sizes: 'x' is neither a number > 0 nor 'all'"),
        (["synthetic", "--quick", "--sizes", "500"], "500 labelled sequences, but <citations, seed 7000> has 60"),
        (["synthetic", "--quick", "--methods", "svm"], "there is no method 'svm' for synthetic; did you mean 'ssvm'?"),
        (["synthetic", "--setting", "both"], "--setting is 'both'; there are inductive, transductive"),
        (["synthetic", "--select", "all"], "--select is 'all'; there are dev, labels-free, best-test"),
    ],
)
def test_wrong_usage_is_told_in_one_line(refused, tmp_path, args, told):
    assert told in refused(*args, "-o", tmp_path / "out")


def test_a_malformed_file_is_named_with_its_line(refused, tmp_path):
    write(numbered(3, "train"), tmp_path / "train.tsv", "tsv")
    (tmp_path / "dev.tsv").write_text("a\tauthor\nb\tc\td\n")
    (tmp_path / "unlabeled.txt").write_text("a\nb\n\n")
    assert "dev.tsv:2: 3 columns, expected 2" in refused("citations", "--data", tmp_path, "-o", tmp_path / "out")
