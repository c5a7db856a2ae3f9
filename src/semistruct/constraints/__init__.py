"""Rules: the vocabulary, rules files, and their compilation to arrays for the kernels."""

from semistruct.constraints.base import Rule
from semistruct.constraints.constraints import Constraints
from semistruct.constraints.rules import (
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
    "Constraints",
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
    "StartsWith",
    "Words",
]
