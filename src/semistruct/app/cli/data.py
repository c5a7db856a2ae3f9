"""`semistruct data`: the corpora that semistruct knows by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from semistruct.app.cli.options import AsJson, Number, OutputText
from semistruct.app.cli.output import print_result, status_line
from semistruct.base.errors import ParameterError, meant, quoted

data_app = typer.Typer(
    help="Corpora: fetch public ones, make synthetic ones.",
    epilog="Example: semistruct data make citations -n 5",
    no_args_is_help=True,
)

GET_EPILOG = """Example: semistruct data get citations -o citations

The published files are kept in $SEMISTRUCT_CACHE (default: the folder semistruct in your cache folder), and their
checksums are verified; SEMISTRUCT_MIRROR names another server with the same paths. The title pages of headers are
split in the order of their file: 100 for training, 100 dev, 100 test, the rest in the pool."""


@dataclass(frozen=True)
class KnownCorpora:
    """What the known corpora are, where they come from, and how to get them."""

    corpora: list[dict[str, Any]]

    def report(self) -> Iterator[str]:
        for row in self.corpora:
            ways = [f"semistruct data get {row['name']}" + " (fetched)" * row["fetched"]] if row["public"] else []
            ways += [f"semistruct data make {row['name']} (synthetic)"] if row["synthetic"] else []
            yield f"{row['name']}: {row['what']}"
            yield from (f"  {key:<6} {row[key]}" for key in ("sizes", "origin", "terms"))
            yield f"  get    {', '.join(ways)}"


@dataclass(frozen=True)
class Fetched:
    """A corpus that was written to a folder, with the number of sequences of each part."""

    corpus: str
    folder: str
    sequences: dict[str, int]

    def report(self) -> Iterator[str]:
        for part, count in self.sequences.items():
            file = "unlabeled.txt" if part == "pool" else f"{part}.tsv"
            yield f"{Path(self.folder) / file}: {count} sequences"


@data_app.command("list", epilog="Example: semistruct data list --json")
def list_corpora(as_json: AsJson = False) -> None:
    """List the known corpora: what they are, where they come from, and how to get them."""
    from semistruct.data.datasets import CORPORA, GENERATORS

    corpora = [
        {
            "name": name,
            **{key: getattr(known, key) for key in ("what", "sizes", "origin", "terms")},
            "public": known.convert is not None,
            "fetched": known.fetched(name),
            "synthetic": name in GENERATORS,
        }
        for name, known in CORPORA.items()
    ]
    print_result(KnownCorpora(corpora), as_json)


@data_app.command(epilog=GET_EPILOG)
def get(
    name: Annotated[str, Argument(help="which corpus: citations or headers")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="folder to write to; default: the name of the corpus")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public corpus and write train.tsv, dev.tsv, test.tsv and unlabeled.txt (the pool)."""
    from semistruct.data.datasets import corpora

    with status_line("fetching"):
        parts = corpora.get(name)
    folder = output or Path(name)
    corpora.save(parts, folder)
    print_result(Fetched(name, str(folder), {part: len(corpus) for part, corpus in parts.items()}), as_json)


@data_app.command(epilog="Example: semistruct data make citations -n 300 -o train.tsv")
def make(
    name: Annotated[
        str, Argument(help="which corpus: citations (references, 13 fields) or apartments (adverts, 12 fields)")
    ],
    n: Number = 500,
    seed: Annotated[int, Option(help="seed of the data")] = 0,
    to: Annotated[
        str, Option(metavar="NAME", help="output format, such as tsv, jsonl, inline or text (which has no labels)")
    ] = "tsv",
    output: OutputText = "-",
) -> None:
    """Write a synthetic corpus, whose labels are correct by construction."""
    from semistruct.data.datasets import GENERATORS
    from semistruct.data.formats import write

    if name not in GENERATORS:
        raise ParameterError(f"there is no synthetic corpus {quoted(name)}; {meant(name, GENERATORS)}")
    write(GENERATORS[name](n, seed=seed), output, to)
