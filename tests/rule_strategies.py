"""Random small corpora and random rules about them."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

import brute_rules
from semistruct.rules import Function
from semistruct.rules.event_kernels import penalty, total_of
from semistruct.rules.ruleset import corpus_value, value
from semistruct.rules.vocabulary import VOCABULARY

LABELS = ["a", "b", "c", "d"]
VOCABULARY_OF_WORDS = [
    "pp", "PP", "Pp", "pp.", "(CA)", "CA", "ca", "x1", "1984", "ß", ".", ",", "--", "*NEWLINE*", "\\n", "<br>", "⏎",
]  # fmt: skip
PHRASES = ["pp ca", "pp. CA", "PP pp", "CA , 1984", "CA, 1984", "x1 x1 x1", ". .", "ca ß"]
PATTERNS = ["[Pp]+", r"\d{4}", "c|ca", ".", r"(x)\d", r"(.)\1", "[^a-z]*", "nothing"]
MARKS = ["punctuation", "newline", *PATTERNS]
SHARES = [0.0, 0.01, 0.2, 0.25, 0.3, 0.5, 2 / 3, 1.0]
MEASURED = ("function", "differ", "agree")
AMOUNTS = [0, 0.5, 1, 2, 3.5]

EVERY_KIND = [
    {"starts_with": ["a"]},
    {"ends_with": ["b", "c"], "weight": 0.1},
    {"at_most_once": "all", "penalty": "square", "weight": 1 / 3},
    {"at_most_once": "all", "counting": "labels", "penalty": "square"},
    {"at_most_once": ["a", "b"], "counting": "labels", "penalty": "square", "weight": 3},
    {"exactly_once": ["a", "b"], "weight": "hard"},
    {"present": ["c"]},
    {"change_only_on": ["punctuation"]},
    {"change_only_on": ["newline", "[Pp]+"], "side": "either", "level": "corpus", "fraction": 0.01},
    {"words": ["pp", "CA"], "are": ["a"], "after": r"\W"},
    {"words": ["pp", "ca"], "are": ["b"], "before": "[^x]+"},
    {"words": ["pp ca", "pp. ca", "1984"], "are": ["c"], "after": r"\W", "within": 2, "weight": 3},
    {"words": ["pp", "pp. ca"], "are": {"all_except": ["c"]}, "case": "any", "punctuation": "ignore", "weight": 2},
    {"pattern": ["[a-z]+", r"\W"], "are": ["b"], "place": "last", "if": {"absent": ["a"]}, "weight": 3},
    {"pattern": r"\d+", "are_not": ["a"], "level": "corpus", "fraction": (0.9, None)},
    {"change_after": [",", "newline"], "labels": ["a", "c"], "weight": 2},
    {"block_starts_with": {"a": ["[A-Z]+", "newline"], "b": [r"\w+"]}, "weight": 2},
    {"block_ends_with": {"a": ["punctuation"]}, "weight": 2},
    {"votes": {"column": 2}},
    {"present": ["b"], "if": {"present": ["a"], "no_pattern": "x.*"}, "weight": 5},
    {"at_most_once": {"all_except": ["b"]}, "if": {"absent": ["b"]}, "weight": 5},
    {"at_most_once": ["a", "c"], "if": {"words": ["pp", "ca"]}, "weight": 4},
    {"min_length": 2},
    {"max_length": 3, "labels": ["a", "c"]},
    {"order": ["a", "b", "c"]},
    {"follows": {"b": ["a", "c"], "c": ["b"]}},
    {"never_follows": {"a": ["b"]}},
    {"proportion": {"a": 0.3, "b": (0.5, 0.6)}},
    {"count": {"c": 0.7}},
]
"""Descriptions of rules for the labels a, b and c."""


def marks_of_capitals(words, labels):
    """A rule of one's own: capitals do not have the label a."""
    return sum(word[0].isupper() and y == "a" for word, y in zip(words, labels, strict=True))


def length_less_changes(words, labels):
    """A rule of one's own that is sometimes negative and no whole number."""
    return len(words) / 2 - 1.25 * sum(y != z for y, z in pairwise(labels))


@st.composite
def corpora(draw, max_sequences=4, max_T=8):
    """(X, y, labels): sequences of words, their labels, and all the labels in any order."""
    labels = tuple(draw(st.permutations(LABELS))[: draw(st.integers(1, 4))])
    lengths = draw(st.lists(st.integers(1, max_T), min_size=1, max_size=max_sequences))
    X = [[draw(st.sampled_from(VOCABULARY_OF_WORDS)) for _ in range(n)] for n in lengths]
    return X, [[draw(st.sampled_from(labels)) for _ in range(n)] for n in lengths], labels


def _some(values, least=1, most=3):
    return st.lists(st.sampled_from(values), min_size=least, max_size=most, unique=True)


def _target(values):
    """A number, or a range that may be open on one side."""

    def as_range(pair):
        low, high = sorted(pair)
        return st.sampled_from([(low, high), (low, None), (None, high)])

    return st.one_of(st.sampled_from(values), st.tuples(*[st.sampled_from(values)] * 2).flatmap(as_range))


def _fits(rule):
    """Lower bounds of shares cannot exceed all tokens together."""
    lows = [share[0] if isinstance(share, tuple) else share for share in rule["proportion"].values()]
    return sum(low or 0 for low in lows) <= 1


def _record(key, value, always=None, **further):
    """Descriptions of one kind; the kind is their first entry."""
    drawn = st.fixed_dictionaries({key: value, **(always or {})}, optional=further)
    return drawn.map(lambda rule: {key: rule[key], **rule})


def _set_of(labels):
    """Some labels, or all except some."""
    return st.one_of(_some(labels), _some(labels).map(lambda some: {"all_except": some}))


def _reaching(pair):
    """A rule whose context may be as far away."""
    rule, within = pair
    return {**rule, "within": within} if within > 1 and ("before" in rule or "after" in rule) else rule


def _conditions(labels):
    """Conditions of labels and of the text."""
    words, patterns = _some([*VOCABULARY_OF_WORDS[:8], *PHRASES]), st.sampled_from([*PATTERNS, ("[a-z]+", r"\W")])
    entries = {
        "present": _some(labels), "absent": _some(labels), "words": words, "no_words": words, "pattern": patterns,
        "no_pattern": patterns,
    }  # fmt: skip
    return st.dictionaries(st.sampled_from(sorted(entries)), st.none(), min_size=1, max_size=2).flatmap(
        lambda names: st.fixed_dictionaries({name: entries[name] for name in names})
    )


def _about_words(key, value, labels):
    def record(level, about):
        share = {"fraction": _target(SHARES), "unit": st.sampled_from(["fraction", "percent"])}
        context = {
            "before": st.sampled_from(PATTERNS), "after": st.sampled_from(PATTERNS),
            "place": st.sampled_from(["first", "last"]), "case": st.sampled_from(["any", "exact"]),
            "punctuation": st.just("ignore"),
        }  # fmt: skip
        further = context | share if level == "corpus" else context
        rules = _record(key, value, {"level": st.just(level), about: _set_of(labels)}, **further)
        return st.tuples(rules, st.sampled_from([1, 1, 2, 9])).map(_reaching)

    return st.one_of(*[record(level, about) for level in ("instance", "corpus") for about in ("are", "are_not")])


def _kinds(labels, functions):
    """For every rule of the vocabulary the descriptions without what all rules have."""
    some, levels = _set_of(labels), st.sampled_from(["instance", "corpus"])
    side, units = st.sampled_from(["after", "either"]), st.sampled_from(["fraction", "percent"])
    shares, amounts = (
        st.dictionaries(st.sampled_from(labels), _target(values), min_size=1) for values in (SHARES, AMOUNTS)
    )
    in_corpus = {"level": st.just("corpus"), "fraction": _target(SHARES)}
    followers = st.dictionaries(st.sampled_from(labels), some, min_size=1)
    kinds = [
        _record("starts_with", some),
        _record("ends_with", some),
        _record("at_most_once", st.one_of(st.just("all"), some), counting=st.sampled_from(["blocks", "labels"])),
        _record("exactly_once", some),
        _record("present", some),
        _record("change_only_on", _some(MARKS), side=side),
        _record("change_only_on", _some(MARKS), in_corpus, side=side, unit=units),
        _about_words("words", _some(["pp", "PP", "pp.", "CA", "1984", "ß", "nothing", *PHRASES]), labels),
        _about_words("pattern", st.sampled_from([*PATTERNS, ("[a-z]+", r"\W"), (".*", ".*", r"\w+")]), labels),
        _record("min_length", st.integers(1, 5), labels=some),
        _record("max_length", st.integers(1, 5), labels=some),
        _record("change_after", _some(MARKS), labels=some),
        _record("block_starts_with", st.dictionaries(st.sampled_from(labels), _some(MARKS), min_size=1)),
        _record("block_ends_with", st.dictionaries(st.sampled_from(labels), _some(MARKS), min_size=1)),
        _record("follows", followers),
        _record("never_follows", followers),
        _record("proportion", shares, level=levels, unit=units).filter(_fits),
        _record("count", amounts, level=levels, of=st.sampled_from(["blocks", "tokens"])),
    ]
    if len(labels) > 1:
        kinds.append(_record("order", _some(labels, 2, 4)))
    if functions and len(labels) > 1:
        kinds += _comparisons(labels)
    if functions:
        own = st.sampled_from([marks_of_capitals, length_less_changes])
        bounds = {"low": st.sampled_from([-2.0, -0.5]), "high": st.sampled_from([0.0, 0.5])}
        kinds.append(_record("function", own, level=levels, **bounds))
    return kinds


def _comparisons(labels):
    return [_record("differ", _some(labels, 2, 2)), _record("agree", _some(labels, 2, 2))]


def comparisons(labels):
    """Rules that compare two fields."""
    return _described(labels, _comparisons(labels))


def descriptions(labels, functions=False):
    """Rules as they stand in a rules file."""
    return _described(labels, _kinds(labels, functions))


def _described(labels, kinds):
    """Rules of some kinds, with what all rules have."""
    common = st.fixed_dictionaries(
        {},
        optional={
            "weight": st.sampled_from(["hard", 0.25, 1, 7.5]),
            "penalty": st.sampled_from(["absolute", "square"]),
        },
    )
    condition = st.one_of(st.none(), st.none(), _conditions(labels))

    def whole(rule):
        fixed = brute_rules.complete(rule)["level"] == "corpus"
        return st.tuples(common, st.none() if fixed else condition).map(
            lambda more: {**rule, **more[0], **({"if": more[1]} if more[1] else {})}
        )

    return st.one_of(kinds).flatmap(whole)


def has_expectation(rule):
    """Not all rules can be stated of a distribution on a chain."""
    key, condition = next(iter(rule)), rule.get("if", {})
    least = key in ("present", "exactly_once", "count", "proportion")
    if condition and (least or "present" in condition or "absent" in condition):
        return False
    return key not in ("min_length", "max_length", "order", *MEASURED) and "counting" not in rule


def built(rule):
    """The rule of a description."""
    key = next(iter(rule))
    return (Function if key == "function" else VOCABULARY[key])(**rule)


def rules(labels, functions=False):
    return descriptions(labels, functions).map(built)


@st.composite
def cases(draw, functions=False, max_rules=6):
    """(X, y, labels, descriptions of rules)."""
    X, y, labels = draw(corpora())
    some = st.lists(descriptions(labels, functions), max_size=max_rules)
    return X, y, labels, draw(st.one_of(some, st.just(EVERY_KIND)) if set(labels) >= set("abc") else some)


class Tally:
    """The counts of a labelled corpus and what they cost, by the kernels."""

    def __init__(self, tables, y, n_jobs=None):
        lengths = np.diff(tables.offsets)
        self.counts, totals = tables.count(y, n_jobs), np.zeros(tables.n_terms)
        self.instance = np.array(
            [
                penalty(tables.targets, tables.instance, row, float(n), 1.0)
                for row, n in zip(self.counts, lengths, strict=True)
            ]
        )
        total_of(self.counts, totals)
        self.corpus = penalty(tables.targets, tables.corpus, totals, float(lengths.sum()), float(len(tables)))
        self.penalty = self.instance.sum() + self.corpus


def penalty_of(rules, X, y, labels):
    """What a labelling costs, by what the terms of rules count: slow, and what all fast ways are tested against."""
    total = 0.0
    for rule in rules:
        terms = rule.terms(labels)
        for group in [terms] if terms and terms[0].joint else [[term] for term in terms]:
            if rule.level == "corpus":
                distances = [[term.distance(corpus_value(rule, term, X, y)) for term in group]]
            else:
                distances = [
                    [
                        term.distance(value(rule, term, tokens, row, f"sequence {i}")) * term.matters(tokens, row)
                        for term in group
                    ]
                    for i, (tokens, row) in enumerate(zip(X, y, strict=True))
                ]
            for row in distances:
                v = sum(d > 0 for d in row) if group[0].joint else row[0]
                total += rule.cost * v**rule.power
    return total
