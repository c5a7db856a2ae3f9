"""The lines of the tables: which method learns with which rules, and what is tried on dev data.

Every method has its published settings; C is chosen on dev data where there is one, and of the settings in `tries` the
one that labels dev data best.  Rules at prediction are the same for all: those of the column `predict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

from semistruct.constraints import Constraints
from semistruct.constraints.base import Rule
from semistruct.constraints.expectations import why_no_expectation
from semistruct.constraints.files import shipped
from semistruct.constraints.rules import Function
from semistruct.methods import METHODS

# The rules to predict with and of the margin methods; of methods that expect; of alternating projections; ours.
RULES = {
    "citations": ("citations-codl", "citations-daso", "citations-ap", "citations"),
    "headers": ("headers", "headers", "headers", None),
    "apartments": ("apartments", "apartments-daso", "apartments-daso", None),
}
RULES["synthetic"] = RULES["citations"]

PUBLISHED_FOR = {"apartments": {"codl": {"penalty": -log(0.1)}}}  # settings that are not those of citations
QUICK = {"annealed": {"schedule": [1.0, 10.0], "rounds": 2}}


@dataclass(frozen=True)
class Entry:
    """A line.

    column  of RULES: 0, 1, 2 or 3
    form    of the rules that the method can learn with: "all", "expectations" (no lengths, order or functions),
            "shares" (corpus rules about shares; rules about words become such)
    tries   settings to choose among on dev data
    own_features  those of the method, whatever the others have
    """

    title: str
    method: str
    column: int = 0
    form: str = "all"
    tries: tuple[Mapping[str, Any], ...] = field(default=({},))
    own_features: bool = False


LINEUP = {
    "hmm": Entry("HMM, supervised", "hmm", own_features=True),
    "crf": Entry("CRF, supervised", "crf"),
    "ssvm": Entry("SSVM, supervised", "ssvm"),
    "annealed": Entry("annealed SSVM", "annealed"),
    "annealed-ours": Entry("annealed SSVM, our rules", "annealed", column=3),
    "codl": Entry("CODL", "codl", own_features=True),
    "pr": Entry("PR", "pr", column=1, form="expectations"),
    "daso": Entry("DASO", "daso", column=1, form="expectations", tries=({"rounds": 1},)),  # 10 take minutes
    "ap": Entry("alternating projections", "ap", column=2, form="expectations"),
    "ge": Entry("GE", "ge", column=1, form="shares"),
    "transductive": Entry("transductive SSVM", "transductive"),
    "continuous": Entry("continuous optimisation", "continuous"),
}


@dataclass(frozen=True)
class Learning:
    """The rules that an entry learns with, and those of the list that its method cannot express."""

    name: str
    rules: Constraints
    left_out: list[str]


def applying(corpus: str) -> list[str]:
    """The lines that there are for a corpus."""
    return [name for name, entry in LINEUP.items() if entry.method in METHODS and _list(corpus, entry.column)]


def entry_of(corpus: str, name: str) -> Entry:
    """A line with the settings for a corpus."""
    entry, extra = LINEUP[name], PUBLISHED_FOR.get(corpus, {}).get(name, {})
    return replace(entry, tries=tuple({**extra, **params} for params in entry.tries))


def predicting(corpus: str, name: str) -> tuple[str, Constraints]:
    """(name, rules) at prediction."""
    listed = _list(corpus, 3 if LINEUP[name].column == 3 else 0)
    assert listed is not None
    return listed, Constraints.from_file(listed)


def learning(corpus: str, name: str) -> Learning:
    """The rules of a line, in the form that its method can learn with."""
    entry = LINEUP[name]
    listed = _list(corpus, entry.column)
    assert listed is not None
    rules = Constraints.from_file(listed)
    found = [(rule, _formed(rule, rules, entry.form)) for rule in rules.rules]
    kept = [formed for _, formed in found if formed is not None]
    return Learning(listed, Constraints(kept, rules.labels), [rule.text for rule, formed in found if formed is None])


def _list(corpus: str, column: int) -> str | None:
    name = RULES[corpus][column]
    return RULES[corpus][1] if column == 2 and name not in shipped() else name


def _formed(rule: Rule, rules: Constraints, form: str) -> Rule | None:
    if form == "all":
        return rule
    terms = rule.terms(rules.labels or ())
    if isinstance(rule, Function) or any(why_no_expectation(term) for term in terms):
        return None
    if form == "expectations":
        return rule
    if rule.level == "corpus":
        return rule if all(term.per is not None for term in terms) else None
    return rule.model_copy(update={"level": "corpus"}) if rule.key in ("words", "pattern") else None
