"""How a workbench begins: with a demo, or with rules that somebody has written."""

from __future__ import annotations

from pathlib import Path

from semistruct.datasets import make_citations
from semistruct.errors import DataError
from semistruct.files import reason
from semistruct.rules.files import SHIPPED, read_rules, shipped
from semistruct.work.bench import Bench
from semistruct.work.importing import Found
from semistruct.work.rulebook import EMPTY

FIELDS = ["author", "title", "booktitle", "journal", "date", "volume", "pages", "publisher", "location"]


def start_demo(bench: Bench, n: int = 400) -> bool:
    """Synthetic references without labels, and their fields; nothing, and False, if there is a pool."""
    if len(bench.pool):
        return False
    made = make_citations(n, seed=20)
    examples = [example for example in made.examples if example.text is not None]
    bench.add_pool(Found([str(example.text) for example in examples], examples), with_labels=False)
    names = [name for name in FIELDS if name in made.label_set]
    bench.set_fields([*names, *(name for name in made.label_set if name not in names and name != "O")])
    return True


def take_rules(bench: Bench, name: str) -> bool:
    """Begin with the rules of a file, whose labels become fields; nothing, and False, if the folder has rules."""
    if bench.rules_text != EMPTY:
        return False
    listed = read_rules(name)
    try:
        ours = name in shipped() and not Path(name).is_file()
        text = (SHIPPED / f"{name}.yaml").read_text("utf-8") if ours else Path(name).read_text("utf-8-sig")
    except OSError as err:
        raise DataError.at(name, None, f"cannot read: {reason(err)}") from None
    named = listed.labels or sorted({label for rule in listed.rules for label in rule.all_mentioned()})
    fields = bench.settings.names
    bench.set_fields([*fields, *(label for label in named if label not in [*fields, "O"])])
    bench.set_rules(text, f"rules taken from {name}")
    return True
