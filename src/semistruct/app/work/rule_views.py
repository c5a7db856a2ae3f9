"""What the page shows of the rules: what is wrong with the text, and for each rule how it fares."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Response
from pydantic import BaseModel, JsonValue

from semistruct.app.work.bench import Bench
from semistruct.app.work.limits import CONTEXT, EXAMPLES
from semistruct.app.work.messages import Labels
from semistruct.app.work.rules_text import Line, Rulebook, added, problem_of, read_text, switched
from semistruct.app.work.tasks import Material
from semistruct.base.errors import SemistructError
from semistruct.data.corpus import word_of
from semistruct.rules import Rules
from semistruct.rules.base import Rule
from semistruct.rules.checking import RuleCheck, check_rules
from semistruct.rules.contradictions import Contradiction, contradictions
from semistruct.rules.evidence import CaseCounter
from semistruct.rules.files import shipped
from semistruct.rules.vocabulary import VOCABULARY

BodyText = Annotated[str, Body()]
Before = Annotated[str | None, Body(description="the text that the change was made from")]


class RuleProblem(BaseModel):
    """What is wrong with the text, and in which line."""

    line: int | None
    problem: str


class RuleRow(BaseModel):
    """A rule in words, where it stands, and what is known about it.

    applies, holds  its cases in what is labelled, and those that obey it; bad if too many do not
    trust           of the newest model
    changes         sequences, of `sample`, that it gives other labels if it is the only one
    gain            right tokens and sequences more because of it, on what the model had not seen
    """

    first: int
    last: int
    on: bool
    can_switch: bool
    text: str
    key: str
    level: str
    weight: float | str | None
    applies: int
    holds: int
    bad: bool
    trust: dict[str, Any] | None
    changes: int | None
    sample: int | None
    gain: tuple[int, int] | None


class RulesState(BaseModel):
    """The rules of a text; `strangers` are labels that they name and that are no fields."""

    text: str
    version: int
    problems: list[RuleProblem] = []
    rules: list[RuleRow] = []
    contradictions: list[Contradiction] = []
    strangers: list[str] = []
    checked: int = 0
    problem: str | None = None


class RulePlace(BaseModel):
    """A part of a labelled sequence, from the token `start`; `at` is the token that breaks a rule."""

    number: int
    at: int | None
    start: int
    words: list[str]
    labels: Labels


class ChangedPlace(BaseModel):
    """A run of tokens of a sequence of the pool that a rule gives other labels."""

    number: int
    words: list[str]
    before: list[str]
    after: list[str]


class RuleCases(BaseModel):
    """Where a rule holds and where it does not, in labelled sequences; and what it changes in the pool."""

    good: list[RulePlace]
    bad: list[RulePlace]
    pool: list[ChangedPlace]


class Suggestions(BaseModel):
    """Rules that labels and pool speak for, as `semistruct suggest --json` gives them."""

    suggestions: list[dict[str, Any]]
    model: str | None
    problem: str | None


class RuleViews:
    """The rules of a workbench; each public method is the answer of a route."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    # ---- reading

    def current(self) -> RulesState:
        """The rules, what is wrong with their text, and how each fares."""
        self.bench.poll_rules()
        return self.state()

    def check(self, text: Annotated[str, Body(embed=True)]) -> RulesState:
        """The same for a text that is not kept."""
        return self.state(text)

    def state(self, text: str | None = None) -> RulesState:
        """The rules of a text, by default those that are kept: problems with their lines, and a row for each rule."""
        bench = self.bench
        out = RulesState(text=bench.rules_text if text is None else text, version=bench.rules_version)
        try:
            book = read_text(out.text, bench.folder.path)
            out.strangers = book.strangers(bench.settings.names)
            labels, material = self._labels(book), bench.material(0, whole=True)
            out.rules = [self._row(line, labels, material) for line in book.lines]
            rules = Rules([line.rule for line in book.lines if line.on], labels)
            out.checked, out.contradictions = len(material.X), contradictions(rules, [], labels)
        except SemistructError as err:
            line, problem = problem_of(err)
            out.problems = [RuleProblem(line=line, problem=problem)]
        return out

    def _labels(self, book: Rulebook) -> list[str]:
        named = {label for line in book.lines for label in line.rule.all_mentioned()}
        return sorted({*self.bench.settings.names, *(book.labels or ()), *named, *self.bench.field_counts()})

    def _row(self, line: Line, labels: list[str], material: Material) -> RuleRow:
        bench, rule, findings = self.bench, line.rule, self.bench.trainer.insights.findings
        checks: list[RuleCheck] = []
        if material.X:
            checks = check_rules(Rules([rule], labels), material.X, material.y).rules
        texts = {one.text for one in rule.expanded(bench.settings.names)} | {rule.text}
        trust = [] if bench.model is None else [row for row in bench.model.record.trust if row["rule"] in texts]
        sample, effects = findings.effects.material, findings.effects.answer
        changed = [effects[text].changed for text in texts if text in effects]
        gains = {} if findings.look.answer is None else findings.look.answer.gains
        gained = [gains[text] for text in texts if text in gains]
        return RuleRow(
            first=line.first, last=line.last, on=line.on, can_switch=line.alone, text=rule.text, key=rule.key,
            level=rule.level, weight=rule.shown_weight, applies=sum(check.applies for check in checks),
            holds=sum(check.obeys for check in checks),
            bad=any(check.verdict in ("false", "broken", "far") for check in checks), trust=trust[0] if trust else None,
            changes=sum(changed) if changed else None,
            sample=len(sample.pool.X) if changed and sample is not None else None,
            gain=(sum(tokens for tokens, _ in gained), sum(whole for _, whole in gained)) if gained else None,
        )  # fmt: skip

    def cases(self, line: int) -> RuleCases:
        """Where the rule of a line holds and where it does not, in labelled sequences; what it changes in the pool."""
        bench = self.bench
        with bench.lock:
            book = read_text(bench.rules_text, bench.folder.path)
            rule, labels, material = book.line_at(line).rule, self._labels(book), bench.material(0, whole=True)
            counter = CaseCounter(material.X, material.y)
            good, bad = list[RulePlace](), list[RulePlace]()
            for part in rule.expanded(labels):
                try:
                    counted = counter.of(part, labels)
                except SemistructError:  # a rule about the pool as a whole has no cases
                    continue
                for k, case in counted.items():
                    bad += [_place(material, k, at) for at in case.broken]
                    good += [_place(material, k, None)] if case.n > len(case.broken) else []
            return RuleCases(good=good[:EXAMPLES], bad=bad[:EXAMPLES], pool=self._changed_places(rule)[:EXAMPLES])

    def _changed_places(self, rule: Rule) -> list[ChangedPlace]:
        finding = self.bench.trainer.insights.findings.effects
        texts = {part.text for part in rule.expanded(self.bench.settings.names)}
        changes = [change for text in texts if text in finding.answer for change in finding.answer[text].examples]
        numbers = [] if finding.material is None else finding.material.pool.numbers
        return [
            ChangedPlace(
                number=numbers[change.sequence], words=[word_of(token) for token in change.tokens],
                before=change.before, after=change.after,
            )
            for change in changes
        ]  # fmt: skip

    def words(self) -> dict[str, dict[str, list[str]] | list[str]]:
        """What can stand in a rules file: rules, and the entries of each; and the rules that come with semistruct."""
        shared = sorted(Rule.model_fields)
        entries = {
            key: [name.rstrip("_") for name in [*(n for n in kind.model_fields if n not in shared), *shared]]
            for key, kind in sorted(VOCABULARY.items())
        }
        return {"rules": entries, "shipped": shipped()}

    def suggestions(self) -> Suggestions:
        """Rules that labels and pool speak for."""
        found = self.bench.trainer.insights.findings.suggest
        return Suggestions(suggestions=found.answer, model=found.model, problem=found.problem)

    # ---- changing

    def save(self, text: BodyText, response: Response, before: Before = None) -> RulesState:
        """Keep the text of the rules; a model is learned with them if they have no error.

        Answers 409, with the rules that are kept, if they are no longer those that the text was made from.
        """
        with self.bench.lock:
            if self._changed_since(before) and text != self.bench.rules_text:
                return self._conflict(response)
            self.bench.set_rules(text)
        return self.state()

    def switch(
        self, line: Annotated[int, Body()], on: Annotated[bool, Body()], response: Response, before: Before = None
    ) -> RulesState:
        """Switch the rule that begins in a line on or off; 409 as for the text."""
        bench = self.bench
        with bench.lock:
            if self._changed_since(before):
                return self._conflict(response)
            written = read_text(bench.rules_text, bench.folder.path).line_at(line)
            words = f"rule switched {'on' if on else 'off'}: {written.rule.text}"
            bench.set_rules(switched(bench.rules_text, written, on), words)
        return self.state()

    def add(self, rule: Annotated[dict[str, JsonValue], Body()], comment: BodyText = "") -> RulesState:
        """Add a rule, as it would stand in a rules file, at the end."""
        bench = self.bench
        with bench.lock:
            bench.look_at_rules()
            text = added(bench.rules_text, rule, bench.folder.path, " ".join(comment.split()))
            read_text(text, bench.folder.path)
            bench.set_rules(text, "rule added")
        return self.state()

    def _changed_since(self, before: str | None) -> bool:
        self.bench.look_at_rules()
        return before is not None and before != self.bench.rules_text

    def _conflict(self, response: Response) -> RulesState:
        response.status_code = 409
        problem = "The rules were changed elsewhere, in another window or in their file."
        return self.state().model_copy(update={"problem": problem})


def _place(material: Material, k: int, at: int | None) -> RulePlace:
    start, end = max(0, (at or 0) - CONTEXT), (at or 0) + CONTEXT + 1
    words = [word_of(token) for token in material.X[k][start:end]]
    return RulePlace(number=material.numbers[k], at=at, start=start, words=words, labels=material.y[k][start:end])
