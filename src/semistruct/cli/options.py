"""Options that several commands have: single ones as types of parameters, and groups that arrive as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option
from typer.core import TyperCommand

from semistruct.errors import ParameterError, quoted

if TYPE_CHECKING:
    from semistruct.corpus import Corpus
    from semistruct.rules import Rules

Labelled = Annotated[Path, Argument(help="labelled sequences, in any format")]
ModelFile = Annotated[Path, Argument(help="a model file")]
RulesFile = Annotated[
    str | None, Option("--rules", "-r", help="rules: a file, or the name of rules that come with semistruct")
]
Features = Annotated[
    list[str] | None, Option("--features", "-f", help="a feature set or a template; may be given several times")
]
MetricName = Annotated[
    str | None,
    Option("--metric", help="what parameters are chosen by: token, sequence (whole sequences) or span; default: token"),
]
Jobs = Annotated[int | None, Option(min=1, help="number of threads; default: all cores; does not change the result")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="show no progress")]
AsJson = Annotated[bool, Option("--json", help="print one JSON object")]


WORST = 10
"""How many sequences `--errors` shows, unless a number follows it."""


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
        Option(help="tsv, conll, transposed, jsonl, inline, text or spacy; default: recognised by the content"),
    ] = None
    label_column: Annotated[
        str | None,
        Option(help="number of the label column, from 0, negative from the right, or 'none'; default: the last"),
    ] = None
    scheme: Annotated[str | None, Option(help="convert the labels to plain, bio, bioes or iob1")] = None
    outside: Annotated[str | None, Option(help="label of text in no span or tag; default: unknown")] = None
    encoding: Annotated[str, Option(help="text encoding of the input files")] = "utf-8"

    def options(self) -> dict[str, Any]:
        """The options of `formats.read`."""
        column: int | str | None = self.label_column
        if self.label_column not in (None, "none"):
            try:
                column = int(str(self.label_column))
            except ValueError:
                problem = f"--label-column is {quoted(self.label_column)}, expected a number or 'none'"
                raise ParameterError(problem) from None
        return {**asdict(self), "label_column": column}

    def corpus(self, path: Path) -> Corpus:
        from semistruct.cli import notices
        from semistruct.cli.kinds import check_data
        from semistruct.formats import read

        if self.format is None:
            check_data(path)
        found = read(path, **self.options())
        notices.tell(notices.of_tags(path, self.format, self.encoding))
        return found


@dataclass(frozen=True)
class Obeying:
    """Which rules the labels of a model obey, and how many threads find them."""

    rules: Annotated[
        str | None, Option("--rules", "-r", help="rules (a file or a name) instead of those of the model")
    ] = None
    no_rules: Annotated[bool, Option("--no-rules", help="do not obey the rules of the model")] = False
    jobs: Jobs = None

    def obeyed(self) -> Rules | bool:
        """The rules of the file, those of the model (True), or none (False)."""
        if self.rules is not None and self.no_rules:
            raise ParameterError("--rules (-r) and --no-rules are both given; use one of them")
        found = rules_of(self.rules)
        return not self.no_rules if found is None else found


@dataclass(frozen=True)
class BesideModel:
    """What training writes besides the model."""

    checkpoint: Annotated[Path | None, Option(help="folder in which to save the state after every round")] = None
    resume: Annotated[bool, Option("--resume", help="continue from the checkpoint")] = False
    plot: Annotated[Path | None, Option(help="plot of the path to write, a .png or .svg file")] = None


def rules_of(path: str | None) -> Rules | None:
    if path is None:
        return None
    from semistruct.cli.kinds import check_rules
    from semistruct.rules import Rules

    check_rules(path)
    return Rules.from_file(path)
