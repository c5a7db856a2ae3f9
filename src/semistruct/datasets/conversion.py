"""From the files as their authors published them to the parts of a corpus: train, dev, test, pool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from semistruct.corpus import Corpus, Example, Labels, Token
from semistruct.errors import DataError
from semistruct.files import make_folder, read_lines, replacing
from semistruct.formats import columns, write

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
