"""Lists of words in files, and which files rules may have read.

In a rules file, a list is written down, read from a file, defined once under `lists:` and named, or shipped:

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

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

import yaml

from semistruct.base.errors import DataError, all_of, meant, quoted, shortened
from semistruct.base.files import source_name
from semistruct.rules import nodes

SHIPPED = Path(str(resources("semistruct.rules"))) / "shipped" / "lists"
LONGEST = 50_000_000  # bytes of a file with words
LARGEST = 1_000_000_000  # bytes of a file that rules name
DEEPEST = 100  # levels of lists in lists
EXPECTED = "expected words, `file:` and a path, or `list:` and a name"


def read_text(source: str, longest: int, what: str) -> str:
    """The text of a file of at most so many bytes; `what` it is, for messages."""
    try:
        with open(source, "rb") as file:
            content = file.read(longest + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as err:
        reason = getattr(err, "strerror", None) or str(err)
        raise DataError.at(source, None, f"cannot read: {reason.lower()}") from None
    if len(content) > longest:
        raise DataError.at(source, None, f"more than {longest} bytes, too long for a {what}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise DataError.at(source, line, f"not UTF-8 text, which a {what} must be") from None


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """The words and phrases of a file, one per line; empty lines and those that begin with # are skipped."""
    source = source_name(path)
    try:
        lines = read_text(source, LONGEST, "list of words").splitlines()
    except FileNotFoundError:
        raise DataError(f"there is no file {source}") from None
    words = [word for line in lines if (word := line.strip()) and not word.startswith("#")]
    if not words:
        raise DataError.at(source, None, "no words, expected one word or phrase per line")
    return list(dict.fromkeys(words))


def shipped_lists() -> list[str]:
    """The names of the lists that come with semistruct."""
    return sorted(path.stem for path in SHIPPED.glob("*.txt"))


class NamedLists:
    """The lists of a rules file; `read` gives the words of a file that it names.

    has_read  whether there was such a file
    """

    def __init__(self, lists: dict[str, nodes.Entry], read: Callable[[str], list[str]]) -> None:
        self._lists, self._read = lists, read
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
            return [nodes.text(node, where)]
        entries = nodes.entries(node, EXPECTED)
        if len(entries) != 1 or not {"file", "list"} & set(entries):
            raise nodes.Mistake.at(node, f"{where}: {EXPECTED}, found a mapping")
        (key, (value, _)), *_ = entries.items()
        text = nodes.text(value, f"{where}: {key}")
        return self._named(text, value) if key == "list" else self._of_file(text, value)

    def _named(self, name: str, at: yaml.Node) -> list[str]:
        if name not in self._lists and name in shipped_lists():
            return read_words(SHIPPED / f"{name}.txt")
        if name not in self._lists:
            known = [*self._lists, *shipped_lists()]
            raise nodes.Mistake.at(at, f"there is no list {quoted(name)}; {meant(name, known)}")
        if name in self._open:
            circle = all_of([*self._open[self._open.index(name) :], name])
            raise nodes.Mistake.at(at, f"the list {quoted(name)} contains itself ({circle})")
        if len(self._open) > DEEPEST:
            raise nodes.Mistake.at(at, f"lists inside of lists are more than {DEEPEST} levels deep")
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
            raise nodes.Mistake.at(at, str(err)) from None


@dataclass(frozen=True)
class Reach:
    """What rules may read.

    base     the folder that paths are relative to
    folders  those below which files may be read; links that lead out of them are not followed
    hint     what to do about a file elsewhere, for messages
    """

    base: Path = Path()
    folders: tuple[Path, ...] = ()
    hint: str = ""

    @classmethod
    def of_file(cls, path: str, may_read: str | os.PathLike[str] | None) -> Reach:
        """That of a rules file: its folder, and another one."""
        folder = Path(path).parent
        further = () if may_read is None else (Path(source_name(may_read)),)
        hint = "; in Python, may_read allows another folder"
        return cls(folder, (folder, *further), hint)

    @classmethod
    def of_text(cls, may_read: str | os.PathLike[str] | None) -> Reach:
        """That of a text: nothing, unless a folder is named, to which paths are relative."""
        if may_read is None:
            return cls(hint="; may_read names a folder for those of a text")
        folder = Path(source_name(may_read))
        return cls(folder, (folder,))

    def file(self, name: str) -> Path:
        """The file that rules name; a DataError if they must not read it."""
        path = self.base / name
        try:
            real = path.resolve()
            if not any(real.is_relative_to(folder.resolve()) for folder in self.folders):
                problem = f"a file that rules read must be in the folder of the rules{self.hint}"
                raise DataError(f"{shortened(name)}: {problem}")
            if not real.exists():
                raise DataError(f"there is no file {path}")
            if not real.is_file():
                raise DataError.at(path, None, "not a regular file, which rules must not read")
            if real.stat().st_size > LARGEST:
                raise DataError.at(path, None, f"more than {LARGEST} bytes, too long for a file that rules read")
        except (OSError, RuntimeError) as err:  # such as links in a circle
            raise DataError.at(path, None, f"cannot read: {getattr(err, 'strerror', None) or err}") from None
        except ValueError as err:
            if isinstance(err, DataError):
                raise
            raise DataError(f"{shortened(name)}: not the name of a file") from None
        return path
