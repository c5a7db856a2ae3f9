# ruff: noqa: F401, F811 (fixtures are imported)
"""The text of rules in the workbench: switched, added to, renamed and judged, without losing what people wrote."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct import Rules
from semistruct.app.work.accuracy import acceptable, confusion, estimate
from semistruct.app.work.labels import Decision
from semistruct.app.work.limits import ENOUGH
from semistruct.app.work.messages import TokenRun
from semistruct.app.work.proposals import Proposal
from semistruct.app.work.rule_views import RuleViews
from semistruct.app.work.rules_text import EMPTY, added, problem_of, read_text, renamed, switched
from semistruct.app.work.tasks import Prediction
from semistruct.app.work.views import Views
from semistruct.base.errors import ParameterError, SemistructError
from work_cases import LABELS, home

HERE = Path(__file__).parent
PROPOSAL = Proposal.of(Prediction(LABELS, [0.1, 2.0, 3.0], ["some rule"]), "0001", ("name", "year"))
ENTRIES = [
    {"at_most_once": "all"}, {"words": ["Ann", "pp."], "are": ["name"]}, {"present": ["year"]},
    {"pattern": r"\d\d\d\d", "are": ["year"], "weight": "hard"}, {"words": ["a: b", "#c"], "are": ["name"]},
]  # fmt: skip


def rules_of(text):
    """What the command line would obey."""
    return [rule.text for rule in Rules.from_text(text)]


@settings(deadline=None)
@given(st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=4), st.data())
def test_rules_are_added_and_switched_without_touching_others(entries, data):
    text = EMPTY
    for entry in entries:
        text = added(text, entry, HERE, "said # so")
    every = rules_of(text)
    assert len(every) == len(entries)
    wanted = data.draw(st.lists(st.booleans(), min_size=len(entries), max_size=len(entries)))
    changed = text
    for k, on in enumerate(wanted):
        changed = switched(changed, read_text(changed, HERE).lines[k], on)
    assert rules_of(changed) == [rule for rule, on in zip(every, wanted, strict=True) if on]
    assert [line.on for line in read_text(changed, HERE).lines] == wanted
    assert [line.rule.text for line in read_text(changed, HERE).lines] == every
    for k in range(len(entries)):
        changed = switched(changed, read_text(changed, HERE).lines[k], True)
    assert changed == text


def test_a_rule_of_several_lines_is_switched_as_a_whole():
    text = "rules:\n  - words: [Ann,\n      Bo]   # people\n    are: name\n\n  # habit\n  - at_most_once: all\n"
    off = switched(text, read_text(text, HERE).lines[0], False)
    assert "#~ - words" in off
    assert rules_of(off) == ["each label at most once"]
    assert switched(off, read_text(off, HERE).lines[0], True) == text


def test_rules_in_brackets_cannot_be_switched_alone():
    text = "rules: [{at_most_once: all}, {present: name}]\n"
    with pytest.raises(ParameterError, match="shares its line"):
        switched(text, read_text(text, HERE).lines[0], False)
    with pytest.raises(ParameterError, match="in brackets"):
        added(text, ENTRIES[0], HERE)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("rules:\n  - at_most_onc", 2, "a rule is written as"),
        ("rules:\n  - at_most_onc: all", 2, "did you mean 'at_most_once'"),
        ("rules:\n  - words: [a\n", 2, "not YAML"),
        ("rules:\n  - pattern: '('\n    are: a", 2, "does not compile"),
        ("rules:\n  - words: {file: /etc/hostname}\n    are: a", 2, "must be in the folder"),
        ("rules:\n  - words: {file: ../x}\n    are: a", 2, "must be in the folder"),
        ("lists:\n  x: [{file: /etc/hostname}]\nrules: []", 2, "must be in the folder"),
        ("rules:\n  - votes:\n      file: /etc/hostname", 3, "must be in the folder"),
        ("[" * 50_000, 1, "nested"),
        ("", None, "empty"),
    ],
)
def test_errors_are_told_at_their_line(text, line, problem):
    with pytest.raises(SemistructError) as err:
        read_text(text, HERE)
    found = problem_of(err.value)
    assert (found[0], problem in found[1]) == (line, True), found


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "words.txt").symlink_to("/etc/hostname")
    with pytest.raises(SemistructError, match="must be in the folder"):
        read_text("rules:\n  - words: {file: words.txt}\n    are: a", tmp_path)


def test_a_broken_text_is_not_renamed():
    assert renamed("rules: [", "a", "b", HERE) == ("rules: [", 0)


def test_how_rules_fare_on_what_is_labelled(home):
    home.decide(Decision(0, tuple(LABELS), "typed"))
    home.decide(Decision(1, ("name", "year", "year"), "typed"))
    home.set_rules("rules:\n  - pattern: '[A-Z].*'\n    are: name\n  #~ - present: year\n  - present: place\n")
    found = RuleViews(home).state()
    assert [(row.applies, row.holds, row.on) for row in found.rules] == [
        (4, 3, True),
        (2, 2, False),
        (2, 0, True),
    ]
    assert found.strangers == ["place"]
    cases = RuleViews(home).cases(2)
    assert [(one.number, one.at) for one in cases.bad] == [(1, 1)]
    assert [one.number for one in cases.good] == [0, 1]
    broken = RuleViews(home).state("rules:\n  - present: [")
    assert (broken.rules, broken.problems[0].line) == ([], 2)
    with pytest.raises(ParameterError, match="no rule begins in line 3"):
        RuleViews(home).cases(3)


def test_broken_rules_are_kept_but_not_learned_with(home):
    home.set_rules("rules: [{present: name}]")
    home.set_rules("rules: [{present: nme")
    assert home.folder.rules_text() == "rules: [{present: nme"
    assert home.usable_rules() == EMPTY


def test_the_same_words_elsewhere_are_found_and_labelled_in_one_step(home):
    home.decide(Decision(2, ("name", "name", "year"), "typed"))
    found = Views(home).like(TokenRun(number=0, start=2, end=3))
    assert [(one.number, one.start, one.words) for one in found.places] == [(0, 2, ["1984"])]
    steps = len(home.steps)
    runs = [TokenRun(number=n, start=a, end=b) for n, a, b in ((0, 2, 3), (1, 2, 3), (2, 0, 1))]
    assert home.label_places(runs, "year") == {"places": 3}
    assert [home.decisions.last[n].labels for n in range(3)] == [
        (None, None, "year"),
        (None, None, "year"),
        ("year", "name", "year"),
    ]
    assert home.decisions.is_open(0)
    assert not home.decisions.is_open(2)
    assert len(home.steps) == steps + 1
    home.undo()
    assert list(home.decisions.last) == [2]


def test_guessed_labels_are_not_confirmed_ones(home):
    home.decide(Decision(0, ("name", None, None), "changed", unknown=(2,)))
    home.proposals |= {0: PROPOSAL, 1: PROPOSAL}
    view = Views(home).sequence(0)
    assert (view.labels, view.state) == (["name", None, None], ["confirmed", "blank", "unknown"])
    view = Views(home).sequence(1)
    assert (view.labels, view.state) == (LABELS, ["guessed"] * 3)
    assert (view.model, view.broken) == ("0001", ["some rule"])
    home.queue.blind.add(1)
    view = Views(home).sequence(1)
    assert (view.labels, view.confidence, view.blind) == ([None] * 3, None, True)


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ({}, [0, 1, 2, 3, 4, 5]), ({"words": "ASH"}, [2]), ({"state": "labelled"}, [0]), ({"state": "skipped"}, [4]),
        ({"state": "open"}, [1, 2, 3, 5]), ({"state": "noted"}, [0]), ({"state": "unsure"}, [1]),
        ({"state": "breaks"}, [1]), ({"state": "differs"}, [0]), ({"field": "year"}, [0, 1]),
        ({"offset": 4, "limit": 1}, [4]),
    ],
)  # fmt: skip
def test_the_pool_can_be_filtered(home, filters, numbers):
    home.decide(Decision(0, ("name", "year", "year"), "typed", note="odd"))
    home.decide(Decision(4, None, "skipped"))
    for number in (0, 1):
        home.proposals[number] = PROPOSAL
    assert [row.number for row in Views(home).listing(**filters).rows] == numbers


# ---- estimates, against the same by hand


def test_the_estimate_counts_known_labels_and_sequences():
    gold, found = [["a", "b"], ["a", None], ["b", "b"]], [["a", "b"], ["b", "b"], ["b", "a"]]
    told = estimate(gold, found)
    assert (told.accuracy, told.sequences, told.tokens, told.whole) == (3 / 5, 3, 5, 1)
    apart = [2 - 0.6 * 2, 0 - 0.6 * 1, 1 - 0.6 * 2]
    assert told.error == pytest.approx((3 / 2 * sum(d * d for d in apart)) ** 0.5 / 5)
    assert estimate(gold[:1], found[:1]).error is None
    cells = {(one.gold, one.found): one.n for one in confusion(gold, found)}
    assert cells == {("a", "a"): 1, ("a", "b"): 1, ("b", "a"): 1, ("b", "b"): 2}


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.5, 1.0, 1.5])), max_size=30))
def test_what_is_sure_enough_is_the_lowest_bound_that_keeps_its_word(rows):
    right, sure = [one for one, _ in rows], [value for _, value in rows]
    bounds = []
    for bound in set(sure):
        some = [one for one, value in rows if value >= bound]
        if len(some) >= ENOUGH and sum(some) >= 0.95 * len(some):
            bounds.append(bound)
    found = acceptable(right, sure)
    assert (found and found.confidence) == (min(bounds) if bounds else None)
