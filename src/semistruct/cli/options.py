"""Options that several commands have: single ones as types of parameters, and groups that arrive as one object."""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option
from typer.core import TyperCommand

from semistruct.errors import DataError, DataWarning, ParameterError, quoted

if TYPE_CHECKING:
    from semistruct.corpus import Corpus
    from semistruct.methods import SequenceLabeller
    from semistruct.rules import Rules

Labelled = Annotated[Path, Argument(help="labelled sequences, in any format")]
ModelFile = Annotated[Path, Argument(help="a model file")]
RulesFile = Annotated[
    str | None,
    Option("--rules", "-r", metavar="RULES", help="rules: a file, or the name of rules that come with semistruct"),
]
MayRead = Annotated[
    Path | None,
    Option(
        "--rules-may-read",
        metavar="DIR",
        help="a folder whose files the rules may read, besides the folder that the rules file is in",
    ),
]
Features = Annotated[
    list[str] | None,
    Option("--features", "-f", metavar="TEMPLATE", help="a feature set or a template; may be given several times"),
]
Trust = Annotated[
    list[str] | None,
    Option(metavar="MODULE", help="a Python module whose functions the model may call; may be given several times"),
]
MetricName = Annotated[
    str | None,
    Option(
        "--metric",
        metavar="NAME",
        help="the score by which parameters are chosen: token (right tokens), sequence (sequences without a mistake) "
        "or span (F1 of fields); default: token",
    ),
]
ENGINE = "share the work with Ray: 'ray' starts it on this machine, ray://HOST:PORT uses a cluster"
Engine = Annotated[str | None, Option(metavar="ADDRESS", help=ENGINE)]
Jobs = Annotated[int | None, Option(min=1, help="number of cores to use; default: all; does not change the result")]
Quiet = Annotated[bool, Option("--quiet", "-q", metavar="", help="show no progress")]
AsJson = Annotated[bool, Option("--json", metavar="", help="print one JSON object")]


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
        Option(
            metavar="NAME",
            help="format of the input: tsv, conll, transposed, csv, csv-texts, jsonl, json, doccano, prodigy, "
            "label-studio, huggingface, inline, text or spacy; default: recognised by the content",
        ),
    ] = None
    label_column: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="number of the label column, from 0, negative from the right, or 'none'; default: the last",
        ),
    ] = None
    label_names: Annotated[
        Path | None, Option(metavar="FILE", help="file with the names of labels that are numbers, one per line, from 0")
    ] = None
    scheme: Annotated[str | None, Option(metavar="NAME", help="convert the labels to plain, bio, bioes or iob1")] = None
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
            help="how running text is cut into tokens: words, whitespace, 'pattern:REGEX' (every match is a token) or "
            "given (not at all); default: as in the training data or the model; words if there "
            "is neither",
        ),
    ] = None
    cut_tokens: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="what to do if a span begins or ends inside a token: split the token, widen the span, or refuse the "
            "file; default: split in running text, refuse if the file has tokens",
        ),
    ] = None
    encoding: Annotated[str, Option(metavar="NAME", help="text encoding of the input files")] = "utf-8"

    def options(self) -> dict[str, Any]:
        """The options of `formats.read`."""
        from semistruct.formats.huggingface import read_label_names
        from semistruct.tokens import WORDS

        column: int | str | None = self.label_column
        if self.label_column not in (None, "none"):
            try:
                column = int(str(self.label_column))
            except ValueError:
                problem = f"--label-column is {quoted(self.label_column)}, expected a number or 'none'"
                raise ParameterError(problem) from None
        names = None if self.label_names is None else read_label_names(self.label_names, self.encoding)
        return {**asdict(self), "label_column": column, "label_names": names, "tokens": self.tokens or WORDS}

    def like(self, labelled: Corpus) -> Reading:
        """The same, for files that are used together with labelled data: text is cut as there."""
        from semistruct.looks import advice_on_cutting, probable_cut
        from semistruct.tokens import GIVEN

        cut = labelled.cut_by or probable_cut(labelled.tokens)
        if self.tokens or cut != GIVEN:
            return self.cutting(cut)
        why = f"{labelled.source} {advice_on_cutting(labelled.tokens)}"
        return ReadingWithAdvice(**{**vars(self), "tokens": GIVEN}, why=why)

    def cutting(self, tokens: str) -> Reading:
        """The same, where text is cut in this way unless an option says otherwise."""
        return replace(self, tokens=self.tokens or tokens)

    def corpus(self, path: Path) -> Corpus:
        from semistruct.formats import read

        with self._looking_at(path):
            return read(path, **self.options())

    def pool(self, path: Path) -> Corpus:
        """The tokens of a file, without the text that they were cut out of: a pool may be large."""
        from semistruct.corpus import Corpus
        from semistruct.files import source_name
        from semistruct.formats import sharing_words, stream

        with self._looking_at(path):
            examples = (replace(e, text=None, offsets=None) for e in stream(path, **self.options()))
            return Corpus(list(sharing_words(examples)), source_name(path))

    @contextmanager
    def _looking_at(self, path: Path) -> Iterator[None]:
        """Refuse a file of another kind before it is read, and tell of what is odd in it afterwards."""
        from semistruct.cli import notices
        from semistruct.cli.kinds import check_data
        from semistruct.files import source_name, state_of

        before = state_of(path)
        if self.format is None:
            check_data(path)
        yield
        if state_of(path) != before:
            problem = "has changed while it was read; what was read may be old and new content"
            warnings.warn(f"{source_name(path)}: {problem}", DataWarning, stacklevel=3)
        notices.tell(notices.of_tags(path, self.format, self.encoding))


@dataclass(frozen=True)
class ReadingWithAdvice(Reading):
    """Reading files beside data whose tokens do not tell how text is cut; `why` says so."""

    why: str = ""

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in super().options().items() if name != "why"}

    @contextmanager
    def _looking_at(self, path: Path) -> Iterator[None]:
        from semistruct.tokens import UNCUT

        try:
            with super()._looking_at(path):
                yield
        except DataError as err:
            raise DataError(str(err).replace(UNCUT, f"running text, but {self.why}")) from None


@dataclass(frozen=True)
class Obeying:
    """How a model labels: which rules its labels obey, which code it may call, how many threads find them."""

    rules: Annotated[
        str | None,
        Option("--rules", "-r", metavar="RULES", help="rules (a file or a name) instead of those of the model"),
    ] = None
    rules_may_read: MayRead = None
    no_rules: Annotated[bool, Option("--no-rules", metavar="", help="do not obey the rules of the model")] = False
    trust: Trust = None
    jobs: Jobs = None
    engine: Engine = None

    def obeyed(self) -> Rules | bool:
        """The rules of the file, those of the model (True), or none (False)."""
        found = rules_of(self.rules, self.rules_may_read, none=self.no_rules)
        return not self.no_rules and (True if found is None else found)

    def loaded(self, model: Path) -> Any:
        """The estimator in a model file."""
        estimator: Any = load_trusting(model, self.trust)
        estimator.n_jobs = self.jobs
        return estimator


@dataclass(frozen=True)
class Writing:
    """Where labels go, and in what form."""

    to: Annotated[
        str | None, Option(metavar="NAME", help="output format; default: that of the input, inline for plain text")
    ] = None
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="file to write; '-' is standard output")] = "-"
    resume: Annotated[
        bool,
        Option(
            "--resume",
            metavar="",
            help="continue where the same command was interrupted; unfinished work is in OUTPUT.part",
        ),
    ] = False
    quiet: Quiet = False


@dataclass(frozen=True)
class Accepting:
    """Which answers need no second look."""

    accept: Annotated[
        float | None,
        Option(
            metavar="LEVEL",
            help="accept the surest answers, as many as possible while at least this share of them is right, such as "
            "0.99; needs --rest or --to jsonl",
        ),
    ] = None
    accept_by: Annotated[
        str | None,
        Option(
            metavar="NAME", help="what is accepted: whole sequences (sequence, the default), or single fields (field)"
        ),
    ] = None
    rest: Annotated[
        str | None,
        Option(metavar="FILE", help="with --accept: file for the sequences that a person still has to check"),
    ] = None

    def check(self, to: str | None, output: str, others: dict[str, bool]) -> None:
        """Refuse options that do not go together; `others` says which further ones are given."""
        if self.accept is None:
            for name, value in (("--rest", self.rest), ("--accept-by", self.accept_by)):
                if value is not None:
                    raise ParameterError(f"{name} needs --accept, the share of right answers, such as --accept 0.99")
            return
        for name, given in others.items():
            if given:
                raise ParameterError(f"--accept cannot go with {name}")
        if self.rest is None and to != "jsonl":
            raise ParameterError("--accept needs --rest, a file for the others, or --to jsonl, which marks them")
        if self.rest is not None and (self.rest == output or Path(self.rest).resolve() == Path(output).resolve()):
            raise ParameterError("--rest and --output (-o) name the same file")

    @property
    def by(self) -> str:
        return self.accept_by or "sequence"


@contextmanager
def searching_here(features: list[str] | None) -> Iterator[None]:
    """If features are functions, their modules are looked for in the current folder too, after all other places."""
    here = [os.getcwd()] if any("python(" in text for text in features or ()) else []
    sys.path += here
    try:
        yield
    finally:
        for folder in here:
            sys.path.remove(folder)


@contextmanager
def trusting(modules: list[str] | None) -> Iterator[None]:
    """These modules are found in the current folder too."""
    with searching_here([f"python({module})" for module in modules or ()]):
        yield


def load_trusting(model: Path, trust: list[str] | None) -> SequenceLabeller:
    """The estimator in a model file, which may call functions of the modules `trust`."""
    from semistruct.methods import load

    with trusting(trust):
        return load(model, trust=trust or ())


@dataclass(frozen=True)
class BesideModel:
    """What training writes besides the model."""

    checkpoint: Annotated[
        Path | None, Option(metavar="DIR", help="folder in which to save the state after every round")
    ] = None
    resume: Annotated[bool, Option("--resume", metavar="", help="continue from the checkpoint")] = False
    plot: Annotated[Path | None, Option(metavar="FILE", help="file to draw the path into, .png or .svg")] = None


def check_engine(engine: str | None) -> None:
    """Refuse an engine that cannot be used, before large files are read."""
    if engine is not None:
        from semistruct.engines import cluster

        cluster.check_engine(engine)


def files_of(features: list[str] | None) -> list[str]:
    """What stands in the brackets of templates, among it the files that they name."""
    return [found[1] for one in features or () if (found := re.search(r"\((.*)\)", one))]


def rules_of(path: str | None, may_read: Path | None, *, none: bool = False) -> Rules | None:
    """The rules of a file; None if none are given, an empty list if none are wanted."""
    if path is None and not none:
        return None
    if path is not None and none:
        raise ParameterError("--rules (-r) and --no-rules are both given; use one of them")
    from semistruct.rules import Rules

    return Rules([]) if path is None else rules_file(path, may_read)


def rules_file(path: str, may_read: Path | None) -> Rules:
    """The rules of a file, which may have files below its folder and below another one read."""
    from semistruct.cli.kinds import check_rules
    from semistruct.rules import Rules

    check_rules(path)
    return Rules.from_file(path, may_read=may_read)
