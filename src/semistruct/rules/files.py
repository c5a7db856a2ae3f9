"""Rules files, and rules as plain data inside model files.

A rules file is YAML with a list of rules and, optionally, all labels, and lists of words (see `lists`):

    labels: [author, title, date]
    rules:
      - starts_with: author
      - words: [pp, pages]
        are: pages
        weight: hard

The entry decides what its value means, so that `no` and `1984` are words where words are expected.  An error message
has the line, and the lines of further rules that are wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from semistruct.base.errors import DataError, ParameterError, meant, quoted, shortened
from semistruct.base.files import source_name
from semistruct.rules import nodes
from semistruct.rules.base import EntryError, Rule, unknown_label
from semistruct.rules.lists import NamedLists, Reach, read_text, read_words
from semistruct.rules.nodes import Mistake
from semistruct.rules.vocabulary import VOCABULARY

LONGEST = 1_000_000  # bytes of a rules file
TOLD = 9  # errors of which a message tells the line
NOTHING = Reach()
PARTS = ["labels", "lists", "rules"]
WORD_ENTRIES = ("words", "no_words")
SHIPPED = resources("semistruct.rules") / "shipped"


class Listed(NamedTuple):
    """The content of a file: its rules, all labels if it lists them, and the line of each rule."""

    rules: list[Rule]
    labels: list[str] | None
    lines: tuple[int, ...]


def shipped() -> list[str]:
    """The names of the rules files that come with semistruct."""
    return sorted(file.name.removesuffix(".yaml") for file in SHIPPED.iterdir() if file.name.endswith(".yaml"))


def read_rules(path: str | os.PathLike[str], may_read: str | os.PathLike[str] | None = None) -> Listed:
    """Read a rules file, or a shipped one by its name; a file of that name in the working directory goes first.

    The files that it names are read if they are below its folder, or below `may_read`.
    """
    source = source_name(path)
    if source in shipped() and (not Path(source).exists() or Path(source).is_dir()):
        return parse_rules((SHIPPED / f"{source}.yaml").read_text(encoding="utf-8"), source)
    try:
        text = read_text(source, LONGEST, "rules file")
    except FileNotFoundError:
        raise DataError(f"there is no rules file {source}; semistruct comes with {', '.join(shipped())}") from None
    return parse_rules(text, source, Reach.of_file(source, may_read))


def parse_rules(text: str, source: str, reach: Reach = NOTHING) -> Listed:
    """The rules that a text in YAML holds, which have no files read but those in `reach`; messages call it `source`."""
    try:
        return _Reader(reach).listed(nodes.parse(text))
    except Mistake as err:
        raise DataError.at(source, err.line, err.problem) from None


def dump_rule(rule: Rule) -> dict[str, Any]:
    """A rule as data that JSON can hold, its kind first, without entries that have their default.

    A weight that was given is kept, as no weight means something else.
    """
    whole = rule.model_dump(mode="json", by_alias=True)
    short = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    weight = {} if rule.weight_is_open else {"weight": whole["weight"]}
    return {rule.key: whole[rule.key], **short, **weight}


def load_rules(data: Mapping[str, Any]) -> list[Rule]:
    """The rules of a mapping whose entry `rules` lists what `dump_rule` gives; no file is read."""
    if not isinstance(data, Mapping) or not isinstance(data.get("rules"), list):
        raise DataError("expected a mapping with a list of `rules`")
    rules = []
    for i, entry in enumerate(data["rules"], 1):
        if not isinstance(entry, Mapping):
            raise DataError(f"rule {i}: {quoted(entry)} is not a mapping")
        rules.append(VOCABULARY[rule_name(entry)].of_data(entry))
    return rules


def rule_name(entry: Iterable[str]) -> str:
    """The one key of an entry that names a rule."""
    keys = list(entry)
    found = [key for key in keys if key in VOCABULARY]
    if len(found) == 1:
        return found[0]
    if found:
        raise ParameterError(f"{found[0]} and {found[1]} are two rules; begin each with its own dash")
    other = {field for rule in VOCABULARY.values() for field in rule.model_fields}
    strange = next((key for key in keys if key not in other), keys[0] if keys else "")
    raise ParameterError(f"there is no rule {quoted(strange)}; {meant(strange, VOCABULARY)}")


class _Reader:
    """Builds rules from the nodes of a file."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach

    def listed(self, root: yaml.Node | None) -> Listed:
        if root is None:
            raise Mistake(None, "the file is empty, expected `rules:` and a list")
        parts = nodes.entries(root, "expected `rules:` and a list")
        for key, (_, at) in parts.items():
            if key not in PARTS:
                raise Mistake.at(at, f"there is no part {quoted(key)}; {meant(key, PARTS)}")
        if "rules" not in parts:
            raise Mistake.at(root, "expected `rules:` and a list")
        labels = None
        if "labels" in parts:
            listed = nodes.items(parts["labels"][0], "labels: expected a list of labels")
            labels = [nodes.text(node, "labels") for node in listed]
            if not labels:
                raise Mistake.at(parts["labels"][1], "labels: expected a list of labels, found an empty one")
        lists = nodes.entries(parts["lists"][0], "lists: expected names and lists") if "lists" in parts else {}
        self.lists = NamedLists(lists, lambda name: read_words(self.reach.file(name)))
        self.told = NamedLists(lists, lambda name: [f"the words of {shortened(name)}"])
        rules = nodes.items(parts["rules"][0], "rules: expected a list of rules")
        return Listed(self.rules(rules, labels), labels, tuple(node.start_mark.line + 1 for node in rules))

    def rules(self, listed: list[yaml.Node], labels: list[str] | None) -> list[Rule]:
        """All rules, or an error for the first that is wrong and the lines of the others."""
        found, wrong = [], []
        for node in listed:
            try:
                found.append(self.rule(node, labels))
            except Mistake as err:
                wrong.append(err)
            if len(wrong) > TOLD:
                break
        if len(wrong) > 1:
            lines = ", ".join(str(err.line) for err in wrong[1:TOLD]) + ", ..." * (len(wrong) > TOLD)
            raise Mistake(wrong[0].line, f"{wrong[0].problem} (further errors in line {lines})")
        if wrong:
            raise wrong[0]
        return found

    def rule(self, node: yaml.Node, labels: list[str] | None) -> Rule:
        entry = nodes.entries(node, "a rule is written as `name: value`, such as `at_most_once: all`")
        try:
            name = rule_name(entry)
            rule = self.made(name, entry, self.lists)
            if rule.name is None and self.lists.has_read:  # messages name files of words, and do not quote from them
                text = self.made(name, entry, self.told).text
                rule = rule if text == rule.text else rule.model_copy(update={"name": text})
        except EntryError as err:
            raise Mistake.at(nodes.place(node, entry, err.path), str(err)) from None
        except ParameterError as err:
            raise Mistake.at(node, str(err)) from None
        for label in sorted(rule.all_mentioned() - set(labels or rule.all_mentioned())):
            raise Mistake.at(node, f"{name}: {unknown_label(label, labels or ())}")
        return rule

    def made(self, name: str, entry: Mapping[str, nodes.Entry], lists: NamedLists) -> Rule:
        return VOCABULARY[name](**{key: self.value(value, name, key, lists) for key, (value, _) in entry.items()})

    def value(self, node: yaml.Node, name: str, key: str, lists: NamedLists) -> Any:
        """The value of an entry of a rule."""
        if name == key == "votes" and isinstance(node, yaml.MappingNode):
            inside = nodes.entries(node, "")
            found = {k: nodes.text(value, f"votes: {k}") for k, (value, _) in inside.items()}
            return {k: self.path(value, inside["file"][0]) if k == "file" else value for k, value in found.items()}
        if key in WORD_ENTRIES:
            return lists.words(node, name if name == key else f"{name}: {key}")
        if isinstance(node, yaml.MappingNode):
            inside = nodes.entries(node, "")
            return {k: self.value(value, name, k if key == "if" else key, lists) for k, (value, _) in inside.items()}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, name, key, lists) for item in node.value]
        if VOCABULARY[name].is_number(key):
            return _number(node.value)
        return nodes.text(node, name if name == key else f"{name}: {key}")

    def path(self, name: str, node: yaml.Node) -> str:
        try:
            return str(self.reach.file(name))
        except DataError as err:
            raise Mistake.at(node, f"votes: {err}") from None


def _number(text: str) -> float | str | None:
    """A number or None; anything else is left for the rule to refuse."""
    if text in ("", "~", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
