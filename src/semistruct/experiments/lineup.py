"""The lines of the tables: which method learns with which rules, and what is tried on dev data.

Every method has its published settings; C is chosen on dev data where there is one, and of the settings in `tries` the
one that labels dev data best.  Rules at prediction are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, NamedTuple

from semistruct.bits.places import kind_of_bits
from semistruct.expectations.rows import why_no_expectation
from semistruct.methods import METHODS
from semistruct.rules import Rules
from semistruct.rules.base import Rule
from semistruct.rules.files import shipped
from semistruct.rules.vocabulary import Function


class Lists(NamedTuple):
    """Which rules there are for a corpus.

    predict  what all methods predict with, and what margin methods learn with
    expect   for methods that learn from expectations
    project  for alternating projections
    ours     a longer list of our own
    """

    predict: str
    expect: str
    project: str
    ours: str | None = None


RULES = {
    "citations": Lists("citations-codl", "citations-daso", "citations-ap", "citations"),
    "headers": Lists("headers", "headers", "headers"),
    "apartments": Lists("apartments", "apartments-daso", "apartments-daso"),
}
RULES["synthetic"] = RULES["citations"]

# Another of the schedules in the DASO paper (its table 4), with one round per temperature.  On dev data (one draw of 5
# citations) its main schedule, from 2, did no better than no unlabelled data with 10 rounds, which take minutes, and
# gave 72% with one; this one gave 80%.
COOLER = {"rounds": 1, "schedule": [0.9**k for k in range(11)]}
PUBLISHED_FOR = {"apartments": {"codl": {"penalty": -log(0.1)}}}  # settings that are not those of citations
QUICK = {"annealed": {"schedule": [1.0, 10.0], "rounds": 2}}


@dataclass(frozen=True)
class Entry:
    """A line.

    rules         which of the lists it learns with
    form          what it can express of them: "all"; "expectations" (no lengths, order or functions); "shares" (corpus
                  rules about shares; rules about words become such); "bits" (rules about single places and blocks)
    tries         settings to choose among on dev data
    own_features  those of the method, whatever the others have
    """

    title: str
    method: str
    rules: str = "predict"
    form: str = "all"
    tries: tuple[Mapping[str, Any], ...] = field(default=({},))
    own_features: bool = False


LINEUP = {
    "hmm": Entry("HMM, supervised", "hmm", own_features=True),
    "crf": Entry("CRF, supervised", "crf"),
    "ssvm": Entry("SSVM, supervised", "ssvm"),
    "annealed": Entry("annealed SSVM", "annealed"),
    "annealed-ours": Entry("annealed SSVM, our rules", "annealed", rules="ours"),
    "codl": Entry("CODL", "codl", own_features=True),
    "pr": Entry("PR", "pr", rules="expect", form="expectations"),
    "daso": Entry("DASO", "daso", rules="expect", form="expectations", tries=(COOLER,)),
    "ap": Entry("alternating projections", "ap", rules="project", form="expectations"),
    "ge": Entry("GE", "ge", rules="expect", form="shares"),
    "transductive": Entry("transductive SSVM", "transductive", form="bits"),
    "continuous": Entry("continuous optimisation", "continuous"),
}


@dataclass(frozen=True)
class Learning:
    """The rules that an entry learns with, and those of the list that its method cannot express."""

    name: str
    rules: Rules
    left_out: list[str]


def applying(corpus: str) -> list[str]:
    """The lines that there are for a corpus."""
    return [name for name, entry in LINEUP.items() if entry.method in METHODS and _list(corpus, entry.rules)]


def entry_of(corpus: str, name: str) -> Entry:
    """A line with the settings for a corpus."""
    entry, extra = LINEUP[name], PUBLISHED_FOR.get(corpus, {}).get(name, {})
    return replace(entry, tries=tuple({**extra, **params} for params in entry.tries))


def predicting(corpus: str, name: str) -> tuple[str, Rules]:
    """(name, rules) at prediction."""
    listed = _list(corpus, "ours" if LINEUP[name].rules == "ours" else "predict")
    assert listed is not None
    return listed, Rules.from_file(listed)


def learning(corpus: str, name: str) -> Learning:
    """The rules of a line, in the form that its method can learn with."""
    entry = LINEUP[name]
    listed = _list(corpus, entry.rules)
    assert listed is not None
    rules = Rules.from_file(listed)
    found = [(rule, _formed(rule, rules, entry.form)) for rule in rules.rules]
    kept = [formed for _, formed in found if formed is not None]
    return Learning(listed, Rules(kept, rules.labels), [rule.text for rule, formed in found if formed is None])


def _list(corpus: str, which: str) -> str | None:
    name: str | None = getattr(RULES[corpus], which)
    return RULES[corpus].expect if which == "project" and name not in shipped() else name


def _formed(rule: Rule, rules: Rules, form: str) -> Rule | None:
    if form == "all":
        return rule
    if form == "bits":
        return rule if kind_of_bits(rule, rules.labels or ()) else None
    terms = rule.terms(rules.labels or ())
    if isinstance(rule, Function) or any(why_no_expectation(term) for term in terms):
        return None
    if form == "expectations":
        return rule
    if rule.level == "corpus":
        return rule if all(term.per is not None for term in terms) else None
    return rule.model_copy(update={"level": "corpus"}) if rule.key in ("words", "pattern") else None
