"""What all rules share: their terms, weights and levels, and messages about wrong entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from semistruct.base.errors import ParameterError, meant, quoted
from semistruct.rules.conditions import If
from semistruct.rules.events import Term
from semistruct.rules.values import Level, ShareRange, Unit, named

HARD = 1e6
"""The weight of a hard rule, a thousand times that of others."""

OPEN_WEIGHT = 1000.0
"""The weight of a rule where none was given, more than any score; for its weight in prediction see `learning.trust`."""

PLAIN = {
    r", (unable to parse string as|got) .*": "",
    r"\w+ should have at (least|most) (\d+) items?.*": r"should have at \1 \2 entries",
    r"string should have .*": "should be a text",
    r"input should be": "should be",
    r"\ba valid ": "a ",
    r"\binteger": "whole number",
    r"\bstring": "text",
    r"\btuple": "list",
    r"\bdictionary": "mapping",
}
"""Messages of pydantic, and their wording for rules files."""


class EntryError(ParameterError):
    """An error in an entry of a rule; `path` leads to it: the name of the entry, and places inside its value."""

    def __init__(self, message: str, path: tuple[int | str, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Suggesting:
    """How rules of a kind are suggested.

    habit     the rule is about how texts are built and how people label: less evidence is enough
    safe      it may be used where nothing will tell whether it helps
    numerous  there are many such rules: only those that the model does not yet obey are suggested
    by_words  what a sure model says of the words in the pool is evidence, too
    joined    the entry of which rules that are otherwise the same become one
    turn      when candidates of the kind are made: first those that others may follow from
    """

    habit: bool = False
    safe: bool = False
    numerous: bool = False
    by_words: bool = False
    joined: str | None = None
    turn: int = 0


@dataclass(frozen=True)
class Candidate:
    """A rule that was made from examples, and what its evidence has to make allowance for (`Examples.evidence`).

    What a rule allows is what was seen.  What was seen in one sequence only is a surprise: another sequence may bring
    another one.
    """

    rule: Rule
    surprises: int = 0
    weakest: int | None = None


VOCABULARY: dict[str, type[Rule]] = {}
"""The kinds of rules that rules files can use, by their keys."""


class Rule(BaseModel):
    """Base of all rules; those with a key can be used in rules files.

    weight   the cost of a violation, or "hard": broken only if there is no other way
    level    "instance": it applies to every sequence; "corpus": to all sequences together
    penalty  "absolute" or "square" in the size of the violation
    name     for messages and reports; default: the rule in words
    if_      the condition under which an instance rule holds: see `If`; `if` in files

    A class has a `key`, its name in files (unless `in_files` is False), and the `levels` that the rule can have.  It is
    `of_sequences` if its cases in labelled data are whole sequences rather than the places of its event.  `suggesting`
    says how such rules are suggested.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True)
    key: ClassVar[str]
    in_files: ClassVar[bool] = True
    levels: ClassVar[tuple[Level, ...]] = ("instance",)
    of_sequences: ClassVar[bool] = False
    suggesting: ClassVar[Suggesting] = Suggesting()

    weight: Annotated[float, Field(gt=0, le=HARD, allow_inf_nan=False)] | Literal["hard"] = OPEN_WEIGHT
    level: Level = "instance"
    penalty: Literal["absolute", "square"] = "absolute"
    name: Annotated[str, Field(min_length=1)] | None = None
    if_: If | None = Field(None, alias="if")

    def __init__(self, value: Any = None, /, **fields: Any) -> None:
        if value is not None:
            fields[self.key] = value
        entries = {"if": None, **type(self).model_fields}
        for name in fields:
            if name not in entries:
                problem = f"{self.key}: there is no entry {quoted(name)}; {meant(name, entries)}"
                raise EntryError(problem, (name,))
        try:
            super().__init__(**fields)
        except ValidationError as err:
            problem, path = explain(err, self.key)
            raise EntryError(f"{self.key}: {problem}", path) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "key" in vars(cls) and cls.in_files:
            VOCABULARY[cls.key] = cls
        if "terms" in vars(cls):
            cls.terms = _conditional(cls.terms)  # type: ignore[method-assign,assignment]

    @classmethod
    def made(cls, value: Any, **entries: Any) -> Self:
        """The rule with this value and further entries, as in a file."""
        return cls(**{cls.key: value, **entries})

    @classmethod
    def of_data(cls, entries: Mapping[str, Any]) -> Self:
        """The rule of entries inside a model file, which have no file read."""
        return cls(**entries)

    @classmethod
    def is_number(cls, entry: str) -> bool:
        """Whether an entry holds numbers; others hold texts."""
        return entry in cls.model_fields and _has_number(cls.model_fields[entry].annotation)

    @model_validator(mode="after")
    def _check_level(self) -> Self:
        if self.level not in self.levels:
            raise ValueError(f"this rule cannot have the level {self.level}")
        if self.if_ is not None and self.level == "corpus":
            raise ValueError("a condition needs the instance level")
        return self

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Shows only what was given, so that a rule without a weight differs from one with the default weight."""
        return [(name, value) for name, value in super().__repr_args__() if name in self.model_fields_set]

    @property
    def weight_is_open(self) -> bool:
        """Whether the rule has no weight; the weight it gets then depends on the use."""
        return "weight" not in self.model_fields_set

    @property
    def can_be_weighed(self) -> bool:
        """Whether the weight follows from how far the rule is trusted: that of instance rules, if it is open."""
        return self.weight_is_open and self.level == "instance"

    @property
    def shown_weight(self) -> float | str:
        """The weight for readers: a number, "hard" or "open"."""
        return "open" if self.weight_is_open else self.weight

    @property
    def cost(self) -> float:
        """The weight as a number."""
        return HARD if self.weight == "hard" else float(self.weight)

    @property
    def power(self) -> int:
        return 2 if self.penalty == "square" else 1

    @property
    def text(self) -> str:
        """The rule in words, or its name."""
        return self.name or (self.says if self.if_ is None else f"{self.says} if {self.if_.says}")

    @property
    def says(self) -> str:
        raise NotImplementedError

    def mentioned(self) -> set[str]:
        """The labels that the rule names; by default those of its main entry."""
        return named(getattr(self, self.key))

    def all_mentioned(self) -> set[str]:
        """The labels that the rule and its condition name."""
        return self.mentioned() | (set() if self.if_ is None else self.if_.mentioned())

    def concerns(self, labels: Sequence[str]) -> bool:
        """Whether a sequence with these labels is a case of the rule; for rules whose cases are whole sequences."""
        return True

    @classmethod
    def candidates(cls, examples: Any) -> Iterable[Candidate]:
        """Rules of this kind that examples (`evidence.Examples`) may speak for; none, if the kind is not suggested."""
        return ()

    def is_shown_by(self, labels: Sequence[str]) -> bool:
        """Whether a sequence with these labels says something for or against the rule where rules are suggested."""
        return True

    @property
    def is_habit(self) -> bool:
        return self.suggesting.habit

    def expanded(self, labels: Iterable[str] | None) -> Sequence[Rule]:
        """The rules that it stands for, given the labels if these are declared."""
        return [self]

    def terms(self, labels: Sequence[str]) -> list[Term]:
        """What the rule counts, given all labels."""
        raise NotImplementedError


def _conditional(terms: Callable[[Any, Sequence[str]], list[Term]]) -> Callable[[Any, Sequence[str]], list[Term]]:
    """What a rule counts, where its condition holds."""

    @wraps(terms)
    def limited(self: Rule, labels: Sequence[str]) -> list[Term]:
        found = terms(self, labels)
        return found if self.if_ is None else [self.if_.limit(term, labels) for term in found]

    return limited


class ShareRule(Rule):
    """Base of rules that may have a `fraction`, which makes them corpus rules."""

    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    fraction: ShareRange | None = None
    unit: Unit = "fraction"

    @model_validator(mode="before")
    @classmethod
    def _corpus_if_fraction(cls, fields: Any) -> Any:
        return {"level": "corpus", **fields} if fields.get("fraction") is not None else fields


def _has_number(kind: Any) -> bool:
    """Whether a value of this type may contain a number; the keys of a mapping do not matter."""
    if get_origin(kind) is Literal:
        return False
    inside = get_args(kind)[1:] if get_origin(kind) is dict else get_args(kind)
    return kind in (int, float) or any(map(_has_number, inside))


def unknown_label(label: str, labels: Sequence[str]) -> str:
    """The message for an unknown label, with the one that was probably meant."""
    hint = "(a label without examples can be declared under `labels`)"
    return f"unknown label {quoted(label)}; {meant(label, labels)} {hint}"


def explain(err: ValidationError, key: str = "") -> tuple[str, tuple[int | str, ...]]:
    """(the first error of pydantic in one sentence, the path to the wrong entry).

    Where a value could be of several types, an error in a value of the right type goes first; `key` is the entry that
    the message need not name.
    """
    errors = err.errors(include_url=False)
    first = next((e for e in errors if not e["type"].endswith(("_type", "literal_error"))), errors[0])
    where, kind = first["loc"], first["type"]
    named = where[1:] if where[:1] == (key,) and kind != "missing" else where
    place = ".".join(str(part) for part in named if str(part).isidentifier() and "[" not in str(part))
    if kind == "value_error":
        return first["msg"].removeprefix("Value error, "), where
    message = _in_plain_words(first["msg"])
    if kind == "missing":
        return ("a range has two ends", where) if isinstance(where[-1], int) else (f"{message}: {place}", where)
    if kind.endswith(("_parsing", "_type")):
        message = " or ".join([message, *(str(e["ctx"]["expected"]) for e in errors if _is_word_instead(e, where))])
    return f"{place + ': ' if place else ''}{message}, found {quoted(first['input'])}", where


def _in_plain_words(message: str) -> str:
    said = message[:1].lower() + message[1:]
    for pattern, words in PLAIN.items():
        said = regex.sub(pattern, words, said)
    return said


def _is_word_instead(error: Any, where: tuple[int | str, ...]) -> bool:
    """Whether an error is about a fixed word that the entry could be, too."""
    return bool(error["type"] == "literal_error" and error["loc"][:1] == where[:1])
