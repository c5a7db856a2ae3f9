"""`pick`: which sequences to label next."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import semistruct
from semistruct import CRF, SSVM, Rules, make_citations, read, write
from semistruct.app.picking.choice import Choice, Signals, reason
from semistruct.app.picking.picker import best
from semistruct.app.picking.traits import Traits
from semistruct.base.errors import DataError, DataWarning, ParameterError
from semistruct.features.words import shape_of

WORDS = st.sampled_from(["Ann", "bob", "X", "7", "12", ",", "Zoe"])
SEQUENCES = st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=6)
RULES = Rules.from_text(
    "labels: [a, b]\nrules:\n- words: [bob]\n  are: a\n- pattern: '\\d+'\n  are: b\n- at_most_once: a"
)


def plain_traits(x, ruled=()):
    """For each token of a sequence, its traits."""
    shapes = ["", *map(shape_of, x), ""]
    pairs = [("shapes", pair) for pair in pairwise(shapes)]
    digits = str.maketrans("123456789", "000000000")
    return [
        {("word", word.lower().translate(digits)), pairs[t], pairs[t + 1]}
        | {("rule", name) for name, fires in ruled if fires(word)}
        for t, word in enumerate(x)
    ]


def plain_frequent(pool, copies, weight=None):
    """What `Traits.frequent` says, as a sorted list; weight has a number for each token."""
    rules = [("bob", lambda word: word == "bob"), ("number", str.isdigit)]
    rules = [(name, fires) for name, fires in rules if not all(any(map(fires, x)) for x in pool)]
    found = [plain_traits(x, rules) for x in pool]
    out = []
    for trait in set().union(*(own for rows in found for own in rows)):
        total, often = 0.0, 0
        for rows, n, numbers in zip(found, copies, weight or [[1.0] * len(x) for x in pool], strict=True):
            here = [number for own, number in zip(rows, numbers, strict=True) if trait in own]
            if here:
                total, often = total + n * sum(here) / len(here), often + n
        if often > 1:
            out.append((2.0 if trait[0] == "rule" else 1.0) * total / sum(copies))
    return sorted(out)


@settings(max_examples=60, deadline=None)
@given(SEQUENCES, st.data())
def test_traits_are_what_plain_python_finds(pool, data):
    copies = [data.draw(st.integers(1, 3)) for _ in pool]
    weight = [[data.draw(st.sampled_from([0.0, 0.25, 1.0])) for _ in x] for x in pool]
    traits = Traits.of(pool, np.array(copies, float), [["Ann", "unseen"]], RULES)
    assert_allclose(sorted(traits.frequent()), plain_frequent(pool, copies))
    flat = np.array([number for row in weight for number in row])
    assert_allclose(sorted(traits.frequent(flat)), plain_frequent(pool, copies, weight), atol=1e-12)
    assert_allclose((traits.directions() ** 2).sum(axis=1), [1.0 if n else 0.0 for n in traits.counts[:-1].sum(axis=1)])


@settings(max_examples=60, deadline=None)
@given(SEQUENCES, SEQUENCES)
def test_the_cold_choice_is_greedy(pool, labelled):
    traits = Traits.of(pool, np.ones(len(pool)), labelled, None)
    found = [one.number for one in best(Choice(traits, np.ones(len(pool), bool)), len(pool))]
    own = [set().union(*plain_traits(x)) for x in pool]
    share = {trait: sum(trait in other for other in own) for mine in own for trait in mine}
    covered = set().union(*(trait for x in labelled for trait in plain_traits(x)))
    left = list(range(len(pool)))
    for i in found:
        gain = {j: sum(share[t] for t in own[j] - covered if share[t] > 1) / len(pool[j]) ** 0.5 for j in left}
        assert gain[i] == pytest.approx(max(gain.values()))
        left.remove(i)
        covered |= own[i]
    assert left == []


@pytest.fixture(scope="module")
def few():
    return make_citations(6, seed=3)


@pytest.fixture(scope="module")
def pool():
    return make_citations(40, seed=4).tokens


@pytest.fixture(scope="module")
def model(few):
    return SSVM(rules=Rules.from_file("citations"), n_jobs=1).fit(few.tokens, few.labels)


def numbers(found):
    return [one.number for one in found]


def test_cold(pool):
    found = semistruct.pick(pool, 4)
    assert len(set(numbers(found))) == 4
    assert all(one.labels is None for one in found)
    assert all("nothing labelled" in one.reason for one in found)
    ruled = semistruct.pick(pool, 4, rules=Rules.from_file("citations"))
    assert any("the rule" in one.reason for one in ruled)


def test_warm(few, pool):
    rules = Rules.from_file("citations")
    given = [*few.tokens[:1], *pool]
    found = semistruct.pick(given, 3, labelled=(few.tokens, few.labels), rules=rules, n_jobs=1)
    assert len(set(numbers(found))) == 3
    assert 0 not in numbers(found)
    for one in found:
        assert len(one.labels) == len(given[one.number])
        assert set(one.labels) <= set(rules.labels)
        assert one.reason


def test_labels_are_those_of_the_model_under_the_rules(few, pool, model):
    for rules, own in ((None, True), (Rules([]), Rules([]))):
        for one in semistruct.pick(pool, 3, model=model, rules=rules):
            assert [one.labels] == model.predict([pool[one.number]], rules=own)


def test_what_the_model_learned_from_is_not_picked(few, pool, model):
    assert min(numbers(semistruct.pick([*few.tokens, *pool[:3]], 3, model=model))) == len(few)


def test_doubt_is_a_number_of_labels(few, pool, model):
    probable = CRF(n_jobs=1).fit(few.tokens, few.labels)
    asked, labels = np.arange(0, 40, 2), probable.predict(pool)
    signals = Signals.of(probable, pool, asked, None)
    for i, chances in enumerate(probable.confidence(pool, labels, rules=False)):
        assert_allclose(signals.doubt[i], 0.0 if i % 2 else sum(1 - chances), rtol=1e-6)
    ruled = Signals.of(model, pool, np.arange(40), None)
    plain = model.predict(pool, rules=False)
    for i, row in enumerate(ruled.labels):
        assert ruled.changed[i] == sum(a != b for a, b in zip(row, plain[i], strict=True))
        assert 0 <= ruled.doubt[i] <= len(row)
    assert_allclose(ruled.doubt.sum(), ruled.wrong.sum())


def test_a_label_that_nothing_labelled_has_is_wanted():
    y = [["a", "b"], ["a", "b"], ["a", "a"]]
    X = [["x", "1"], ["y", "2"], ["x", "y"]]
    rules = Rules.from_text("labels: [a, b, c]\nrules:\n- words: ['!']\n  are: c\n  weight: hard")
    pool = [["x", "3"], ["y", "4"], ["x", "!"], ["z", "5"], ["x", "6"], ["x", "7"]]
    (found,) = semistruct.pick(pool, 1, labelled=(X, y), rules=rules, n_jobs=1)
    assert found.number == 2
    assert found.labels[1] == "c"
    assert "may have c, which no labelled sequence has" in found.reason


@pytest.mark.parametrize(
    ("n_have", "others", "told"),
    [
        (3, 1, "may have b, which few labelled sequences have"),
        (18, 1, "may have 2 different labels, more than most others"),
        (18, 2, "about 1 of its 2 labels may be wrong"),
    ],
)
def test_a_label_is_called_rare_only_if_it_is(n_have, others, told):
    pool = [["x", "1"]] * 4
    has = np.array([[True, True]] + [[True, others == 2]] * 3)
    signals = Signals([], np.zeros(8), np.array([1.0, 0, 0, 0]), np.zeros(4), has, ("a", "b"))
    traits = Traits.of(pool, np.ones(4), [], None)
    seen = np.array([30.0, n_have])
    choice = Choice(traits, np.ones(4, bool), signals, seen, n_seen=30.0)
    assert reason(choice, 0, {"rare": 1.0, "doubt": 0.1, "cover": 0.0}) == told


def test_freaks_are_not_picked(few, pool):
    freak = [f"q{'z' * k}" for k in range(60)]
    assert len(pool) not in numbers(semistruct.pick([*pool, freak], 5))
    warm = semistruct.pick([*pool, freak], 5, labelled=(few.tokens, few.labels), n_jobs=1)
    assert len(pool) not in numbers(warm)


def test_many_sequences_are_not_all_asked_about(few, model, monkeypatch):
    monkeypatch.setattr("semistruct.app.picking.picker.SHORTLIST", 10)
    asked = []
    of = Signals.of
    monkeypatch.setattr(Signals, "of", lambda m, X, which, rules: asked.append(len(which)) or of(m, X, which, rules))
    found = semistruct.pick(make_citations(30, seed=9).tokens, 1, model=model)
    assert asked == [5, 10]
    assert found[0].labels


def test_copies_are_picked_once():
    pool = [["a", "b"]] * 5 + [["c", "d"]]
    with pytest.warns(DataWarning, match=r"3 sequences are wanted, but there are 2 sequences \(of 6\)"):
        found = semistruct.pick(pool, 3)
    assert numbers(found) == [0, 5]


def test_labelled_sequences_without_labels_may_be_picked():
    (found,) = semistruct.pick([["a", "b"]], 1, labelled=([["a", "b"]], [None]))
    assert (found.number, found.labels) == (0, None)


def test_features_instead_of_words():
    X = [[["f", "g"], ["h"]], [["f"], ["g"]], [["k"]]]
    assert numbers(semistruct.pick(X, 1)) == [0]
    (found,) = semistruct.pick(X, 1, labelled=([[["f"], ["h"]]], [["x", "y"]]), n_jobs=1)
    assert set(found.labels) <= {"x", "y"}


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"labelled": ([["a"], ["b"]], [["x"], ["x"]])}, DataError, "every sequence is labelled already"),
        ({"labelled": [["a"]]}, DataError, "expected a pair"),
        ({"labelled": ([["a"]], [["x", "y"]])}, DataError, "1 tokens but 2 labels"),
        ({"labelled": ([[["f"]]], [["x"]])}, DataError, "expected tokens"),
        ({"n": 0}, ParameterError, "n=0: must be a whole number"),
        ({"rules": "citations"}, ParameterError, "must be Rules"),
        ({"model": SSVM()}, ParameterError, "must be a fitted model"),
        ({"pool": []}, DataError, "there are no sequences"),
        ({"pool": [[]]}, DataError, "has no tokens"),
    ],
)
def test_bad_input(options, error, told):
    with pytest.raises(error, match=told):
        semistruct.pick(options.pop("pool", [["a"], ["b"]]), options.pop("n", 1), **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory, few, model):
    folder = tmp_path_factory.mktemp("pick")
    write(few, folder / "few.tsv", "tsv")
    write(make_citations(15, seed=5), folder / "pool.txt", "text")
    model.save(folder / "my.model")
    return folder


def test_the_command_is_the_librarys(home, good):
    out = good(
        "pick", home / "pool.txt", "-n", 3, "-l", home / "few.tsv", "-r", "citations", "--json", "-o", home / "a.txt"
    )
    told, few = json.loads(out), read(home / "few.tsv")
    pool = read(home / "pool.txt").tokens
    found = semistruct.pick(pool, 3, labelled=(few.tokens, few.labels), rules=Rules.from_file("citations"))
    assert told["chosen"] == numbers(found)
    assert told["reasons"] == [one.reason for one in found]
    written = read(home / "a.txt")
    order = sorted(found, key=lambda one: one.number)
    assert written.tokens == [pool[one.number] for one in order]
    assert written.labels == [one.labels for one in order]


@pytest.mark.parametrize("to", ["tsv", "jsonl", "inline", "csv", "label-studio", "prodigy"])
def test_the_output_is_ready_to_correct(home, good, to, tmp_path):
    out = good("pick", home / "pool.txt", "-n", 2, "-m", home / "my.model", "-o", tmp_path / "out", "--to", to)
    assert "2 of 15 sequences, the most worthwhile first:" in out
    assert f"written with proposed labels to {tmp_path / 'out'}" in out
    assert all(row is not None and None not in row for row in read(tmp_path / "out").labels)


def test_cold_output_has_no_labels(home, good, tmp_path):
    assert "written to" in good("pick", home / "pool.txt", "-n", 2, "-o", tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl").labels == [None, None]


@pytest.mark.filterwarnings("always")
def test_a_small_pool_in_a_file(home, run):
    code, out, err = run("pick", home / "pool.txt", "-n", 100, "--json")
    assert code == 0
    assert "100 sequences are wanted, but there are 15 sequences: all are picked" in err
    assert sorted(json.loads(out)["chosen"]) == list(range(15))


def test_wrong_usage(home, run):
    for args, told in (
        (["pool.txt", "-l", "pool.txt"], "pool.txt: no sequence has a label"),
        (["few.tsv", "-l", "few.tsv"], "few.tsv: every sequence is labelled already"),
        (["pool.txt", "-o", "pool.txt"], "is also an input"),
        (["pool.txt", "-o", "none/x"], "no such folder"),
        (["my.model"], "this is a model, not data"),
        (["pool.txt", "-m", "few.tsv"], "not a semistruct model"),
        (["pool.txt", "--to", "tvs", "-o", "out"], "there is no format 'tvs'"),
    ):
        words = [home / arg if (home / str(arg)).is_file() or arg in ("out", "none/x") else arg for arg in args]
        found, _, err = run("pick", *words)
        assert found == 2, (args, err)
        assert told in err, (args, err)
    assert not (home / "out").exists()
