"""`semistruct data`: the corpora that are known by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from semistruct.cli.output import AsJson, print_result
from semistruct.errors import ParameterError, meant

data_app = typer.Typer(
    help="Corpora: fetch public ones, make synthetic ones.",
    epilog="Example: semistruct data make citations -n 5",
    no_args_is_help=True,
)

GET_EPILOG = """Example: semistruct data get citations -o citations

The files as published are kept in $SEMISTRUCT_CACHE, else in semistruct in the cache folder of the user, and their
checksums compared; SEMISTRUCT_MIRROR names another server with the same paths. The title pages of headers are cut in
the order of their file: 100 to train, 100 dev, 100 test, the rest unlabelled."""


@data_app.command("list", epilog="Example: semistruct data list --json")
def list_corpora(as_json: AsJson = False) -> None:
    """Show the corpora that are known: what they are, where from, and how to have them."""
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
    name: Annotated[str, typer.Argument(help="which corpus: citations or headers")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="folder to write to; if not given, one of the corpus's name")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public corpus and write train.tsv, dev.tsv, test.tsv and unlabeled.txt."""
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
        typer.Argument(help="which corpus: citations (references, 13 fields) or apartments (adverts, 12 fields)"),
    ],
    n: Annotated[int, typer.Option("-n", min=1, help="how many sequences")] = 500,
    seed: Annotated[int, typer.Option(help="another seed, other data")] = 0,
    to: Annotated[str, typer.Option(help="tsv, conll, transposed, jsonl, inline or text (text has no labels)")] = "tsv",
    output: Annotated[str, typer.Option("--output", "-o", help="file to write")] = "-",
) -> None:
    """Write a synthetic corpus, made by a generator with labels by construction."""
    from semistruct.datasets import GENERATORS
    from semistruct.formats import write

    if name not in GENERATORS:
        raise ParameterError(f"no synthetic corpus is called {name!r}; {meant(name, GENERATORS)}")
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
        ending = "txt" if part == "pool" else "tsv"
        yield f"{Path(result['folder']) / part}.{ending}: {count} sequences"
