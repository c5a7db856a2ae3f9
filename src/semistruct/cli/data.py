"""`semistruct data`: the corpora that semistruct knows by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from semistruct.cli.options import AsJson
from semistruct.cli.output import print_result
from semistruct.errors import ParameterError, meant, quoted

data_app = typer.Typer(
    help="Corpora: fetch public ones, make synthetic ones.",
    epilog="Example: semistruct data make citations -n 5",
    no_args_is_help=True,
)

GET_EPILOG = """Example: semistruct data get citations -o citations

The published files are kept in $SEMISTRUCT_CACHE (default: the folder semistruct in your cache folder), and their
checksums are verified; SEMISTRUCT_MIRROR names another server with the same paths. The title pages of headers are
split in the order of their file: 100 for training, 100 dev, 100 test, the rest in the pool."""


@data_app.command("list", epilog="Example: semistruct data list --json")
def list_corpora(as_json: AsJson = False) -> None:
    """List the known corpora: what they are, where they come from, and how to get them."""
    from semistruct.datasets import CORPORA, GENERATORS

    corpora = [
        {
            "name": name,
            "what": known.what,
            "sizes": known.sizes,
            "origin": known.origin,
            "terms": known.terms,
            "public": known.convert is not None,
            "fetched": known.fetched(name),
            "synthetic": name in GENERATORS,
        }
        for name, known in CORPORA.items()
    ]
    print_result({"corpora": corpora}, as_json, _listing)


@data_app.command(epilog=GET_EPILOG)
def get(
    name: Annotated[str, Argument(help="which corpus: citations or headers")],
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="DIR", help="folder to write to; default: the name of the corpus")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public corpus and write train.tsv, dev.tsv, test.tsv and unlabeled.txt (the pool)."""
    from semistruct.cli.progress import fetching
    from semistruct.datasets import conversion, registry

    with fetching() as show:
        parts = registry.get(name, show=show)
    folder = output or Path(name)
    conversion.save(parts, folder)
    counts = {part: len(corpus) for part, corpus in parts.items()}
    print_result({"corpus": name, "folder": str(folder), "sequences": counts}, as_json, _written)


@data_app.command(epilog="Example: semistruct data make citations -n 300 -o train.tsv")
def make(
    name: Annotated[
        str,
        Argument(help="which corpus: citations (references, 13 fields) or apartments (adverts, 12 fields)"),
    ],
    n: Annotated[int, Option("-n", min=1, help="number of sequences")] = 500,
    seed: Annotated[int, Option(help="seed of the data")] = 0,
    to: Annotated[
        str,
        Option(
            metavar="NAME",
            help="output format, such as tsv, conll, csv, jsonl, inline, spacy or text (which has no labels)",
        ),
    ] = "tsv",
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="file to write; '-' is standard output")
    ] = "-",
) -> None:
    """Write a synthetic corpus, whose labels are correct by construction."""
    from semistruct.datasets import GENERATORS
    from semistruct.formats import write

    if name not in GENERATORS:
        raise ParameterError(f"there is no synthetic corpus {quoted(name)}; {meant(name, GENERATORS)}")
    write(GENERATORS[name](n, seed=seed), output, to)


def _listing(result: dict[str, Any]) -> Iterator[Any]:
    for corpus in result["corpora"]:
        name = corpus["name"]
        ways = []
        if corpus["public"]:
            ways.append(f"semistruct data get {name}" + (" (fetched)" if corpus["fetched"] else ""))
        if corpus["synthetic"]:
            ways.append(f"semistruct data make {name} (synthetic)")
        yield f"{name}: {corpus['what']}"
        yield f"  sizes  {corpus['sizes']}"
        yield f"  from   {corpus['origin']}"
        yield f"  terms  {corpus['terms']}"
        yield f"  get    {', '.join(ways)}"


def _written(result: dict[str, Any]) -> Iterator[Any]:
    for part, count in result["sequences"].items():
        file = "unlabeled.txt" if part == "pool" else f"{part}.tsv"
        yield f"{Path(result['folder']) / file}: {count} sequences"
