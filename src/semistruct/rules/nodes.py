"""The nodes of a rules file in YAML, each with its line.

Only the structure of YAML is used, values are texts; anchors, aliases and tags are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from semistruct.base.errors import quoted, shortened

Entry = tuple[yaml.Node, yaml.Node]
"""A value of a mapping, and its key."""

DEEPEST = 8  # levels of nesting; rules need five
STRANGE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
QUOTE = "quote a word that begins with &, * or !"


class Mistake(Exception):
    """What is wrong with a file, and in which line."""

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem

    @classmethod
    def at(cls, node: Any, problem: str) -> Mistake:
        return cls(node.start_mark.line + 1, problem)


def parse(content: str) -> yaml.Node | None:
    """The node of the only document, None if there is none."""
    if odd := STRANGE.search(content):
        line = content.count("\n", 0, odd.start()) + 1
        raise Mistake(line, f"not YAML: the character {quoted(odd[0])} is not allowed")
    events = yaml.parse(content, yaml.CSafeLoader)
    try:
        next(events)  # the stream starts
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        root = _node(events, next(events), DEEPEST)
        next(events)  # the document ends
        if not isinstance(event := next(events), yaml.StreamEndEvent):
            raise Mistake.at(event, "a rules file is one document")
        return root
    except yaml.MarkedYAMLError as err:
        said = ", ".join(part for part in (err.context, err.problem) if part)
        hint = f"; {QUOTE}" if "alias" in said or "anchor" in said else ""
        mark, last = err.problem_mark or err.context_mark, len(content.splitlines())
        raise Mistake(min(mark.line + 1, last) if mark else None, f"not YAML: {said}{hint}") from None


def _node(events: Iterator[Any], event: Any, levels: int) -> yaml.Node:
    """The node that begins with `event`, which may have as many levels."""
    if event.anchor is not None:  # an alias names one, too
        raise Mistake.at(event, f"anchors and aliases are not allowed; {QUOTE}")
    if event.tag is not None:
        raise Mistake.at(event, f"the tag {shortened(event.tag)} is not allowed; {QUOTE}")
    if levels == 0:
        raise Mistake.at(event, f"nested more than {DEEPEST} levels deep")
    if isinstance(event, yaml.ScalarEvent):
        return yaml.ScalarNode("", event.value, event.start_mark, event.end_mark)
    items = []
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        items.append(_node(events, inner, levels - 1))
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode("", items, event.start_mark, inner.end_mark)
    pairs = list(zip(items[::2], items[1::2], strict=True))
    return yaml.MappingNode("", pairs, event.start_mark, inner.end_mark)


def text(node: yaml.Node, where: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        found = "nothing" if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
        raise Mistake.at(node, f"{where}: expected a text, found {found}")
    return str(node.value)


def items(node: yaml.Node, wanted: str) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        raise Mistake.at(node, wanted)
    return list(node.value)


def entries(node: yaml.Node, wanted: str) -> dict[str, Entry]:
    """The values of a mapping, each with the node of its key."""
    if not isinstance(node, yaml.MappingNode):
        raise Mistake.at(node, wanted)
    found: dict[str, Entry] = {}
    for key, value in node.value:
        name = text(key, "before a colon")
        if name in found:
            first = found[name][1].start_mark.line + 1
            raise Mistake.at(key, f"{quoted(name)} is given twice, first in line {first}")
        found[name] = value, key
    return found


def place(rule: yaml.Node, entry: Mapping[str, Entry], path: Sequence[int | str]) -> yaml.Node:
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
