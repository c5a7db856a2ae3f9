"""The commands. Each parses its options, calls the library and prints one result.

Results go to standard output, talk to standard error.  The library is imported inside the commands, so that help
and wrong usage are answered at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semistruct._version import __version__
from semistruct.cli.curve import EPILOG as CURVE_EPILOG
from semistruct.cli.curve import curve
from semistruct.cli.data import data_app
from semistruct.cli.ending import Commands
from semistruct.cli.options import (
    Encoding,
    Format,
    Jobs,
    LabelColumn,
    Outside,
    Quiet,
    Scheme,
    read_data,
    reading_of,
    rules_of,
)
from semistruct.cli.output import AsJson
from semistruct.cli.output import print_result as _print
from semistruct.cli.reproduce import EPILOG as REPRODUCE_EPILOG
from semistruct.cli.reproduce import reproduce
from semistruct.errors import ParameterError
from semistruct.files import refuse_overwriting

if TYPE_CHECKING:
    from semistruct.rules import Rules

app = typer.Typer(
    cls=Commands,
    help="Label sequences: from a few labelled examples to a model you can trust.",
    epilog="Example: semistruct data make citations -n 300 -o train.tsv && semistruct train train.tsv -o my.model",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)
app.add_typer(data_app, name="data")
app.command(epilog=REPRODUCE_EPILOG)(reproduce)
app.command(epilog=CURVE_EPILOG)(curve)

TRAIN_EPILOG = """Example: semistruct train refs.tsv -u pool.txt -d dev.tsv -r citations -o refs.model

Templates: word, lower, shape, digits, classes, prefix(2-4), suffix(2-4), column(1), cluster(FILE), each with an
optional window such as lower[-1..1]; begin, end, position, enclosed, signs, bigram, shapes, lexicon(FILE) look at the
whole sequence; steps(punctuation) has separate transition weights after punctuation.
Example: -f default -f 'lexicon(names.txt)'"""

RULES_EPILOG = """Example: semistruct rules citations --on refs.tsv

Rules that come with semistruct: apartments, apartments-daso, apartments-prototypes, citations, citations-ap,
citations-codl, citations-daso, headers. A file of this name in the working directory goes first."""

ModelFile = Annotated[Path, typer.Argument(help="a model file")]
NoRules = Annotated[bool, typer.Option("--no-rules", help="do not obey the rules of the model")]
OtherRules = Annotated[
    str | None, typer.Option("--rules", "-r", help="rules (a file or name) instead of those in the model")
]


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False) -> None:
    if show:
        typer.echo(f"semistruct {__version__}")
        raise typer.Exit


@app.command(epilog=TRAIN_EPILOG)
def train(
    labelled: Annotated[Path, typer.Argument(help="labelled sequences, in any format")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the model file to write")],
    pool: Annotated[
        list[Path] | None,
        typer.Option("--pool", "-u", help="sequences without labels; may be given several times"),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", "-d", help="labelled data to choose parameters on and to report")
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", "-r", help="rules: a file, or one that comes with semistruct by its name")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="see `semistruct methods`; if not given, annealed if there is unlabelled data, else ssvm",
        ),
    ] = None,
    c: Annotated[
        str | None,
        typer.Option(
            "-C", help="weight of the training losses; if not given, the best on dev data, else in cross-validation"
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features", "-f", help="a feature set (default, paper) or a template (see below); give it several times"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-p", help="a parameter of the method, as rounds=5 (see `semistruct methods NAME`); several times"
        ),
    ] = None,
    select: Annotated[
        str | None, typer.Option(help="which point of its path a method takes: dev, labels-free, last")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="a folder to keep the state in")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the checkpoint")] = False,
    plot: Annotated[Path | None, typer.Option(help="draw the path, as .png or .svg")] = None,
    seed: Annotated[
        int | None, typer.Option(help="seed of the order in which examples are visited, 0 if not given")
    ] = None,
    jobs: Jobs = None,
    format: Format = None,
    label_column: LabelColumn = None,
    scheme: Scheme = None,
    outside: Outside = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn a model from labelled sequences, and from unlabelled ones and rules if there are any."""
    from semistruct.cli import training

    for written in (output, plot):
        refuse_overwriting(written, [labelled, *(pool or []), dev, rules])
    reading = reading_of(format, label_column, scheme, outside, encoding)
    data = training.Data(
        read_data(labelled, reading),
        [read_data(path, reading) for path in pool or []],
        None if dev is None else read_data(dev, reading),
    )
    params = {
        "C": None if c is None else training.value_of(c),
        "features": features,
        "rules": rules_of(rules),
        "select": select,
        "random_state": seed,
        "n_jobs": jobs,
    }
    params |= training.settings_of(settings or [])
    beside = training.BesideModel(checkpoint, resume, plot)
    result = training.train(data, output, method=method, params=params, beside=beside, quiet=quiet)
    _print(result, as_json, training.report)
    training.end(result)


@app.command(epilog="Example: semistruct methods daso")
def methods(
    name: Annotated[str | None, typer.Argument(help="one of them, to see its parameters")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the learning methods, or one of them with its parameters."""
    from semistruct.cli import training

    _print(training.described(name), as_json, training.description)


@app.command(epilog="Example: semistruct predict refs.model new.txt --to inline -o labelled.txt")
def predict(
    model: ModelFile,
    inputs: Annotated[list[str] | None, typer.Argument(help="files to label; standard input if none or '-'")] = None,
    to: Annotated[str | None, typer.Option(help="output format: inline for text, tsv for tokens if not given")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="file to write")] = "-",
    corpus_rules: Annotated[
        bool, typer.Option("--corpus-rules", help="obey the corpus rules too, as rules for the whole input")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="(jsonl) add the margin of each label over the best other one")
    ] = False,
    rules: OtherRules = None,
    no_rules: NoRules = False,
    jobs: Jobs = None,
    format: Format = None,
    label_column: LabelColumn = None,
    scheme: Scheme = None,
    outside: Outside = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Label sequences with a model."""
    from semistruct.cli import commands

    refuse_overwriting(output, [model, *(inputs or []), rules])
    reading = reading_of(format, label_column, None, outside, encoding)
    if confidence and to != "jsonl":
        raise ParameterError("--confidence is for --to jsonl")
    how = commands.Labelling(_instead(rules, no_rules), corpus_rules, confidence)
    commands.predict(model, inputs or ["-"], reading, to=to, output=output, scheme=scheme, how=how, jobs=jobs)


@app.command(epilog="Example: semistruct evaluate refs.model test.tsv --json")
def evaluate(
    model: ModelFile,
    gold: Annotated[Path, typer.Argument(help="labelled sequences to compare with")],
    unseen_labels: Annotated[
        bool, typer.Option("--unseen-labels", help="count gold labels the model has never seen as errors")
    ] = False,
    rules: OtherRules = None,
    no_rules: NoRules = False,
    jobs: Jobs = None,
    format: Format = None,
    label_column: LabelColumn = None,
    scheme: Scheme = None,
    outside: Outside = None,
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Compare the labels of a model with known ones."""
    from semistruct.cli import commands

    commands.check_order(model, [str(gold)])
    corpus = read_data(gold, reading_of(format, label_column, scheme, outside, encoding))
    how = commands.Labelling(_instead(rules, no_rules))
    result = commands.evaluate(model, corpus, unseen_labels=unseen_labels, how=how, jobs=jobs)
    _print(result, as_json, commands.evaluation_report)


@app.command(epilog="Example: semistruct dump refs.model -k 20")
def dump(
    model: ModelFile,
    k: Annotated[int, typer.Option("-k", min=1, help="features per label")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what is inside a model: its card and the heaviest features of each label."""
    from semistruct.cli import commands

    _print(commands.dump(model, k), as_json, commands.dump_report)


@app.command(epilog=RULES_EPILOG)
def rules(
    rules: Annotated[str, typer.Argument(help="a rules file, or the name of one that comes with semistruct")],
    on: Annotated[Path | None, typer.Option(help="labelled sequences to compare the rules with")] = None,
    examples: Annotated[int, typer.Option(min=0, help="counter-examples shown per rule")] = 3,
    format: Format = None,
    label_column: LabelColumn = None,
    scheme: Scheme = None,
    outside: Outside = None,
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Show rules in words, or find out whether they are true on labelled data."""
    from semistruct.cli import rules as command

    if on is None:
        _print(command.describe(rules), as_json, command.description_report)
        return
    corpus = read_data(on, reading_of(format, label_column, scheme, outside, encoding))
    _print(command.check(rules, corpus, examples), as_json, command.check_report)


@app.command(epilog="Example: semistruct demo -o demo")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="folder for the plot and the model")] = Path(
        "semistruct-demo"
    ),
    seed: Annotated[int, typer.Option(help="of the synthetic data")] = 0,
    jobs: Jobs = None,
) -> None:
    """Learn to label synthetic references, in about a minute."""
    from semistruct.cli.demo import run

    run(output, seed, jobs)


def _instead(path: str | None, no_rules: bool) -> Rules | bool:
    """Which rules to obey: those of the file, none (False), or those of the model (True)."""
    if path is not None and no_rules:
        raise ParameterError("--rules (-r) and --no-rules are both given; give one of them")
    found = rules_of(path)
    return not no_rules if found is None else found
