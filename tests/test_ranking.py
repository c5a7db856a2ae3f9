"""The ranker of the best labellings: its features, its objective by finite differences, and when it is kept."""

import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semistruct import CRF, SSVM, AnnealedSSVM, Rules, load
from semistruct.base.errors import ModelError
from semistruct.data.labels import Span
from semistruct.learning import settings as learning
from semistruct.learning.fitting import Effort
from semistruct.learning.held_out import HeldOut
from semistruct.learning.ranking import Lists, Objective, helps, learn, learn_ranking, learn_weights
from semistruct.model.ranking import SIZE, WITHIN, Ranker, Record, of_block, of_order
from semistruct.rules import AtMostOnce

LABELS = ("a", "b", "c")
NOTHING = Record(0, 0, 0)


def alike(n, seed):
    """Tokens that are all alike: the first two are b, which a chain that sees words cannot count, the others c."""
    lengths = np.random.default_rng(seed).integers(5, 9, n).tolist()
    return [["so"] * length for length in lengths], [["b"] * 2 + ["c"] * (length - 2) for length in lengths]


# features


def test_the_features_of_a_block():
    found = set(of_block(["the", "Old", ",", "Man", "."], Span("title", 1, 5)))
    assert found == {
        "length title 3", "marks title 1", "place title 0", "before title the", "after title </s>",
        "first word title old", "first shape title Aa", "first shapes title Aa ,", "last word title .",
        "last shape title .", "last shapes title Aa .", "shapes title Aa , Aa .", "word title old", "word title ,",
        "word title man", "word title .", "shape title Aa", "shape title ,", "shape title .",
    }  # fmt: skip
    long = list(of_block(["7", *["a"] * 9], Span("title", 3, 10)))
    assert "place title 1" in long
    assert not any(name.startswith("shapes") for name in long)


def test_the_features_of_the_order():
    found = list(of_order(["a", "b", "a"]))
    assert sorted(found) == sorted([
        "blocks 3", "number a 2", "number b 1", "both a b", "order <s> a", "order a b", "order b a", "order a </s>",
        "order <s> a b", "order a b a", "order b a </s>",
    ])  # fmt: skip


# learning


@st.composite
def lists(draw):
    """Lists of some labellings of short sequences, with their scores."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X, gold, found = [], [], []
    for _ in range(draw(st.integers(2, 5))):
        n = int(rng.integers(1, 5))
        X.append([str(word) for word in rng.choice(["in", "On", "7", ","], n)])
        gold.append(rng.choice(LABELS, n).tolist())
        candidates = {tuple(rng.choice(LABELS, n).tolist()) for _ in range(rng.integers(1, 5))}
        scores = sorted(2 * rng.normal(size=len(candidates)), reverse=True)
        found.append([(list(labels), float(s)) for labels, s in zip(sorted(candidates), scores, strict=True)])
    return X, gold, found


def blocks_by_hand(labels):
    """The blocks of a plain labelling, by their starts."""
    starts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
    return [Span(labels[a], a, b) for a, b in zip(starts, [*starts[1:], len(labels)], strict=True)]


def rate_by_hand(weights, tokens, labels):
    blocks = blocks_by_hand(labels)
    names = [name for block in blocks for name in of_block(tokens, block)]
    return sum(weights.get(name, 0) for name in [*names, *of_order([block.label for block in blocks])])


@settings(deadline=None, max_examples=50)
@given(lists(), st.integers(0, 10**6))
def test_the_objective_and_its_gradient(case, seed):
    X, gold, found = case
    rows = Lists.of(X, gold, found, "plain")
    weights = np.random.default_rng(seed).normal(size=len(rows.names))
    named, value = dict(zip(rows.names, weights, strict=True)), 0.5 * float(weights @ weights)
    C = 0.1 * min(1, sum(map(len, X)) / len(X) / 33)
    for tokens, truth, every in zip(X, gold, found, strict=True):
        candidates = [one for one in every if one[1] >= every[0][1] - WITHIN]
        wrong = [sum(y != z for y, z in zip(truth, labels, strict=True)) for labels, _ in candidates]
        total = [
            score + rate_by_hand(named, tokens, labels) + lost
            for (labels, score), lost in zip(candidates, wrong, strict=True)
        ]
        aim = wrong.index(min(wrong))  # scores fall
        soft = sum(np.exp((one - total[aim]) / learning.SOFTNESS) for one in total)
        value += C * learning.SOFTNESS * np.log(soft)
    objective, step = Objective.of(rows), 1e-5
    assert_allclose(objective(weights)[0], value, rtol=1e-9)
    slopes = [(objective(weights + e)[0] - objective(weights - e)[0]) / (2 * step) for e in step * np.eye(len(weights))]
    assert_allclose(objective(weights)[1], slopes, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("length", "C"), [(1, 0.1 / 33), (11, 0.1 / 3), (33, 0.1), (90, 0.1)])
def test_short_sequences_weigh_less(length, C):
    rows = Lists.of([["a"] * length], [["A"] * length], [[(["A"] * length, 0.0)]], "plain")
    assert_allclose(Objective.of(rows).C, C, rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(lists(), st.integers(0, 10**6), st.integers(1, 4))
def test_ranking_takes_the_best_of_the_first_ones(case, seed, size):
    X, gold, found = case
    rng, names = np.random.default_rng(seed), Lists.of(X, gold, found, "plain").names
    ranker = Ranker(dict(zip(names, rng.normal(size=len(names)), strict=True)), NOTHING, size)
    offsets, k = np.cumsum([0, *map(len, X)]), max(map(len, found))
    paths, scores = np.zeros((k, offsets[-1]), np.int16), np.full((len(X), k), -np.inf)
    for i, candidates in enumerate(found):
        for r, (labels, score) in enumerate(candidates):
            paths[r, offsets[i] : offsets[i + 1]] = [LABELS.index(label) for label in labels]
            scores[i, r] = score
    new_paths, new_scores = ranker.rank(X, offsets, LABELS, (paths, scores))
    for i, candidates in enumerate(found):
        rated = [(score + rate_by_hand(ranker.weights, X[i], labels), labels) for labels, score in candidates]
        near = [k < size and score >= candidates[0][1] - WITHIN for k, (_, score) in enumerate(candidates)]
        wanted = [
            pair
            for is_near in (True, False)
            for pair in sorted((r for r, n in zip(rated, near, strict=True) if n == is_near), key=lambda pair: -pair[0])
        ]
        got = new_paths[: len(wanted), offsets[i] : offsets[i + 1]]
        assert [[LABELS[y] for y in row] for row in got] == [labels for _, labels in wanted]
        falling = [min(total for total, _ in wanted[: r + 1]) for r in range(len(wanted))]
        assert_allclose(new_scores[i, : len(wanted)], falling, rtol=0, atol=1e-9)
        assert (new_scores[i, len(wanted) :] == -np.inf).all()


PROVED, LIKELY = learning.PROOF, learning.PROOF_RULED


def test_what_helps():
    assert helps(np.array([1, 1, 0, 2, 0, 1, -1]), PROVED)
    assert helps(np.ones(9), PROVED)
    assert not helps(-np.ones(9), PROVED)
    assert not helps(np.array([1, -1, 0, 0, 1, -1]), PROVED)
    assert not helps(np.zeros(9), PROVED)
    assert not helps(np.array([1, 1, 1, 1, -30, -30]), PROVED)  # many small ones, and great losses
    assert helps(np.array([1, 1, 1, 1, 1, 1, 1, 1, -9]), PROVED)  # a single loss is bad luck


def test_what_is_likely_to_help_needs_no_proof():
    assert helps(np.array([1, -1, 0, 0, 1, -1]), LIKELY)
    assert helps(np.array([-1, 0, 0, 0, 0, 1, -1]), LIKELY)
    assert not helps(-np.ones(9), LIKELY)
    assert not helps(np.array([-1, -1, -1, -2, 0, 0, 0]), LIKELY)
    assert not helps(np.zeros(9), LIKELY)  # it changes nothing, and takes time


def test_a_ranker_is_learned_only_from_what_its_part_leaves():
    rng = np.random.default_rng(0)
    X, gold, found = [], [], []
    for i in range(40):
        own = [f"w{i % 2}", "z"]
        gold.append(["a", "b"] if i % 2 else ["b", "b"])
        X.append(own)
        both = rng.permutation([["a", "b"], ["b", "b"]]).tolist()
        found.append([(labels, -0.1 * k) for k, labels in enumerate(both)])
    learned = learn(Lists.of(X, gold, found, "plain"), np.array_split(np.arange(40), 4), 2, PROVED)
    assert learned is not None
    ranker, without = learned
    assert ranker.record.sequences == 40
    assert ranker.record.better > ranker.record.worse == 0
    assert len(without) == 4


# models


@pytest.fixture(scope="module")
def model():
    return SSVM(features=["word"]).fit(*alike(80, 0))


def test_a_ranker_helps_where_lengths_decide(model):
    X, Y = alike(30, 1)
    plain = SSVM(features=["word"]).fit_with(Effort(ranker=False), *alike(80, 0))
    assert plain.model_.ranker is None
    assert_array_equal(plain.model_.weights.tokens, model.model_.weights.tokens)
    assert plain.score(X, Y) < 0.9
    assert model.score(X, Y) == 1
    assert model.model_.ranker.record.better > 70
    assert model.model_.ranker.record.worse == 0


def test_of_tokens_with_columns_the_word_counts(model):
    X, y = alike(80, 0)
    columns = [[(word, "x") for word in row] for row in X]
    found = SSVM(features=["word"]).fit(columns, y)
    assert found.model_.ranker == model.model_.ranker
    assert found.predict(columns) == model.predict(X)


def test_all_ways_to_ask_agree(model):
    X, _ = alike(10, 2)
    best = model.predict(X)
    many = model.predict(X, n_best=40)
    assert [rows[0][0] for rows in many] == best
    for k in (1, 2, 10):
        few = model.predict(X, n_best=k)
        assert few == [rows[:k] for rows in many]
        assert all(a[1] >= b[1] for rows in few for a, b in pairwise(rows))
    assert model.model_.answers(X)[0] == best
    assert model.accept(X, 0.5).labels == best
    margins = model.decision_function(X)
    assert_allclose(margins, [(rows[0][1], rows[0][1] - rows[1][1]) for rows in many], rtol=0, atol=1e-9)


def test_no_ranker_where_none_helps():
    X, Y = alike(80, 0)
    words = [[f"{label}{t % 3}" for t, label in enumerate(row)] for row in Y]
    assert SSVM(features=["word"]).fit(words, Y).model_.ranker is None  # the chain makes no mistake
    rng = np.random.default_rng(0)
    tossed = [rng.choice(["b", "c"], len(x)).tolist() for x in X]
    assert SSVM(features=["word"]).fit(X, tossed).model_.ranker is None  # nothing tells


@pytest.mark.parametrize(
    ("rules", "least"),
    [(None, learning.RANK_FROM), (Rules([AtMostOnce("b")]), learning.RANK_FROM_RULED)],
    ids=["plain", "ruled"],
)
def test_how_many_labels_a_ranker_needs(rules, least):
    X, Y = alike(least - 1, 0)
    assert SSVM(features=["word"], rules=rules).fit(X, Y).model_.ranker is None
    X, Y = alike(least, 0)
    assert SSVM(features=["word"], rules=rules).fit(X, Y).model_.ranker is not None


def test_what_has_no_ranker():
    X, Y = alike(learning.RANK_FROM, 0)
    assert SSVM(features=["word"]).fit(X, [[None, *Y[0][1:]], *Y[1:]]).model_.ranker is None
    given_features = [[["so"] for _ in x] for x in X]
    assert SSVM().fit(given_features, Y).model_.ranker is None
    assert CRF(features=["word"]).fit(X, Y).model_.ranker is None


def test_a_ranker_belongs_to_the_rules_it_was_learned_under():
    X, Y = alike(80, 0)
    rules = Rules([AtMostOnce("b"), AtMostOnce("c")])
    model = SSVM(features=["word"], rules=rules).fit(X, Y)
    plain = SSVM(features=["word"], rules=rules).fit_with(Effort(ranker=False), X, Y)
    X, Y = alike(20, 3)
    assert model.score(X, Y) == 1 > plain.score(X, Y)
    assert model.predict(X, rules=False) == plain.predict(X, rules=False)
    assert model.predict(X, rules=rules) == plain.predict(X, rules=rules)
    assert model.predict(X, rules=True, corpus=True) == plain.predict(X, rules=True, corpus=True)


def test_each_sequence_is_asked_about_with_a_ranker_that_has_not_seen_it(model):
    X, Y = alike(60, 4)
    bare = model.model_.__class__(model.model_.labels, model.model_.encoder, model.model_.weights)
    asked = [HeldOut.of(bare, (X, Y), numbers.tolist()) for numbers in np.array_split(np.arange(60)[::-1], 3)]
    ranking = learn_ranking(bare, asked, False, 1)
    found = list(ranking.apart(lambda: iter(asked)))
    assert [one.numbers for one in found] == [one.numbers for one in asked]
    assert len({id(one.model.ranker) for one in found}) == 3
    for one in found:
        rest = np.array([k for other in asked if other.numbers != one.numbers for k in other.numbers])
        lists = Lists.of(
            [X[i] for i in rest], [Y[i] for i in rest], bare.predict_k([X[i] for i in rest], SIZE), "plain"
        )
        weights = dict(zip(lists.names, learn_weights(lists), strict=True))
        for name, weight in one.model.ranker.weights.items():
            assert_allclose(weight, weights[name], rtol=0, atol=0.01)


def test_one_part_that_was_held_out_is_cut(model):
    X, Y = alike(40, 5)
    bare = model.model_.__class__(model.model_.labels, model.model_.encoder, model.model_.weights)
    ranking = learn_ranking(bare, [HeldOut.of(bare, (X, Y), range(40))], False, 1)
    assert len({id(ranker) for ranker in ranking.without.values()}) == 5
    assert set(ranking.without) == set(range(40))


def test_the_annealed_model_is_ranked():
    X, Y = alike(60, 0)
    pool, truth = alike(20, 1)
    rules = Rules([AtMostOnce("b")])
    model = AnnealedSSVM(features=["word"], rules=rules, schedule=[1.0], rounds=1).fit(X, Y, pool=pool)
    assert model.score(pool, truth, rules=True) == 1
    assert model.calibration_.ruled.records["sequence"].total > 0


def test_a_refitted_model_keeps_its_ranker():
    data, dev = alike(60, 0), alike(20, 1)
    model = SSVM(features=["word"]).fit(*data, dev=dev)
    ranker = model.model_.ranker
    assert ranker is not None
    assert model.refit(*data, dev=dev).model_.ranker is ranker


# model files and reports


def test_a_ranker_comes_back_from_a_file(model, tmp_path):
    model.save(tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert again.model_.ranker == model.model_.ranker
    assert again.card_["ranking"] == model.model_.ranker.text
    X, _ = alike(5, 6)
    assert again.predict(X) == model.predict(X)


DAMAGE = [
    {"size": 0},
    {"size": 2.5},
    {"record": {"sequences": 3}},
    {"record": {"sequences": 3, "better": -1, "worse": 0}},
    {"weights": {"blocks 1": float("nan")}},
    {"weights": {"blocks 1": 1e200}},
    {"weights": [1, 2]},
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_ranker_is_refused(model, tmp_path, damage):
    good, bad = tmp_path / "m.model", tmp_path / "bad.model"
    model.save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        about = json.loads(old.read("model.json"))
        about["ranker"] |= damage
        new.writestr("model.json", json.dumps(about))
        new.writestr("weights.safetensors", old.read("weights.safetensors"))
    with pytest.raises(ModelError, match="damaged"):
        load(bad)


def test_train_and_dump_tell(tmp_path, run):
    X, Y = alike(60, 0)
    rows = [zip(*pair, strict=True) for pair in zip(X, Y, strict=True)]
    text = "\n\n".join("\n".join(f"{token}\t{label}" for token, label in row) for row in rows)
    (tmp_path / "train.tsv").write_text(text, encoding="utf-8")
    out, line = tmp_path / "m.model", "the 10 best labellings are ranked once more: 60 of 60 held-out sequences better"
    code, told, _ = run("train", tmp_path / "train.tsv", "-o", out, "-m", "ssvm", "-C", "0.5", "--features", "word")
    assert code == 0
    assert line in told
    assert f"ranking: {line}" in run("dump", out)[1]
