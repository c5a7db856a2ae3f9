"""Rules: the vocabulary, rules files, and their compilation to arrays for the kernels."""

from semistruct.rules.base import Rule
from semistruct.rules.ruleset import Rules
from semistruct.rules.vocabulary.amounts import Count, Proportion
from semistruct.rules.vocabulary.blocks import AtMostOnce, ExactlyOnce, MaxLength, MinLength, Present
from semistruct.rules.vocabulary.ends import EndsWith, StartsWith
from semistruct.rules.vocabulary.function import Function
from semistruct.rules.vocabulary.order import ChangeOnlyOn, Follows, NeverFollows, Order
from semistruct.rules.vocabulary.words import Pattern, Words

__all__ = [
    "AtMostOnce", "ChangeOnlyOn", "Count", "EndsWith", "ExactlyOnce", "Follows", "Function", "MaxLength", "MinLength",
    "NeverFollows", "Order", "Pattern", "Present", "Proportion", "Rule", "Rules", "StartsWith", "Words",
]  # fmt: skip
