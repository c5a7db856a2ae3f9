"""Models, rules and data given in the place of one another are refused with a sentence that says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from semistruct.errors import DataError, ModelError
from semistruct.formats import detect

SAMPLE = 1 << 16  # bytes of a file that are looked at
ZIP = b"PK\3\4"  # the first bytes of a model file
RULES = re.compile(r"^rules:[ \t]*(#.*)?\n(\s*(#.*)?\n)*\s*- ", re.MULTILINE)
UNCERTAIN = ("text", "conll", "transposed", "csv", "csv-texts")  # formats that other files may look like
IS = {"model": "this is a model", "rules": "these are rules", "data": "this is data"}
ORDER = "the model comes first, then the data"


def kind_of(path: str | Path) -> str | None:
    """What the content of a file shows it to be, "model", "rules" or "data"; None if that cannot be told."""
    start = _start(path)
    if start is None:
        return None
    if start.startswith(ZIP):
        return "model"
    text = start.decode("utf-8", "replace").replace("\r\n", "\n")
    if RULES.search(text):
        return "rules"
    return None if detect(text) in UNCERTAIN else "data"


def _start(path: str | Path) -> bytes | None:
    """The first bytes of a file; None if it cannot be read, or not twice."""
    if path == "-" or not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as file:
            return file.read(SAMPLE)
    except OSError:
        return None


def check_data(path: str | Path, hint: str = "") -> None:
    """Refuse a model or rules in the place of data."""
    kind = kind_of(path)
    if kind == "model":
        raise DataError.at(path, None, f"{IS[kind]}, not data{hint}")
    if kind == "rules":
        raise DataError.at(path, None, f"{IS[kind]}, not data; rules are given with --rules (-r)")


def check_rules(path: str | Path) -> None:
    """Refuse a model or data in the place of rules."""
    kind = kind_of(path)
    if kind in ("model", "data"):
        raise DataError.at(path, None, f"{IS[kind]}, not rules")


def check_order(model: Path, data: Iterable[str]) -> None:
    """Refuse data or rules in the place of the model, and a model or rules in that of the data."""
    for path in data:
        check_data(path, hint=f"; {ORDER}")
    start = _start(model)
    if start is not None and not start.startswith(ZIP):
        found = "these are rules, not a model" if kind_of(model) == "rules" else "not a semistruct model"
        raise ModelError(f"{model}: {found}; {ORDER}")
