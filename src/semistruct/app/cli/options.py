"""The options of the commands: single ones as types of parameters, and groups that arrive as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option
from typer.core import TyperCommand

WORST = 10  # sequences that `--errors` shows, unless a number follows it

flag = partial(Option, metavar="")
Scheme = Literal["plain", "bio", "bioes", "iob1"]

# What commands work on.
LabelledFile = Annotated[Path, Argument(help="labelled sequences, in any format")]
ModelFile = Annotated[Path, Argument(help="a model file")]
Inputs = Annotated[list[str] | None, Argument(help="files to label; default, and for '-': standard input")]
GoldFile = Annotated[Path, Argument(help="labelled sequences to compare with")]
PoolFile = Annotated[Path, Argument(help="the pool: sequences to choose from; their labels are ignored")]
RulesName = Annotated[str, Argument(help="a rules file, or the name of rules that come with semistruct")]
MethodName = Annotated[str | None, Argument(help="a method, to see its parameters; default: list all")]

# Options of several commands.
RulesFile = Annotated[
    str | None, Option("--rules", "-r", metavar="RULES", help="rules: a file, or a name that is shipped")
]
NoRules = Annotated[bool, flag("--no-rules", help="no rules, neither those of the model nor suggested ones")]
Pools = Annotated[
    list[Path] | None,
    Option("--pool", "-u", metavar="FILE", help="the pool: sequences without labels; may be given several times"),
]
Features = Annotated[
    list[str] | None,
    Option("--features", "-f", metavar="TEMPLATE", help="a feature set or a template; may be given several times"),
]
Trust = Annotated[
    list[str] | None,
    Option(metavar="MODULE", help="a Python module whose functions the model may call; may be given several times"),
]
Metric = Annotated[
    Literal["token", "sequence", "span"] | None,
    Option(help="what choices are made by: right tokens (the default), whole sequences, or the F1 of fields"),
]
Format = Annotated[
    str | None, Option("--to", metavar="NAME", help="output format; default: that of the input, inline for plain text")
]
OutputFile = Annotated[Path | None, Option("--output", "-o", help="file to write")]
OutputText = Annotated[str, Option("--output", "-o", metavar="FILE", help="file to write; '-' is standard output")]
Jobs = Annotated[int | None, Option(min=1, help="number of cores to use; default: all; does not change the result")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="show no progress")]
AsJson = Annotated[bool, flag("--json", help="print one JSON object")]

# Options of one command.
Dev = Annotated[Path | None, Option("--dev", "-d", help="dev data: labelled sequences to choose parameters on")]
ModelOutput = Annotated[Path, Option("--output", "-o", help="the model file to write")]
UnseenLabels = Annotated[
    bool, flag("--unseen-labels", help="count labels that the model does not know as mistakes instead of stopping")
]
Errors = Annotated[
    int | None, Option(min=1, metavar="[N]", help=f"show the N worst sequences (default {WORST}), field by field")
]
Html = Annotated[Path | None, Option(help="write a web page with the worst sequences to this file")]
FeaturesShown = Annotated[int, Option("-k", min=1, help="number of features to show per label")]
RulesData = Annotated[Path | None, Option("--on", help="labelled sequences to check the rules against")]
RulesModel = Annotated[Path | None, Option("--model", help="a model: show how each rule changes its labels for --on")]
Number = Annotated[int, Option("-n", min=1, help="number of sequences")]
KnownRules = Annotated[
    str | None, Option("--rules", "-r", metavar="RULES", help="rules that are known already, and not suggested again")
]


class OptionalNumber(TyperCommand):
    """A command whose option `--errors` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = []
        for word, after in pairwise([*args, ""]):
            given += [word, str(WORST)] if word == "--errors" and not after.lstrip("-").isdigit() else [word]
        return super().parse_args(ctx, given)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter whose type is a dataclass by its fields, each an option of the command."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in parameters if is_dataclass(one.annotation)}
    options: list[inspect.Parameter] = []
    for one in parameters:
        group = groups.get(one.name)
        options += [one] if group is None else inspect.signature(group, eval_str=True).parameters.values()

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in options]
    vars(run)["__signature__"] = inspect.Signature(keywords)
    run.__annotations__ = {one.name: one.annotation for one in keywords}
    return run


@dataclass(frozen=True)
class Reading:
    """How data files are read."""

    format: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="format of the input: tsv, conll, transposed, csv, csv-texts, jsonl, json, doccano, prodigy, "
            "label-studio, huggingface, inline, text or spacy; default: recognised by the content",
        ),
    ] = None
    label_column: Annotated[
        str | None,
        Option(
            metavar="NUMBER", help="the label column, from 0, negative from the right, or 'none'; default: the last"
        ),
    ] = None
    scheme: Annotated[Scheme | None, Option(help="convert the labels to this scheme")] = None
    outside: Annotated[
        str | None,
        Option(
            metavar="LABEL",
            help="label of text in no span or tag, '?' for unknown; default: unknown in jsonl, json and inline, "
            "O in the formats of other programs",
        ),
    ] = None
    tokens: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="how text is cut: words, whitespace, 'pattern:REGEX' (every match is a token) or given (not at all); "
            "default: as in the training data or the model; words if there is neither",
        ),
    ] = None
    text_column: Annotated[
        str | None,
        Option(metavar="NAME", help="in a table: the column of the texts; default: the one that is clearly text"),
    ] = None
    encoding: Annotated[str, Option(metavar="NAME", help="text encoding of the input files")] = "utf-8"


@dataclass(frozen=True)
class Fitting:
    """The method, and what it learns with."""

    method: Annotated[
        str | None,
        Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="see `semistruct methods`; default: codl if nothing is labelled, annealed with a pool, otherwise ssvm",
        ),
    ] = None
    c: Annotated[
        str | None,
        Option(
            "-C", metavar="NUMBER", help="weight of the losses; default: the best on dev data, or by cross-validation"
        ),
    ] = None
    features: Features = None
    settings: Annotated[
        list[str] | None,
        Option("--set", "-p", metavar="NAME=VALUE", help="a parameter of the method; may be given several times"),
    ] = None
    metric: Metric = None
    seed: Annotated[int | None, Option(help="seed of all random choices; default: 0")] = None
    jobs: Jobs = None


@dataclass(frozen=True)
class BesideModel:
    """What training writes besides the model."""

    checkpoint: Annotated[Path | None, Option(help="folder in which to save the state after every round")] = None
    resume: Annotated[bool, flag("--resume", help="continue from the checkpoint")] = False
    plot: Annotated[Path | None, Option(help="file to draw the path into, .png or .svg")] = None


@dataclass(frozen=True)
class Labelling:
    """How a model labels: which rules its labels obey, which code it may call, on how many cores."""

    rules: Annotated[
        str | None,
        Option("--rules", "-r", metavar="RULES", help="rules (a file or a name) instead of those of the model"),
    ] = None
    no_rules: NoRules = False
    trust: Trust = None
    jobs: Jobs = None


@dataclass(frozen=True)
class Writing:
    """Where labels go, in what form, and what comes with them."""

    to: Format = None
    output: OutputText = "-"
    confidence: Annotated[
        bool | None,
        flag(
            "--confidence/--no-confidence",
            help="add how likely each label or field, and the whole, is right (jsonl, tables); tables have that of "
            "the whole unless you say no",
        ),
    ] = None
    drop: Annotated[
        list[str] | None, Option(metavar="LABEL", help="in a table: leave a field out; may be given several times")
    ] = None
    separator: Annotated[str, Option(metavar="TEXT", help="in a table: what joins fields that repeat")] = "; "
    accept: Annotated[
        float | None,
        Option(
            metavar="LEVEL",
            help="accept the surest answers, as many as possible while at least this share of them is right, such as "
            "0.99; needs --rest or --to jsonl",
        ),
    ] = None
    accept_by: Annotated[
        Literal["sequence", "field"] | None, Option(help="what is accepted; default: whole sequences")
    ] = None
    rest: Annotated[
        str | None,
        Option(metavar="FILE", help="with --accept: file for the sequences that a person still has to check"),
    ] = None
    resume: Annotated[
        bool, flag("--resume", help="continue where the same command was interrupted; its work is in OUTPUT.parts")
    ] = False
    quiet: Quiet = False


@dataclass(frozen=True)
class PickOptions:
    """What `pick` chooses by, and where the sequences go."""

    labelled: Annotated[Path | None, Option("--labelled", "-l", help="what is labelled so far; default: nothing")] = (
        None
    )
    rules: RulesFile = None
    model: Annotated[
        Path | None, Option("--model", "-m", help="a model that proposes labels; default: one learned from --labelled")
    ] = None
    output: OutputFile = None
    to: Format = None
    trust: Trust = None
    jobs: Jobs = None


@dataclass(frozen=True)
class CurveOptions:
    """What `curve` tries."""

    pool: Pools = None
    rules: RulesFile = None
    output: Annotated[Path | None, Option("--output", "-o", help="plot of the curve to write, .png or .svg")] = None
    sizes: Annotated[
        str | None, Option(metavar="NUMBERS", help="numbers of labelled sequences, such as 5,10; default: by the data")
    ] = None
    folds: Annotated[int, Option(min=2, help="number of parts of the labelled data; each is held out once")] = 5
    features: Features = None
    metric: Metric = None
    seed: Annotated[int, Option(help="seed of the draws")] = 0
    jobs: Jobs = None
