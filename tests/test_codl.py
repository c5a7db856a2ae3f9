"""CODL: its labellings by enumeration, whole rounds against a twin in plain Python, and the bases it stands on."""

from collections import Counter
from itertools import pairwise, product
from math import exp, inf, log
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import brute_rules
from annealed_cases import (
    CITATIONS,
    CORPUS,
    HELD_OUT,
    LABELLED,
    POOL,
    UNLABELLED,
    X,
    Y,
    long_titles,
    same_weights,
)
from matching_cases import agrees, matching_cases, near, some_known
from rule_strategies import built, penalty_of
from semistruct import CODL, HMM, SSVM, AnnealedSSVM, load
from semistruct.base.errors import DataError, ParameterError, RuleWarning
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.fitting import Effort
from semistruct.methods.codl import PENALTY, blend, shares
from semistruct.rules import Function, Proportion, Rules
from semistruct.rules.base import HARD
from strategies import seeds
from test_hmm import counted, same_numbers, weights_by_name

TIE = 1e-7  # two ways of adding up the same score
light = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
SMALL = {"k": 3, "rounds": 3}
ROUGH_SSVM = {"C": 1.0, "features": ["word", "shape"], "tol": 0.1}


def on_citations(params=None, **kwargs):
    model = CODL(**{"rules": CITATIONS, **SMALL, **(params or {})})
    return model.fit_with(Effort(keep_models=True), *LABELLED, pool=UNLABELLED, **kwargs)


# ---- the labellings


@light
@given(matching_cases(levels=("instance",)), st.data())
def test_the_k_best_labellings_are_those_of_enumeration(case, data):
    """Also if there are fewer than k."""
    k = data.draw(st.sampled_from([1, 4, 50, 300]))
    rng = np.random.default_rng(data.draw(seeds))
    known = data.draw(st.sampled_from([None, some_known(rng, case)]))
    task = SimpleNamespace(opened=case.batch, tables=case.tables, open_known=known)
    found = CODL(k=k)._label(task, case.weights)
    for i in range(len(case.X)):
        fixed = [-1] * len(case.X[i]) if known is None else known[case.tokens(i)]
        values = {p: case.scores[i][p] - case.instance(i, p) for p in case.paths(i) if agrees(p, fixed)}
        wanted = sorted(values.values(), reverse=True)[:k]
        assert near(found.values[i, : len(wanted)], wanted)
        assert np.all(found.values[i, len(wanted) :] == -inf)
        paths = [tuple(found.labels[r, case.tokens(i)].tolist()) for r in range(len(wanted))]
        assert len(set(paths)) == len(paths)
        assert near([values[path] for path in paths], wanted)
        assert_allclose(shares(found)[i], [1 / len(wanted)] * len(wanted) + [0] * (k - len(wanted)))


def test_functions_choose_among_the_candidates():
    few = Rules.from_file("citations-codl")  # which leave more to the function than all rules for references
    rules = [*few.rules, Function(long_titles, weight=5.0)]
    with_function = on_citations({"rules": Rules(rules, few.labels), "k": 2})
    without = on_citations({"rules": few, "k": 2})
    long = [sum(long_titles(None, row) for row in model.labels_) for model in (with_function, without)]
    assert long[0] < long[1]


# ---- a whole fit, in plain Python


def score(weights, tokens, labels):
    total = weights["start", labels[0]] + sum(weights["step", a, b] for a, b in pairwise(labels))
    return total + sum(weights["word", word, label] for word, label in zip(tokens, labels, strict=True))


def mixed(learned, supervised, gamma):
    """Probabilities mixed; a word that one model has not seen has those of the other."""
    out = Counter()
    for key in {**learned, **supervised}:
        parts = [(gamma, supervised.get(key)), (1 - gamma, learned.get(key))]
        parts = [(part, w) for part, w in parts if part > 0 and w is not None]
        if parts:
            out[key] = log(sum(part * exp(w) for part, w in parts) / sum(part for part, _ in parts))
    return out


def twin(X, y, pool, rules, labels, *, a, gamma, k, rounds):
    """The weights of every point; None if two labellings are so nearly alike that either may be taken."""
    supervised = Counter(counted(X, y, a, labels=labels))
    points = [supervised]
    for _ in range(rounds):
        copies, copied, weight = [], [], []
        for tokens in pool:
            value = {
                row: score(points[-1], tokens, row) - brute_rules.price(rules, [tokens], [list(row)], labels, HARD)
                for row in product(labels, repeat=len(tokens))
            }
            ranked = sorted(value, key=value.__getitem__, reverse=True)
            if k < len(ranked) and value[ranked[k - 1]] - value[ranked[k]] < TIE:
                return None
            best = ranked[:k]
            copies, copied = copies + [tokens] * len(best), copied + best
            weight += [1 / len(best)] * len(best)
        usual = len(pool) / len(copies)  # counts are relative to sequences, not to copies of them
        points.append(mixed(counted(copies, copied, a / usual, weight, labels), supervised, gamma))
    return points


@light
@given(seeds, st.sampled_from([1, 2, 5, 1000]), st.sampled_from([0.0, 0.1, 0.7, 1.0]))
def test_rounds_as_in_plain_python(seed, k, gamma):
    rng = np.random.default_rng(seed)
    labels = ("a", "b", "c")
    tokens = [[str(word) for word in rng.choice(list("pqrst.,"), rng.integers(1, 4))] for _ in range(8)]
    y = [[str(label) for label in rng.choice(labels, len(x))] for x in tokens[:4]]
    rules = [
        {"at_most_once": "all", "weight": 1.3},
        {"words": ["p", "q"], "are": ["a"]},
        {"change_only_on": ["punctuation"], "weight": 2.1},
    ]
    open_rule = {"words": {"weight": 0.7}}
    priced = [{**rule, **open_rule.get(next(iter(rule)), {})} for rule in rules]
    points = twin(tokens[:4], y, tokens[4:], priced, labels, a=0.1, gamma=gamma, k=k, rounds=2)
    assume(points is not None)
    ruleset = Rules([built(rule) for rule in rules], labels)
    model = CODL(HMM(0.1), rules=ruleset, k=k, gamma=gamma, rounds=2, penalty=0.7)
    model.fit_with(Effort(keep_models=True), tokens[:4], y, pool=tokens[4:])
    assume(model.trust_[1]["kind"] == "true")
    for found, wanted in zip(model.models_, points, strict=True):
        same_numbers(weights_by_name(found), wanted)


def test_weights_of_other_methods_are_mixed_as_they_are():
    rng = np.random.default_rng(0)
    one, two = (ChainWeights(rng.normal(size=(3, 2)), rng.normal(size=(1, 2, 2))) for _ in range(2))
    assert_allclose(blend(one, two, 0.25).tokens, 0.75 * one.tokens + 0.25 * two.tokens)
    assert_allclose(blend(one, two, 0.25).trans, 0.75 * one.trans + 0.25 * two.trans)


@pytest.mark.parametrize("base", [HMM(), SSVM(**ROUGH_SSVM)], ids=["hmm", "ssvm"])
def test_with_nothing_but_the_supervised_model_nothing_changes(base):
    model = on_citations({"base": base, "gamma": 1.0, "k": 1, "select": "last"})
    alone = clone(base).set_params(rules=Rules([], CITATIONS.labels)).fit(*LABELLED)
    assert model.predict(HELD_OUT[0], rules=False) == alone.predict(HELD_OUT[0])


def test_without_rules_and_with_one_labelling_it_is_hard_em():
    model = CODL(k=1, rounds=1, gamma=0.0, select="last").fit(X, Y, pool=POOL)
    supervised = HMM().fit([*X, *POOL], [*Y, *[None] * len(POOL)])
    again = HMM(rules=Rules([], ["author", "date"])).fit(POOL, supervised.predict(POOL))
    same_numbers(weights_by_name(model), weights_by_name(again))


# ---- what it says of itself


def test_the_history_and_the_path():
    model = on_citations(dev=(HELD_OUT[0][:10], HELD_OUT[1][:10]))
    rows = model.history_
    assert [(row["cycle"], row["step"]) for row in rows] == list(product([1.0, 2.0, 3.0], ["label", "learn"]))
    assert [row["cycle"] for row in model.path_] == [None, 1.0, 2.0, 3.0]
    assert sum(row["chosen"] for row in model.path_) == 1
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        for key in ("penalty", "broken", "switched", "exact"):
            assert before[key] == after[key]
    assert all(row["exact"] == 1.0 for row in rows)


def test_the_objective_is_score_less_penalty():
    model = on_citations({"select": "last", "rounds": 1})
    rules, names = CITATIONS.softened(PENALTY), model.model_.labels
    penalty = penalty_of(rules, UNLABELLED, model.labels_, names)
    row = model.history_[-1]
    assert_allclose(row["penalty"], penalty, atol=1e-6)
    weights = weights_by_name(model)
    total = sum(
        score(weights, *pair) for pair in zip(UNLABELLED + LABELLED[0], model.labels_ + LABELLED[1], strict=True)
    )
    assert_allclose(row["objective"], total - penalty)
    broken = [penalty_of(rules, [x], [labels], names) > 0 for x, labels in zip(UNLABELLED, model.labels_, strict=True)]
    assert row["broken"] == sum(broken)


def test_known_labels_are_kept():
    hidden = [[label if t % 4 == 0 else None for t, label in enumerate(row)] for row in CORPUS.labels[6:20]]
    tokens, labels = CORPUS.tokens[:20], [*LABELLED[1], *hidden]
    seen = []

    class Keeping(CODL):
        def _compared(self, task, state, found):
            known = task.open_known
            seen.append(all(np.all((found.labels[r] == known) | (known < 0)) for r in range(self.k)))
            return super()._compared(task, state, found)

    model = Keeping(rules=CITATIONS, **SMALL).fit(tokens, labels)
    assert seen == [True] * 3
    assert model.labels_ == []


def test_corpus_rules_are_told_to_play_no_part():
    rules = Rules([*CITATIONS.rules, Proportion({"author": 0.3})], CITATIONS.labels)
    with pytest.warns(RuleWarning, match="CODL cannot learn from 1 of .* rules, .* '30% author'$"):
        model = on_citations({"rules": rules})
    same_weights(model, on_citations())


# ---- the bases


def test_with_a_structural_svm():
    model = on_citations({"base": SSVM(**ROUGH_SSVM), "k": 2, "rounds": 1})
    alone = SSVM(**ROUGH_SSVM, rules=CITATIONS).fit(*LABELLED)
    assert model.score(*HELD_OUT, rules=False) > alone.score(*HELD_OUT, rules=False)
    assert model.C_ == 1.0
    assert model.features == ["word", "shape"]


def test_the_base_is_not_touched():
    base = HMM(smoothing=0.5)
    model = on_citations({"base": base, "n_jobs": 1})
    assert base.get_params() == HMM(smoothing=0.5).get_params()
    assert not hasattr(base, "model_")
    assert model.base is base


@pytest.mark.parametrize(
    "base", [3, "hmm", HMM, AnnealedSSVM(), CODL(), object()], ids=lambda base: type(base).__name__
)
def test_a_base_that_cannot_learn_is_refused(base):
    with pytest.raises(ParameterError, match=r"base must be None or a supervised method .* learner\(n_labels\)"):
        CODL(base).fit(X, Y, pool=POOL)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"k": 0}, "k must be a whole number >= 1"),
        ({"gamma": 1.5}, "gamma must be a number from 0 to 1"),
        ({"gamma": -0.1}, "gamma must be a number from 0 to 1"),
        ({"rounds": 0}, "rounds must be"),
        ({"penalty": 0}, "penalty must be a number > 0"),
        ({"base": HMM(smoothing=0)}, r"HMM\(smoothing=0\): smoothing must be a number > 0"),
        ({"base": HMM(rules=CITATIONS)}, "give the rules to CODL, not to its base"),
        ({"select": "dev"}, "no dev data"),
    ],
    ids=str,
)
def test_bad_parameters(params, words):
    with pytest.raises(ParameterError, match=words):
        CODL(**params).fit(X, Y, pool=POOL)


# ---- an estimator like the others


def test_a_checkpoint_of_another_base_is_refused(tmp_path):
    on_citations({"base": HMM()}, checkpoint=tmp_path)
    with pytest.raises(DataError, match="the checkpoint belongs to another run: base"):
        on_citations({"base": HMM(smoothing=0.5)}, checkpoint=tmp_path, resume=True)


def test_parameters_of_the_base_are_parameters():
    model = CODL(HMM(), k=2).set_params(base__smoothing=0.5)
    assert clone(model).base.smoothing == 0.5
    assert clone(model).base is not model.base
    search = GridSearchCV(CODL(HMM(), k=2, rounds=1, select="last"), {"base__smoothing": [0.01, 10.0]}, cv=2)
    search.fit(*LABELLED, pool=UNLABELLED[:10])
    assert search.best_params_ == {"base__smoothing": 0.01}


@pytest.mark.parametrize("base", [None, HMM(smoothing=0.5), SSVM(**ROUGH_SSVM)], ids=["none", "hmm", "ssvm"])
def test_a_saved_model_knows_its_base(tmp_path, base):
    model = on_citations({"base": base, "k": 1, "rounds": 1})
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    wanted = {k: v for k, v in model.get_params().items() if k != "base"}
    assert {k: v for k, v in again.get_params().items() if k != "base"} == wanted
    assert type(again.base) is type(base)
    assert again.predict(HELD_OUT[0], rules=True) == model.predict(HELD_OUT[0], rules=True)
