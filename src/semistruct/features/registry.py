"""The registry of templates, filled by a decorator on each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Make = TypeVar("Make", bound=Callable[..., Any])
Table = Callable[..., dict[str, str]]

WORDS: dict[str, Callable[..., Any]] = {}
"""Templates that look at one word."""

SEQUENCES: dict[str, Callable[..., Any]] = {}
"""Templates that look at the whole sequence."""

STEPS: dict[str, Callable[..., Any]] = {}
"""Kinds of steps: the arguments of steps(...)."""

TABLES: dict[str, Table] = {}
"""What gives the table from which a template is made: called with the argument of the template, if it has one."""


def template(listed: dict[str, Callable[..., Any]], table: Table | None = None) -> Callable[[Make], Make]:
    """Decorator of a function that makes a template: registers it under its name.

    table  gives what the function is called with; a model keeps that, so it does not need the file it came from
    """

    def register(make: Make) -> Make:
        listed[make.__name__] = make
        if table is not None:
            TABLES[make.__name__] = table
        return make

    return register
