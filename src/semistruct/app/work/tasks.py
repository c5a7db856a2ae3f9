"""What the processes of the workbench do: learn, pick, label, suggest and measure.

A task takes what it is given and `tell`, which it calls now and then with its progress.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from semistruct.app.advising import suggest as suggested
from semistruct.app.experiments.curve import LITTLE, learning_curve, sensible_sizes
from semistruct.app.picking import pick
from semistruct.app.work.labels import now
from semistruct.app.work.limits import CURVE_PARTS, FOLDS, LEAST_TO_MEASURE, PICKED
from semistruct.app.work.rules_text import read_text
from semistruct.app.work.warned import collected_warnings
from semistruct.app.work.worker import Tell
from semistruct.base.errors import SemistructError
from semistruct.base.progress import Progress
from semistruct.data.corpus import Corpus, Labels, Token
from semistruct.learning.data import label_codes
from semistruct.learning.effects import Effect, effects_of
from semistruct.learning.labeller import SequenceLabeller
from semistruct.methods import load
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.rules import Rules

Rows = list[list[Token]]
SCHEDULE = [1.0, 10.0]
"""Two steps of annealing: a model in seconds, nearly as good as that of the default schedule."""


@dataclass(frozen=True)
class Sample:
    """Sequences of the pool, with their numbers."""

    numbers: list[int]
    X: Rows


@dataclass(frozen=True)
class Material:
    """What there is to learn from: labelled sequences, some of the pool, and the rules.

    numbers  of the labelled sequences in the pool
    rules    the text of the rules, in which files are named as in `folder`
    """

    X: Rows
    y: list[Labels]
    numbers: list[int]
    pool: Sample
    rules: str
    folder: Path
    fields: list[str]

    def active_rules(self, known: list[str] | None = None) -> Rules:
        """The rules that are switched on, which declare all fields; only those about `known` labels."""
        rules = read_text(self.rules, self.folder).active(self.fields)
        if known is None:
            return rules
        return Rules([rule for rule in rules if rule.all_mentioned() <= {*known}], known)


@dataclass(frozen=True)
class Prediction:
    """Labels of a sequence by a model, how likely each is right, and the rules that they break."""

    labels: list[str]
    confidence: list[float]
    broken: list[str]


@dataclass(frozen=True, kw_only=True)
class Pick(Prediction):
    """A sequence that is worth labelling; without labels if there is no model."""

    number: int
    reason: str


# ---- learning


@dataclass(frozen=True)
class Lesson:
    """What a model is learned from, and where it goes.

    tokens      how running text was cut, None for tokens that the file gave
    C           that of an earlier model, None to choose it
    chosen_at   how many sequences were labelled when that C was chosen
    candidates  to choose from what to label next
    """

    material: Material
    candidates: Sample
    tokens: str | None
    C: float | None
    chosen_at: int
    output: Path
    jobs: int | None = None


@dataclass(frozen=True)
class ModelRecord:
    """What is known about a model; it stands in a file beside the model.

    labelled  how many sequences it learned from
    picks     what to label next
    said      warnings
    trust, path, history  of the estimator
    """

    labels: list[str]
    labelled: int
    C: float
    chosen_at: int
    time: str
    seconds: float
    picks: list[Pick]
    said: list[str]
    trust: list[dict[str, Any]]
    path: list[dict[str, Any]]
    history: list[dict[str, Any]]


@dataclass(frozen=True)
class Model:
    """A model in a file, and what is known about it."""

    path: Path
    record: ModelRecord

    @property
    def name(self) -> str:
        return self.path.stem


def learn(lesson: Lesson, tell: Tell) -> ModelRecord:
    """A model from labels, pool and rules, in a file; and what to label next."""
    began, material = time.perf_counter(), lesson.material
    with collected_warnings() as said:
        rules = material.active_rules()
        model = AnnealedSSVM(rules=rules, C=lesson.C or "auto", n_jobs=lesson.jobs, schedule=SCHEDULE, rounds=2)
        model.fit(material.X, material.y, pool=material.pool.X, watch=_watching(tell))
        model.tokens_ = lesson.tokens or model.tokens_
        tell("choosing what to label next", 1.0)
        n = len(material.X)
        model.save(lesson.output, card={"workbench": {"labelled": n}})
        load_once.cache_clear()
        picks = _picked(material, lesson.candidates, model)
    keys = ("C_u", "round", "step", "objective", "broken", "switched")
    return ModelRecord(
        labels=model.classes_, labelled=n, C=model.C_, chosen_at=n if lesson.C is None else lesson.chosen_at,
        time=now(), seconds=time.perf_counter() - began, picks=picks, said=said, trust=model.trust_, path=model.path_,
        history=[{key: row.get(key) for key in keys} for row in model.history_],
    )  # fmt: skip


def _watching(tell: Tell) -> Callable[[Progress], None]:
    """Passes on how far a fit has come."""

    def watch(progress: Progress) -> None:
        place = progress.place
        if place is None:
            tell("learning from the labels")
            return
        share = (place.stage + place.round / place.rounds) / place.stages
        tell("learning from the pool", round(share, 3))

    return watch


def pick_first(given: tuple[Material, Sample], tell: Tell) -> list[Pick]:
    """What to label first, when there is no model."""
    with collected_warnings():
        return _picked(*given, None)


def _picked(material: Material, candidates: Sample, model: AnnealedSSVM | None) -> list[Pick]:
    """Sequences to label next, with labels if there is a model."""
    if not candidates.X:
        return []
    known, rules = (None, material.active_rules()) if model is None else ((material.X, material.y), None)
    try:
        chosen = pick(candidates.X, min(PICKED, len(candidates.X)), labelled=known, model=model, rules=rules)
    except SemistructError:
        return []  # all are labelled, or copies of such
    predictions = [Prediction([], [], [])] * len(chosen)
    if model is not None:
        predictions = label_sequences(model, [candidates.X[one.number] for one in chosen])
    return [
        Pick(**vars(prediction), number=candidates.numbers[one.number], reason=one.reason)
        for one, prediction in zip(chosen, predictions, strict=True)
    ]


def warm_up(given: None, tell: Tell) -> None:
    """Have everything loaded that a first model needs: this module, and what learning imports only when it runs."""
    import scipy.optimize  # noqa: F401


# ---- labelling


def label_sequences(estimator: SequenceLabeller, X: Rows) -> list[Prediction]:
    """The labels of sequences under the rules."""
    model = estimator.model_
    with collected_warnings():
        labels = estimator.predict(X)
        confidence = estimator.confidence(X, labels)
        broken: list[list[str]] = [[] for _ in X]
        if model.rules is not None and len(model.rules):
            tables = model.rules.compile(X, model.labels)
            rows = tables.broken(label_codes(labels, [len(x) for x in X], model.labels))
            broken = [[tables.rules[r].text for r in np.flatnonzero(row)] for row in rows]
    return [
        Prediction(row, [round(float(value), 2) for value in values], rules)
        for row, values, rules in zip(labels, confidence, broken, strict=True)
    ]


@lru_cache(2)
def load_once(path: Path) -> SequenceLabeller:
    return load(path)


def label(given: tuple[Path, Rows], tell: Tell) -> list[Prediction]:
    """Labels by the model of a file."""
    path, X = given
    return label_sequences(load_once(path), X)


# ---- findings about a model


@dataclass(frozen=True)
class Study:
    """A model to find out about, and the material of the present."""

    material: Material
    model: Model


@dataclass(frozen=True)
class Look:
    """What models say of labelled sequences that they have not learned from, and what each rule gains there.

    labels, confidence  of each sequence by the model that has not seen it; the least confidence of its labels
    gains               {rule: (tokens, sequences) that are right because of it}
    """

    labels: list[list[str]]
    confidence: list[float]
    gains: dict[str, tuple[int, int]]


def suggest(study: Study, tell: Tell) -> list[dict[str, Any]]:
    """Rules that the labels and the pool speak for, as `Suggestion.to_dict` gives them."""
    material, model = study.material, load_once(study.model.path)
    with collected_warnings():
        found = suggested(
            material.X, material.y, pool=material.pool.X, model=model, rules=material.active_rules(), show=tell
        )  # fmt: skip
    return [suggestion.to_dict() for suggestion in found.found]


def effects(study: Study, tell: Tell) -> dict[str, Effect]:
    """What each rule does to the labels of a sample of the pool, by its text."""
    estimator, pool = load_once(study.model.path), study.material.pool
    rules = study.material.active_rules(estimator.classes_)
    with collected_warnings():
        found = effects_of(estimator.model_, rules, pool.X, None, study.model.record.labelled)
    return {effect.rule: effect for effect in found}


def look(study: Study, tell: Tell) -> Look:
    """Cross-validation on the labelled sequences."""
    X, y, n = study.material.X, study.material.y, len(study.material.X)
    order = random.Random(0).sample(range(n), n)
    labels: list[list[str]] = [[] for _ in X]
    confidence, gains, folds = [0.0] * n, dict[str, tuple[int, int]](), min(FOLDS, n)
    with collected_warnings():
        for fold in range(folds):
            tell("measuring", fold / folds)
            held, rest = order[fold::folds], [i for k, i in enumerate(order) if k % folds != fold]
            model = AnnealedSSVM(
                rules=study.material.active_rules(), C=study.model.record.C, schedule=SCHEDULE, rounds=1
            )
            known = [X[i] for i in rest], [y[i] for i in rest]
            model.fit(*known, pool=study.material.pool.X, watch=lambda progress: tell("measuring")).leave_uncalibrated()
            held_X, held_y = [X[i] for i in held], [y[i] for i in held]
            rows = model.predict(held_X)
            for i, row, values in zip(held, rows, model.confidence(held_X, rows), strict=True):
                labels[i], confidence[i] = row, float(values.min())
            usable = study.material.active_rules(model.classes_)
            for effect in effects_of(model.model_, usable, held_X, held_y, len(rest)):
                assert effect.beside is not None
                tokens, sequences = gains.get(effect.rule, (0, 0))
                gains[effect.rule] = tokens + effect.beside.tokens, sequences + effect.beside.sequences
    return Look(labels, confidence, gains)


def curve(study: Study, tell: Tell) -> dict[str, Any] | None:
    """Accuracy against the number of labels and what the next labels should bring, None if there are too few."""
    material, n = study.material, len(study.material.X)
    if n < 2 * LEAST_TO_MEASURE:
        return None
    sizes = sensible_sizes(n - -(-n // CURVE_PARTS))[-CURVE_PARTS:]
    with collected_warnings():
        found = learning_curve(
            Corpus.of(material.X, material.y), material.pool.X, material.active_rules(), folds=CURVE_PARTS, sizes=sizes,
            C=study.model.record.C, show=lambda done, total: tell("drawing the learning curve", done / total),
        )  # fmt: skip
    outlook = found.outlook
    return {
        "rows": found.rows(), "better": found.better,
        "outlook": None if outlook is None else {**outlook.row(LITTLE), "words": outlook.words(LITTLE)},
    }  # fmt: skip
