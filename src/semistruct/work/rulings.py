"""What the page shows of the rules: what is wrong with the text, and for each rule how it fares."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from semistruct.corpus import complete
from semistruct.errors import ParameterError, SemistructError
from semistruct.features.words import word_of
from semistruct.rules import Rules
from semistruct.rules.base import Rule
from semistruct.rules.cases import CaseCounter, Cases
from semistruct.rules.checking import RuleCheck, check_rules
from semistruct.rules.contradictions import contradictions
from semistruct.rules.vocabulary import VOCABULARY
from semistruct.work.bench import Bench
from semistruct.work.rulebook import Line, Rulebook, problem_of, read_text

EXAMPLES = 12  # places that are shown of each kind
AROUND = 5


def state(bench: Bench, text: str | None = None) -> dict[str, Any]:
    """The rules of a text, by default those that are kept: problems with their lines, and a row for each rule."""
    text = bench.rules_text if text is None else text
    out: dict[str, Any] = {
        "text": text, "version": bench.rules_version, "problems": [], "rules": [], "contradictions": [], "strangers": []
    }  # fmt: skip
    try:
        book = read_text(text, bench.folder.path)
        out["strangers"] = book.strangers(bench.settings.names)
        out |= _rows(bench, book)
    except SemistructError as err:
        out["problems"] = [problem_of(err)]
    return out


def _rows(bench: Bench, book: Rulebook) -> dict[str, Any]:
    X, y, _ = bench.labelled()
    whole = complete(y)
    X, y = [X[i] for i in whole], [y[i] for i in whole]
    rows, labels = [], _labels(bench, book)
    for line in book.lines:
        checks = check_rules(Rules([line.rule], labels), X, y).rules if X else []
        rows.append({**_row(bench, line), **_counts(checks)})
    on = Rules([line.rule for line in book.lines if line.on], labels)
    clashes = [asdict(one) for one in contradictions(on, [], labels)]
    return {"rules": rows, "contradictions": clashes, "checked": len(X)}


def _labels(bench: Bench, book: Rulebook) -> list[str]:
    named = {label for line in book.lines for label in line.rule.all_mentioned()}
    return sorted({*bench.settings.names, *(book.labels or ()), *named, *bench.field_counts()})


def _counts(checks: list[RuleCheck]) -> dict[str, Any]:
    return {
        "applies": sum(one.applies for one in checks), "holds": sum(one.obeys for one in checks),
        "bad": any(one.verdict in ("false", "broken", "far") for one in checks),
    }  # fmt: skip


def _row(bench: Bench, line: Line) -> dict[str, Any]:
    """A rule in words, and what is known about it: trust of the model, changes in the pool, gain."""
    rule, trainer = line.rule, bench.trainer
    texts = {one.text for one in rule.expanded(bench.settings.names)} | {rule.text}
    trust = [] if bench.model is None else [row for row in bench.model.about["trust"] if row["rule"] in texts]
    effects = trainer.insights.found.get("effects", {}).get("answer") or {}
    gains = (trainer.insights.found.get("look", {}).get("answer") or {}).get("gains") or {}
    changed = [effects[text] for text in texts if text in effects]
    gained = [gains[text] for text in texts if text in gains]
    return {
        "first": line.first, "last": line.last, "on": line.on, "can_switch": line.alone, "text": rule.text,
        "key": rule.key, "level": rule.level, "weight": rule.shown_weight,
        "trust": trust[0] if trust else None,
        "changes": sum(one["changed"] for one in changed) if changed else None,
        "sample": changed[0]["of"] if changed else None,
        "gain": [sum(one[k] for one in gained) for k in (0, 1)] if gained else None,
    }  # fmt: skip


def line_at(book: Rulebook, first: int) -> Line:
    found = next((line for line in book.lines if line.first == first), None)
    if found is None:
        raise ParameterError(f"no rule begins in line {first}")
    return found


def cases(bench: Bench, first: int) -> dict[str, Any]:
    """Where a rule holds and where it does not, in labelled sequences; and what it changes in the pool."""
    with bench.lock:
        book = read_text(bench.rules_text, bench.folder.path)
        line, labels = line_at(book, first), _labels(bench, book)
        X, y, decisions = bench.labelled()
        whole = complete(y)
        counter = CaseCounter([X[i] for i in whole], [[str(label) for label in y[i]] for i in whole])
        good, bad = [], []
        for rule in line.rule.expanded(labels):
            for k, case in _cases(counter, rule, labels).items():
                one = decisions[whole[k]]
                for place in case.broken:
                    bad.append(_place(X[whole[k]], y[whole[k]], one.number, place))
                if case.n > len(case.broken):
                    good.append(_place(X[whole[k]], y[whole[k]], one.number, None))
        effects = bench.trainer.insights.found.get("effects", {}).get("answer") or {}
        texts = [rule.text for rule in line.rule.expanded(bench.settings.names)]
        pool = [place for text in texts for place in effects.get(text, {}).get("places", ())]
        return {"good": good[:EXAMPLES], "bad": bad[:EXAMPLES], "pool": pool[:EXAMPLES]}


def _cases(counter: CaseCounter, rule: Rule, labels: list[str]) -> dict[int, Cases]:
    try:
        return counter.of(rule, labels)
    except SemistructError:
        return {}


def _place(tokens: list[Any], labels: list[Any], number: int, place: int | None) -> dict[str, Any]:
    start = 0 if place is None else max(0, place - AROUND)
    end = (place or 0) + AROUND + 1
    return {
        "number": number, "at": place, "words": [word_of(token) for token in tokens[start:end]],
        "labels": labels[start:end], "start": start,
    }  # fmt: skip


def words_for_completion() -> dict[str, list[str]]:
    """The names that can stand in a rules file: rules, and the entries of each."""
    shared = sorted(Rule.model_fields)
    return {
        key: [name.rstrip("_") for name in [*(n for n in kind.model_fields if n not in shared), *shared]]
        for key, kind in sorted(VOCABULARY.items())
    }
