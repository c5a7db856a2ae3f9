"""Rules that compare the fields of a whole sequence, in search and in counts of broken rules, against enumeration."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brute_rules
from matching_cases import Case, matching_cases, near, not_above, random_case, some_known
from rule_strategies import MEASURED, cases, comparisons, descriptions
from semistruct import SSVM
from semistruct.app.cli import main
from semistruct.base.errors import RuleWarning, UncertainWarning
from semistruct.model.prediction import best_under
from semistruct.rules import Agree, Differ, Function, If, Rules, StartsWith, whole_sequences
from strategies import seeds
from test_rule_decoding import LABELS as FIELDS
from test_rule_decoding import fitted as learned
from test_rule_search import Wishes
from test_rule_tables import numbers, rules_of

light = settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
WORDS = ["x", "X.", "y", "y", "z", ",", "--"]


@st.composite
def comparing(draw):
    """Cases with rules about two fields, words that come up again, and other rules."""
    labels = tuple("abc"[: draw(st.integers(2, 3))])
    rules = draw(st.lists(comparisons(labels), min_size=1, max_size=2))
    rules += draw(st.lists(descriptions(labels), max_size=2))
    rng = np.random.default_rng(draw(seeds))
    case = random_case(rng, draw(st.lists(st.integers(2, 6), min_size=1, max_size=2)), labels, rules)
    return Case([rng.choice(WORDS, len(x)).tolist() for x in case.X], labels, case.batch, case.weights, rules)


def is_searched(rule):
    """Whether the rule becomes part of the search as a whole."""
    key = next(iter(rule))
    return key not in MEASURED or (
        key != "function" and rule.get("penalty") != "square" and not {"present", "absent"} & set(rule.get("if", ()))
    )


def check(case, wish, found, k):
    """What is called exact is the best of all labellings, and no labelling is worth more than the ceiling."""
    for i in range(len(case.X)):
        values = wish.values(case, i)
        wanted = sorted(values.values(), reverse=True)
        paths = [tuple(row.tolist()) for row in found.labels[: len(wanted[:k]), case.tokens(i)]]
        assert len(set(paths)) == len(paths)
        assert near(found.values[i, : len(paths)], [values[path] for path in paths])
        assert not_above(wanted[0], found.ceiling[i])
        if found.exact[i]:
            assert near(found.values[i, 0], wanted[0])
        if found.unseen[i] <= found.values[i, len(paths) - 1]:
            assert near(found.values[i, : len(paths)], wanted[:k])


@pytest.fixture
def in_a_hurry(monkeypatch):
    """No list is long enough to settle anything."""
    monkeypatch.setattr(whole_sequences, "CANDIDATES", 1)
    monkeypatch.setattr(whole_sequences, "SIZES", ())


@settings(light, max_examples=60)
@given(comparing(), st.data())
def test_the_best_labellings(case, data):
    known = data.draw(st.sampled_from([None, None, some_known(np.random.default_rng(data.draw(seeds)), case)]))
    wish, k = Wishes(known=known), data.draw(st.sampled_from([1, 3]))
    found = best_under(case.batch, case.weights, case.tables, k=k, known=known)
    check(case, wish, found, k)
    assert found.exact.all()
    assert near(found.values[:, 0], [max(wish.values(case, i).values()) for i in range(len(case.X))])


@pytest.mark.usefixtures("in_a_hurry")
@settings(light, max_examples=60)
@given(comparing(), st.data())
def test_the_best_labellings_by_words(case, data):
    k = data.draw(st.sampled_from([1, 3]))
    found = best_under(case.batch, case.weights, case.tables, k=k)
    check(case, Wishes(), found, k)
    if all(map(is_searched, case.rules)):
        assert found.exact.all()


@light
@given(matching_cases(functions=True), st.data())
def test_narrow_searches_keep_their_word(case, data):
    """With rules of all kinds, and functions."""
    k, width = data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([1, 4]))
    check(case, Wishes(), best_under(case.batch, case.weights, case.tables, k=k, width=width), k)


@pytest.mark.parametrize("key", ["agree", "differ"])
def test_longer_sequences_are_searched_exactly(key):
    """Where no list of the best could be long enough."""
    case = random_case(np.random.default_rng(3), [24] * 4, "abcd", [{key: ["a", "b"], "weight": "hard"}], size=1.0)
    words = [f"w{n}" for n in np.random.default_rng(4).integers(0, 9, 96)]
    X = [words[24 * i : 24 * i + 24] for i in range(4)]
    case = Case(X, case.labels, case.batch, case.weights, case.rules)
    plain = best_under(case.batch, case.weights, Rules([]).compile(X, case.labels))
    found = best_under(case.batch, case.weights, case.tables)
    assert case.tables.broken(plain.labels[0]).sum() >= 3
    assert not case.tables.broken(found.labels[0]).any()
    assert found.exact.all()


# counts ------------------------------------------------------------------------------------------------------


@settings(light, max_examples=100)
@given(cases(functions=True))
def test_every_rule_that_is_broken_counts(case):
    X, y, labels, rules = case
    found = rules_of(rules).compile(X, labels).broken(numbers(y, labels))
    for r, rule in enumerate(map(brute_rules.complete, rules)):
        wanted = [
            rule["level"] == "instance" and any(brute_rules.violations(rule, [x], [row], labels))
            for x, row in zip(X, y, strict=True)
        ]
        assert found[:, r].tolist() == wanted


X = [["a", "b"], ["b", "a"], ["a", "a"]] * 3
Y = [["p", "q"], ["q", "p"], ["p", "p"]] * 3


def fitted():
    """A model that knows a as p and b as q."""
    return SSVM(features=["word"]).fit(X, Y)


def words_of(tokens, labels, label):
    return {word for word, y in zip(tokens, labels, strict=True) if y == label}


@pytest.mark.parametrize("n", [2, 4, 12, 30])
def test_hard_rules_are_obeyed(n):
    tokens = ["a", "b"] * (n // 2)
    (found,) = fitted().predict([tokens], rules=Rules([Agree(["p", "q"], weight="hard")]))
    p, q = (words_of(tokens, found, label) for label in "pq")
    assert not p or not q or p == q
    (found,) = fitted().predict([[*tokens, "A."]], rules=Rules([Differ(["p", "q"], weight="hard")]))
    p, q = (words_of([*tokens, "a"], found, label) for label in "pq")
    assert not p & q


def test_conditions():
    tokens, rule = ["a", "b"] * 3, Agree(["p", "q"], weight="hard", if_=If(words="c"))
    plain, obedient = fitted().predict([tokens, [*tokens, "c"]], rules=Rules([rule]))
    assert plain == ["p", "q"] * 3
    assert (
        not Rules([rule]).compile([[*tokens, "c"]], "pq").broken(np.array([y == "q" for y in obedient], np.int16)).any()
    )
    assert rule.text == "p and q agree if there is word c"


@pytest.mark.parametrize(("options", "n"), [(["--no-rules"], "1 of 2"), ([], "0 of 2")], ids=["without", "under"])
def test_evaluate_counts_them(tmp_path, capsys, options, n):
    estimator, gold = SSVM(features=["word"], rules=Rules([Agree(["p", "q"], weight="hard")])), tmp_path / "x.tsv"
    with pytest.warns(RuleWarning, match="is probably false"):
        estimator.fit(X, Y).save(tmp_path / "m")
    gold.write_text("a\tp\nb\tq\na\tp\n\na\tp\na\tp\na\tp\n")
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(tmp_path / "m"), str(gold), *options])
    assert done.value.code == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "p and q agree" in line]
    assert rows
    assert rows[0].split("agree")[1].split() == f"{n} 1 of 2".split()


# functions ---------------------------------------------------------------------------------------------------


def test_functions_see_tokens_and_labels():
    seen = []

    def watch(tokens, labels):
        seen.append((tokens, tuple(labels)))
        return 0

    estimator = learned(Function(watch))
    assert estimator.predict([["Turing", "1936"]], rules=True) == [["author", "date"]]
    assert seen == [(["Turing", "1936"], ("author", "date"))]
    seen.clear()
    estimator.predict([["Turing", "1936"]], rules=True, n_best=9)
    assert sorted(seen) == [(["Turing", "1936"], (y, z)) for y in FIELDS for z in FIELDS]


def hidden(estimator, tokens, rank):
    """A rule that only the labelling with this rank by score obeys, and the labelling."""
    found, _ = estimator.predict([tokens], n_best=rank + 1)[0][rank]

    def obeys(tokens, labels):
        return labels != found

    return Rules([Function(obeys, weight="hard")]), found


@pytest.mark.parametrize("rank", [0, 3, 120, 900])
def test_functions_choose_among_many(rank):
    estimator, tokens = learned(), ["a", "b", "c", "d", "Turing", "1936", "."]
    rules, wanted = hidden(estimator, tokens, rank)
    assert estimator.predict([tokens], rules=rules) == [wanted]


def test_what_functions_may_want_beyond_them_is_told():
    """And no rule is said to be in conflict, for nobody knows."""
    estimator, tokens = learned(), ["a", "b", "c", "d", "Turing", "1936", "."]
    rules, _ = hidden(estimator, tokens, 2000)
    with pytest.warns(RuleWarning) as caught:
        estimator.predict([tokens], rules=rules)
    assert isinstance(caught[0].message, UncertainWarning)
    search = "sequence 0: the search for labels that obey all hard rules was cut short"
    assert [str(w.message) for w in caught][1:] == [f"{search}; the predicted labels break 'obeys'"]


def test_functions_of_the_corpus_are_not_asked():
    def never(tokens, labels):
        raise AssertionError

    estimator = learned(Function(never, level="corpus"), StartsWith("title", weight="hard"))
    assert estimator.predict([["1936"]], rules=True) == [["title"]]
