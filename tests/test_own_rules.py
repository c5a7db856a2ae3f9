"""Rules where none are given: what the labelled sequences suggest."""

import re
from dataclasses import replace

import pytest

from semistruct import CODL, SSVM, AnnealedSSVM, Rules, make_citations, suggest, write
from semistruct.learning.settings import ENOUGH, SUGGEST_FROM
from semistruct.rules import Order
from semistruct.rules.suggesting import CERTAIN

SAFE = ("at_most_once", "change_only_on", "starts_with", "min_length", "present", "never_follows")
FEW, POOL, DEV, TEST = (make_citations(n, seed=seed) for seed, n in enumerate((20, 60, 15, 60)))


def learned(corpus=FEW, dev=None, method=AnnealedSSVM, pool=POOL.tokens, **params):
    model = method(C=0.3, **params) if method is AnnealedSSVM else method(**params)
    return model.fit(corpus.tokens, corpus.labels, pool=pool, dev=dev)


@pytest.fixture(scope="module")
def model():
    return learned()


def suggested(corpus):
    start = SSVM(C=0.3, tol=AnnealedSSVM().tol).fit(corpus.tokens, corpus.labels)
    found = suggest(corpus.tokens, corpus.labels, pool=POOL.tokens[:ENOUGH], model=start).found
    certain = [one for one in found if one.certain]
    orders = [one for one in certain if isinstance(one.rule, Order) and one.evidence.bound >= CERTAIN]
    return {one.rule.text for one in [*orders, *(one for one in certain if one.rule.key in SAFE)]}


def test_the_rules_are_those_that_are_suggested(model):
    assert {rule.text for rule in model.rules_} == suggested(FEW) != set()
    assert {rule.text for rule in model.model_.rules} <= {rule.text for rule in model.rules_}


def test_they_teach_the_pool(model):
    with pytest.warns(UserWarning, match="nothing tells whether the pool helps"):
        without = learned(rules=Rules([]))
    assert without.rules_ == Rules([])
    assert model.score(TEST.tokens, TEST.labels, rules=False) > without.score(TEST.tokens, TEST.labels) + 0.01
    whole = [
        sum(map(list.__eq__, TEST.labels, found))
        for found in (model.predict(TEST.tokens), without.predict(TEST.tokens))
    ]
    assert whole[0] > whole[1]


def test_few_sequences_are_enough_only_if_dev_data_tell_whether_it_helps():
    few = make_citations(SUGGEST_FROM - 1, seed=9)
    with pytest.warns(UserWarning, match="nothing tells whether.*; with 10 fully labelled sequences"):
        assert learned(few).rules_ is None
    guarded = learned(few, dev=(DEV.tokens, DEV.labels))
    assert {rule.text for rule in guarded.rules_} == suggested(few) != set()
    assert guarded.start_ == "labels"  # what the labels suggest knows no more than they do


@pytest.mark.filterwarnings("ignore:.* dev sequences are also")
def test_they_are_dropped_where_dev_data_show_no_gain():
    found = AnnealedSSVM(C=10.0)
    found.fit(FEW.tokens, FEW.labels, pool=POOL.tokens, dev=(FEW.tokens, FEW.labels))
    assert [point["dev_score"] for point in found.path_] == [1.0]  # the supervised model knows them all
    assert found.rules_ is None
    assert not found.model_.rules
    assert found.explanation_["rules"] == []


def test_given_rules_stay_alone():
    given = Rules.from_file("citations")
    assert learned(rules=given).rules_ is given


def test_without_a_pool_or_without_words_nothing_is_suggested():
    assert learned(pool=None).rules_ is None
    features = [[[f"w={token}"] for token in x] for x in FEW.tokens]
    model = AnnealedSSVM(C=0.3, select="last")
    assert model.fit(features, FEW.labels, pool=features[:5]).rules_ is None


def test_other_methods_use_them_too():
    assert len(learned(method=CODL, rounds=1).rules_) > 3


def test_learning_again_keeps_them():
    dev = DEV.tokens, DEV.labels
    model = learned(dev=dev)
    rules = [rule.text for rule in model.model_.rules]
    model.refit(FEW.tokens, FEW.labels, dev=dev, pool=POOL.tokens)
    assert [rule.text for rule in model.model_.rules] == rules


@pytest.mark.filterwarnings("default:without rules")
def test_the_command_tells_of_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(FEW, "few.tsv", "tsv")
    write([replace(one, labels=None) for one in POOL], "pool.txt", "text")
    train = ("train", "few.tsv", "-u", "pool.txt", "-C", "0.3", "-o", "refs.model")
    code, out, err = run(*train)
    assert (code, err) == (0, "")
    assert re.search(r"no rules were given: \d+ rules suggested by the labelled sequences took part", out)
    code, out, err = run(*train, "--no-rules")
    assert code == 0
    assert "no rules were given" not in out
    assert "nothing tells whether the pool helps" in err
    code, out, err = run(*train, "--no-rules", "-r", "citations")
    assert (code, err) == (2, "semistruct: --rules (-r) and --no-rules are both given; use one of them\n")
