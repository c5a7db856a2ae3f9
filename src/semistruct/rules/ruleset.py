"""A set of rules, and what they count, in plain Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from semistruct.base.errors import ParameterError, quoted
from semistruct.base.files import source_name
from semistruct.rules.base import Rule, unknown_label
from semistruct.rules.files import dump_rule, load_rules, parse_rules, read_rules
from semistruct.rules.lists import Reach
from semistruct.rules.tables import RuleTables, compile_rules
from semistruct.rules.values import weight_text


class Rules:
    """Rules that labellings should obey.

    rules   see `semistruct.rules.vocabulary`
    labels  all labels; default: those of the labelled data.  List labels here that are rare in the labelled data, so
            that rules can name them

    Examples
    --------
    >>> from semistruct.rules import StartsWith, Words
    >>> rules = Rules([StartsWith("author"), Words(["pp", "pages"], are="pages")])
    >>> rules = Rules.from_file("citations")
    """

    def __init__(
        self, rules: Iterable[Rule], labels: Iterable[str] | None = None, *, places: tuple[str, ...] = ()
    ) -> None:
        if isinstance(rules, str | os.PathLike) or not isinstance(rules, Iterable):
            raise ParameterError(f"Rules({quoted(rules)}): expected rules; those of a file: Rules.from_file")
        if labels is not None:
            labels = _names(labels)
        self.labels = None if labels is None else tuple(sorted(labels))
        given = tuple(rules)
        for rule in given:
            if not isinstance(rule, Rule):
                raise ParameterError(f"Rules: {quoted(rule)} is not a rule")
        expanded = [rule.expanded(self.labels) for rule in given]
        self.rules = tuple(rule for several in expanded for rule in several)
        # the file and line of each rule, if they are of a file
        self.places = tuple(place for place, several in zip(places, expanded, strict=False) for _ in several)
        if self.labels is not None:
            self.check_labels(self.labels)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, may_read: str | os.PathLike[str] | None = None) -> Rules:
        """Read a rules file, or one of those that come with semistruct by its name.

        may_read  a folder; files of words and votes that the rules name are read if they are below the folder of the
                  rules file, or below this one
        """
        rules, labels, lines = read_rules(path, may_read)
        return cls(rules, labels, places=tuple(f"{source_name(path)}:{line}" for line in lines))

    @classmethod
    def from_text(cls, text: str, source: str = "<rules>", *, may_read: str | os.PathLike[str] | None = None) -> Rules:
        """The rules that a text in YAML holds; messages call it `source`.

        may_read  the folder with the files of words and votes that the rules name; default: they may name none
        """
        if not isinstance(text, str):
            raise ParameterError(f"Rules.from_text({quoted(text)}): expected a text in YAML")
        rules, labels, lines = parse_rules(text, source, Reach.of_text(may_read))
        return cls(rules, labels, places=tuple(f"{source}:{line}" for line in lines))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rules:
        """The rules of `to_dict`; no file is read, whatever they name."""
        return cls(load_rules(data), data.get("labels"))

    def to_dict(self) -> dict[str, Any]:
        """The rules as data that JSON can hold; functions are left out."""
        dumped = [dump_rule(rule) for rule in self.rules if rule.in_files]
        return {"labels": None if self.labels is None else list(self.labels), "rules": dumped}

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __str__(self) -> str:
        return "\n".join(f"{rule.text} (weight {weight_text(rule.shown_weight)})" for rule in self.rules)

    def __repr__(self) -> str:
        return f"Rules({list(self.rules)!r}, labels={self.labels!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and (self.rules, self.labels) == (other.rules, other.labels)

    def all_labels(self, seen: Iterable[str]) -> tuple[str, ...]:
        """The labels of a model: those seen in labelled data and those named here, sorted."""
        labels = tuple(sorted({*seen, *(self.labels or ())}))
        self.check_labels(labels)
        return labels

    def softened(self, weight: float) -> Rules:
        """The same rules, in which instance rules without a weight have this weight."""
        return self.weighted([weight] * len(self))

    def weighted(self, weights: Sequence[float]) -> Rules:
        """The same rules, in which instance rules without a weight have these; those of weight 0 are left out."""
        found = [
            (rule.model_copy(update={"weight": weight}) if rule.can_be_weighed else rule, i)
            for i, (rule, weight) in enumerate(zip(self.rules, weights, strict=True))
            if weight > 0 or not rule.can_be_weighed
        ]
        places = tuple(self.places[i] for _, i in found) if self.places else ()
        return Rules([rule for rule, _ in found], self.labels, places=places)

    def check_labels(self, labels: Sequence[str]) -> None:
        """Refuse a rule that names a label which is not one of these."""
        for i, rule in enumerate(self.rules):
            for label in sorted(rule.all_mentioned() - set(labels)):
                where = f"{self.places[i]}: " if self.places else ""
                raise ParameterError(f"{where}rule {quoted(rule.text)}: {unknown_label(label, labels)}")

    def compile(self, X: Sequence[Any], labels: Sequence[str]) -> RuleTables:
        """The rules as arrays for sequences X; label y is labels[y]."""
        self.check_labels(labels)
        return compile_rules(self.rules, X, labels)


def _names(labels: Any) -> set[str]:
    """The labels as a set."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ParameterError(f"labels={quoted(labels)}: expected a list of labels")
    listed = list(labels)
    for label in listed:
        if not isinstance(label, str) or not label:
            raise ParameterError(f"labels: {quoted(label)} is not a label")
    return set(listed)
