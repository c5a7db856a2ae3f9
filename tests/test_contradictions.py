"""Contradictions between rules: an index finds what a look at every pair finds, and the places of words."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from rule_strategies import built, cases, corpora
from semistruct.rules import Rules, Words
from semistruct.rules import contradictions as module
from semistruct.rules.contradictions import contradictions
from semistruct.rules.events import TokenEvent
from semistruct.rules.words import Texts, WordIndex, WordTest
from vocabulary_strategies import PATTERNS, VOCABULARY_OF_WORDS


def tokens_of(event, X):
    return {(n, t) for n, x in enumerate(X) for t in event.about(x)}


def by_all_pairs(rules, X, labels):
    """{pair of rules: why}, from all pairs of terms."""
    numbered = [(i, term) for i, rule in enumerate(rules) if rule.if_ is None for term in rule.terms(labels)]
    found = {}
    for (i, s), (j, t) in combinations(numbered, 2):
        if i == j or (i, j) in found:
            continue
        why = module.clash(s, t, labels)
        forbid = s.high == t.high == 0 and s.per is None and t.per is None
        if why is None and forbid and isinstance(s.event, TokenEvent) and isinstance(t.event, TokenEvent):
            both = tokens_of(s.event, X) & tokens_of(t.event, X)
            if both and s.event.labels | t.event.labels >= set(labels):
                n, place = min(both)
                why = f"no label is left for the token {X[n][place]!r}"
        if why is not None:
            found[i, j] = why
    return found


@settings(deadline=None, max_examples=100)
@given(cases(functions=True, max_rules=12), st.booleans())
def test_the_index_misses_no_pair(case, without_data):
    X, _, labels, described = case
    X = [] if without_data else X
    rules = Rules([built(rule) for rule in described])
    found = {(c.first, c.second): c.why for c in contradictions(rules, X, labels)}
    assert found == by_all_pairs(rules, X, labels)


tests = st.none() | st.one_of(
    st.lists(st.sampled_from([*VOCABULARY_OF_WORDS, "nothing"])).map(lambda words: WordTest(words=frozenset(words))),
    st.lists(st.sampled_from(["punctuation", "newline", *PATTERNS]), min_size=1, max_size=3).map(WordTest.of),
)


@settings(deadline=None)
@given(corpora(), tests, tests, tests, st.sampled_from(["any", "first", "last"]))
def test_places_of_events_of_tokens(corpus, word, before, after, place):
    X, _, labels = corpus
    event = TokenEvent(frozenset(labels), word, before, after, place)
    texts = Texts(X)
    assert texts.spots(event.tokens(texts)) == sorted(tokens_of(event, X))


spellings = st.text("aAbBßẞ.1", max_size=2)


@given(
    st.lists(spellings, unique=True),
    st.frozensets(spellings),
    st.sampled_from([(), ("a.?", "1")]),
    st.sampled_from([frozenset(), frozenset(["punctuation"])]),
    st.booleans(),
    st.booleans(),
)
def test_words_that_pass(words, wanted, patterns, classes, exact, bare):
    test = WordTest(wanted, patterns, classes, exact, bare)
    assert WordIndex(words).passing(test) == [i for i, word in enumerate(words) if test(word)]


def test_rules_about_different_words_are_not_compared(monkeypatch):
    compared = []
    monkeypatch.setattr(module, "clash", lambda *pair: compared.append(pair))
    rules = Rules([Words([f"w{i}"], are="a" if i % 2 else "b") for i in range(300)])
    X = [[f"w{i}" for i in range(300)]]
    assert contradictions(rules, X, ["a", "b"]) == []
    assert not compared
