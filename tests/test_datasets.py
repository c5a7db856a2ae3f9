"""The synthetic references: reproducible, well formed, and close to real ones in their statistics."""

import random
import re
from collections import Counter
from itertools import groupby

import numpy as np
import pytest

from semistruct.corpus import Corpus
from semistruct.datasets import LABELS, make_citations
from semistruct.datasets.citations import FIELDS
from semistruct.datasets.grammar import Dice, grammar, parse, polished, title_case
from semistruct.datasets.styles import layouts
from semistruct.errors import ParameterError
from semistruct.tokens import tokenize

# SHA-256 of make_citations(20, seed=7): a change here changes everybody's synthetic experiments.
DIGEST = "34eb40cdf16f1ff5709198d29ed62ed51c2173a0fd3a9fb653b2089899178292"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_citations(500, seed=11)


def pairs(corpus: Corpus) -> list[tuple[str, str]]:
    return [pair for e in corpus for pair in zip(e.tokens, e.labels, strict=True)]


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def test_same_seed_same_references_everywhere():
    assert make_citations(20, seed=7).digest == make_citations(20, seed=7).digest == DIGEST


def test_other_seeds_give_other_references():
    texts = [e.text for seed in (0, 1, 2, -1) for e in make_citations(50, seed=seed)]
    assert len(set(texts)) == len(texts)


def test_a_small_corpus_is_the_beginning_of_a_large_one():
    assert make_citations(30, seed=3).examples == make_citations(100, seed=3).examples[:30]


def test_the_global_random_states_are_left_alone():
    random.seed(5)
    before, before_numpy = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = make_citations(10)
    assert random.getstate() == before
    assert (np.random.get_state()[1] == before_numpy).all()  # noqa: NPY002
    random.seed(6)
    assert make_citations(10).digest == first.digest


def test_sizes():
    assert len(make_citations(0)) == 0
    with pytest.raises(ParameterError, match="n must be"):
        make_citations(-1)


def test_tokens_are_cut_from_the_text(corpus):
    for e in corpus:
        assert [e.text[a:b] for a, b in e.offsets] == e.tokens
        assert tokenize(e.text) == (e.tokens, e.offsets)


def test_all_labels_occur_and_no_others(corpus):
    assert corpus.label_set == sorted(LABELS)
    assert len(LABELS) == 13


def test_lengths_and_shares_are_like_those_of_real_references(corpus):
    assert 32 < np.mean([len(e) for e in corpus]) < 40
    assert 5.1 < np.mean([len(list(groupby(e.labels))) for e in corpus]) < 6.0
    counts = Counter(label for _, label in pairs(corpus))
    shares = {label: count / counts.total() for label, count in counts.items()}
    bands = {"author": (0.25, 0.36), "title": (0.19, 0.29), "booktitle": (0.08, 0.17), "date": (0.06, 0.11)}
    for label, (low, high) in bands.items():
        assert low < shares[label] < high, (label, shares[label])


def test_rules_that_people_know_hold_mostly(corpus):
    assert share([e.labels[0] in ("author", "editor") for e in corpus]) == 1.0
    assert share([e.labels[0] == "author" for e in corpus]) > 0.95
    assert 0.93 < share([len(list(groupby(e.labels))) == len(set(e.labels)) for e in corpus]) < 1.0
    words = pairs(corpus)
    assert share([y == "pages" for w, y in words if w.lower() in ("pp", "pages")]) == 1.0
    assert 0.9 < share([y == "date" for w, y in words if re.fullmatch(r"(19|20)\d\d", w)]) < 1.0
    changes = [
        not w[-1].isalnum() for e in corpus for w, y, z in zip(e.tokens, e.labels, e.labels[1:], strict=False) if y != z
    ]
    assert 0.92 < share(changes) < 0.99


def test_new_references_bring_new_words(corpus):
    known = {w.lower() for w, _ in pairs(corpus)}
    fresh = {w.lower() for w, _ in pairs(make_citations(200, seed=12))}
    assert 0.15 < len(fresh - known) / len(fresh) < 0.7


def test_every_symbol_of_the_grammar_is_defined():
    built_in = {"cap", "city", "year", "yy"}
    bags = grammar("citations")
    for symbol, bag in bags.items():
        for phrase in bag.items:
            for used in phrase[1::2]:
                assert used.removesuffix("_low").lower() in bags.keys() | built_in, (symbol, used)


def test_repeating_layouts_repeat_and_the_others_do_not():
    for section, repeats in (("layouts", False), ("repeats", True)):
        for bag in layouts(section).values():
            for names in bag.items:
                labels = [FIELDS[name.rstrip("?")][0] for name in names]
                assert (len(set(labels)) < len(labels)) == repeats, names


def test_grammar_helpers():
    assert parse("a {noun}\n  | {noun}s") == [("a ", "noun", ""), ("", "noun", "s")]
    assert polished("a index of theorys , keys and classs") == "an index of theories, keys and classes"
    assert title_case("the art of parsing") == "the Art of Parsing"
    dice = Dice("x")
    assert {dice.between(2, 4) for _ in range(100)} == {2, 3, 4}
