"""The campaign of made-up inputs: a short one finds nothing, and one with a planted fault finds it."""

import os
import signal
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from fuzz import campaign as running
from fuzz.__main__ import PARTS, main
from fuzz.campaign import Part, Tally, campaign, explore, is_good, replay
from planted_faults import FAULTS
from semistruct.base.errors import DataError
from semistruct.rules.conditions import If
from vocabulary_strategies import descriptions, entries_of, grown, kinds

SHORT = {
    "data": 300, "round trips": 150, "rules": 40, "models": 30, "checkpoints": 10, "calls": 50, "decoding": 50,
    "kills": 1, "interrupts": 1, "room": 2,
}  # fmt: skip
ENOUGH = 1000
BY_NAME = {part.name: part for part in PARTS}


def explored(part, folder, inputs, seed=0):
    tally = Tally()
    part.warm(folder)
    explore(part, tally, seed=seed, inputs=inputs)
    return tally


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHORT)
def test_a_short_campaign_finds_nothing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tally = explored(BY_NAME[name], tmp_path, SHORT[name], seed=1)
    assert not tally.failures, [(f.place, f.given) for f in tally.failures.values()]
    assert tally.tried == tally.accepted + tally.refused == SHORT[name]


def test_every_part_is_in_the_short_campaign():
    assert list(SHORT) == list(BY_NAME)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, tmp_path, monkeypatch):
    fault = FAULTS[name]
    part = BY_NAME[fault.part]
    monkeypatch.setattr(running, "SHRINKING", 1.0)
    monkeypatch.setattr(type(part), "warm", Part.warm)  # kernels are compiled when they are needed
    monkeypatch.setattr(part, "seconds", 60.0)
    fault.plant(monkeypatch.setattr)
    tally = explored(part, tmp_path, ENOUGH)
    assert any(fault.shows in repr(failure.given) for failure in tally.failures.values()), tally


# what is made ----------------------------------------------------------------------------------------------


def examples(strategy, number):
    """As many examples, always the same."""
    found = []

    @seeded(0)
    @settings(
        max_examples=number, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(value):
        found.append(value)

    collect()
    return found


def test_every_rule_and_every_condition_is_made():
    made = examples(descriptions("abc", functions=True), ENOUGH)
    assert {next(iter(rule)) for rule in made} == {kind.key for kind in kinds()}
    assert {name for rule in made for name in rule.get("if", ())} == set(If.model_fields)
    assert {rule.get("weight") == "hard" for rule in made if "weight" in rule} == {True, False}
    assert {rule.get("level") for rule in made} == {None, "instance", "corpus"}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.key)
def test_every_entry_of_a_rule_is_made(kind):
    made = examples(grown(kind, ("a", "b", "c")), 300)
    assert {name for rule in made for name in rule} == {kind.key, *entries_of(kind)}


# what happens to failures ----------------------------------------------------------------------------------


class Letters(Part):
    """Refuses inputs with an x; what happens to two of them is up to the test."""

    name = "letters"
    seconds = 0.5

    def inputs(self):
        return st.text("abx", max_size=12)

    def run(self, given):
        if given.count("x") == 2:
            self.fail()
        if "x" in given:
            raise DataError("an x")

    def fail(self):
        pass


class Broken(Letters):
    def fail(self):
        raise KeyError("two x")


class Slow(Letters):
    def fail(self):
        until = time.process_time() + 9
        while time.process_time() < until:
            pass


class Greedy(Letters):
    def fail(self):
        assert len(bytearray(3 << 29))


class Wordy(Letters):
    def fail(self):
        raise DataError("")


class Crashing(Letters):
    def fail(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Unprepared(Letters):
    name = "unprepared"

    def warm(self, folder):
        raise KeyError("not ready")


class Unmade(Letters):
    name = "unmade"

    def inputs(self):
        return st.nothing()


HOW = {Broken: "KeyError", Slow: "Hang", Wordy: "a message of several lines"}


@pytest.mark.parametrize("kind", HOW)
def test_a_failure_is_made_small_and_told_once(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "SHRINKING", 3.0)
    monkeypatch.setattr(Letters, "seconds", 0.02)
    tally = explored(kind(), tmp_path, 300)
    (failure,) = tally.failures.values()
    assert failure.place.startswith(HOW[kind])
    assert failure.given == "xx"
    failure.write(tmp_path / "failures")
    answer, (place, _) = replay([kind()], tmp_path / "failures" / failure.name)
    assert (answer, place) == ("failed", failure.place)
    explore(kind(), tally, inputs=300, seed=3)
    assert list(tally.failures) == [failure.place]
    assert tally.failed > 1


def test_the_same_seed_gives_the_same_inputs(tmp_path):
    seen = []

    class Seen(Letters):
        def run(self, given):
            seen.append(given)

    for seed in (3, 3, 4):
        explored(Seen(), tmp_path, 50, seed)
    assert seen[:50] == seen[50:100] != seen[100:]


def test_a_campaign_goes_on_whatever_happens_to_a_part(tmp_path):
    found = campaign([Unprepared(), Unmade(), Crashing()], seconds=2.0, workers=2, folder=tmp_path)
    places = {name: list(tally.failures) for name, tally in found.items()}
    assert places["letters"] == ["the process: ended with -11"]
    assert places["unprepared"][0].startswith("before the first input: KeyError")
    assert not is_good({"unmade": found["unmade"]})
    (file,) = tmp_path.glob("letters-*")
    assert file.read_text().splitlines()[2].count("x") == 2
    assert not is_good(found)


def test_memory_is_limited_and_the_command_prints_a_table(monkeypatch, capsys, tmp_path):
    for part, code in ((Letters, 0), (Greedy, 1)):
        monkeypatch.setattr("fuzz.__main__.PARTS", [part()])
        assert main(["--minutes", "0.02", "--workers", "1", "--failures", str(tmp_path / "failures")]) == code
        out = capsys.readouterr().out
        assert "tried" in out
        assert ("MemoryError in" in out) == (code == 1)
