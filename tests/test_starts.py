"""Two starts of a path where labels are few: the supervised model, and one that has learned what the rules expect."""

from types import SimpleNamespace

import pytest

from annealed_cases import CITATIONS, CORPUS, HELD_OUT, LABELLED, SHORT, UNLABELLED, on_citations, same_fit
from semistruct import AnnealedSSVM, PosteriorRegularization
from semistruct.app.cli import main
from semistruct.base.errors import RuleWarning
from semistruct.data.formats import write
from semistruct.learning import settings
from semistruct.learning.choice import Judge, Point
from semistruct.learning.fitting import Effort
from semistruct.rules import Rules, StartsWith
from test_checkpoints import Killed, stopping

DEV = HELD_OUT[0][:15], HELD_OUT[1][:15]


def best(model, key):
    return next(row[key] for row in model.path_ if row["chosen"])


@pytest.fixture(scope="module")
def models():
    """By what they begin at; each with dev data and without."""
    return {
        (start, dev is not None): on_citations(start=start, dev=dev)
        for start in ("labels", "rules", "better")
        for dev in (None, DEV)
    }


@pytest.mark.parametrize("with_dev", [False, True])
def test_the_better_path_is_taken(models, with_dev):
    labels, rules, found = (models[start, with_dev] for start in ("labels", "rules", "better"))
    assert (labels.start_, rules.start_) == ("labels", "rules")
    if with_dev:
        wins = (best(rules, "dev_score"), best(rules, "dev_accuracy")) > (
            best(labels, "dev_score"), best(labels, "dev_accuracy"),
        )  # fmt: skip
    else:
        wins = best(rules, "mistakes") + settings.SLIGHT < best(labels, "mistakes")
    assert found.start_ == ("rules" if wins else "labels")
    same_fit(found, rules if wins else labels)


def test_the_other_start_is_a_model_of_posterior_regularisation(models):
    start, labels = models["rules", True].path_[0], models["labels", True].path_[0]
    assert start["C_u"] is None
    assert start != labels
    pr = PosteriorRegularization(C="auto", features=SHORT["features"], rules=CITATIONS)
    with pytest.warns(RuleWarning, match="cannot learn from"):
        pr.fit(*LABELLED, pool=UNLABELLED, dev=DEV)
    scores = [row["dev_score"] for row in pr.path_[1:]]
    assert start["dev_score"] == pytest.approx(max(scores), abs=0.02)


def test_what_was_broken_is_told_of_the_supervised_model(models):
    counts = [models[start, True].explanation_["rules"] for start in ("labels", "rules")]
    before = [[row["before"] for row in rows] for rows in counts]
    assert before[0] == before[1]


@pytest.mark.parametrize(("few", "params"), [(5, {}), (10, {"select": "last"})], ids=["many labels", "no choice"])
def test_one_path_is_enough(monkeypatch, few, params):
    monkeypatch.setattr(settings, "SECOND_START_UNTIL", few)
    monkeypatch.setattr(AnnealedSSVM, "_taught_by_rules", lambda *_: pytest.fail("no other start is needed"))
    assert on_citations(start="better", params=params).start_ == "labels"


def test_rules_without_expectations_make_no_start():
    model = on_citations(start="better", params={"rules": Rules.from_text("rules:\n- order: [author, title]\n")})
    assert model.start_ == "labels"


def test_a_killed_fit_goes_on_from_either_path(models, tmp_path):
    rows = []
    whole = on_citations(start="better", watch=rows.append)
    for k, after in enumerate((2, len(rows) // 2 + 1, len(rows) - 1)):
        with pytest.raises(Killed):
            on_citations(start="better", checkpoint=tmp_path / str(k), watch=stopping(after, Killed))
        same_fit(on_citations(start="better", checkpoint=tmp_path / str(k), resume=True), whole)


def test_an_interruption_leaves_the_path_that_is_complete():
    rows = []
    on_citations(start="labels", watch=rows.append)
    with pytest.warns(UserWarning, match="interrupted"):
        model = on_citations(start="better", watch=stopping(len(rows) + 1, KeyboardInterrupt))
    assert model.stop_ == "interrupted"
    assert len(model.path_) >= 1
    assert len(model.labels_) == len(UNLABELLED)


def test_refitting_begins_where_the_fit_did(models):
    again, effort = models["rules", True]._as_chosen()
    assert effort.start == "rules"
    again.fit_with(effort, *LABELLED, pool=UNLABELLED)
    assert (again.start_, again.stop_) == ("rules", "finished")


def test_the_start_alone_may_be_the_model():
    effort = Effort(start="rules", stages=(0, 0))
    model = AnnealedSSVM(**SHORT, rules=CITATIONS).fit_with(effort, *LABELLED, pool=UNLABELLED)
    assert (model.start_, len(model.path_), len(model.labels_)) == ("rules", 1, len(UNLABELLED))


@pytest.mark.parametrize("chosen", [0, 1])
def test_models_that_are_only_asked_begin_at_the_same(monkeypatch, chosen):
    asked, real = [], AnnealedSSVM._better_path

    def noted(self, fit, *args):
        found = real(self, fit, *args)
        asked.append((self.start_, fit.effort.stages))
        return found

    model = AnnealedSSVM(**SHORT, rules=CITATIONS)
    monkeypatch.setattr(Judge, "best", lambda self, points: min(chosen, len(points) - 1))
    monkeypatch.setattr(AnnealedSSVM, "_better_path", noted)
    model.fit_with(Effort(start="rules"), *LABELLED, pool=UNLABELLED).calibrate()
    assert [start for start, _ in asked] == ["rules"] * 3
    assert [part for _, part in asked[1:]] == [(max(chosen - 1, 0), chosen)] * 2


def test_the_command_tells_where_the_path_began(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Judge, "prefers", lambda *_: True)
    write(CORPUS.examples[:6], "few.tsv", "tsv")
    write(CORPUS.examples[6:30], "pool.txt", "text")
    settings = "-C 0.5 -f word -f shape -p schedule=1,10 -p rounds=1"
    with pytest.raises(SystemExit) as done:
        main(f"train few.tsv -u pool.txt -r citations {settings} -o a.model --plot path.svg".split())
    shown = capsys.readouterr()
    assert not done.value.code, shown.err
    out = " ".join(shown.out.split())
    assert "known mistakes per sequence rule-based" in out
    assert "labels are few: this path begins with a model that was also taught by the rules" in out


def test_which_points_are_preferred():
    def point(score, accuracy, mistakes):
        return Point(None, None, None, score, accuracy, mistakes)

    some, others = [point(0.5, 0.5, 3.0), point(0.7, 0.6, 2.0)], [point(0.7, 0.6, 1.0), point(0.6, 0.9, 9.0)]
    judge = Judge(None, None, "dev", None, None)
    assert not judge.prefers(some, others)
    assert judge.prefers([point(0.7, 0.61, 9.0)], some)
    assert not judge.prefers(others[1:], some)
    free = Judge(
        SimpleNamespace(tables=SimpleNamespace(rules=[StartsWith("a")], functions=[])), None, "labels-free", None, None
    )
    assert free.prefers([point(None, None, 1.0)], [point(None, None, 1.2)])
    assert not free.prefers([point(None, None, 1.0)], [point(None, None, 1.05)])
