"""The commands. Each parses its options, calls the library and prints one result.

Results go to standard output, messages to standard error.  The library is imported inside the commands, so that help
and wrong usage are answered at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from semistruct._version import __version__
from semistruct.app.cli import options as opt
from semistruct.app.cli.data import data_app
from semistruct.app.cli.ending import INTERRUPTED
from semistruct.app.cli.options import WORST, OptionalNumber, flag, grouped
from semistruct.app.cli.output import print_result
from semistruct.app.cli.reproduce import EPILOG as REPRODUCE_EPILOG
from semistruct.app.cli.reproduce import reproduce
from semistruct.app.cli.work import EPILOG as WORK_EPILOG
from semistruct.app.cli.work import SERVE_EPILOG, serve, work
from semistruct.base.errors import ParameterError


class Commands(TyperGroup):
    """Commands: an interrupted one says in one line what it has written."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            print(f"semistruct: interrupted, {str(err) or 'nothing was written'}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


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

TRAIN_EPILOG = """Example: semistruct train refs.tsv -u pool.txt -d dev.tsv -r citations -o refs.model

Feature sets: default, paper, identity, hmm.
Templates: word, lower, shape, digits, classes, prefix(2-4), suffix(2-4), size, vowels, marks, kinds, column(1),
cluster(FILE), corelower, coreshape, coredigits, coreclasses, coreprefix(2-4), coresuffix(2-4), coresize, corevowels,
each with an optional window such as lower[-1..1]; begin, end, places, position, enclosed, signs, bigram, shapes,
lexicon(FILE) look at the whole sequence; steps(punctuation) has separate transition weights after punctuation.
vectors(FILE), with a window if you like, is for word vectors; python(MODULE:FUNCTION) calls FUNCTION(tokens, t).
Example: -f default -f 'lexicon(names.txt)'"""

PREDICT_EPILOG = """Example: semistruct predict refs.model new.txt --to inline -o labelled.txt

With --resume, an interrupted command continues where it stopped if you give it again:
semistruct predict refs.model large.txt -o labelled.txt --resume"""

RULES_EPILOG = """Example: semistruct rules citations --on refs.tsv

Rules that come with semistruct: apartments, apartments-daso, apartments-prototypes, citations, citations-ap,
citations-codl, citations-daso, headers, names. A file of that name in the working directory takes precedence."""


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, flag("--version", help="Show the version.", is_eager=True)] = False) -> None:
    if show:
        print(f"semistruct {__version__}")
        raise typer.Exit


@app.command(epilog=TRAIN_EPILOG)
@grouped
def train(
    labelled: opt.LabelledFile,
    output: opt.ModelOutput,
    pool: opt.Pools = None,
    dev: opt.Dev = None,
    rules: opt.RulesFile = None,
    no_rules: opt.NoRules = False,
    *,
    fitting: opt.Fitting,
    beside: opt.BesideModel,
    reading: opt.Reading,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Learn a model from labelled sequences and, if given, a pool and rules."""
    from semistruct.app.cli import files, training
    from semistruct.app.cli.training_report import report

    inputs = [labelled, *(pool or []), dev, rules, *files.feature_files(fitting.features)]
    files.check_output(output, inputs)
    files.check_output(beside.plot, inputs, plot=True)
    if beside.plot is not None and beside.plot.resolve() == output.resolve():
        raise ParameterError(f"{output}: cannot be both the model and the plot")
    data = training.Data.read(labelled, pool or [], dev, files.Reader(reading))
    result = training.train(data, output, fitting, beside, files.read_rules(rules, no_rules), quiet)
    with training.after_the_model(output, "report"):
        print_result(result, as_json, report(result))
    result.pass_on_interruption()


@app.command(epilog="Example: semistruct methods daso")
def methods(name: opt.MethodName = None, as_json: opt.AsJson = False) -> None:
    """List the learning methods, or show one with its parameters."""
    from semistruct.app.cli import describing

    print_result(describing.describe(name), as_json)


@app.command(epilog=PREDICT_EPILOG)
@grouped
def predict(
    model: opt.ModelFile,
    inputs: opt.Inputs = None,
    *,
    writing: opt.Writing,
    labelling: opt.Labelling,
    reading: opt.Reading,
) -> None:
    """Label sequences with a model: files of any size, on all cores."""
    from semistruct.app.cli import files, predicting

    for path in (writing.output, writing.rest):
        files.check_output(path, [model, *(inputs or []), labelling.rules])
    predicting.check_together(writing)
    predicting.predict(model, inputs or ["-"], labelling, writing, files.Reader(reading))


@app.command(cls=OptionalNumber, epilog="Example: semistruct evaluate refs.model test.tsv --errors")
@grouped
def evaluate(
    model: opt.ModelFile,
    gold: opt.GoldFile,
    unseen_labels: opt.UnseenLabels = False,
    errors: opt.Errors = None,
    html: opt.Html = None,
    *,
    labelling: opt.Labelling,
    reading: opt.Reading,
    as_json: opt.AsJson = False,
) -> None:
    """Compare the labels that a model predicts with known labels."""
    from semistruct.app.cli import evaluating, files

    files.check_output(html, [model, gold, labelling.rules])
    n_worst = WORST if errors is None and html is not None else errors
    reader = files.Reader(reading)
    result = evaluating.evaluate(model, gold, labelling, reader, unseen_labels=unseen_labels, n_worst=n_worst)
    if html is not None:
        from semistruct.app.report.mistakes import write_mistakes

        write_mistakes(html, result)
    print_result(result, as_json, evaluating.report(result, list_mistakes=errors is not None))
    if html is not None and not as_json:
        print(f"page written to {html}")


@app.command(epilog="Example: semistruct dump refs.model -k 20")
def dump(model: opt.ModelFile, k: opt.FeaturesShown = 10, trust: opt.Trust = None, as_json: opt.AsJson = False) -> None:
    """Show what is inside a model: its card, and the features of each label with the largest weights."""
    from semistruct.app.cli import describing

    print_result(describing.contents(model, k, trust), as_json)


@app.command(epilog=RULES_EPILOG)
@grouped
def rules(
    rules: opt.RulesName,
    on: opt.RulesData = None,
    model: opt.RulesModel = None,
    trust: opt.Trust = None,
    *,
    reading: opt.Reading,
    as_json: opt.AsJson = False,
) -> None:
    """Show rules in words, check whether they hold on labelled data, or show what each of them does."""
    from semistruct.app.cli import rules as command
    from semistruct.app.cli.files import Reader, read_rules

    given, reader = read_rules(rules), Reader(reading)
    assert given is not None
    result: Any
    if on is None:
        if model is not None:
            raise ParameterError("--model needs --on, the sequences to label")
        result = command.describe(rules, given)
    elif model is not None:
        result = command.effects(rules, given, model, trust, on, reader)
    else:
        result = command.check(rules, given, reader.corpus(on))
    print_result(result, as_json)


@app.command(epilog="Example: semistruct suggest refs.tsv -u pool.txt -o suggested.yaml")
@grouped
def suggest(
    labelled: opt.LabelledFile,
    pool: opt.Pools = None,
    rules: opt.KnownRules = None,
    output: opt.OutputFile = None,
    *,
    reading: opt.Reading,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Suggest rules that the labelled data and the pool speak for, as a rules file to look through."""
    from semistruct.app.cli import rules as command
    from semistruct.app.cli.files import Reader, check_output

    check_output(output, [labelled, *(pool or []), rules])
    print_result(command.suggest(labelled, pool or [], rules, output, Reader(reading), quiet), as_json)


@app.command(epilog="Example: semistruct pick pool.txt -n 10 --labelled refs.tsv -r citations -o next.jsonl")
@grouped
def pick(
    pool: opt.PoolFile,
    n: opt.Number = 10,
    *,
    options: opt.PickOptions,
    reading: opt.Reading,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Pick the sequences of a pool that are most worth labelling next."""
    from semistruct.app.cli import labels
    from semistruct.app.cli.files import Reader, check_output

    check_output(options.output, [pool, options.labelled, options.model, options.rules])
    print_result(labels.pick(pool, n, options, Reader(reading), quiet), as_json)


@app.command(epilog="Example: semistruct curve refs.tsv -u pool.txt -r citations -o curve.png")
@grouped
def curve(
    labelled: opt.LabelledFile,
    *,
    options: opt.CurveOptions,
    reading: opt.Reading,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Show how accuracy grows with the number of labelled sequences, and whether it pays to label more."""
    from semistruct.app.cli import labels
    from semistruct.app.cli.files import Reader, check_output, feature_files

    inputs = [labelled, *(options.pool or []), options.rules, *feature_files(options.features)]
    check_output(options.output, inputs, plot=True)
    print_result(labels.curve(labelled, options, Reader(reading), quiet), as_json)


@app.command(epilog="Example: semistruct demo -o demo")
def demo(
    output: Annotated[Path, Option("--output", "-o", help="folder for the plot and the model")] = Path(
        "semistruct-demo"
    ),
) -> None:
    """Learn to label synthetic references, in about a minute."""
    from semistruct.app.cli.demo import run

    run(output)


app.command(epilog=REPRODUCE_EPILOG)(reproduce)
app.command(epilog=WORK_EPILOG)(work)
app.command(epilog=SERVE_EPILOG)(serve)
