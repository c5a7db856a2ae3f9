"""Rules: the vocabulary, rules files, and their compilation to arrays for the kernels."""

from semistruct.rules.base import Rule
from semistruct.rules.conditions import If
from semistruct.rules.lists import read_words
from semistruct.rules.ruleset import Rules
from semistruct.rules.values import AllExcept
from semistruct.rules.vocabulary.amounts import Count, Proportion
from semistruct.rules.vocabulary.blocks import AtMostOnce, ExactlyOnce, MaxLength, MinLength, Order, Present
from semistruct.rules.vocabulary.measured import Agree, Differ, Function
from semistruct.rules.vocabulary.steps import (
    BlockEndsWith,
    BlockStartsWith,
    ChangeAfter,
    ChangeOnlyOn,
    Follows,
    NeverFollows,
)
from semistruct.rules.vocabulary.tokens import EndsWith, Pattern, StartsWith, Words
from semistruct.rules.vocabulary.votes import Votes

__all__ = [
    "Agree", "AllExcept", "AtMostOnce", "BlockEndsWith", "BlockStartsWith", "ChangeAfter", "ChangeOnlyOn", "Count",
    "Differ", "EndsWith", "ExactlyOnce", "Follows", "Function", "If", "MaxLength", "MinLength", "NeverFollows", "Order",
    "Pattern", "Present", "Proportion", "Rule", "Rules", "StartsWith", "Votes", "Words", "read_words",
]  # fmt: skip
