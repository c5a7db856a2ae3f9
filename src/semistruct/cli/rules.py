"""`semistruct rules`: what rules say, and whether labelled data agrees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from semistruct.corpus import Corpus
from semistruct.errors import DataError, ParameterError
from semistruct.rules import Rules
from semistruct.rules.base import weight_text
from semistruct.rules.checking import check_rules
from semistruct.rules.contradictions import contradictions


def describe(path: str) -> dict[str, Any]:
    """The rules of a file in words and as data."""
    rules = Rules.from_file(path)
    # Without a list of labels there may be others, represented by the empty name.
    labels = rules.labels or ("", *sorted(set().union(*(rule.all_mentioned() for rule in rules))))
    plain = rules.to_dict()
    described = [
        {"text": rule.text, "level": rule.level, "weight": rule.shown_weight, "rule": entry}
        for rule, entry in zip(rules, plain["rules"], strict=True)
    ]
    clashes = [asdict(found) for found in contradictions(rules, [], labels)]
    return {"file": path, "labels": plain["labels"], "rules": described, "contradictions": clashes}


def description_report(result: dict[str, Any]) -> Iterator[Any]:
    if result["labels"]:
        yield f"labels: {', '.join(result['labels'])}"
    table = Table(*_columns("", "rule", "level", "weight"), box=None, pad_edge=False)
    for number, rule in enumerate(result["rules"], 1):
        table.add_row(str(number), Text(rule["text"]), rule["level"], weight_text(rule["weight"]))
    yield table
    yield from _contradictions(result)


def check(path: str, corpus: Corpus, n_examples: int) -> dict[str, Any]:
    """How often each rule applies to labelled data, how often it holds, and where it does not."""
    rules = Rules.from_file(path)
    try:
        found = check_rules(rules, corpus.tokens, corpus.labels, n_examples=n_examples).to_dict()
    except ParameterError as err:
        raise DataError.at(path, None, str(err)) from None
    except DataError as err:
        raise DataError.at(corpus.source, None, str(err)) from None
    for rule in found["rules"]:
        for example in rule["examples"]:
            example["where"] = corpus.where(example["sequence"])
    return {"file": path, "data": corpus.source, **found}


def check_report(result: dict[str, Any]) -> Iterator[Any]:
    table = Table(*_columns("", "", "rule", "applies", "holds", "share"), box=None, pad_edge=False)
    for number, rule in enumerate(result["rules"], 1):
        share = "-" if rule["share"] is None else f"{rule['share']:.1%}"
        cells = [str(rule["applies"]), str(rule["obeys"]), share]
        table.add_row("!" if rule["flag"] else "", str(number), Text(rule["text"]), *cells, style=_style(rule))
    yield table
    if any(rule["flag"] for rule in result["rules"]):
        yield Text("! the labelled data often breaks this rule", style="bold red")
    for number, rule in enumerate(result["rules"], 1):
        several = len(rule["measures"]) > 1
        if not (several or rule["flag"] or rule["examples"]):
            continue
        yield Text(f"\n{number} {rule['text']}", style=_style(rule) or "bold")
        for measure in rule["measures"]:
            what = measure["text"] if several else "measured"
            yield Text(f"  {what}: {measure['value']:.3g}, wanted {_range(measure)}")
        for example in rule["examples"]:
            yield _example(example)
    yield from _contradictions(result)
    yield f"\n{result['obeying']} of {result['sequences']} sequences obey all instance rules"
    if result["skipped"]:
        yield f"sequences skipped because of unknown labels: {result['skipped']}"


def _columns(*names: str) -> list[Column]:
    numbers = ("applies", "holds", "share", "weight")
    return [Column(name, justify="right" if name in numbers else "left", no_wrap=name != "rule") for name in names]


def _style(rule: dict[str, Any]) -> str:
    return "bold red" if rule["flag"] else ""


def _range(measure: dict[str, Any]) -> str:
    low, high = measure["low"], measure["high"]
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _example(example: dict[str, Any]) -> Text:
    """The tokens with their labels; » and « mark the one where the rule is broken."""
    token = "" if example["position"] is None else f", token {example['position'] + 1}"
    line = Text(f"  {example['where']}{token}: ", style="dim")
    for t, (token, label) in enumerate(zip(example["tokens"], example["labels"], strict=True), example["start"]):
        here = t == example["position"]
        line.append(f"»{token}/{label}«" if here else f"{token}/{label}", style="bold red" if here else "not dim")
        line.append(" ")
    line.rstrip()
    return line


def _contradictions(result: dict[str, Any]) -> Iterator[Text]:
    for found in result["contradictions"]:
        numbers = f"{found['first'] + 1} and {found['second'] + 1}"
        yield Text(f"\nrules {numbers} contradict each other: {found['why']}", style="bold red")
