# ruff: noqa: F401, F811 (fixtures are imported)
"""A folder after a full disk, a sudden end, or a hand that deleted files: nothing is lost, and what is seen is told."""

import json
import os

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct.app.work.bench import Edit
from semistruct.app.work.labels import Decision
from semistruct.app.work.pool import read_upload
from semistruct.base.errors import DataError, WriteError
from test_work_folder import decide, reopened, state
from work_cases import LABELS, home, made, quiet


def test_a_torn_last_line_is_kept_beside_the_file_and_told(home):
    decide(home, 0)
    decide(home, 1)
    path = home.folder.path / "labels.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    after = reopened(home)
    assert list(after.decisions.last) == [0]
    assert after.notices == ["labels.jsonl: the last line was cut off; what there is of it is in labels.jsonl.cut"]
    assert after.changes.since(0)[0].words == after.notices[0]
    assert (home.folder.path / "labels.jsonl.cut").read_bytes() == whole.split(b"\n")[1][:-19] + b"\n"
    decide(after, 2)
    assert [one["id"] for one in map(json.loads, path.read_text().splitlines())] == [0, 2]
    after.close()


@pytest.mark.parametrize("end", ["", "\0\0", " "])
def test_a_whole_last_line_without_its_end_counts(home, end):
    decide(home, 0)
    decide(home, 1)
    for name in ("labels.jsonl", "history.jsonl"):
        path = home.folder.path / name
        path.write_text(path.read_text().removesuffix("\n") + end)
    before = state(home)
    after = reopened(home)
    assert state(after) == before
    assert [words.partition(":")[0] for words in after.notices] == ["labels.jsonl", "history.jsonl"]
    assert all("it is whole, and counts" in words for words in after.notices)
    decide(after, 2)
    after = reopened(after)
    assert (list(after.decisions.last), after.notices, len(after.steps)) == ([0, 1, 2], [], 3)
    after.close()


def test_a_file_that_ends_in_nothing_but_zeros_is_whole(home):
    decide(home, 0)
    path = home.folder.path / "labels.jsonl"
    path.write_bytes(path.read_bytes() + b"\0" * 30)
    after = reopened(home)
    assert (list(after.decisions.last), after.notices) == ([0], [])
    assert b"\0" not in path.read_bytes()
    after.close()


def test_labels_that_are_no_fields_become_some_and_are_told(home):
    decide(home, 0)
    path = home.folder.path / "labels.jsonl"
    path.write_text(path.read_text().replace('"year"', '"place"'))
    after = reopened(home)
    assert after.notices == ["labels.jsonl has labels that are no fields: place; they are fields now"]
    assert after.settings.names == ["name", "year", "place"]
    decide(after, 1, ["place"] * 3)
    path.write_text(path.read_text().replace('"place"', '"' + "x" * 61 + '"'))
    after = reopened(after)
    assert "they cannot become fields: 'xxx" in after.notices[0]
    assert after.decisions.last[1].labels == ("x" * 61,) * 3
    after.close()


@pytest.mark.parametrize("tokens", ["words", "whitespace"])
def test_lost_settings_are_told_and_the_fields_found_in_the_labels(tmp_path, tokens):
    bench = quiet(made(tmp_path / "home", ["Ann, 1984", "Bo, 1987"]))
    bench.set_fields(["name", "year"], tokens)
    decide(bench, 0, ["name", "year"] if tokens == "whitespace" else ["name", "name", "year"])
    (bench.folder.path / "settings.json").unlink()
    (bench.folder.path / "labels.jsonl.cut").write_text("{")
    after = reopened(bench)
    assert after.notices == ["settings.json is gone; the fields are those of the labels"]
    assert (after.settings.names, after.settings.tokens, after.pool.tokens) == (["name", "year"], tokens, tokens)
    assert after.decisions.last[0].labels[-1] == "year"
    after = reopened(after)
    assert (after.notices, after.settings.tokens) == ([], tokens)
    after.close()


def test_settings_that_nobody_can_guess_are_asked_for(tmp_path):
    bench = quiet(made(tmp_path / "home", ["Ann 1984"]))
    bench.set_fields(["name"], "pattern:.")
    decide(bench, 0, ["name"] * 7)
    (bench.folder.path / "settings.json").unlink()
    bench.folder.close()
    with pytest.raises(DataError, match=r"labels\.jsonl:1: 2 tokens but 7 labels; settings\.json, which says how"):
        made(tmp_path / "home")


CHANGES = {
    "decision": lambda bench: decide(bench, 1),
    "bulk": lambda bench: bench.edit(Edit("many", [Decision(n, tuple(LABELS), "applied") for n in (1, 2, 3)])),
    "rules": lambda bench: bench.set_rules("rules: [{present: name}]"),
    "fields": lambda bench: bench.set_fields(["name", "year", "place"]),
    "rename": lambda bench: bench.rename_field("name", "who"),
    "merge": lambda bench: bench.rename_field("name", "year"),
    "undo": lambda bench: bench.undo(),
    "undo of a rename": lambda bench: bench.undo(),
    "pool": lambda bench: bench.add_pool(
        read_upload(b"Gus Fir 1999\nHal Ivy 2001", "x", "words", "text"), with_labels=False
    ),
    "labelled": lambda bench: bench.add_pool(
        read_upload(b"Bo\tname\nFox\tname\n1987\tyear\n\nGus\tname\nRome\tplace\n\n", "few.tsv", "words"),
        with_labels=True,
    ),
}


def everything(bench):
    """What is in memory that must be on the disk."""
    steps = [one.line() for one in bench.steps]
    return *state(bench), bench.settings, bench.pool.rows, bench.pool.tokens, steps


def on_disk(bench):
    return {path.name: path.read_bytes() for path in bench.folder.path.iterdir() if path.is_file()}


def full_after(writes):
    """A disk that has room for so many writes."""
    sync, left = os.fsync, iter(range(writes))

    def fsync(descriptor):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    return fsync


@pytest.mark.parametrize("kind", CHANGES)
def test_a_full_disk_changes_nothing_at_whatever_write_it_is_found(home, monkeypatch, kind):
    decide(home, 0)
    home.set_rules("rules: [{present: name}, {present: year}]")
    if kind == "undo of a rename":
        home.rename_field("year", "date")
    before, told, files = everything(home), home.changes.now, on_disk(home)
    for writes in range(20):  # each write in turn fails, until none does
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full_after(writes))
            try:
                CHANGES[kind](home)
                break
            except WriteError as err:
                problem = str(err)
        assert "cannot write: no space left on device" in problem
        assert (everything(home), home.changes.now, on_disk(home)) == (before, told, files)
    assert problem
    after = everything(home)
    assert after != before
    home = reopened(home)
    assert everything(home) == after
    assert home.notices == []
    home.close()


def test_a_folder_opens_and_closes_on_a_full_disk(home, monkeypatch):
    decide(home, 0)
    decide(home, 0)
    before = state(home)
    monkeypatch.setattr(os, "fsync", full_after(0))
    after = reopened(home)
    assert state(after) == before
    after.close()
    monkeypatch.undo()
    after = reopened(after)
    assert state(after) == before
    after.close()
