"""Prediction under rules, as users ask for it."""

from functools import partial
from math import sqrt

import numpy as np
import pytest

from matching_cases import random_case
from rule_strategies import built, penalty_of
from semistruct import SSVM
from semistruct.app.cli import main
from semistruct.base.errors import ParameterError, RuleWarning, UncertainWarning
from semistruct.learning.choice import best_strength
from semistruct.learning.settings import STRENGTHS
from semistruct.learning.trust import Trust
from semistruct.model import model as model_module
from semistruct.model.prediction import best_under, decode_under
from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    Count,
    EndsWith,
    Function,
    MinLength,
    Order,
    Present,
    Proportion,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.evidence import Credibility
from semistruct.rules.search import find_best

TOL = 1e-6  # of scores with hard penalties

X = [s.split() for s in ("Turing . Machines 1936", "Church . Calculus 1936", "Post . 1943", "Turing , Church 1950")]
Y = [s.split() for s in ("author author title date", "author author title date", "author author date")] + [
    ["author", "author", "author", "date"]
]
NEW = [s.split() for s in ("Machines . Turing", "1936", "Calculus Post 1936 .", "Post , Machines 1943")]
LABELS = ("author", "date", "title")


def fitted(*rules, labels=None, dev=None, **options):
    model = SSVM(features=["word"], rules=Rules(rules, labels), **options)
    return model.fit(X, Y, dev=dev)


def every_labelling(estimator, tokens):
    """{labelling: score} without rules."""
    n = len(estimator.classes_) ** len(tokens)
    return {tuple(labels): score for labels, score in estimator.predict([tokens], rules=False, n_best=n)[0]}


def ranked(estimator, tokens, rules):
    """All labellings with score - penalty, best first."""
    found = every_labelling(estimator, tokens)
    values = {y: s - penalty_of(rules, [tokens], [y], estimator.classes_) for y, s in found.items()}
    return dict(sorted(values.items(), key=lambda pair: -pair[1]))


def no_author_twice(tokens, labels):
    """A rule of one's own that no other rule says: at most one token is an author."""
    return max(0, list(labels).count("author") - 1)


def odd_dates(tokens, labels):
    return list(labels).count("date") % 2


RULES = {
    "one": [StartsWith("title")],
    "hard": [AtMostOnce(weight="hard"), EndsWith("author", weight="hard")],
    "several": [
        AtMostOnce(counting="labels"),
        Present(["date", "title"], weight=2.5),
        MinLength(2, labels="title"),
        Order(["date", "author"], weight=1),
        ChangeOnlyOn("punctuation", weight=0.5),
        Words("Post", are="title"),
        Count({"author": (1, 2)}, level="instance", weight=0.3),
        Proportion({"title": 0.5}),
    ],
    "function": [StartsWith("title"), Function(no_author_twice), Function(odd_dates, low=1, high=1, penalty="square")],
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_predictions_are_the_best_under_the_rules(rules):
    """Corpus rules have no say in it."""
    estimator = fitted(*rules)
    effective = estimator.model_.rules
    instance = Rules([rule for rule in effective.rules if rule.level == "instance"])
    best = estimator.predict(NEW, rules=True)
    margins = estimator.decision_function(NEW, rules=True)
    for k in (1, 4):
        several = estimator.predict(NEW, rules=True, n_best=k)
        for i, tokens in enumerate(NEW):
            wanted = ranked(estimator, tokens, instance)
            values = list(wanted.values())
            assert wanted[tuple(best[i])] == pytest.approx(values[0], abs=TOL)
            assert margins[i] == pytest.approx([values[0], values[0] - values[1]], abs=TOL)
            assert [score for _, score in several[i]] == pytest.approx(values[:k], abs=TOL)
            assert [wanted[tuple(y)] for y, _ in several[i]] == pytest.approx(values[:k], abs=TOL)
            assert len({tuple(y) for y, _ in several[i]}) == min(k, len(values))


def test_there_may_be_fewer_labellings_than_wanted():
    for rules in (RULES["one"], RULES["function"]):
        (found,) = fitted(*rules).predict([["1936"]], rules=True, n_best=9)
        assert sorted(y for y, _ in found) == [["author"], ["date"], ["title"]]


def test_a_model_obeys_its_rules_unless_told_not_to():
    """Whatever it is asked; a model without rules has none to obey."""
    estimator, free = fitted(StartsWith("title", weight="hard")), SSVM(features=["word"]).fit(X, Y)
    assert [row[0] for row in estimator.predict(X)] == ["title"] * 4
    assert [best[0][0][0] for best in estimator.predict(X, n_best=2)] == ["title"] * 4
    assert estimator.predict(X, rules=False) == free.predict(X) == free.predict(X, rules=True) == Y
    assert estimator.score(X, Y, rules=False) == 1.0 > estimator.score(X, Y)
    for ask in (estimator.decision_function, partial(estimator.confidence, by="sequence")):
        found, ruled, plain = (np.array(ask(X, **options)) for options in ({}, {"rules": True}, {"rules": False}))
        assert found.tolist() == ruled.tolist() != plain.tolist()


def test_rules_can_come_with_the_question():
    """And then weigh what they say, whatever the model was fitted with."""
    rules = Rules([StartsWith("title", weight="hard"), AtMostOnce()])
    for estimator in (SSVM(features=["word"]).fit(X, Y), fitted(StartsWith("date", weight="hard"))):
        for tokens, found in zip(NEW, estimator.predict(NEW, rules=rules), strict=True):
            wanted = ranked(estimator, tokens, rules)
            assert wanted[tuple(found)] == pytest.approx(max(wanted.values()), abs=TOL)
            assert found[0] == "title"


def test_corpus_rules_take_the_data_for_the_corpus():
    estimator = fitted(Proportion({"date": 1.0}), StartsWith("title", weight="hard"))
    assert estimator.predict(NEW, rules=True) == estimator.predict(NEW, rules=True, corpus=False)
    found = estimator.predict(NEW, rules=True, corpus=True)
    assert found == [["title"] + ["date"] * (len(tokens) - 1) for tokens in NEW]
    rules = Rules([Count({"title": 0}, level="corpus")])
    assert "title" not in {y for row in estimator.predict(NEW, rules=rules, corpus=True) for y in row}


@pytest.mark.parametrize("seed", range(6))
def test_corpus_rules_cost_no_more_than_they_save(seed):
    """Of score and penalties together; and what was changed for them is no longer called exact."""
    rules = [{"at_most_once": "all", "weight": 2}, {"proportion": {"a": 0.7}, "unit": "fraction", "weight": 12}]
    case = random_case(np.random.default_rng(seed), [4] * 6, "abc", rules, size=0.3)
    ruleset = Rules([built(rule) for rule in rules])
    before, after = (
        decode_under(case.batch, case.weights, ruleset.compile(case.X, case.labels), corpus=corpus)
        for corpus in (False, True)
    )
    worth = [-case.objective(found.labels[0], np.ones(6), 0.0) for found in (before, after)]
    assert worth[1] > worth[0]
    changed = [a != b for a, b in zip(case.split(before.labels[0]), case.split(after.labels[0]), strict=True)]
    assert before.exact.all()
    assert after.exact.tolist() == [not c for c in changed]
    for i in np.flatnonzero(changed):
        paths = case.split(after.labels[0])
        back = [*paths[:i], case.split(before.labels[0])[i], *paths[i + 1 :]]
        assert -case.objective(np.concatenate(back), np.ones(6), 0.0) < worth[1] + TOL


def test_pieces_do_not_matter(monkeypatch):
    estimator = fitted(*RULES["several"])
    whole = [estimator.predict(NEW, rules=True, corpus=corpus) for corpus in (False, True)]
    margins = estimator.decision_function(NEW, rules=True)
    monkeypatch.setattr(model_module, "CHUNK", 2)
    assert [estimator.predict(NEW, rules=True, corpus=corpus) for corpus in (False, True)] == whole
    assert estimator.decision_function(NEW, rules=True).tolist() == margins.tolist()


# what cannot be ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"corpus": True}, "corpus=True needs rules"),
        ({"rules": Rules([StartsWith("title")]), "corpus": True, "n_best": 2}, "cannot be combined with n_best"),
        ({"rules": Rules([StartsWith("titel")])}, "unknown label 'titel'; did you mean 'title'"),
    ],
    ids=["corpus", "n_best", "label"],
)
def test_what_cannot_be_asked(options, complaint):
    estimator = SSVM(features=["word"]).fit(X, Y)
    with pytest.raises(ParameterError, match=complaint):
        estimator.predict(NEW, **options)


CLASHING = [
    StartsWith("author", weight="hard"),
    Words("Machines", are="title", weight="hard", name="machines are titles"),
    AtMostOnce(weight="hard"),
    EndsWith("author", weight=3),
]


def test_hard_rules_that_clash():
    """The warning names the sequence and the two rules; the labels break just one of them."""
    estimator = fitted(*CLASHING)
    with pytest.warns(RuleWarning) as caught:
        found = estimator.predict([["Turing", "1936"], ["Machines", "."]], rules=True)
    (told,) = [str(w.message) for w in caught]
    assert told.startswith("sequence 1: the rules 'starts with author' and 'machines are titles' conflict")
    broken = "starts with author" if found[1][0] == "title" else "machines are titles"
    assert told.endswith(f"conflict; the predicted labels break {broken!r}")
    assert found[1][0] in ("title", "author")
    wanted = ranked(estimator, ["Machines", "."], estimator.model_.rules)
    assert wanted[tuple(found[1])] == pytest.approx(max(wanted.values()), abs=TOL)


def test_warnings_number_sequences_across_chunks(monkeypatch):
    monkeypatch.setattr("semistruct.model.model.CHUNK", 2)
    estimator = fitted(*CLASHING)
    with pytest.warns(RuleWarning) as caught:
        estimator.predict([["Turing"], ["Turing"], ["Turing"], ["Machines"], ["Machines"]], rules=True)
    assert [w.message.sequence for w in caught] == [3, 4]
    assert str(caught[0].message).startswith("sequence 3: ")


def test_three_rules_of_which_two_can_be_obeyed_are_all_named():
    rules = [Count({label: (2, None)}, level="instance", weight="hard", penalty="absolute") for label in LABELS]
    all_three = "the rules .*blocks of author.*and.*of date.*and.*of title.*' conflict; the predicted labels break '"
    with pytest.warns(RuleWarning, match=all_three):
        fitted(*rules).predict([["a", "b", "c", "d", "e"]], rules=True)


def test_a_rule_that_cannot_be_obeyed_at_all():
    rules = [Count({"author": (2, None)}, level="instance", weight="hard"), StartsWith("title", weight="hard")]
    with pytest.warns(RuleWarning, match="sequence 0: the rule '.*blocks of author.*' cannot be obeyed") as caught:
        (found,) = fitted(*rules).predict([["a", "b"]], rules=True)
    assert "starts with" not in str(caught[0].message)
    assert found[0] == "title"


def test_small_violations_of_hard_rules_are_told_too():
    """A share is off by a fraction of what other rules are, and yet the rule is broken."""
    share = Proportion({"author": 0.6}, level="instance", unit="fraction", weight="hard", penalty="absolute")
    with pytest.warns(RuleWarning, match="sequence 0: the rule '60% author' cannot"):
        fitted(share, StartsWith("author", weight="hard")).predict([["a", "b", "c"]], rules=True)


# what is not certain -----------------------------------------------------------------------------------------


HASTY = [MinLength(2, weight=2), Order(["title", "author"], weight=3), Order(["date", "title"], weight=2)]


@pytest.fixture
def hasty(monkeypatch):
    """A model, sequences, and which of them a search that keeps one prefix leaves uncertain."""
    monkeypatch.setattr("semistruct.model.prediction.best_under", partial(best_under, width=1))
    estimator = fitted(*HASTY)
    X = [
        *NEW,
        ["Machines", "Turing", "1936", "Post", "Calculus"],
        ["1936", "Post", ",", "Machines"],
        ["1936"],
        ["Post"],
    ]
    tables = estimator.model_.rules.compile(X, estimator.classes_)
    exact = find_best(estimator.model_.encoder.transform(X), estimator.model_.weights, tables, width=1).exact
    assert 2 < exact.sum() < len(X) - 1
    return estimator, X, int((~exact).sum())


def test_labels_that_are_not_certain_to_be_the_best_are_told(hasty):
    estimator, X, n = hasty
    with pytest.warns(RuleWarning, match=f"{n} of {len(X)} sequences: the search .* was cut short") as caught:
        estimator.predict(X, rules=True)
    assert len(caught) == 1
    assert isinstance(caught[0].message, UncertainWarning)
    assert (caught[0].message.uncertain, caught[0].message.sequences) == (n, len(X))


@pytest.mark.filterwarnings("default::semistruct.base.errors.RuleWarning")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_commands_sum_up_what_is_not_certain(hasty, tmp_path, monkeypatch, capsys, command):
    """In one line, though sequences are labelled in chunks."""
    estimator, X, n = hasty
    monkeypatch.setattr("semistruct.app.cli.answers.CHUNK", 2)
    estimator.save(tmp_path / "m")
    lines = ["".join(f"{token}\tauthor\n" for token in x) for x in X]
    (tmp_path / "x.tsv").write_text("\n".join(lines))
    with pytest.raises(SystemExit) as done:
        main([command, str(tmp_path / "m"), str(tmp_path / "x.tsv")])
    assert done.value.code == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "cut short" in line]
    assert len(told) == 1
    assert f"{n} of {len(X)} sequences" in told[0]


def test_choosing_weights_on_dev_data_tells_nothing(hasty):
    """Warnings are errors here."""
    _, X, _ = hasty
    fitted(*HASTY, dev=(X, [["author"] * len(x) for x in X]))


def test_clashes_are_looked_for_among_few_rules(monkeypatch):
    """However many hard rules and sequences there are."""
    searches = []

    def counted(*args, **options):
        searches.append(args)
        return best_under(*args, **options)

    monkeypatch.setattr("semistruct.model.prediction.best_under", counted)
    others = [Words(f"w{i}", are="date", weight="hard") for i in range(40)]
    estimator = fitted()
    with pytest.warns(RuleWarning) as caught:
        estimator.predict([["Machines", "w1"]] * 50, rules=Rules([*CLASHING, *others]))
    conflict = "sequence 0: the rules 'starts with author' and 'machines are titles' conflict;"
    assert str(caught[0].message).startswith(conflict)
    assert len(searches) <= 1 + 3 * 4


# trust -------------------------------------------------------------------------------------------------------


MIXED = [
    StartsWith("author"),
    EndsWith("date", weight="hard"),
    Present("title", weight=1000),
    AtMostOnce(weight=7),
    Proportion({"author": 0.3}),
    Function(no_author_twice),
]


def weights_of(rules):
    return [rule.weight for rule in rules]


def test_only_weights_that_were_left_open_are_softened():
    rules = Rules(MIXED, labels=LABELS)
    soft = rules.softened(2.5)
    assert weights_of(soft) == [2.5, "hard", 1000, 7, 1000, 2.5]
    assert soft.labels == LABELS
    assert [rule.text for rule in soft.rules] == [rule.text for rule in rules.rules]
    assert weights_of(rules) == [1000, "hard", 1000, 7, 1000, 1000]


def test_few_labels_trust_rules_more():
    first = Credibility(4, 4).weight(40 / sqrt(4))
    assert weights_of(fitted(*MIXED).model_.rules) == [first, "hard", 1000, 7, 1000, 40 / sqrt(4)]
    many = SSVM(features=["word"], rules=Rules(MIXED)).fit(X[:1] * 1700, Y[:1] * 1700)
    assert weights_of(many.model_.rules)[-1] == 1.0
    assert weights_of(many.rules)[0] == 1000


DEV = {
    "the rule is right": (X, [["title", *labels[1:]] for labels in Y]),
    "the rule is wrong": (X, Y),
}


@pytest.mark.parametrize("name", DEV)
def test_dev_data_choose_the_strength(name):
    """The best on the dev data; of several, the largest."""
    dev_X, dev_Y = DEV[name]
    estimator = fitted(StartsWith("title"), C=5.0)
    unseen = Trust(Rules([StartsWith("title")]), (Credibility(),))

    def accuracy(weight):
        rules = Rules([StartsWith("title", weight=weight)])
        return estimator.score(dev_X, dev_Y, rules=rules)

    found = {weight: accuracy(weight) for weight in STRENGTHS}
    wanted = max(weight for weight in STRENGTHS if found[weight] == max(found.values()))
    assert best_strength(unseen, estimator.model_, (dev_X, dev_Y), "token", None) == wanted
    assert len(set(found.values())) > 1
    assert (wanted == 1000) == (name == "the rule is right")


# labels ------------------------------------------------------------------------------------------------------


def test_labels_can_be_declared_with_the_rules():
    estimator = fitted(Words("1950", are="note", weight="hard"), labels=["note", "pages"])
    assert estimator.classes_ == ["author", "date", "note", "pages", "title"]
    assert estimator.predict(X[3:], rules=True)[0][-1] == "note"
    assert estimator.predict(X, rules=False) == Y


def test_rules_about_labels_that_nobody_declared():
    with pytest.raises(ParameterError, match="unknown label 'note'"):
        fitted(StartsWith("note"))
    with pytest.raises(ParameterError, match="rules"):
        SSVM(rules=[StartsWith("author")]).fit(X, Y)
