"""Lists of words in rules files: written down, from a file, defined once under `lists:` and named, or shipped.

lists:
  seasons: [spring, summer, autumn, winter]
  cities: {file: cities.txt}
  regions: [{list: cities}, county, borough]
rules:
  - words: {list: regions}
    are: location
  - words: {list: given-names}
    are: author

The last one comes with semistruct: a list that the file does not define may be one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files as resources
from pathlib import Path
from typing import Protocol

import yaml

from semistruct.errors import DataError, all_of, meant, quoted
from semistruct.rules.word_lists import read_words

Entry = tuple[yaml.Node, yaml.Node]
"""A value of a mapping, and its key."""

SHIPPED = Path(str(resources("semistruct.rules"))) / "shipped" / "lists"
DEEPEST = 100  # levels of lists in lists
EXPECTED = "expected words, `file:` and a path, or `list:` and a name"


def shipped_lists() -> list[str]:
    """The names of the lists that come with semistruct."""
    return sorted(path.stem for path in SHIPPED.glob("*.txt"))


class Reader(Protocol):
    """Reads the nodes of a rules file."""

    def error(self, node: yaml.Node, problem: str) -> Exception: ...

    def text(self, node: yaml.Node, where: str) -> str: ...

    def entries(self, node: yaml.Node, wanted: str) -> dict[str, Entry]: ...


class NamedLists:
    """The lists of a rules file; `read` gives the words of a file that it names.

    has_read  whether there was such a file
    """

    def __init__(self, reader: Reader, lists: dict[str, Entry], read: Callable[[str], list[str]]) -> None:
        self._reader, self._lists, self._read = reader, lists, read
        self.has_read = False
        self._found: dict[str, list[str]] = {}
        self._open: list[str] = []
        for name, (_, at) in lists.items():
            self._named(name, at)

    def words(self, node: yaml.Node, where: str) -> list[str]:
        """The words that a node stands for, each once."""
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return list(dict.fromkeys(word for item in items for word in self._item(item, where)))

    def _item(self, node: yaml.Node, where: str) -> list[str]:
        if not isinstance(node, yaml.MappingNode):
            return [self._reader.text(node, where)]
        entries = self._reader.entries(node, EXPECTED)
        if len(entries) != 1 or not {"file", "list"} & set(entries):
            raise self._reader.error(node, f"{where}: {EXPECTED}, found a mapping")
        (key, (value, _)), *_ = entries.items()
        text = self._reader.text(value, f"{where}: {key}")
        return self._named(text, value) if key == "list" else self._of_file(text, value)

    def _named(self, name: str, at: yaml.Node) -> list[str]:
        if name not in self._lists and name in shipped_lists():
            return read_words(SHIPPED / f"{name}.txt")
        if name not in self._lists:
            known = [*self._lists, *shipped_lists()]
            raise self._reader.error(at, f"there is no list {quoted(name)}; {meant(name, known)}")
        if name in self._open:
            circle = all_of([*self._open[self._open.index(name) :], name])
            raise self._reader.error(at, f"the list {quoted(name)} contains itself ({circle})")
        if len(self._open) > DEEPEST:
            raise self._reader.error(at, f"lists inside of lists are more than {DEEPEST} levels deep")
        if name not in self._found:
            self._open.append(name)
            self._found[name] = self.words(self._lists[name][0], f"lists: {name}")
            self._open.pop()
        return self._found[name]

    def _of_file(self, path: str, at: yaml.Node) -> list[str]:
        self.has_read = True
        try:
            return self._read(path)
        except DataError as err:
            raise self._reader.error(at, str(err)) from None
