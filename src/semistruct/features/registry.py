"""The registry of templates, filled by a decorator on each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Make = TypeVar("Make", bound=Callable[..., Any])
Read = Callable[[list[str], str], dict[str, str]]

WORDS: dict[str, Callable[..., Any]] = {}
"""Templates that look at one word."""

SEQUENCES: dict[str, Callable[..., Any]] = {}
"""Templates that look at the whole sequence."""

STEPS: dict[str, Callable[..., Any]] = {}
"""Kinds of steps: the arguments of steps(...)."""

FILES: dict[str, Read] = {}
"""What makes a table of the lines of the file that a template names, and of its name for messages."""

SHIPPED: dict[str, Callable[[], dict[str, str]]] = {}
"""What gives the table of a template whose table comes with semistruct."""


def template(
    listed: dict[str, Callable[..., Any]],
    read: Read | None = None,
    shipped: Callable[[], dict[str, str]] | None = None,
) -> Callable[[Make], Make]:
    """Decorator of a function that makes a template: registers it under its name."""

    def register(make: Make) -> Make:
        listed[make.__name__] = make
        if read is not None:
            FILES[make.__name__] = read
        if shipped is not None:
            SHIPPED[make.__name__] = shipped
        return make

    return register
