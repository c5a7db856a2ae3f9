"""`semistruct rules`: what rules say, and whether labelled data agrees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from semistruct.cli.options import Reading, load_trusting
from semistruct.corpus import Corpus
from semistruct.errors import DataError, ParameterError, shortened
from semistruct.features.words import word_of
from semistruct.fitting.effects import effects_of
from semistruct.rules import Rules
from semistruct.rules.base import weight_text
from semistruct.rules.checking import check_rules
from semistruct.rules.contradictions import contradictions

VERDICTS = {
    "loose": "so many cases do not obey that training gives it a small weight",
    "false": "so few cases obey that training leaves it out, unless it has a weight",
    "broken": "it is hard, but the labelled data does not always obey",
    "far": "what it says of the whole corpus is far from what the labelled data shows",
}


def describe(path: str, rules: Rules) -> dict[str, Any]:
    """The rules of a file in words and as data."""
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


def check(path: str, rules: Rules, corpus: Corpus, n_examples: int) -> dict[str, Any]:
    """How often each rule applies to labelled data, how often it holds, and where it does not."""
    try:
        found = check_rules(rules, corpus.tokens, corpus.labels, n_examples=n_examples).to_dict()
    except ParameterError as err:
        has_place = str(err).startswith(f"{path}:")  # that of the rule
        raise DataError(str(err) if has_place else f"{path}: {err}") from None
    except DataError as err:
        raise DataError.at(corpus.source, None, str(err)) from None
    for rule in found["rules"]:
        for example in rule["examples"]:
            example["where"] = corpus.where(example["sequence"])
    return {"file": path, "data": corpus.source, **found}


def check_report(result: dict[str, Any]) -> Iterator[Any]:
    table = Table(*_columns("", "rule", "holds", "share", "verdict"), box=None, pad_edge=False)
    for number, rule in enumerate(result["rules"], 1):
        share = "-" if rule["share"] is None else f"{rule['share']:.1%}"
        cells = [f"{rule['obeys']} of {rule['applies']}", share, rule["verdict"]]
        table.add_row(str(number), Text(rule["text"]), *cells, style=_style(rule))
    yield table
    for verdict in dict.fromkeys(rule["verdict"] for rule in result["rules"]):
        if verdict in VERDICTS:
            yield Text(f"{verdict}: {VERDICTS[verdict]}", style=_style({"verdict": verdict}))
    for number, rule in enumerate(result["rules"], 1):
        several = len(rule["measures"]) > 1
        if not (several or rule["verdict"] == "far" or rule["examples"]):
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


def effects(
    path: str, rules: Rules, model: Path, trust: list[str] | None, data: Path, reading: Reading
) -> dict[str, Any]:
    """What each rule does to the labels that a model gives to the sequences of a file."""
    estimator = load_trusting(model, trust)
    corpus = reading.cutting(estimator.tokens_).corpus(data)
    rules.check_labels(estimator.model_.labels)
    gold = corpus.labels if corpus.label_set else None
    n_labelled = estimator.card_.get("data", {}).get("sequences", 1)
    found = effects_of(estimator.model_, rules, corpus.tokens, gold, n_labelled, estimator.n_jobs)
    rows = [{**asdict(one), "hurts": one.hurts} for one in found]
    for row in rows:
        for example in row["examples"]:
            example["where"] = corpus.where(example["sequence"])
    return {"file": path, "model": str(model), "data": corpus.source, "sequences": len(corpus), "rules": rows}


def effects_report(result: dict[str, Any]) -> Iterator[Any]:
    gold = any(row["alone"] is not None for row in result["rules"])
    gains = ("alone", "beside the others") if gold else ()
    table = Table(*_columns("", "rule", "weight", *gains, "changes"), box=None, pad_edge=False)
    for row in result["rules"]:
        cells = [_gain(row["alone"]), _gain(row["beside"])] if gold else []
        style = "bold red" if row["hurts"] else ""
        weight = weight_text(row["weight"]) if isinstance(row["weight"], str) else f"{row['weight']:.1f}"
        table.add_row("!" if row["hurts"] else "", Text(row["rule"]), weight, *cells, str(row["changed"]), style=style)
    if gold:
        yield "right tokens, and whole sequences, that each rule gains:"
    yield table
    yield f"changes: how many of the {result['sequences']} sequences get other labels if it is the only rule"
    if any(row["hurts"] for row in result["rules"]):
        yield Text("! it hurts: the labels are better without it", style="bold red")
    for row in result["rules"]:
        if row["examples"]:
            yield Text(f"\n{row['rule']}", style="bold")
        for example in row["examples"]:
            yield Text(
                f"  {example['where']}: {_words(example)}: {_runs(example['before'])} -> {_runs(example['after'])}"
            )


def _gain(gain: dict[str, int]) -> str:
    return f"{gain['tokens']:+d}, {gain['sequences']:+d}"


def _words(example: dict[str, Any]) -> str:
    return shortened(" ".join(map(word_of, example["tokens"])))


def _runs(labels: list[str]) -> str:
    """The labels, each run of equal ones once."""
    return " ".join(label for label, _ in groupby(labels))


def _columns(*names: str) -> list[Column]:
    numbers = ("holds", "share", "weight", "alone", "beside the others", "changes")
    return [Column(name, justify="right" if name in numbers else "left", no_wrap=name != "rule") for name in names]


def _style(rule: dict[str, Any]) -> str:
    return "bold red" if rule["verdict"] in ("false", "broken", "far") else ""


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
