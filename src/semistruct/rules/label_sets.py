"""Which labels a rule is about: some, or all except some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from semistruct.rules.wording import any_of


def as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def as_texts(value: Any) -> Any:
    """YAML reads 1984 as a number, but here it is a word."""
    return [str(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in value] if isinstance(
        value, list | tuple | set | frozenset
    ) else value  # fmt: skip


Labels = Annotated[
    tuple[str, ...], BeforeValidator(as_texts), BeforeValidator(as_list), Field(min_length=1, strict=False)
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


def labels_text(which: Sequence[str] | AllExcept, word: str = "or") -> str:
    """The labels in words."""
    return f"any label except {any_of(which.all_except)}" if isinstance(which, AllExcept) else any_of(which, word)
