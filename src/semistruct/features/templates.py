"""Feature sets as short texts: `lower[-1..1]`, `suffix(2-4)`, `lexicon(names.txt)`.

    name            a template of `words`, `sequences` or `steps`; or python, vectors
    (argument)      what it needs: lengths, a column, a file, a function; () is as good as nothing
    [a..b]          the positions to look at, relative to the token; only for templates of `words` and for vectors;
                    default: [0..0]

A file that lexicon(...), cluster(...) or vectors(...) names is read once and kept: a saved model does not need it.
The lists of `kinds` are kept likewise, so that a model goes on with those it was learned with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from semistruct.errors import ParameterError, meant, quoted
from semistruct.features import kinds_of_words, sequences, steps, words  # noqa: F401  (each registers its templates)
from semistruct.features.functions import TokenFunction, found_function, text_of
from semistruct.features.registry import SEQUENCES, STEPS, TABLES, WORDS
from semistruct.features.vectors import WordVectors

SPEC = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<args>.*)\))?(?:\[(?P<low>-?\d+)(?:\.\.(?P<high>-?\d+))?\])?")

FURTHER = ("python", "vectors", "steps")  # templates that give no values of words or sequences
FeatureSet = str | Sequence[str | Callable[..., Any]]
"""What users give: the name of a set, a template, or a list of these and of functions."""

EXAMPLES = {  # of arguments, for messages
    "lexicon": "names.txt", "cluster": "brown.tsv", "vectors": "glove.txt", "prefix": "2-4", "suffix": "2-4",
    "column": "1",
}  # fmt: skip
FARTHEST = 1000  # tokens away that a window may look at

SETS: dict[str, tuple[str, ...]] = {
    "default": (
        "corelower[-1..1]", "coreshape[-2..2]", "coreclasses[-1..1]", "marks[-1..1]", "coreprefix(2-4)",
        "coresuffix(2-4)", "coresize", "corevowels", "kinds[-2..2]", "shapes", "begin", "end", "enclosed",
        "steps(punctuation)",
    ),
    # identity, sequence ends, capitalisation / hyphen / number / affixes in a window of one; the published set
    # adds 100 word clusters, which are given as cluster(FILE) beside it
    "paper": ("word", "begin", "end", "classes[-1..1]", "prefix(2-4)[-1..1]", "suffix(2-4)[-1..1]"),
    "identity": ("word",),
    "hmm": ("word", "begin"),
}  # fmt: skip


@dataclass(frozen=True)
class Features:
    """A parsed feature set.

    specs      the texts, with named sets spelled out
    resources  the tables they need, by template and file name: the content of files, and tables that are shipped
    vectors    the vectors they name, likewise
    functions  the functions they name, by `module:name`
    """

    specs: tuple[str, ...]
    resources: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    vectors: dict[str, WordVectors] = field(default_factory=dict, repr=False)
    functions: dict[str, TokenFunction] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, features: FeatureSet) -> Features:
        """From the name of a set, one text, or a list of both: `["paper", "cluster(brown.tsv)"]`; also of functions."""
        specs = tuple(dict.fromkeys(s for text in as_texts(features) for s in SETS.get(text, (text,))))
        if not specs:
            raise ParameterError("features: the list is empty")
        found = cls(specs)
        for spec in specs:
            name, args, _ = parse(spec)
            if name in TABLES:
                found.resources[f"{name}({args})"] = TABLES[name](*filter(None, [args]))
            elif name == "vectors":
                found.vectors[f"{name}({args})"] = WordVectors.read(args)
            elif name == "python":
                found.functions[args] = found_function(args)
        found.compile()  # complain now rather than at the first token
        return found

    def compile(self) -> CompiledFeatures:
        """The templates as functions."""
        out = CompiledFeatures()
        for spec in self.specs:
            name, args, window = parse(spec)
            given: list[Any] = [self.resources[f"{name}({args})"]] if name in TABLES else [args] if args else []
            label = f"{name}({Path(args).stem if 'file' in _parameters(name) else args})" if args else name
            if name == "steps":
                out.step, out.n_kinds = STEPS[args]()
            elif label in out.labels:
                raise ParameterError(f"features: {label} is listed twice; use one window instead")
            elif name == "vectors":
                out.vectors.append((label, window, self.vectors[f"{name}({args})"]))
            elif name == "python":
                out.functions.append((label, self.functions[args]))
            elif name in WORDS:
                out.words.append((label, window, WORDS[name](*given)))
            else:
                out.sequences.append((label, SEQUENCES[name](*given)))
        return out


def named_functions(features: FeatureSet) -> list[str]:
    """The functions that a feature set names, as `module:name`."""
    matches = [SPEC.fullmatch(text.strip()) for text in as_texts(features)]
    return [match["args"] or "" for match in matches if match and match["name"] == "python"]


def as_texts(features: FeatureSet) -> list[str]:
    """A feature set as a list of texts, in which functions are templates too."""
    listed = [features] if isinstance(features, str) else list(features)
    return [one if isinstance(one, str) else text_of(one) for one in listed]


@dataclass
class CompiledFeatures:
    """Templates ready to be called; `words` and `vectors` come with the offsets they look at."""

    words: list[tuple[str, range, words.WordTemplate]] = field(default_factory=list)
    sequences: list[tuple[str, sequences.SequenceTemplate]] = field(default_factory=list)
    vectors: list[tuple[str, range, WordVectors]] = field(default_factory=list)
    functions: list[tuple[str, TokenFunction]] = field(default_factory=list)
    step: steps.StepTemplate = field(default_factory=lambda: steps.plain()[0])
    n_kinds: int = 1

    @property
    def labels(self) -> list[str]:
        listed: list[tuple[Any, ...]] = [*self.words, *self.sequences, *self.vectors, *self.functions]
        return [label for label, *_ in listed]


def parse(spec: str) -> tuple[str, str, range]:
    """The name, the argument text and the offsets of one template."""
    match = SPEC.fullmatch(spec.strip())
    if not match:
        raise ParameterError(
            f"features: cannot read {quoted(spec)}; a template looks like 'lower[-1..1]' or 'suffix(2-4)'"
        )
    name, args = match["name"], match["args"] or ""
    known = [*WORDS, *SEQUENCES, *FURTHER]
    if name not in known:
        raise ParameterError(
            f"features: there is no template or feature set {quoted(name)}; {meant(name, [*SETS, *known])}"
        )
    if name == "steps" and args not in STEPS:
        raise ParameterError(f"features: steps({args}) is unknown; there are {', '.join(STEPS)}")
    _check_argument(name, args)
    if match["low"] is None:
        return name, args, range(1)
    if name not in WORDS and name != "vectors":
        raise ParameterError(f"features: {name} looks at the whole sequence and takes no window")
    low, high = int(match["low"]), int(match["high"] or match["low"])
    if max(-low, high) > FARTHEST:
        raise ParameterError(f"features: the window of {quoted(spec)} reaches farther than {FARTHEST} tokens")
    if low > high:
        raise ParameterError(f"features: the window of {quoted(spec)} is empty")
    return name, args, range(low, high + 1)


def _check_argument(name: str, args: str) -> None:
    """Refuse an argument of a template that takes none, and none for one that needs it."""
    if name in ("python", "steps"):
        return  # these say more about theirs
    taken = _parameters(name)
    if args and not taken:
        raise ParameterError(f"features: {name}({args}): {name} takes no argument")
    for needed in () if args else (key for key, one in taken.items() if one.default is one.empty):
        wanted = needed if needed.endswith("s") else f"a {needed}"
        example = EXAMPLES.get(name.removeprefix("core"), needed.upper())
        raise ParameterError(f"features: {name}: expected {wanted}, as in {name}({example})")


def _parameters(name: str) -> Mapping[str, Parameter]:
    """What a template takes, by name: at most one argument."""
    makers: dict[str, Callable[..., Any]] = {**WORDS, **SEQUENCES, **TABLES, "vectors": WordVectors.read}
    return signature(makers[name]).parameters if name in makers else {}
