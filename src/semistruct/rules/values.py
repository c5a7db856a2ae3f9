"""The kinds of values that entries of rules hold, and how values are put into words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal

import regex
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from semistruct.base.errors import nearest, quoted
from semistruct.base.patterns import compiled
from semistruct.rules.words import CLASSES

LARGEST = 1_000_000
"""The largest number of blocks or tokens that a rule may ask for."""

SHOWN = 20  # words of a list in the text of a rule

Level = Literal["instance", "corpus"]
Unit = Literal["fraction", "percent"]
Range = float | tuple[float | None, float | None]


# ---- labels


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _as_texts(value: Any) -> Any:
    """YAML reads 1984 as a number, but here it is a word."""
    if not isinstance(value, list | tuple | set | frozenset):
        return value
    return [str(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in value]


Labels = Annotated[
    tuple[str, ...], BeforeValidator(_as_texts), BeforeValidator(_as_list), Field(min_length=1, strict=False)
]


class AllExcept(BaseModel):
    """All labels except these."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    all_except: Labels

    def __init__(self, value: Any = None, /, **fields: Any) -> None:
        super().__init__(**({} if value is None else {"all_except": value}), **fields)

    @model_validator(mode="before")
    @classmethod
    def _only_entry(cls, fields: Any) -> Any:
        if isinstance(fields, Mapping) and list(fields) != ["all_except"]:
            raise ValueError("expected labels, or `all_except:` and labels")
        return fields


def _kind(value: Any) -> str:
    return "all_except[]" if isinstance(value, Mapping | AllExcept) else "labels[]"


LabelSet = Annotated[
    Annotated[Labels, Tag("labels[]")] | Annotated[AllExcept, Tag("all_except[]")], Discriminator(_kind)
]


def members(which: Sequence[str] | AllExcept, labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of a set, each once, given all labels."""
    if isinstance(which, AllExcept):
        return tuple(label for label in labels if label not in which.all_except)
    return tuple(dict.fromkeys(which))


def others(labels: Sequence[str], which: Sequence[str] | AllExcept) -> frozenset[str]:
    """The labels that are not in a set."""
    return frozenset(labels).difference(members(which, labels))


def named(which: Sequence[str] | AllExcept | None) -> set[str]:
    """The labels that a set names."""
    return set(which.all_except if isinstance(which, AllExcept) else which or ())


# ---- words


def _not_blank(word: str) -> str:
    if not word or word.isspace():
        raise ValueError("a word is empty")
    return word


def _compiles(pattern: str) -> str:
    compiled(pattern)
    return pattern


def _no_slip(mark: str) -> str:
    """Refuse a single word that is almost the name of a class: it is a typing error rather than a pattern."""
    if mark not in CLASSES and regex.fullmatch(r"[\w-]+", mark) and (near := nearest(mark, CLASSES)):
        raise ValueError(f"unknown mark {quoted(mark)}; did you mean {quoted(near)}? (as a pattern, write '({mark})')")
    return mark


WordList = Annotated[
    tuple[Annotated[str, AfterValidator(_not_blank)], ...],
    BeforeValidator(_as_texts), BeforeValidator(_as_list), Field(min_length=1, strict=False),
]  # fmt: skip
Pattern_ = Annotated[str, AfterValidator(_compiles)]
Patterns = Pattern_ | Annotated[tuple[Pattern_, ...], Field(min_length=1)]
Mark = Annotated[str, AfterValidator(_no_slip), AfterValidator(_compiles)]
Marks = Annotated[tuple[Mark, ...], BeforeValidator(_as_list), Field(min_length=1)]


# ---- numbers


def _in_order(limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    low, high = limits
    if low is None and high is None:
        raise ValueError("a range needs a bound")
    if low is not None and high is not None and low > high:
        raise ValueError(f"the range [{low:g}, {high:g}] is empty")
    return limits


Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
ShareRange = Share | Annotated[tuple[Share | None, Share | None], AfterValidator(_in_order)]
AmountRange = Amount | Annotated[tuple[Amount | None, Amount | None], AfterValidator(_in_order)]


def bounds(target: Range) -> tuple[float, float]:
    if isinstance(target, tuple):
        low, high = target
        return (-inf if low is None else low, inf if high is None else high)
    return target, target


def factor(unit: Unit) -> float:
    return 100.0 if unit == "percent" else 1.0


# ---- in words


def any_of(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def labels_text(which: Sequence[str] | AllExcept, word: str = "or") -> str:
    return f"any label except {any_of(which.all_except)}" if isinstance(which, AllExcept) else any_of(which, word)


def words_text(words: Sequence[str]) -> str:
    """A list of words, the first ones if it is long."""
    few = words[: SHOWN - 1]
    return any_of(words) if len(words) <= SHOWN else f"{', '.join(few)} or {len(words) - len(few)} others"


def pattern_text(patterns: str | Sequence[str]) -> str:
    return f"/{patterns if isinstance(patterns, str) else ' '.join(patterns)}/"


def range_text(target: Range, percent: bool = False) -> str:
    low, high = bounds(target)

    def show(value: float) -> str:
        return f"{100 * value:g}%" if percent else f"{value:g}"

    if low == high:
        return show(low)
    if low == -inf or high == inf:
        return f"at most {show(high)}" if low == -inf else f"at least {show(low)}"
    return f"{show(low)} to {show(high)}"


def weight_text(weight: float | str) -> str:
    return weight if isinstance(weight, str) else f"{weight:g}"
