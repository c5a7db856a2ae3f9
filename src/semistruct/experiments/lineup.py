"""The lines of the tables: which method learns with which rules, and what is tried on dev data.

Methods declare their lines (`fitting.standing.Line`): published settings, and settings to try, of which the best on
dev data is taken.  So is C, if the method has it.  Rules at prediction are the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from semistruct.fitting.standing import Line
from semistruct.methods import METHODS, SequenceLabeller
from semistruct.rules import Rules


class Lists(NamedTuple):
    """Which rules there are for a corpus.

    predict  what all methods predict with, and what margin methods learn with
    expect   for methods that learn from expectations
    project  for alternating projections
    ours     a longer list, written for semistruct
    """

    predict: str
    expect: str
    project: str
    ours: str | None = None

    @classmethod
    def one(cls, name: str) -> Lists:
        """The same rules for all methods."""
        return cls(name, name, name)


PUBLISHED = {
    "citations": Lists("citations-codl", "citations-daso", "citations-ap", "citations"),
    "headers": Lists.one("headers"),
    "names": Lists.one("names"),
    "apartments": Lists("apartments", "apartments-daso", "apartments-daso"),
}
PUBLISHED["synthetic"] = PUBLISHED["citations"]
CORPORA = tuple(PUBLISHED)
FEATURES = ("paper", "default")


def lists_of(corpus: str, features: str) -> Lists:
    """With the features of the paper, the rules that methods were published with; else those that we ship."""
    if features == "paper":
        return PUBLISHED[corpus]
    return Lists.one("citations" if corpus == "synthetic" else corpus)


@dataclass(frozen=True)
class Entry:
    """A line of the tables: a method, and its declaration of this line (`Line`)."""

    method: type[SequenceLabeller]
    line: Line

    @property
    def title(self) -> str:
        return self.line.title

    def settings(self, corpus: str, quick: bool) -> dict[str, Any]:
        """Those of the method that are not its defaults."""
        return {**(self.line.quick if quick else {}), **self.line.published.get(corpus, {})}


LINEUP = {
    method.name + line.suffix: Entry(method, line)
    for method, line in sorted(
        ((method, line) for method in METHODS.values() for line in method.lines), key=lambda pair: pair[1].order
    )
}


@dataclass(frozen=True)
class RulesToLearn:
    """The rules that an entry is given, and those of the list that its method cannot learn from."""

    name: str
    rules: Rules
    left_out: list[str]


def applying(lists: Lists) -> list[str]:
    """The lines of the tables of a corpus."""
    return [name for name, entry in LINEUP.items() if getattr(lists, entry.line.rules)]


def predicting(lists: Lists, name: str) -> tuple[str, Rules]:
    """(name, rules) at prediction."""
    listed = getattr(lists, "ours" if LINEUP[name].line.rules == "ours" else "predict")
    return listed, Rules.from_file(listed)


def learning(lists: Lists, name: str) -> RulesToLearn:
    """The rules of a line: the list that it predicts with, or another one in the form that its method can use."""
    entry = LINEUP[name]
    listed = getattr(lists, entry.line.rules)
    rules = Rules.from_file(listed)
    found = [(rule, entry.method.usable(rule, rules.labels or ())) for rule in rules]
    left_out = [rule.text for rule, usable in found if usable is None]
    if listed == predicting(lists, name)[0]:  # as a user does it: the method itself sees what it can learn from
        return RulesToLearn(listed, rules, left_out)
    kept = [usable for _, usable in found if usable is not None]
    return RulesToLearn(listed, Rules(kept, rules.labels), left_out)
