"""The campaign of made-up inputs: a short one finds nothing, and one with a planted fault finds it."""

import os

import pytest

from fuzz.__main__ import main
from fuzz.campaign import campaign, replay
from fuzz.part import Input, JsonPart, attempt
from fuzz.parts import PARTS
from planted_faults import Broken, Crashing, Greedy, Hanging, Letters, Undecided, Wordy

SHORT = {
    "data": 3000, "round trips": 2000, "rules": 500, "models": 200, "checkpoints": 40, "calls": 300, "decoding": 60,
    "kills": 1, "interrupts": 1, "room": 2,
}  # fmt: skip
SEED = 1


@pytest.mark.parametrize("name", SHORT)
def test_a_short_campaign_finds_nothing(name, tmp_path):
    (part,) = [part for part in PARTS if part.name == name]
    result = campaign([part], inputs=SHORT[name], seed=SEED, workers=1, folder=tmp_path)
    found = {f.place: f.given for f in result.failures.values()}
    assert not result.failed, found
    tally = result.tallies[name]
    assert tally.tried == tally.accepted + tally.refused == SHORT[name]
    assert not os.listdir(tmp_path)


def test_every_part_is_in_the_short_campaign():
    assert list(SHORT) == [part.name for part in PARTS]


FAULTS = {
    Broken: "KeyError in", Hanging: "hang: more than 0.5 s", Crashing: "crash: SIGSEGV", Greedy: "MemoryError",
    Wordy: "a message of several lines", Undecided: "answered None",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_made_small(fault, tmp_path):
    result = campaign([fault()], inputs=60, seed=0, workers=1, folder=tmp_path)
    tally = result.tallies["letters"]
    assert tally.failures > 1
    assert tally.tried == tally.accepted + tally.refused + tally.failures == 60
    (failure,) = result.failures.values()
    assert failure.place.startswith(FAULTS[fault])
    assert failure.given.content.count(b"x") == 2
    assert len(failure.given.content) == 2 or fault in (Hanging, Crashing)  # for which there are a few attempts only
    written = tmp_path / failure.name
    assert (written / "input").read_bytes() == failure.given.content
    assert sorted(os.listdir(written)) == ["about.json", "input", "report.txt"]
    if fault is Broken:
        assert "two x" in (written / "report.txt").read_text()
        answer, (place, _) = replay([fault()], written)
        assert (answer, place) == (None, failure.place)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_fault_in_each_part_is_found(part, monkeypatch):
    """Whatever a part does with its input, what it raises is seen."""

    def broken(given):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(part, "run", broken)
    answer, (place, report) = attempt(part, Input(b"[]"))
    assert answer is None
    assert "ZeroDivisionError" in place
    assert "planted" in report


def test_the_same_seed_gives_the_same_inputs(tmp_path):
    runs = [campaign([Broken()], inputs=60, seed=seed, workers=n).failures for seed, n in ((3, 1), (3, 2), (4, 1))]
    found = [{f.index for f in failures.values()} for failures in runs]
    assert found[0] == found[1]
    assert campaign([Broken()], inputs=60, seed=3, workers=1).tallies["letters"].failures > 0


def test_entries_of_json_are_left_out():
    class Lists(JsonPart):
        def run(self, given):
            assert b"7" not in given.content
            return "accepted"

    assert b'{"a": [1], "b": {"c": []}}' in list(Lists().smaller(b'{"a": [1, 2], "b": {"c": []}}'))
    assert b'{"a": [1, 2], "b": {}}' in list(Lists().smaller(b'{"a": [1, 2], "b": {"c": []}}'))


def test_the_command_prints_a_table_and_fails_if_something_failed(monkeypatch, capsys, tmp_path):
    for part, code in ((Letters, 0), (Broken, 1)):
        monkeypatch.setattr("fuzz.__main__.PARTS", [part()])
        assert main(["--inputs", "60", "--workers", "1", "--failures", str(tmp_path / "failures")]) == code
        out = capsys.readouterr().out
        assert out.split()[:6] == ["part", "tried", "accepted", "refused", "failures", "per"]
        assert ("KeyError in" in out) == (code == 1)
