"""The public corpora that semistruct knows by name: where they are, how to get them, and how to convert them.

Files come from public servers once, are checked, and kept in a cache; `corpora.yaml` lists them.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from semistruct.base.errors import DataError, ParameterError, meant, quoted
from semistruct.base.files import make_folder, read_lines, replacing
from semistruct.data.corpus import Corpus, Example, Labels, Token
from semistruct.data.datasets.grammar import texts
from semistruct.data.formats import columns, write

PLACE = "https://raw.githubusercontent.com"
TIMEOUT = 30.0  # seconds without an answer
TERMS = "other people's data, not part of semistruct: check the terms at its origin before you pass it on"
PARTS = ("train", "dev", "test", "pool")
Parts = dict[str, Corpus]

# Title pages
HEADER_LABELS = (
    *("title", "author", "affiliation", "address", "email", "phone"),
    *("web", "date", "pubnum", "keyword", "degree", "note"),
)
BORDER = re.compile(r"</?NEW_HEADER>")
TAG = re.compile(rf"<(/?)({'|'.join(HEADER_LABELS)}|abstract|intro|page)>")  # the last three are left out
PIECE = re.compile(r"\+L\+|\+PAGE\+|\w+(?:[-'/]\w+)*|\S")
NEWLINE = "*NEWLINE*"
SHORTEST = 10  # a page with fewer tokens is a fragment
SIZES = (100, 100, 100)


class Remote(NamedTuple):
    """A file at a fixed path of a public server, and the SHA-256 of its content."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Known:
    """A corpus: `files` are its raw files by their role, `convert` turns them into the parts."""

    what: str
    sizes: str
    origin: str
    terms: str = TERMS
    files: Mapping[str, Remote] = field(default_factory=dict)
    convert: Callable[[Mapping[str, Path]], Parts] | None = None
    missing: str = ""  # why it cannot be fetched

    def fetched(self, name: str) -> bool:
        """Whether all files are in the cache."""
        folder = cache_folder() / name
        return bool(self.files) and all((folder / remote.name).is_file() for remote in self.files.values())


def get(name: str) -> Parts:
    """The parts of a corpus (train, dev, test, pool), fetched if it is not in the cache."""
    if name not in CORPORA:
        raise ParameterError(f"there is no corpus {quoted(name)}; {meant(name, CORPORA)}")
    known = CORPORA[name]
    if known.convert is None:
        raise DataError(f"{name}: {known.missing}")
    return known.convert({role: cached(remote, cache_folder() / name) for role, remote in known.files.items()})


def cache_folder() -> Path:
    """Where fetched files are kept: $SEMISTRUCT_CACHE, or `semistruct` in the cache folder of the user."""
    own = os.environ.get("SEMISTRUCT_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semistruct"


def cached(remote: Remote, folder: Path) -> Path:
    """The file in `folder`, fetched first if it is not there, from $SEMISTRUCT_MIRROR or the public server.

    Its content is always checked.
    """
    target = folder / remote.name
    if target.is_file():
        place, content, then = str(target), target.read_bytes(), "delete the file to fetch it again"
    else:
        make_folder(folder)
        place = f"{(os.environ.get('SEMISTRUCT_MIRROR') or PLACE).rstrip('/')}/{remote.path}"
        content, then = _fetched(place, target), "nothing was kept"
    found = hashlib.sha256(content).hexdigest()
    if found != remote.sha256:
        raise DataError(f"{place}: its SHA-256 is {found}, expected {remote.sha256}; {then}")
    if not target.is_file():
        with replacing(target) as file:
            file.write(content)
    return target


def _fetched(url: str, target: Path) -> bytes:
    """What is at the address; a transfer that is interrupted is tried once more."""
    by_hand, why = f"a copy of the file put at {target} also works", ""
    for _ in range(2):
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return answer.read()
        except urllib.error.HTTPError as err:
            err.close()
            raise DataError(f"{url}: the server answers {err.code} {err.reason}; {by_hand}") from None
        except (urllib.error.URLError, ValueError) as err:
            cause = err.reason if isinstance(err, urllib.error.URLError) else err
            raise DataError(f"{url}: cannot be reached ({_reason(cause)}); {by_hand}") from None
        except (OSError, http.client.HTTPException) as err:
            why = _reason(err)
    raise DataError(f"{url}: the transfer was interrupted ({why}); {by_hand}")


def _reason(err: object) -> str:
    text = (err.strerror if isinstance(err, OSError) else None) or str(err) or type(err).__name__
    return text.lower()


def citations(raw: Mapping[str, Path]) -> Parts:
    """The references, one file per part; a sequence of the pool that is also in the test part is dropped.

    A line there is a token, its label and features, separated by TABs; in the pool every label is a dummy.
    """
    parts = {part: Corpus(list(_rows(raw[part], labelled=part != "pool")), str(raw[part])) for part in PARTS}
    held = {tuple(e.tokens) for e in parts["test"]}
    pool = parts["pool"]
    parts["pool"] = Corpus([e for e in pool if tuple(e.tokens) not in held], pool.source)
    return parts


def _rows(path: Path, labelled: bool) -> Iterator[Example]:
    for first, rows in columns.blocks(_lines(path), columns.by_tab):
        for number, row in enumerate(rows, first):
            if len(row) < 2 or not row[0].strip() or not row[1].strip():
                raise DataError.at(path, number, "expected a token, a TAB and a label")
        tokens: list[Token] = [row[0].strip() for row in rows]
        yield Example(tokens, [row[1].strip() for row in rows] if labelled else None, line=first)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a published file, which is in one of two encodings without saying which."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return read_lines(path, "latin-1")
    return read_lines(path, "utf-8")


def headers(raw: Mapping[str, Path]) -> Parts:
    """The title pages in the order of the file: 100 to train, 100 dev, 100 test, the rest without labels.

    Abstracts and introductions are left out, and so are fragments and repeated pages.
    """
    path = raw["pages"]
    seen: set[tuple[Token, ...]] = set()
    pages = []
    for example in _pages("".join(_lines(path)), path):
        if len(example) >= SHORTEST and tuple(example.tokens) not in seen:
            seen.add(tuple(example.tokens))
            pages.append(example)
    if len(pages) <= sum(SIZES):
        raise DataError.at(path, None, f"{len(pages)} title pages found, expected more than {sum(SIZES)}")
    left = iter(pages)
    labelled = [Corpus(list(islice(left, size)), str(path)) for size in SIZES]
    pool = Corpus([Example(e.tokens) for e in left], str(path))
    return dict(zip(PARTS, [*labelled, pool], strict=True))


def _pages(text: str, path: Path) -> Iterator[Example]:
    """One example per page; pages are enclosed in marks, separated by blank lines, or one per line."""
    if BORDER.search(text):
        pages = BORDER.split(text)
    else:
        pages = re.split(r"\n\s*\n", text) if re.search(r"\n\s*\n", text.strip()) else text.split("\n")
    for page in pages:
        tokens, labels = _page(page)
        if tokens:
            yield Example(tokens, labels)


def _page(text: str) -> tuple[list[Token], Labels]:
    """The tokens inside the tags of fields; `+L+` is the end of a line, also directly after a field."""
    tokens: list[Token] = []
    labels: Labels = []
    label, inside, at = "", False, 0
    for tag in [*TAG.finditer(text), None]:
        end = len(text) if tag is None else tag.start()
        for piece in PIECE.findall(text, at, end) if label in HEADER_LABELS else ():
            newline = piece == "+L+"
            if piece == "+PAGE+" or not (inside or newline) or (newline and tokens[-1:] in ([], [NEWLINE])):
                continue
            tokens.append(NEWLINE if newline else piece)
            labels.append(label)
        if tag is not None:
            label, inside, at = tag[2], not tag[1], tag.end()
    return tokens, labels


def save(parts: Parts, folder: Path) -> None:
    """One file per part: token and label in columns, or tokens alone in `unlabeled.txt`."""
    make_folder(folder)
    for part, corpus in parts.items():
        if part != "pool":
            write(corpus, folder / f"{part}.tsv", "tsv")
            continue
        with replacing(folder / "unlabeled.txt", "utf-8") as out:
            out.writelines("".join(f"{token}\n" for token in e.tokens) + "\n" for e in corpus)


CONVERTERS = {"citations": citations, "headers": headers}


def _known(name: str, entry: dict[str, Any]) -> Known:
    files = {role: Remote(**remote) for role, remote in entry.get("files", {}).items()}
    return Known(**{**entry, "files": files}, convert=CONVERTERS.get(name))


CORPORA = {name: _known(name, entry) for name, entry in texts("corpora").items()}
