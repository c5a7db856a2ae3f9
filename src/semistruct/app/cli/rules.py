"""`semistruct rules` and `semistruct suggest`: what rules say, whether data agrees, and which rules it suggests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from semistruct.app.advising import suggest as suggestions_for
from semistruct.app.cli.files import Reader, load_model, read_rules
from semistruct.app.cli.output import counted, status_line, table
from semistruct.base.errors import DataError, ParameterError, shortened
from semistruct.base.files import replacing
from semistruct.data.corpus import Corpus
from semistruct.features.words import word_of
from semistruct.learning.effects import Change, Effect, Right, effects_of
from semistruct.rules import Rules
from semistruct.rules.checking import CheckedRules, Counterexample, Measure, check_rules
from semistruct.rules.contradictions import Contradiction, contradictions
from semistruct.rules.suggesting import Suggestions
from semistruct.rules.values import weight_text

BAD = "bold red"
VERDICTS = {
    "loose": "so many cases do not obey that training gives it a small weight",
    "false": "so few cases obey that training leaves it out, unless it has a weight",
    "broken": "it is hard, but the labelled data does not always obey",
    "far": "what it says of the whole corpus is far from what the labelled data shows",
}

# ---- what rules say


@dataclass(frozen=True)
class Description:
    """The rules of a file in words and as data."""

    file: str
    labels: list[str] | None
    rules: list[dict[str, Any]]
    contradictions: list[Contradiction]

    def report(self) -> Iterator[Any]:
        if self.labels:
            yield f"labels: {', '.join(self.labels)}"
        out = _table("", "rule", "level", "weight")
        for number, rule in enumerate(self.rules, 1):
            out.add_row(str(number), Text(rule["text"]), rule["level"], weight_text(rule["weight"]))
        yield out
        yield from _clashes(self.contradictions)


def describe(path: str, rules: Rules) -> Description:
    # Without a list of labels there may be others, represented by the empty name.
    labels = rules.labels or ("", *sorted(set().union(*(rule.all_mentioned() for rule in rules))))
    plain = rules.to_dict()
    described = [
        {"text": rule.text, "level": rule.level, "weight": rule.shown_weight, "rule": entry}
        for rule, entry in zip(rules, plain["rules"], strict=True)
    ]
    return Description(path, plain["labels"], described, contradictions(rules, [], labels))


# ---- whether labelled data agrees


@dataclass(frozen=True)
class Check:
    """How often each rule of a file applies to labelled data, how often it holds, and where it does not."""

    file: str
    corpus: Corpus
    checked: CheckedRules

    def record(self) -> dict[str, Any]:
        plain = self.checked.to_dict()
        for rule in plain["rules"]:
            for example in rule["examples"]:
                example["where"] = self.corpus.where(example["sequence"])
        return {"file": self.file, "data": self.corpus.source, **plain}

    def report(self) -> Iterator[Any]:
        out = _table("", "rule", "holds", "share", "verdict")
        rules = self.checked.rules
        for number, rule in enumerate(rules, 1):
            share = "-" if rule.share is None else f"{rule.share:.1%}"
            cells = [f"{rule.obeys} of {rule.applies}", share, rule.verdict]
            out.add_row(str(number), Text(rule.text), *cells, style=_style(rule.verdict))
        yield out
        for verdict in dict.fromkeys(rule.verdict for rule in rules):
            if verdict in VERDICTS:
                yield Text(f"{verdict}: {VERDICTS[verdict]}", style=_style(verdict))
        for number, rule in enumerate(rules, 1):
            several = len(rule.measures) > 1
            if several or rule.verdict == "far" or rule.examples:
                yield Text(f"\n{number} {rule.text}", style=_style(rule.verdict) or "bold")
                for measure in rule.measures:
                    what = measure.text if several else "measured"
                    yield Text(f"  {what}: {measure.value:.3g}, wanted {_range(measure)}")
                yield from (_counterexample(example, self.corpus) for example in rule.examples)
        yield from _clashes(self.checked.contradictions)
        yield f"\n{self.checked.obeying} of {self.checked.sequences} sequences obey all instance rules"
        if self.checked.skipped:
            yield f"sequences skipped because of unknown labels: {self.checked.skipped}"


def check(path: str, rules: Rules, corpus: Corpus) -> Check:
    try:
        return Check(path, corpus, check_rules(rules, corpus.tokens, corpus.labels))
    except ParameterError as err:
        has_place = str(err).startswith(f"{path}:")  # that of the rule
        raise DataError(str(err) if has_place else f"{path}: {err}") from None
    except DataError as err:
        raise DataError.at(corpus.source, None, str(err)) from None


def _style(verdict: str) -> str:
    return BAD if verdict in ("false", "broken", "far") else ""


def _range(measure: Measure) -> str:
    low, high = measure.low, measure.high
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _counterexample(example: Counterexample, corpus: Corpus) -> Text:
    """The tokens with their labels; » and « mark the one where the rule is broken."""
    token = "" if example.position is None else f", token {example.position + 1}"
    line = Text(f"  {corpus.where(example.sequence)}{token}: ", style="dim")
    for t, (token, label) in enumerate(zip(example.tokens, example.labels, strict=True), example.start):
        here = t == example.position
        line.append(f"»{token}/{label}« " if here else f"{token}/{label} ", style=BAD if here else "not dim")
    line.rstrip()
    return line


def _clashes(found: list[Contradiction]) -> Iterator[Text]:
    for one in found:
        yield Text(f"\nrules {one.first + 1} and {one.second + 1} contradict each other: {one.why}", style=BAD)


# ---- what each rule does to the labels of a model


@dataclass(frozen=True)
class Effects:
    """What each rule of a file does to the labels that a model gives to the sequences of a corpus."""

    file: str
    model: str
    corpus: Corpus
    effects: list[Effect]

    def record(self) -> dict[str, Any]:
        rows = [{**asdict(effect), "hurts": effect.hurts} for effect in self.effects]
        for row in rows:
            for example in row["examples"]:
                example["where"] = self.corpus.where(example["sequence"])
        about = {"data": self.corpus.source, "sequences": len(self.corpus)}
        return {"file": self.file, "model": self.model, **about, "rules": rows}

    def report(self) -> Iterator[Any]:
        gold = any(effect.alone is not None for effect in self.effects)
        out = _table("", "rule", "weight", *(("alone", "beside the others") if gold else ()), "changes")
        for effect in self.effects:
            weight = weight_text(effect.weight) if isinstance(effect.weight, str) else f"{effect.weight:.1f}"
            gains = [_gain(effect.alone), _gain(effect.beside)] if gold else []
            mark, style = ("!", BAD) if effect.hurts else ("", "")
            out.add_row(mark, Text(effect.rule), weight, *gains, str(effect.changed), style=style)
        if gold:
            yield "right tokens, and whole sequences, that each rule gains:"
        yield out
        yield f"changes: how many of the {len(self.corpus)} sequences get other labels if it is the only rule"
        if any(effect.hurts for effect in self.effects):
            yield Text("! it hurts: the labels are better without it", style=BAD)
        for effect in self.effects:
            if effect.examples:
                yield Text(f"\n{effect.rule}", style="bold")
            yield from (_change(change, self.corpus) for change in effect.examples)


def effects(path: str, rules: Rules, model: Path, trust: list[str] | None, data: Path, reader: Reader) -> Effects:
    estimator = load_model(model, trust)
    corpus = reader.cutting(estimator.tokens_).corpus(data)
    rules.check_labels(estimator.model_.labels)
    gold = corpus.labels if corpus.label_set else None
    n_labelled = estimator.card_.get("data", {}).get("sequences", 1)
    found = effects_of(estimator.model_, rules, corpus.tokens, gold, n_labelled, estimator.n_jobs)
    return Effects(path, str(model), corpus, found)


def _gain(gain: Right | None) -> str:
    return "" if gain is None else f"{gain.tokens:+d}, {gain.sequences:+d}"


def _change(change: Change, corpus: Corpus) -> Text:
    """The tokens, and their labels before and after, each run of equal ones once."""
    before, after = (" ".join(label for label, _ in groupby(labels)) for labels in (change.before, change.after))
    words = shortened(" ".join(map(word_of, change.tokens)))
    return Text(f"  {corpus.where(change.sequence)}: {words}: {before} -> {after}")


def _table(*names: str) -> Table:
    numbers = ("holds", "share", "weight", "alone", "beside the others", "changes")
    columns = [Column(name, justify="right" if name in numbers else "left", no_wrap=name != "rule") for name in names]
    return Table(*columns, box=None, pad_edge=False)


# ---- rules that data suggests


@dataclass(frozen=True)
class Suggested:
    """Suggested rules, printed or written to a file."""

    data: str
    output: str | None
    suggestions: Suggestions

    def record(self) -> dict[str, Any]:
        return {"data": self.data, "output": self.output, **self.suggestions.to_dict()}

    def report(self) -> Iterator[Any]:
        if self.output is None:
            yield Text(self.suggestions.to_yaml().removesuffix("\n"))
            return
        if self.suggestions.pool:
            yield "the pool was labelled by a model trained on the labelled sequences"
        certain = [one for one in self.suggestions.found if one.certain]
        if certain:
            rows = []
            for one in certain:
                seen = one.evidence
                counts = (seen.holds, seen.applies, f"{seen.bound:.0%}", seen.coverage, seen.broken, f"{seen.gain:.1f}")
                rows.append((one.rule.text, *map(str, counts)))
            yield table(("rule", "holds", "of", "at least", "pool", "broken", "gain"), rows)
        doubtful = counted(len(self.suggestions.found) - len(certain), "doubtful rule")
        yield f"{counted(len(certain), 'rule')} and {doubtful}, as comments, written to {self.output}"


def suggest(
    labelled: Path, pools: list[Path], known: str | None, output: Path | None, reader: Reader, quiet: bool
) -> Suggested:
    """Suggest rules from labelled data and a pool, beside those that are known."""
    rules, corpus = read_rules(known), reader.corpus(labelled)
    reader = reader.like(corpus)
    pool = [x for path in pools for x in reader.corpus(path).tokens]
    with status_line("reading the features", quiet) as update:
        try:
            found = suggestions_for(corpus.tokens, corpus.labels, pool=pool, rules=rules, show=update)
        except DataError as err:
            raise DataError.at(corpus.source, None, str(err)) from None
    if output is not None:
        with replacing(output, "utf-8") as file:
            file.write(found.to_yaml())
    return Suggested(corpus.source, None if output is None else str(output), found)
