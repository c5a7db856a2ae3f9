"""How far rules are trusted: their kinds and weights, and what a fit makes of them."""

import itertools
import random
import warnings
from math import log, sqrt
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annealed_cases import task_of
from semistruct import SSVM, AnnealedSSVM, Rules, load, make_citations
from semistruct.base.errors import RuleWarning
from semistruct.learning.settings import SURE_MARGIN
from semistruct.learning.trust import Trust, strength_by_labels
from semistruct.rules import AtMostOnce, Count, Function, Present, Proportion, Rule, StartsWith, Words
from semistruct.rules.checking import check_rules
from semistruct.rules.evidence import CASES, KINDS, MOST, PRIOR, Credibility

TRAIN, POOL = make_citations(12, seed=3), make_citations(40, seed=4)
LABELS = sorted({*TRAIN.label_set, "editor"})
FALSE = Words(["the", "and", "of", ",", "."], are="volume")
QUICK = {"C": 0.5, "schedule": [1.0, 10.0], "rounds": 1}


def by_integration(known):
    """The most probable kind, by adding up the beta distributions on a grid."""
    p = (np.arange(20_000) + 0.5) / 20_000
    broken = known.applies - known.obeys + known.doubt

    def chance(kind):
        a, b = KINDS[kind]
        density = p ** (a - 1) * (1 - p) ** (b - 1)
        return PRIOR[kind] * float(np.mean(density * p**known.obeys * (1 - p) ** broken) / np.mean(density))

    found = {kind: chance(kind) for kind in KINDS}
    return found, max(found, key=found.__getitem__)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0, 1))
def test_the_kind_is_the_most_probable_one(obeys, broken, doubt):
    known = Credibility(obeys + broken, obeys, doubt)
    found, kind = by_integration(known)
    if sorted(found.values())[-1] > 1.01 * sorted(found.values())[-2]:
        assert known.kind == kind


@pytest.mark.parametrize(
    ("applies", "obeys", "kind"),
    [(0, 0, "true"), (1, 1, "true"), (1, 0, "false"), (5, 4, "true"), (20, 8, "false"), (27, 21, "loose"),
     (100, 99, "true"), (1000, 800, "loose"), (1000, 100, "false")],
)  # fmt: skip
def test_a_few_cases_decide(applies, obeys, kind):
    known = Credibility(applies, obeys)
    assert known.kind == kind
    odds = log((obeys + CASES[0]) / (applies - obeys + CASES[1]))
    wanted = {"true": 7 * min(odds / log(CASES[0]), MOST), "loose": odds / 2, "false": 0.0}[kind]
    assert known.weight(7.0) == pytest.approx(wanted)


def test_a_rule_without_cases_weighs_the_strength():
    assert Credibility().weight(5.0) == pytest.approx(5.0)
    assert [strength_by_labels(n) for n in (1, 4, 1600, 10**6)] == [40.0, 20.0, 1.0, 1.0]


@given(st.integers(0, 300), st.integers(0, 30))
def test_more_cases_that_obey_never_weigh_less(obeys, broken):
    kinds = ["false", "loose", "true"]
    less, more = Credibility(obeys + broken, obeys), Credibility(obeys + broken + 1, obeys + 1)
    assert kinds.index(less.kind) <= kinds.index(more.kind)
    assert less.weight(3.0) <= more.weight(3.0)


def test_cases_are_those_of_the_check():
    rules = Rules.from_file("citations")
    rows = [row if i % 3 else None for i, row in enumerate(TRAIN.labels)]
    labels = rules.all_labels(LABELS)
    checked = check_rules(rules, TRAIN.tokens, rows, labels)
    wanted = [(rule.applies, rule.obeys) for rule in checked.rules]
    trust = Trust.of(rules, [(TRAIN.tokens, rows), None, (TRAIN.tokens, rows)], labels)
    assert [(one.applies, one.obeys) for one in trust.credibility] == [(2 * n, 2 * k) for n, k in wanted]


def nothing(tokens, labels):
    return 0


def test_only_open_instance_rules_are_weighed():
    rules = Rules([FALSE, StartsWith("author"), Words(["pp"], are="title", weight=3), Proportion({"title": 0.3}),
                   AtMostOnce("all", weight="hard"), Function(nothing)], LABELS)  # fmt: skip
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SSVM(rules=rules, tol=0.1).fit(TRAIN.tokens, TRAIN.labels)
    texts = [str(one.message) for one in told if issubclass(one.category, RuleWarning)]
    assert any("is probably false, so it is left out" in text and "volume" in text for text in texts)
    weights = [row["weight"] for row in model.trust_]
    assert weights[0] == 0.0
    assert weights[1] > strength_by_labels(12)
    assert weights[2:5] == [3, "open", "hard"]
    assert [rule.weight for rule in model.model_.rules] == [weights[1], 3, 1000, "hard", weights[5]]
    assert [row["why"] for row in model.trust_][2:5] == ["as given"] * 3


def accuracy(rules, method=AnnealedSSVM, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method(rules=rules, **params).fit(TRAIN.tokens, TRAIN.labels, pool=POOL.tokens)
        return model.score(POOL.tokens, POOL.labels, rules=True)


def test_a_false_rule_costs_nothing():
    good = [StartsWith(["author", "editor"]), AtMostOnce("all")]
    without, beside = accuracy(Rules(good, LABELS), **QUICK), accuracy(Rules([*good, FALSE], LABELS), **QUICK)
    believed = accuracy(Rules([*good, FALSE.model_copy(update={"weight": 50.0})], LABELS), **QUICK)
    assert beside == without > believed + 0.05


def test_the_model_can_doubt_a_rule_that_no_label_speaks_of():
    rng = random.Random(1)
    X = [[rng.choice(["a1", "a2"]), rng.choice(["b1", "b2"])] for _ in range(20)]
    y = [["A", "B"] for _ in X]
    pool = [["a1", "b3"], ["a2", "b3"], ["a3", "b1"]]
    rules = Rules([Words(["b3"], are="A"), Words(["a3"], are="A")], ["A", "B"])
    params = {"features": ["prefix(1-1)", "word", "begin"], "C": 10.0, "schedule": [1.0], "rounds": 1}
    told = (
        "'b3 is A' is left out: no labelled case, and in 100% of those in the pool the model is sure of other labels; "
        "give it a weight to keep it"
    )
    with pytest.warns(RuleWarning, match=told):
        model = AnnealedSSVM(rules=rules, **params).fit(X, y, pool=pool)
    assert [rule.text for rule in model.model_.rules] == ["a3 is A"]
    assert [row["kind"] for row in model.trust_] == ["false", "true"]
    kept = Rules([Words(["b3"], are="A", weight=3), Words(["a3"], are="A")], ["A", "B"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuleWarning)
        model = AnnealedSSVM(rules=kept, **params).fit(X, y, pool=pool)
    assert [rule.text for rule in model.model_.rules] == ["b3 is A", "a3 is A"]
    assert min(SSVM(**{k: params[k] for k in ("features", "C")}).fit(X, y).confidence(pool)[0]) > SURE_MARGIN


class Mixed(Rule):
    """A rule of one's own: terms about tokens, and one about blocks."""

    key: ClassVar = "mixed"
    in_files: ClassVar = False
    mixed: tuple[tuple[str, str], ...]
    once: str | None = None
    says: ClassVar = "mixed"

    def mentioned(self):
        return {label for _, label in self.mixed}

    def terms(self, labels):
        wrong = [Words([word], are=label).terms(labels)[0] for word, label in self.mixed]
        return wrong if self.once is None else [*wrong, *AtMostOnce(self.once).terms(labels)]


WORDS = ["a1", "a2", "a3", "b1", "b2", "b3"]
PARTIAL = [["A", None], [None, "B"], ["C", None], [None, "A"]]
JUDGED = [
    Words(["b3"], are="A"),
    Words(["b3"], are="A", if_={"present": "C"}),
    Words(["b3"], are="A", if_={"present": "B"}),
    Words(["b3"], are="A", if_={"absent": "A"}),
    Words(["b3"], are="A", if_={"words": "a3"}),
    Words(["b3", "a3"], are="A", if_={"no_words": "a1", "present": "A"}),
    Mixed((("b3", "A"), ("a3", "A"))),
    Mixed((("a3", "A"), ("b3", "A"))),
]
UNJUDGED = [
    Mixed((("b3", "A"),), once="B"),
    Proportion({"B": (0.1, 0.9)}, level="instance"),
    Count({"B": (1, 2)}, of="tokens", level="instance"),
    Present("B"),
]


def doubts(rules, y, pool):
    """The doubts of a model about rules without labelled cases, and a slow count of them."""
    X = [["a1", "b2"], ["a2", "b1"], ["c1", "a1"], ["b2", "a2"]] * 5
    y = [row for _ in range(5) for row in y]
    labels = tuple(sorted({label for row in y for label in row if label}))
    model = SSVM(features=["prefix(1-1)"], C=10.0).fit(X, y)
    task = task_of(X, y, pool, ["prefix(1-1)"])
    found = Trust.of(rules, [(X, y)], labels).doubted(task, model.model_.weights, 1)
    assert not any(one.applies for one in found.credibility)
    X = [x for x, row in zip(X, y, strict=True) if None in row] + pool
    path = model.predict(X)
    margins = [one.token for one in model.model_.sureness(X, path)]
    counted = list(zip(X, path, margins, strict=True))
    wanted = []
    for rule in rules:
        cases = broken = 0
        for term in rule.terms(labels) if rule in JUDGED else ():
            inner = getattr(term.event, "event", term.event)
            for tokens, path, sure in counted:
                if term.matters(tokens, path) and getattr(term.event, "text", bool)(tokens):
                    cases += len(inner.about(tokens))
                    broken += sum(path[t] in inner.labels and sure[t] > SURE_MARGIN for t in inner.about(tokens))
        wanted.append(broken / max(cases, 1))
    return [one.doubt for one in found.credibility], wanted


@given(st.lists(st.lists(st.sampled_from([*WORDS, "c1"]), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_doubts_are_counted_where_the_rule_holds(pool):
    rules = Rules([*JUDGED, *UNJUDGED])
    found, wanted = doubts(rules, PARTIAL, pool)
    assert found == pytest.approx(wanted)


def test_a_condition_that_fails_raises_no_doubt():
    rules = Rules(JUDGED[:3])
    found, _ = doubts(rules, [["A", "B"], ["A", "B"], ["C", "A"], ["B", "A"]], [["a1", "b3"], ["b3", "a2"]])
    assert found == [1.0, 0.0, 1.0]
    assert [Credibility(doubt=doubt).kind for doubt in found] == ["false", "true", "false"]


def test_every_term_raises_doubts():
    found, _ = doubts(Rules(JUDGED[-2:]), [["A", "B"]] * 2 + [["C", "A"], ["B", "A"]], [["a3", "b3"], ["b3", "b3"]])
    assert found == [0.75, 0.75]


def test_a_rule_about_more_than_tokens_raises_no_doubt():
    found, _ = doubts(Rules(UNJUDGED), PARTIAL, [["a3", "b3"], ["b3", "b3"]])
    assert found == [0.0] * len(UNJUDGED)


def test_a_model_file_tells_what_its_rules_weigh(tmp_path):
    rules = Rules([StartsWith(["author", "editor"]), FALSE], LABELS)
    with pytest.warns(RuleWarning, match="probably false"):
        model = SSVM(rules=rules, tol=0.1).fit(TRAIN.tokens, TRAIN.labels)
    model.save(tmp_path / "m")
    found = load(tmp_path / "m")
    assert found.card_["trust"] == model.trust_
    assert [rule.weight for rule in found.model_.rules] == [model.trust_[0]["weight"]]


def test_many_false_rules_are_told_in_few_lines():
    rules = Rules([Words([word, "."], are="volume") for word in "abcdefgh"], LABELS)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SSVM(rules=rules, tol=0.1).fit(TRAIN.tokens, TRAIN.labels)
    texts = [str(one.message) for one in told if issubclass(one.category, RuleWarning)]
    assert len(texts) == 6
    assert texts[-1] == "3 more rules are probably false or doubted"


def test_dev_data_is_known_too():
    few = (TRAIN.tokens[:1], TRAIN.labels[:1])
    rules = Rules([Words(["pp", "pages"], are="volume")], LABELS)
    alone = Trust.of(rules, [few], LABELS).credibility[0]
    both = Trust.of(rules, [few, (POOL.tokens, POOL.labels)], LABELS).credibility[0]
    assert both.applies > alone.applies
    assert both.kind == "false"


def test_weights_are_in_the_order_of_the_rules():
    pairs = itertools.product(["author", "title"], repeat=2)
    rules = Rules([Words([w], are=label) for w, label in pairs], LABELS)
    assert rules.weighted([1.0, 0.0, 2.0, 3.0]).rules == tuple(
        rule.model_copy(update={"weight": w}) for rule, w in zip(rules, [1.0, 0.0, 2.0, 3.0], strict=True) if w
    )
    assert 40 / sqrt(12) == strength_by_labels(12)
