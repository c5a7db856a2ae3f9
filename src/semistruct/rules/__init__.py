"""Rules: the vocabulary, rules files, and their compilation to arrays for the kernels."""

from semistruct.rules.base import Rule
from semistruct.rules.ruleset import Rules
from semistruct.rules.vocabulary import (
    AtMostOnce,
    ChangeOnlyOn,
    Count,
    EndsWith,
    ExactlyOnce,
    Follows,
    Function,
    MaxLength,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Proportion,
    StartsWith,
    Words,
)

__all__ = [
    "AtMostOnce",
    "ChangeOnlyOn",
    "Count",
    "EndsWith",
    "ExactlyOnce",
    "Follows",
    "Function",
    "MaxLength",
    "MinLength",
    "NeverFollows",
    "Order",
    "Pattern",
    "Present",
    "Proportion",
    "Rule",
    "Rules",
    "StartsWith",
    "Words",
]
