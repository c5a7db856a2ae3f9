"""Rules: the vocabulary, rules files, and their compilation to arrays for the kernels."""

from semistruct.rules.base import Rule
from semistruct.rules.conditions import If
from semistruct.rules.label_sets import AllExcept
from semistruct.rules.ruleset import Rules
from semistruct.rules.vocabulary.amounts import Count, Proportion
from semistruct.rules.vocabulary.blocks import AtMostOnce, ExactlyOnce, MaxLength, MinLength, Present
from semistruct.rules.vocabulary.edges import BlockEndsWith, BlockStartsWith, ChangeAfter
from semistruct.rules.vocabulary.ends import EndsWith, StartsWith
from semistruct.rules.vocabulary.fields import Agree, Differ
from semistruct.rules.vocabulary.function import Function
from semistruct.rules.vocabulary.order import ChangeOnlyOn, Follows, NeverFollows, Order
from semistruct.rules.vocabulary.voting import Votes
from semistruct.rules.vocabulary.words import Pattern, Words
from semistruct.rules.word_lists import read_words

__all__ = [
    "Agree", "AllExcept", "AtMostOnce", "BlockEndsWith", "BlockStartsWith", "ChangeAfter", "ChangeOnlyOn", "Count",
    "Differ", "EndsWith", "ExactlyOnce", "Follows", "Function", "If", "MaxLength", "MinLength", "NeverFollows", "Order",
    "Pattern", "Present", "Proportion", "Rule", "Rules", "StartsWith", "Votes", "Words", "read_words",
]  # fmt: skip
