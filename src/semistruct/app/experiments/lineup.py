"""The lines of the tables: which method learns with which rules, and with which settings.

Methods declare their lines (`learning.declarations.Line`).  Rules at prediction are the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from semistruct.learning.declarations import Line
from semistruct.methods import METHODS, SequenceLabeller
from semistruct.rules import Rules


class Lists(NamedTuple):
    """The names of the rules for a corpus.

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
    def same(cls, name: str) -> Lists:
        """The same rules for all methods."""
        return cls(name, name, name)


CITATIONS = Lists("citations-codl", "citations-daso", "citations-ap", "citations")
PUBLISHED = {
    "citations": CITATIONS,
    "headers": Lists.same("headers"),
    "names": Lists.same("names"),
    "apartments": Lists("apartments", "apartments-daso", "apartments-daso"),
    "synthetic": CITATIONS,
}
CORPORA = tuple(PUBLISHED)


def lists_of(corpus: str, features: str, rules: str | None = None) -> Lists:
    """With the features of the paper, the rules that methods were published with; else those given, or shipped."""
    if rules is None and features == "paper":
        return PUBLISHED[corpus]
    return Lists.same(rules or ("citations" if corpus == "synthetic" else corpus))


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


def applying(lists: Lists) -> list[str]:
    """The lines of the tables of a corpus."""
    return [name for name, entry in LINEUP.items() if getattr(lists, entry.line.rules)]


class RulesOfLine(NamedTuple):
    """The rules that a line learns with and predicts with, their names, and those its method cannot learn from."""

    learning: str
    learn: Rules
    left_out: list[str]
    predicting: str
    predict: Rules


def rules_of_line(lists: Lists, name: str) -> RulesOfLine:
    """A line learns with the list that it predicts with, or with another one in the form that its method can use."""
    method, key = LINEUP[name].method, LINEUP[name].line.rules
    listed, predicting = getattr(lists, key), getattr(lists, "ours" if key == "ours" else "predict")
    rules = Rules.from_file(listed)
    found = [(rule, method.usable(rule, rules.labels or ())) for rule in rules]
    left_out = [rule.text for rule, usable in found if usable is None]
    if listed != predicting:  # otherwise the method itself sees what it can learn from, as for users
        rules = Rules([usable for _, usable in found if usable is not None], rules.labels)
    return RulesOfLine(listed, rules, left_out, predicting, Rules.from_file(predicting))
