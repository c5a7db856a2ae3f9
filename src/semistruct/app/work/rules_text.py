"""The text of the rules: read, switched, added to and renamed line by line, so that what people wrote stays as it is.

A rule that is switched off is a comment that begins with `#~`: other programs do not see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from semistruct.app.work.limits import LONGEST_RULES
from semistruct.base.errors import DataError, ParameterError, SemistructError
from semistruct.data.labels import OUTSIDE
from semistruct.rules import Rule, Rules
from semistruct.rules.files import parse_rules
from semistruct.rules.lists import Reach
from semistruct.rules.vocabulary import VOCABULARY

NAME = "rules.yaml"
EMPTY = "rules: []\n"
OFF = "#~"
SWITCHED = re.compile(rf"^(\s*){OFF} ?", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A rule and the lines, from 1, that it stands on; `alone` if no other rule is on its first line."""

    rule: Rule
    first: int
    last: int
    on: bool
    alone: bool


@dataclass(frozen=True)
class Rulebook:
    """The rules of a text: all, and those that are switched on."""

    lines: tuple[Line, ...]
    labels: tuple[str, ...] | None

    def active(self, fields: Iterable[str]) -> Rules:
        """The rules that are switched on, among these labels and those that the rules list."""
        rules = [line.rule for line in self.lines if line.on]
        return Rules(rules, {*fields, *(self.labels or ())} or None)

    def line_at(self, first: int) -> Line:
        """The rule that begins in a line."""
        for line in self.lines:
            if line.first == first:
                return line
        raise ParameterError(f"no rule begins in line {first}")

    def strangers(self, fields: Iterable[str]) -> list[str]:
        """Labels that the rules name and that are no fields."""
        named = {label for line in self.lines if line.on for label in line.rule.all_mentioned()}
        return sorted((named | set(self.labels or ())) - {*fields, OUTSIDE})


def read_text(text: str, folder: Path) -> Rulebook:
    """The rules that a text holds; a DataError with the line if it does not hold rules."""
    if len(text) > LONGEST_RULES:
        raise DataError.at(NAME, None, "too long for rules")
    whole = _all_on(text)
    reach = Reach(folder, (folder,))
    parse_rules(text, NAME, reach)  # as the command line would
    listed = parse_rules(whole, NAME, reach)
    lines = text.split("\n")
    starts = list(listed.lines)
    out = []
    for i, (rule, first) in enumerate(zip(listed.rules, starts, strict=True)):
        last = _last_line(lines, first, starts[i + 1] - 1 if i + 1 < len(starts) else len(lines))
        out.append(Line(rule, first, last, not SWITCHED.match(lines[first - 1]), starts.count(first) == 1))
    return Rulebook(tuple(out), None if listed.labels is None else tuple(listed.labels))


def _last_line(lines: list[str], first: int, limit: int) -> int:
    """The last line of a rule: those after it that are indented more than its dash."""
    dash = len(_plain(lines[first - 1])) - len(_plain(lines[first - 1]).lstrip())
    last = first
    for number in range(first + 1, limit + 1):
        line = _plain(lines[number - 1])
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip()) <= dash:
            break
        last = number
    return last


def _plain(line: str) -> str:
    return SWITCHED.sub(r"\1", line)


def problem_of(err: SemistructError) -> tuple[int | None, str]:
    """An error in the text as a line and what is wrong there."""
    if place := re.match(rf"{re.escape(NAME)}:(\d+): ", str(err)):
        return int(place[1]), str(err)[place.end() :]
    line = re.search(r" in line (\d+)", str(err))
    return int(line[1]) if line else None, str(err).removeprefix(f"{NAME}: ")


def switched(text: str, line: Line, on: bool) -> str:
    """The text with a rule switched on or off."""
    if not line.alone:
        raise ParameterError("this rule shares its line with others; write each on a line of its own")
    lines = text.split("\n")
    for k in range(line.first - 1, line.last):
        if on:
            lines[k] = _plain(lines[k])
        elif lines[k].strip() and not SWITCHED.match(lines[k]):
            lines[k] = _commented(lines[k])
    return _with_brackets("\n".join(lines))


def _commented(line: str) -> str:
    content = line.lstrip()
    return f"{line[: len(line) - len(content)]}{OFF} {content}"


def _all_on(text: str) -> str:
    """The text with all rules switched on, line for line."""
    return _with_brackets(SWITCHED.sub(r"\1", text))


def _with_brackets(text: str) -> str:
    """`rules:` without a rule that is switched on needs an empty list behind it, and no longer when it has one."""
    empty, filled = re.compile(r"^rules:[ \t]*$", re.MULTILINE), re.compile(r"^rules: \[\][ \t]*$", re.MULTILINE)
    has_rules = re.search(r"^\s*- ", text[text.find("rules:") :], re.MULTILINE) is not None
    return filled.sub("rules:", text, 1) if has_rules else empty.sub("rules: []", text, 1)


def added(text: str, entry: dict[str, Any], folder: Path, comment: str = "") -> str:
    """The text with one more rule at its end."""
    if not entry:
        raise ParameterError("the rule is empty; expected an entry such as {present: title}")
    text = text if text.strip() else EMPTY
    read_text(text, folder)
    node = yaml.compose(_all_on(text), yaml.SafeLoader)
    listed = next((value for key, value in node.value if key.value == "rules"), None) if node is not None else None
    if listed is None or not isinstance(listed, yaml.SequenceNode):
        raise ParameterError("the text has no list of rules to add to; write `rules:` first")
    if listed.value and listed.flow_style:
        raise ParameterError("the rules are written in brackets; write each on a line of its own to add to them")
    indent = listed.value[0].start_mark.column - 2 if listed.value else 2
    lines = text.rstrip("\n").split("\n")
    at = _end_of_list(lines, listed)
    new = [f"{' ' * indent}# {comment}"] if comment else []
    new += [" " * indent + line for line in written(entry)]
    return _with_brackets("\n".join([*lines[:at], *new, *lines[at:]]) + "\n")


def _end_of_list(lines: list[str], listed: yaml.SequenceNode) -> int:
    """The number of the line after which a further rule goes."""
    if not listed.value:
        return listed.start_mark.line + 1
    return _last_line(lines, listed.value[-1].start_mark.line + 1, len(lines))


def written(entry: dict[str, Any]) -> list[str]:
    """A rule as lines of YAML."""
    parts = [f"{key}: {_flow(value)}" for key, value in entry.items()]
    return [f"- {parts[0]}", *(f"  {part}" for part in parts[1:])]


def _flow(value: Any) -> str:
    value = value[0] if isinstance(value, list) and len(value) == 1 and value != ["all"] else value
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf"), sort_keys=False)
    return text.removesuffix("...\n").strip()


def renamed(text: str, old: str, new: str, folder: Path) -> tuple[str, int]:
    """The text with another name for a field, and how often it was named; lists of words are left alone."""
    try:
        read_text(text, folder)
    except SemistructError:
        return text, 0  # nobody knows what a broken text names
    off = [bool(SWITCHED.match(line)) for line in text.split("\n")]
    whole = _all_on(text)
    places = sorted(_named(yaml.compose(whole, yaml.SafeLoader), old), reverse=True)
    for start, end in places:
        whole = whole[:start] + _flow(new) + whole[end:]
    lines = [_commented(line) if was else line for line, was in zip(whole.split("\n"), off, strict=True)]
    return _with_brackets("\n".join(lines)), len(places)


def _named(node: yaml.Node, name: str) -> Iterator[tuple[int, int]]:
    """The places of texts that are the name of a field."""
    if isinstance(node, yaml.ScalarNode):
        if node.value == name:
            yield node.start_mark.index, node.end_mark.index
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _named(item, name)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name and key.value not in VOCABULARY:
                yield key.start_mark.index, key.end_mark.index
            if key.value not in ("words", "no_words", "lists", "pattern", "file", "name"):
                yield from _named(value, name)
