"""The synthetic adverts: reproducible, well formed, and as messy as those of people."""

import re
from collections import Counter
from itertools import groupby

import numpy as np
import pytest

from semistruct import SSVM, make_apartments, read, write
from semistruct.corpus import Corpus
from semistruct.datasets import APARTMENT_LABELS
from semistruct.datasets.apartments import FIELDS, SWITCH
from semistruct.datasets.grammar import grammar, texts
from semistruct.errors import ParameterError
from semistruct.rules import Rules
from semistruct.rules.checking import check_rules
from semistruct.tokens import tokenize

# SHA-256 of make_apartments(20, seed=7): a change here changes everybody's synthetic experiments.
DIGEST = "034c5ba628e932b1353c75c48ae05a4f07e235ead55e52b6a9a108b1dd078f74"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_apartments(600, seed=11)


def blocks(example):
    return [label for label, _ in groupby(example.labels)]


def test_same_seed_same_adverts_everywhere():
    assert make_apartments(20, seed=7).digest == make_apartments(20, seed=7).digest == DIGEST


def test_other_seeds_give_other_adverts():
    texts = [e.text for seed in (0, 1, 2, -1) for e in make_apartments(50, seed=seed)]
    assert len(set(texts)) == len(texts)


def test_a_small_corpus_is_the_beginning_of_a_large_one():
    assert make_apartments(30, seed=3).examples == make_apartments(100, seed=3).examples[:30]


def test_sizes():
    assert len(make_apartments(0)) == 0
    with pytest.raises(ParameterError, match="n must be"):
        make_apartments(-1)


def test_tokens_are_cut_from_the_text(corpus):
    for e in corpus:
        assert tokenize(e.text) == (e.tokens, e.offsets)
        assert not re.search(r"[<>{}¶]", e.text)


def test_all_labels_occur_and_no_others(corpus):
    assert corpus.label_set == sorted(APARTMENT_LABELS) == sorted(Rules.from_file("apartments").labels)
    assert len(APARTMENT_LABELS) == 12


def test_lengths_and_shares_are_like_those_of_real_adverts(corpus):
    assert 112 < np.mean([len(e) for e in corpus]) < 126
    assert 8.3 < np.mean([len(blocks(e)) for e in corpus]) < 9.2
    counts = Counter(y for e in corpus for y in e.labels)
    assert 0.38 < counts["features"] / counts.total() < 0.5
    assert min(counts.values()) / counts.total() > 0.01


def test_a_field_comes_twice_in_a_minority(corpus):
    assert 0.2 < np.mean([len(blocks(e)) > len(set(e.labels)) for e in corpus]) < 0.45


def test_the_order_varies(corpus):
    starts = Counter(e.labels[0] for e in corpus)
    assert len(starts) >= 8
    assert max(starts.values()) < 0.6 * len(corpus)
    both = [blocks(e) for e in corpus if {"features", "restrictions"} <= set(e.labels)]
    assert 0.1 < np.mean([names.index("restrictions") < names.index("features") for names in both]) < 0.4


def test_people_write_as_they_like(corpus):
    texts = [re.sub(r"\*\w+\*", "", e.text) for e in corpus]
    assert 0.1 < np.mean([text.islower() for text in texts]) < 0.4
    assert 0.05 < np.mean([text.isupper() for text in texts]) < 0.3
    assert 0.2 < np.mean(["!" in text for text in texts]) < 0.8
    words = Counter(word.lower() for e in corpus for word in e.tokens)
    assert all(
        words[word] for word in ("*newline*", "*money*", "*phone*", "*email*", "*url*", "bdrm", "bedroom", "avail")
    )


def test_the_rules_for_adverts_hold_mostly_but_not_always(corpus):
    found = check_rules(Rules.from_file("apartments"), corpus.tokens, corpus.labels).to_dict()
    shares = {rule["text"]: rule["share"] for rule in found["rules"]}
    assert all(rule["applies"] >= 15 for rule in found["rules"])
    assert all(share > 0.75 for share in shares.values()), shares
    assert 0.8 < shares["changes only after punctuation or newline"] < 0.95
    assert sum(share < 0.97 for share in shares.values()) >= 6
    assert found["obeying"] < 0.5 * len(corpus)


def test_a_few_labels_are_not_enough():
    few, test = make_apartments(5, seed=21), make_apartments(40, seed=22)
    assert 0.45 < SSVM(C=0.5).fit(few.tokens, few.labels).score(test.tokens, test.labels) < 0.72


@pytest.mark.parametrize("format", ["tsv", "conll", "jsonl", "inline", "text"])
def test_every_format_keeps_the_tokens(corpus, tmp_path, format):
    some = Corpus(corpus.examples[:60])
    write(some, tmp_path / "x", format)
    back = read(tmp_path / "x", format=format)
    assert back.tokens == some.tokens
    assert back.labels == ([None] * 60 if format == "text" else some.labels)


def test_every_symbol_of_the_grammar_is_defined():
    bags = grammar("apartments")
    for symbol, bag in bags.items():
        for phrase in bag.items:
            assert all(used.lower() in bags.keys() | {"stop", "sep"} for used in phrase[1::2]), (symbol, phrase)


def test_every_label_has_a_field_and_every_switch_leads_to_a_label():
    assert FIELDS.keys() == set(APARTMENT_LABELS)
    assert set(SWITCH.findall(" ".join(texts("apartments")["rules"].values()))) <= set(APARTMENT_LABELS)
