"""Random rules, made from what the vocabulary says of itself: a new rule, entry or condition is among them by itself.

The type of an entry says what may stand there.  A rule begins with one of its entries, so that all are met equally
often; then it gets whatever else it needs to be one, and a few more entries that it can bear.
"""

from collections.abc import Callable
from functools import cache
from itertools import chain, combinations, pairwise
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import reject
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from semistruct.base.errors import SemistructError
from semistruct.rules import Function
from semistruct.rules.base import Rule
from semistruct.rules.values import Mark, Pattern_, WordList
from semistruct.rules.vocabulary import VOCABULARY
from semistruct.rules.vocabulary.measured import Measured

VOCABULARY_OF_WORDS = [
    "pp", "PP", "Pp", "pp.", "(CA)", "CA", "ca", "x1", "1984", "ß", ".", ",", "--", "*NEWLINE*", "\\n", "<br>", "⏎",
]  # fmt: skip
PHRASES = ["pp ca", "pp. CA", "PP pp", "CA , 1984", "CA, 1984", "x1 x1 x1", ". .", "ca ß"]
PATTERNS = ["[Pp]+", r"\d{4}", "c|ca", ".", r"(x)\d", r"(.)\1", "[^a-z]*", "nothing"]
MARKS = ["punctuation", "newline", *PATTERNS]
NUMBERS = [-2.0, -0.5, 0.0, 0.01, 0.2, 0.25, 0.5, 2 / 3, 1.0, 2.0, 3.5, 7.5]
LARGEST, MOST = 5, 3  # whole numbers, and entries of a list
ON_DISK = {"file", "format", "outside", "tokens", "cast"}  # entries about votes in files, which there are none of here


def marks_of_capitals(words, labels):
    """A rule of one's own: capitals do not have the label a."""
    return sum(word[0][0].isupper() and y == "a" for word, y in zip(words, labels, strict=True))


def length_less_changes(words, labels):
    """A rule of one's own that is sometimes negative and no whole number."""
    return len(words) / 2 - 1.25 * sum(y != z for y, z in pairwise(labels))


FUNCTIONS = {f.__name__: f for f in (marks_of_capitals, length_less_changes)}
(WORD, _) = get_args(get_args(WordList)[0])
TEXTS = [(Mark, MARKS), (Pattern_, PATTERNS), (WORD, [*VOCABULARY_OF_WORDS, *PHRASES])]


def kinds(functions=True):
    """The classes of all rules; `functions`: also those of which only the value is known."""
    return [kind for kind in (*VOCABULARY.values(), Function) if functions or not issubclass(kind, Measured)]


def entries_of(model):
    """The names of the entries of a rule or condition as in files, but for the main one."""
    names = ["if" if name == "if_" else name for name in model.model_fields if name not in ON_DISK]
    if not issubclass(model, Rule):
        return names
    fixed = {model.key} | ({"level"} if len(model.levels) < 2 else set())
    return [name for name in names if name not in fixed]


def values(kind, labels, limits=None):
    """What an entry of this type may hold."""
    limits = limits or {}
    for text, some in TEXTS:
        if kind == text:
            return st.sampled_from(some)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bounds = {name: value for m in inside[1:] for one in getattr(m, "metadata", ()) for name, value in _sides(one)}
        return values(inside[0], labels, limits | bounds)
    if origin in (Union, UnionType):
        return st.one_of([values(part, labels, limits) for part in inside if part is not type(None)])
    if origin is Literal:
        return st.sampled_from(inside)
    if kind is str:
        return st.sampled_from(labels)
    if kind is int:
        return st.integers(limits.get("ge", 0), min(limits.get("le", LARGEST), LARGEST))
    if kind is float:
        return st.sampled_from([x for x in NUMBERS if _within(x, limits)])
    if origin is tuple and inside[-1] is ...:
        least, most = limits.get("min_length", 1), limits.get("max_length", MOST)
        few = least > len(labels) and inside[0] is str
        return st.nothing() if few else st.lists(
            values(inside[0], labels), min_size=least, max_size=max(least, min(most, MOST)), unique=True
        )  # fmt: skip
    if origin is tuple:
        return st.tuples(*[st.none() | values(part, labels) for part in inside]).map(_in_order)
    if origin is dict:
        return st.dictionaries(*[values(part, labels) for part in inside], min_size=1, max_size=MOST)
    if origin is Callable:
        return st.sampled_from(list(FUNCTIONS.values()))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return grown(kind, labels)
    raise TypeError(f"nobody knows how to make a {kind}")


def _sides(limit):
    return [
        (name, getattr(limit, name)) for name in ("ge", "gt", "le", "min_length", "max_length") if hasattr(limit, name)
    ]


def _within(x, limits):
    return limits.get("ge", x) <= x <= limits.get("le", x) and ("gt" not in limits or x > limits["gt"])


def _in_order(pair):
    """A range; one that is open on both sides is none, and is refused later."""
    return pair if None in pair else tuple(sorted(pair))


def is_good(model, entries):
    try:
        model(**entries)
    except (SemistructError, ValidationError):
        return False
    return True


@cache
def values_of(model, name, labels):
    """What the entry of that name may hold."""
    hints = get_type_hints(model, include_extras=True)
    kind = Literal[model.levels] if name == "level" else hints["if_" if name == "if" else name]
    return values(kind, labels)


@st.composite
def grown(draw, model, labels, level=None):
    """The description of a rule, of this level if one is given, or of another model, as in a file."""
    drawn = {} if level is None else {"level": level}

    def entry(name):
        if name not in drawn:
            drawn[name] = draw(values_of(model, name, labels))
        return {name: drawn[name]}

    found = {**entry(model.key), **drawn} if issubclass(model, Rule) else {}
    names = entries_of(model)
    turn = draw(st.integers(0, len(names) - 1))
    first, *others = names[turn:] + names[:turn]
    if not found or draw(st.integers(0, 3)):
        found |= entry(first)
    needed = chain([()], combinations(others, 1), combinations(others, 2))
    for further in needed:
        whole = found | {k: v for name in further for k, v in entry(name).items()}
        if is_good(model, whole):
            break
    else:
        reject()
    for name in draw(st.lists(st.sampled_from(names), max_size=MOST, unique=True)):
        more = whole | entry(name)
        whole = more if is_good(model, more) else whole
    return whole


def descriptions(labels, functions=False, level=None):
    """Rules as they stand in a rules file, all of one level if one is given; the first entry of each says its kind."""
    some = [kind for kind in kinds(functions) if level is None or level in kind.levels]
    return st.sampled_from(some).flatmap(lambda kind: grown(kind, tuple(labels), level))
