"""`semistruct evaluate`: how good the labels of a model are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text

from semistruct.app.cli import notices
from semistruct.app.cli.answers import Answering, answered
from semistruct.app.cli.files import Reader, check_order, load_model, own_modules, rules_to_obey
from semistruct.app.cli.options import Labelling
from semistruct.app.cli.output import table
from semistruct.app.report.evaluation import (
    Block,
    BrokenRules,
    Evaluation,
    Mistakes,
    Reliability,
    blocks,
    evaluation,
)
from semistruct.base.errors import DataError, quoted

WORDS = {"token": "tokens", "block": "fields", "sequence": "sequences"}
RIGHT_ENOUGH = (0.99, 0.98, 0.95, 0.9, 0.8, 0.0)  # shares of right answers, of which the report tells the first reached
MARGIN = (
    "margin: the score of the predicted labels minus that of the gold ones; below 0 the rules decided against the model"
)


def evaluate(
    model: Path, data: Path, labelling: Labelling, reader: Reader, *, unseen_labels: bool, n_worst: int | None
) -> Evaluation:
    """Label the data and compare."""
    rules = rules_to_obey(labelling)
    check_order(model, [str(data)])
    estimator: Any = load_model(model, labelling.trust, labelling.jobs)
    gold = reader.cutting(estimator.tokens_).corpus(data)
    if estimator.look_ is not None:
        estimator.look_.warn_of_difference(gold.source, gold.tokens)
    unseen = gold.unseen(estimator.model_.labels)
    if unseen and not unseen_labels:
        label, where = next(iter(unseen.items()))
        hint = "use --unseen-labels to count it as an error"
        raise DataError(f"{where}: the model has never seen the label {quoted(label)}; {hint}")
    notices.warn(notices.of_evaluation(estimator, gold))
    began = time.perf_counter()
    obeyed = estimator.model_.rules_to_obey(rules)
    with own_modules(labelling.trust):
        examples = ((gold.source, example) for example in gold)
        chunks = answered(Answering(estimator, obeyed), examples, labelling.jobs)
        predicted = [labels for chunk in chunks for _, (labels, _) in chunk]
    seconds = time.perf_counter() - began
    return evaluation(estimator, gold, predicted, obeyed, n_worst, model=str(model), seconds=seconds)


def report(result: Evaluation, *, list_mistakes: bool) -> Iterator[Any]:
    """The scores in words, perhaps with the worst sequences."""
    span = result.span_f1
    yield f"token accuracy     {result.token_accuracy:7.2%}   ({result.n_tokens} tokens)"
    yield f"sequence accuracy  {result.sequence_accuracy:7.2%}   ({result.n_sequences} sequences)"
    yield "span F1                  -" if span is None else f"span F1            {span:7.2%}"
    rows = [
        (label, *(f"{row[key]:.1%}" for key in ("precision", "recall", "f1")), str(row["support"]))
        for label, row in result.per_label.items()
    ]
    yield table(("label", "precision", "recall", "F1", "support"), rows)
    if result.calibration:
        yield from _calibration_report(result.calibration)
    if result.broken is not None:
        how = "under the rules" if result.rules else "without the rules"
        yield f"\nlabelled {how}; sequences that break a rule:"
        yield _broken_table(result.broken["predicted"], result.broken["gold"])
    if list_mistakes and result.mistakes is not None:
        yield from _mistakes_report(result.mistakes)


def _calibration_report(levels: dict[str, Reliability]) -> Iterator[str]:
    errors = ", ".join(f"{100 * one.error:.1f} for {WORDS[level]}" for level, one in levels.items())
    chance = ", ".join(f"{100 * one.by_chance:.1f}" for one in levels.values())
    yield f"\ncalibration error in points: {errors} (by chance alone: {chance})"
    for level in ("sequence", "block"):
        if level in levels:
            rows = levels[level].coverage
            best = next(row for least in RIGHT_ENOUGH for row in reversed(rows) if row["right"] >= least)
            yield f"the surest {best['share']:.0%} of {WORDS[level]} are {best['right']:.1%} right"


def _broken_table(predicted: BrokenRules, gold: BrokenRules) -> Any:
    rows = {"any instance rule": (predicted.any, gold.any)}
    rows |= {rule: (n, gold.rules[rule]) for rule, n in predicted.rules.items() if n or gold.rules[rule]}
    shares = [(r, f"{a} of {predicted.sequences}", f"{b} of {gold.sequences}") for r, (a, b) in rows.items()]
    return table(("rule", "predicted", "gold"), shares)


def _mistakes_report(mistakes: Mistakes) -> Iterator[Any]:
    """The worst sequences in words: a line for each run of tokens with the same labels, marked where they are wrong."""
    if not mistakes.worst:
        yield "\nno sequence has a mistake"
        return
    yield f"\nthe worst {len(mistakes.worst)} of {mistakes.sequences} sequences with mistakes"
    yield MARGIN
    for row in mistakes.worst:
        margin = "" if row.margin is None else f", margin {row.margin:.2f}"
        breaks = f"; breaks {'; '.join(row.broken)}" if row.broken else ""
        yield Text(f"\n{row.where}: {row.wrong} of {len(row.tokens)} labels wrong{margin}{breaks}", "bold")
        lines = blocks(row.tokens, row.gold, row.predicted)
        width = max(len("".join(_names(block))) for block in lines)
        yield from (_line(block, width) for block in lines)


def _names(block: Block) -> tuple[str, str]:
    """The true label, and what follows it if another was predicted."""
    gold = "?" if block.gold is None else block.gold
    return gold, "" if gold == block.found else f" -> {block.found}"


def _line(block: Block, width: int) -> Text:
    gold, found = _names(block)
    line = Text("x " if block.wrong else "  ", "red")
    line.append(gold, "green" if block.wrong else "dim").append(found, "red")
    return line.append(" " * (width - len(gold + found) + 2) + " ".join(block.tokens))
