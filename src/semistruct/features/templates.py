"""Feature sets as short texts: `lower[-1..1]`, `suffix(2-4)`, `lexicon(names.txt)`.

    name            a template of `words` or `sequences`; or steps, python, vectors
    (argument)      what it needs: lengths, a column, a file, a function; () is as good as nothing
    [a..b]          the positions to look at, relative to the token; only for templates of `words` and for vectors;
                    default: [0..0]

A file that lexicon(...), cluster(...) or vectors(...) names is read once and kept: a saved model does not need it.
The lists of `kinds` are kept likewise, so that a model goes on with those it was learned with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semistruct.base.errors import ParameterError, SemistructError, meant, quoted
from semistruct.features.registry import SEQUENCES, WORDS, Template
from semistruct.features.sequences import STEPS, SequenceFunction, Steps
from semistruct.features.user_features import TokenFunction, find_function, text_of
from semistruct.features.vectors import WordVectors
from semistruct.features.words import WordFunction

SPEC = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<args>.*)\))?(?:\[(?P<low>-?\d+)(?:\.\.(?P<high>-?\d+))?\])?")
FARTHEST = 1000  # tokens away that a window may look at

FeatureSet = str | Sequence[str | Callable[..., Any]]
"""What users give: the name of a set, a template, or a list of these and of functions."""


def find_steps(kind: str) -> Steps:
    """The kinds of steps of that name."""
    if kind not in STEPS:
        raise ParameterError(f"features: steps({kind}) is unknown; there are {', '.join(STEPS)}")
    return STEPS[kind]


FURTHER = {
    "python": Template(lambda read: read, "a function", "my_features:shape", find_function),
    "vectors": Template(lambda read: read, "a file", "glove.txt", WordVectors.read),
    "steps": Template(lambda read: read, "a kind", "punctuation", find_steps),
}
"""Templates that give no values of words or sequences."""

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
        out = cls(specs)
        for spec in map(Spec.parse, specs):
            if spec.name == "vectors":
                out.vectors[spec.key] = spec.read()
            elif spec.name == "python":
                out.functions[spec.args] = spec.read()
            elif spec.template.kept:
                out.resources[spec.key] = spec.read()
        out.compile()  # complain now rather than at the first token
        return out

    def compile(self) -> CompiledFeatures:
        """The templates as functions."""
        out = CompiledFeatures()
        for spec in map(Spec.parse, self.specs):
            name, label, template = spec.name, spec.label, spec.template
            if name != "steps" and label in out.labels:
                raise ParameterError(f"features: {label} is listed twice; use one window instead")
            if name == "steps":
                out.steps = spec.read()
            elif name == "vectors":
                out.vectors.append((label, spec.window, self.vectors[spec.key]))
            elif name == "python":
                out.functions.append((label, self.functions[spec.args]))
            else:
                made = template.made(self.resources[spec.key] if template.kept else spec.read())
                if name in WORDS:
                    out.words.append((label, spec.window, made))
                else:
                    out.sequences.append((label, made))
        return out


def named_functions(features: FeatureSet) -> list[str]:
    """The functions that a feature set names, as `module:name`."""
    matches = [SPEC.fullmatch(text.strip()) for text in as_texts(features)]
    return [match["args"] or "" for match in matches if match and match["name"] == "python"]


def as_texts(features: FeatureSet) -> list[str]:
    """A feature set as a list of texts, in which functions are templates too."""
    listed = [features] if isinstance(features, str) else list(features)
    return [spec if isinstance(spec, str) else text_of(spec) for spec in listed]


@dataclass
class CompiledFeatures:
    """Templates ready to be called; `words` and `vectors` come with the offsets they look at."""

    words: list[tuple[str, range, WordFunction]] = field(default_factory=list)
    sequences: list[tuple[str, SequenceFunction]] = field(default_factory=list)
    vectors: list[tuple[str, range, WordVectors]] = field(default_factory=list)
    functions: list[tuple[str, TokenFunction]] = field(default_factory=list)
    steps: Steps = STEPS["plain"]

    @property
    def labels(self) -> list[str]:
        listed: list[tuple[Any, ...]] = [*self.words, *self.sequences, *self.vectors, *self.functions]
        return [label for label, *_ in listed]


@dataclass(frozen=True)
class Spec:
    """One template with its argument and its window, the offsets it looks at."""

    name: str
    args: str
    window: range
    template: Template

    @classmethod
    def parse(cls, text: str) -> Spec:
        match = SPEC.fullmatch(text.strip())
        if not match:
            problem = f"cannot read {quoted(text)}; a template looks like 'lower[-1..1]' or 'suffix(2-4)'"
            raise ParameterError(f"features: {problem}")
        name, args = match["name"], match["args"] or ""
        known = {**WORDS, **SEQUENCES, **FURTHER}
        if name not in known:
            problem = f"there is no template or feature set {quoted(name)}; {meant(name, [*SETS, *known])}"
            raise ParameterError(f"features: {problem}")
        if args and not known[name].argument:
            raise ParameterError(f"features: {name}({args}): {name} takes no argument")
        if match["low"] is not None and name not in WORDS and name != "vectors":
            raise ParameterError(f"features: {name} looks at the whole sequence and takes no window")
        low, high = int(match["low"] or 0), int(match["high"] or match["low"] or 0)
        if max(-low, high) > FARTHEST:
            raise ParameterError(f"features: the window of {quoted(text)} reaches farther than {FARTHEST} tokens")
        if low > high:
            raise ParameterError(f"features: the window of {quoted(text)} is empty")
        return cls(name, args, range(low, high + 1), known[name])

    @property
    def key(self) -> str:
        return f"{self.name}({self.args})"

    @property
    def label(self) -> str:
        """What stands in the names of features: the name of a file without its folder and ending."""
        args = Path(self.args).stem if self.template.argument == "a file" else self.args
        return f"{self.name}({args})" if args else self.name

    def read(self) -> Any:
        """What the argument stands for; None if the template has nothing to read."""
        if self.template.read is None:
            return None
        wanted = self.template.argument
        try:
            if not wanted:
                return self.template.read()
            if self.args:
                return self.template.read(self.args)
        except SemistructError:
            raise
        except ValueError:
            pass
        place = self.key if self.args else self.name
        raise ParameterError(f"features: {place}: expected {wanted}, as in {self.name}({self.template.example})")
