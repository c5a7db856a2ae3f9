"""Rules files, and rules as plain data inside model files.

A rules file is YAML with a list of rules and, optionally, all labels, and lists of words (see `named_lists`):

    labels: [author, title, date]
    rules:
      - starts_with: author
      - words: [pp, pages]
        are: pages
        weight: hard

Only the structure of YAML is used: the entry decides what its value means, so that `no` and `1984` are words where
words are expected.  Anchors, aliases and tags are refused.  An error message has the line, and the lines of
further rules that are wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from semistruct.errors import DataError, ParameterError, meant, quoted, shortened
from semistruct.files import source_name
from semistruct.rules.base import EntryError, Rule, unknown_label
from semistruct.rules.named_lists import NamedLists
from semistruct.rules.reach import Reach
from semistruct.rules.vocabulary import VOCABULARY
from semistruct.rules.word_lists import read_words

LONGEST = 1_000_000  # bytes of a rules file
DEEPEST = 8  # levels of nesting; rules need five
TOLD = 9  # errors of which a message tells the line

STRANGE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

NOTHING = Reach()
PARTS = ["labels", "lists", "rules"]
WORD_ENTRIES = ("words", "no_words")
QUOTE = "quote a word that begins with &, * or !"
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
        with open(source, "rb") as file:
            content = file.read(LONGEST + 1)
    except FileNotFoundError:
        raise DataError(f"there is no rules file {source}; semistruct comes with {', '.join(shipped())}") from None
    except (OSError, ValueError) as err:
        reason = getattr(err, "strerror", None) or str(err)
        raise DataError.at(source, None, f"cannot read: {reason.lower()}") from None
    if len(content) > LONGEST:
        raise DataError.at(source, None, f"more than {LONGEST} bytes, too long for a rules file")
    try:
        return parse_rules(content.decode("utf-8-sig"), source, Reach.of_file(source, may_read))
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise DataError.at(source, line, "not UTF-8 text, which a rules file must be") from None


def parse_rules(text: str, source: str, reach: Reach = NOTHING) -> Listed:
    """The rules that a text in YAML holds, which have no files read but those in `reach`; messages call it `source`."""
    if odd := STRANGE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        raise DataError.at(source, line, f"not YAML: the character {quoted(odd[0])} is not allowed")
    try:
        root = _root(yaml.parse(text, yaml.CSafeLoader))
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        last = len(text.splitlines())
        raise DataError.at(source, min(mark.line + 1, last) if mark else None, _complaint(err)) from None
    try:
        return _Reader(reach).listed(root)
    except _Mistake as err:
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


def _complaint(err: yaml.MarkedYAMLError) -> str:
    if isinstance(err, _Refused):
        return str(err.problem)
    said = ", ".join(part for part in (err.context, err.problem) if part)
    hint = f"; {QUOTE}" if "alias" in said or "anchor" in said else ""
    return f"not YAML: {said}{hint}"


class _Refused(yaml.MarkedYAMLError):
    """YAML that a rules file must not use."""


def _root(events: Iterator[Any]) -> yaml.Node | None:
    """The node of the only document, None if there is none."""
    next(events)  # the stream starts
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    root = _node(events, next(events), DEEPEST)
    next(events)  # the document ends
    if not isinstance(event := next(events), yaml.StreamEndEvent):
        raise _Refused(problem="a rules file is one document", problem_mark=event.start_mark)
    return root


def _node(events: Iterator[Any], event: Any, levels: int) -> yaml.Node:
    """The node that begins with `event`, which may have as many levels."""
    problem = None
    if event.anchor is not None:  # an alias names one, too
        problem = f"anchors and aliases are not allowed; {QUOTE}"
    elif event.tag is not None:
        problem = f"the tag {shortened(event.tag)} is not allowed; {QUOTE}"
    elif levels == 0:
        problem = f"nested more than {DEEPEST} levels deep"
    if problem:
        raise _Refused(problem=problem, problem_mark=event.start_mark)
    if isinstance(event, yaml.ScalarEvent):
        return yaml.ScalarNode("", event.value, event.start_mark, event.end_mark)
    items = []
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        items.append(_node(events, inner, levels - 1))
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode("", items, event.start_mark, inner.end_mark)
    pairs = list(zip(items[::2], items[1::2], strict=True))
    return yaml.MappingNode("", pairs, event.start_mark, inner.end_mark)


class _Mistake(Exception):
    """What is wrong with a file, and in which line."""

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


class _Reader:
    """Builds rules from the nodes of a file."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach

    def error(self, node: yaml.Node, problem: str) -> _Mistake:
        return _Mistake(node.start_mark.line + 1, problem)

    def listed(self, root: yaml.Node | None) -> Listed:
        if root is None:
            raise _Mistake(None, "the file is empty, expected `rules:` and a list")
        parts = self.entries(root, "expected `rules:` and a list")
        for key, (_, at) in parts.items():
            if key not in PARTS:
                raise self.error(at, f"there is no part {quoted(key)}; {meant(key, PARTS)}")
        if "rules" not in parts:
            raise self.error(root, "expected `rules:` and a list")
        labels = None
        if "labels" in parts:
            labels = [
                self.text(node, "labels")
                for node in self.items(parts["labels"][0], "labels: expected a list of labels")
            ]
            if not labels:
                raise self.error(parts["labels"][1], "labels: expected a list of labels, found an empty one")
        lists = self.entries(parts["lists"][0], "lists: expected names and lists") if "lists" in parts else {}
        self.lists = NamedLists(self, lists, lambda name: read_words(self.reach.file(name)))
        self.told = NamedLists(self, lists, lambda name: [f"the words of {shortened(name)}"])
        nodes = self.items(parts["rules"][0], "rules: expected a list of rules")
        return Listed(self.rules(nodes, labels), labels, tuple(node.start_mark.line + 1 for node in nodes))

    def rules(self, nodes: list[yaml.Node], labels: list[str] | None) -> list[Rule]:
        """All rules, or an error for the first that is wrong and the lines of the others."""
        found, wrong = [], []
        for node in nodes:
            try:
                found.append(self.rule(node, labels))
            except _Mistake as err:
                wrong.append(err)
            if len(wrong) > TOLD:
                break
        if len(wrong) > 1:
            lines = ", ".join(str(err.line) for err in wrong[1:TOLD]) + ", ..." * (len(wrong) > TOLD)
            raise _Mistake(wrong[0].line, f"{wrong[0].problem} (further errors in line {lines})")
        if wrong:
            raise wrong[0]
        return found

    def rule(self, node: yaml.Node, labels: list[str] | None) -> Rule:
        entry = self.entries(node, "a rule is written as `name: value`, such as `at_most_once: all`")
        try:
            name = rule_name(entry)
            rule = self.made(name, entry, self.lists)
            if rule.name is None and self.lists.has_read:  # messages name files of words, and do not quote from them
                text = self.made(name, entry, self.told).text
                rule = rule if text == rule.text else rule.model_copy(update={"name": text})
        except EntryError as err:
            raise self.error(_place(node, entry, err.path), str(err)) from None
        except ParameterError as err:
            raise self.error(node, str(err)) from None
        for label in sorted(rule.all_mentioned() - set(labels or rule.all_mentioned())):
            raise self.error(node, f"{name}: {unknown_label(label, labels or ())}")
        return rule

    def made(self, name: str, entry: Mapping[str, tuple[yaml.Node, yaml.Node]], lists: NamedLists) -> Rule:
        return VOCABULARY[name](**{key: self.value(value, name, key, lists) for key, (value, _) in entry.items()})

    def value(self, node: yaml.Node, name: str, key: str, lists: NamedLists) -> Any:
        """The value of an entry of a rule."""
        if name == key == "votes" and isinstance(node, yaml.MappingNode):
            inside = self.entries(node, "")
            found = {k: self.text(value, f"votes: {k}") for k, (value, _) in inside.items()}
            return {k: self.path(value, inside["file"][0]) if k == "file" else value for k, value in found.items()}
        if key in WORD_ENTRIES:
            return lists.words(node, name if name == key else f"{name}: {key}")
        if isinstance(node, yaml.MappingNode):
            inside = self.entries(node, "")
            return {k: self.value(value, name, k if key == "if" else key, lists) for k, (value, _) in inside.items()}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, name, key, lists) for item in node.value]
        if VOCABULARY[name].is_number(key):
            return _number(node.value)
        return self.text(node, name if name == key else f"{name}: {key}")

    def path(self, name: str, node: yaml.Node) -> str:
        try:
            return str(self.reach.file(name))
        except DataError as err:
            raise self.error(node, f"votes: {err}") from None

    def text(self, node: yaml.Node, where: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            found = "nothing" if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
            raise self.error(node, f"{where}: expected a text, found {found}")
        return str(node.value)

    def items(self, node: yaml.Node, wanted: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, wanted)
        return list(node.value)

    def entries(self, node: yaml.Node, wanted: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The values of a mapping, each with the node of its key."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, wanted)
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            name = self.text(key, "before a colon")
            if name in found:
                raise self.error(
                    key, f"{quoted(name)} is given twice, first in line {found[name][1].start_mark.line + 1}"
                )
            found[name] = value, key
        return found


def _place(rule: yaml.Node, entry: Mapping[str, tuple[yaml.Node, yaml.Node]], path: Sequence[int | str]) -> yaml.Node:
    """The node that a path leads to, as far as it can be followed in a rule with these entries."""
    if not path or path[0] not in entry:
        return rule
    inside, place = entry[str(path[0])]
    for part in path[1:]:
        if isinstance(inside, yaml.SequenceNode) and isinstance(part, int) and part < len(inside.value):
            place = inside = inside.value[part]
        elif isinstance(inside, yaml.MappingNode):
            place, inside = next(((k, v) for k, v in inside.value if k.value == part), (place, inside))
    return place


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
