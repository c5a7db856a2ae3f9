"""The commands. Each parses its options, calls the library and prints one result.

Results go to standard output, messages to standard error.  The library is imported inside the commands, so that help
and wrong usage are answered at once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from semistruct._version import __version__
from semistruct.cli.curve import EPILOG as CURVE_EPILOG
from semistruct.cli.curve import curve
from semistruct.cli.data import data_app
from semistruct.cli.ending import Commands
from semistruct.cli.options import (
    ENGINE,
    WORST,
    Accepting,
    AsJson,
    BesideModel,
    Features,
    Jobs,
    Labelled,
    MayRead,
    MetricName,
    ModelFile,
    Obeying,
    OptionalNumber,
    Quiet,
    Reading,
    RulesFile,
    Trust,
    Writing,
    check_engine,
    files_of,
    grouped,
    rules_file,
    rules_of,
    searching_here,
)
from semistruct.cli.output import check_writable, print_result
from semistruct.cli.pick import EPILOG as PICK_EPILOG
from semistruct.cli.pick import pick
from semistruct.cli.reproduce import EPILOG as REPRODUCE_EPILOG
from semistruct.cli.reproduce import reproduce
from semistruct.cli.suggest import EPILOG as SUGGEST_EPILOG
from semistruct.cli.suggest import suggest
from semistruct.cli.work import EPILOG as WORK_EPILOG
from semistruct.cli.work import SERVE_EPILOG, serve, work
from semistruct.errors import ParameterError
from semistruct.files import refuse_overwriting

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
def version(
    show: Annotated[bool, Option("--version", metavar="", help="Show the version.", is_eager=True)] = False,
) -> None:
    if show:
        print(f"semistruct {__version__}")
        raise typer.Exit


@app.command(epilog=TRAIN_EPILOG)
@grouped
def train(
    labelled: Labelled,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="the model file to write")],
    pool: Annotated[
        list[Path] | None,
        Option("--pool", "-u", metavar="FILE", help="the pool: sequences without labels; may be given several times"),
    ] = None,
    dev: Annotated[
        Path | None, Option("--dev", "-d", metavar="FILE", help="dev data: labelled sequences to choose parameters on")
    ] = None,
    rules: RulesFile = None,
    rules_may_read: MayRead = None,
    no_rules: Annotated[
        bool, Option("--no-rules", metavar="", help="use no rules, not even those that the labelled sequences suggest")
    ] = False,
    method: Annotated[
        str | None,
        Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="see `semistruct methods`; default: codl if nothing is labelled, annealed if there is a pool, "
            "otherwise ssvm",
        ),
    ] = None,
    c: Annotated[
        str | None,
        Option(
            "-C", metavar="NUMBER", help="weight of the losses; default: the best on dev data, or by cross-validation"
        ),
    ] = None,
    features: Features = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            "-p",
            metavar="NAME=VALUE",
            help="a parameter of the method, for example rounds=5; may be given several times",
        ),
    ] = None,
    select: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="which point of the path becomes the model: dev, labels-free or last; "
            "default: dev if there is dev data, otherwise labels-free",
        ),
    ] = None,
    metric: MetricName = None,
    refit: Annotated[
        bool,
        Option(
            "--refit", metavar="", help="learn again from the labelled and the dev data together, with what was chosen"
        ),
    ] = False,
    *,
    beside: BesideModel,
    seed: Annotated[int | None, Option(help="seed of all random choices; default: 0")] = None,
    jobs: Jobs = None,
    engine: Annotated[str | None, Option(metavar="ADDRESS", help=f"{ENGINE}; only for the method annealed")] = None,
    reading: Reading,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn a model from labelled sequences and, if given, a pool and rules."""
    from semistruct.cli import training
    from semistruct.tokens import GIVEN

    for written in (output, beside.plot):
        refuse_overwriting(written, [labelled, *(pool or []), dev, rules, reading.label_names, *files_of(features)])
    check_engine(engine)
    corpus = reading.corpus(labelled)
    reading = reading.like(corpus)
    pools = [reading.pool(path) for path in pool or []]
    data = training.Data(corpus, pools, None if dev is None else reading.corpus(dev), reading.tokens or GIVEN)
    params = {
        "C": None if c is None else training.value_of(c),
        "features": features,
        "rules": rules_of(rules, rules_may_read, none=no_rules),
        "select": select,
        "metric": metric,
        "random_state": seed,
        "n_jobs": jobs,
        "engine": engine,
    }
    params |= training.settings_of(settings or [])
    with searching_here(features):
        result = training.train(data, output, method=method, params=params, beside=beside, refit=refit, quiet=quiet)
    with training.beside_the_model(result["model"], "report"):
        print_result(result, as_json, training.report)
    training.end(result)


@app.command(epilog="Example: semistruct methods daso")
def methods(
    name: Annotated[str | None, Argument(help="a method, to see its parameters; default: list all")] = None,
    as_json: AsJson = False,
) -> None:
    """List the learning methods, or show one with its parameters."""
    from semistruct.cli import describing

    print_result(describing.describe(name), as_json, describing.description_report)


@app.command(epilog=PREDICT_EPILOG)
@grouped
def predict(
    model: ModelFile,
    inputs: Annotated[list[str] | None, Argument(help="files to label; default, and for '-': standard input")] = None,
    corpus_rules: Annotated[
        bool, Option("--corpus-rules", metavar="", help="obey the corpus rules too; the corpus is the whole input")
    ] = False,
    confidence: Annotated[
        bool,
        Option(
            "--confidence",
            metavar="",
            help="add how likely each label, or span, and the sequence is right (needs --to jsonl)",
        ),
    ] = False,
    n_best: Annotated[
        int | None,
        Option(
            min=1, max=10_000, help="give this many labellings of each sequence with their scores (needs --to jsonl)"
        ),
    ] = None,
    *,
    writing: Writing,
    accepting: Accepting,
    obeying: Obeying,
    reading: Reading,
) -> None:
    """Label sequences with a model: files of any size, on all cores."""
    from semistruct.cli import labelling

    check_engine(obeying.engine)
    to, output = writing.to, writing.output
    for written in (output, accepting.rest):
        refuse_overwriting(written, [model, *(inputs or []), obeying.rules, reading.label_names])
    accepting.check(to, output, {"--corpus-rules": corpus_rules, "--n-best": n_best is not None})
    for name, given in (("--confidence", confidence), ("--n-best", n_best is not None)):
        if given and to != "jsonl":
            raise ParameterError(f"{name} needs --to jsonl")
    if corpus_rules and n_best is not None:
        raise ParameterError("--corpus-rules gives one labelling of the whole input and cannot go with --n-best")
    if corpus_rules and obeying.engine is not None:
        raise ParameterError("--corpus-rules looks at the whole input at once and cannot go with --engine")
    wanted = labelling.Wanted(corpus_rules, confidence, n_best)
    if writing.resume:
        for name, given in (("--corpus-rules", corpus_rules), ("--accept", accepting.accept is not None)):
            if given:
                raise ParameterError(f"--resume cannot go with {name}, for which the whole input is needed")
    labelling.predict(model, inputs or ["-"], reading, obeying, writing=writing, wanted=wanted, accepting=accepting)


@app.command(cls=OptionalNumber, epilog="Example: semistruct evaluate refs.model test.tsv --errors")
@grouped
def evaluate(
    model: ModelFile,
    gold: Annotated[Path, Argument(help="labelled sequences to compare with")],
    unseen_labels: Annotated[
        bool,
        Option(
            "--unseen-labels",
            metavar="",
            help="if the data has labels that the model does not know, count them as mistakes instead of stopping",
        ),
    ] = False,
    errors: Annotated[
        int | None,
        Option(min=1, metavar="[N]", help=f"show the N worst sequences (default {WORST}), field by field"),
    ] = None,
    html: Annotated[
        Path | None, Option(metavar="FILE", help="write a web page with the worst sequences to this file")
    ] = None,
    *,
    obeying: Obeying,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Compare the labels that a model predicts with known labels."""
    from semistruct.cli import labelling
    from semistruct.cli.kinds import check_order

    check_writable(html)
    check_engine(obeying.engine)
    refuse_overwriting(html, [model, gold, obeying.rules, reading.label_names])
    check_order(model, [str(gold)])
    n_worst = WORST if errors is None and html is not None else errors
    result = labelling.evaluate(model, gold, reading, obeying, unseen_labels=unseen_labels, n_worst=n_worst)
    if html is not None:
        from semistruct.report.mistakes import write_mistakes

        write_mistakes(html, result)
    print_result(result, as_json, partial(labelling.evaluation_report, list_mistakes=errors is not None))
    if html is not None and not as_json:
        print(f"page written to {html}")


@app.command(epilog="Example: semistruct dump refs.model -k 20")
def dump(
    model: ModelFile,
    k: Annotated[int, Option("-k", min=1, help="number of features to show per label")] = 10,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Show what is inside a model: its card, and the features of each label with the largest weights."""
    from semistruct.cli import describing

    print_result(describing.dump(model, k, trust), as_json, describing.dump_report)


@app.command(epilog=RULES_EPILOG)
@grouped
def rules(
    rules: Annotated[str, Argument(help="a rules file, or the name of rules that come with semistruct")],
    on: Annotated[Path | None, Option(metavar="FILE", help="labelled sequences to check the rules against")] = None,
    examples: Annotated[int, Option(min=0, help="number of counter-examples to show per rule")] = 3,
    model: Annotated[
        Path | None,
        Option(metavar="MODEL", help="a model file: show how each rule changes the labels that it predicts for --on"),
    ] = None,
    trust: Trust = None,
    rules_may_read: MayRead = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show rules in words, check whether they hold on labelled data, or show what each of them does."""
    from semistruct.cli import rules as command

    given = rules_file(rules, rules_may_read)
    if on is None and model is not None:
        raise ParameterError("--model needs --on, the sequences to label")
    if on is None:
        print_result(command.describe(rules, given), as_json, command.description_report)
    elif model is not None:
        found = command.effects(rules, given, model, trust, on, reading)
        print_result(found, as_json, command.effects_report)
    else:
        print_result(command.check(rules, given, reading.corpus(on), examples), as_json, command.check_report)


@app.command(epilog="Example: semistruct demo -o demo")
def demo(
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="folder for the plot and the model")] = Path(
        "semistruct-demo"
    ),
    seed: Annotated[int, Option(help="seed of the synthetic data")] = 0,
    jobs: Jobs = None,
) -> None:
    """Learn to label synthetic references, in about a minute."""
    from semistruct.cli.demo import run

    run(output, seed, jobs)


app.command(epilog=SUGGEST_EPILOG)(grouped(suggest))
app.command(epilog=PICK_EPILOG)(grouped(pick))
app.command(epilog=CURVE_EPILOG)(grouped(curve))
app.command(epilog=REPRODUCE_EPILOG)(reproduce)
app.command(epilog=WORK_EPILOG)(work)
app.command(epilog=SERVE_EPILOG)(serve)
