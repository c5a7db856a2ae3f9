"""The registry of feature templates, filled by a decorator on each template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Template:
    """A template as it is registered.

    function  gives the values at a token, or at all tokens of a text; where something is read, a function that makes
              this one of what was read
    argument  what stands in brackets behind the name, in words; empty if nothing does
    example   of an argument, for messages
    read      reads the argument; a ValueError if it cannot
    kept      whether a model keeps what was read, so that it does not need the file
    """

    function: Callable[..., Any]
    argument: str = ""
    example: str = ""
    read: Callable[..., Any] | None = None
    kept: bool = False

    def made(self, value: Any) -> Callable[..., Any]:
        """The function of a token or a text, for what was read."""
        return self.function if self.read is None else self.function(value)


WORDS: dict[str, Template] = {}
"""Templates that look at one token."""

SEQUENCES: dict[str, Template] = {}
"""Templates that look at the whole sequence."""


def template(
    listed: dict[str, Template],
    read: Callable[..., Any] | None = None,
    argument: str = "",
    example: str = "",
    kept: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: registers a function under its name, in WORDS or SEQUENCES; see `Template` for the rest."""

    def register(function: Function) -> Function:
        listed[function.__name__] = Template(function, argument, example, read, kept)
        return function

    return register
