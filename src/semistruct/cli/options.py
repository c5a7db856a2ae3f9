"""Options that several commands have: how data files are read, and how many jobs are used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semistruct.errors import ParameterError

if TYPE_CHECKING:
    from semistruct.corpus import Corpus
    from semistruct.rules import Rules

Format = Annotated[
    str | None,
    typer.Option("--format", help="tsv, conll, transposed, jsonl, inline or text; if not given, the content decides"),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="number of the label column, from 0, negative from the right, or 'none'; else the last"),
]
Scheme = Annotated[str | None, typer.Option(help="convert the labels to plain, bio, bioes or iob1")]
Outside = Annotated[str | None, typer.Option(help="the label of text that is in no span or tag; unknown if not given")]
Encoding = Annotated[str, typer.Option(help="text encoding of the input files")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="how many to use, all cores if not given; does not change the result")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="show no progress")]


def reading_of(
    format: str | None, label_column: str | None, scheme: str | None, outside: str | None, encoding: str
) -> dict[str, Any]:
    """The options of `formats.read`."""
    column: int | str | None = label_column
    if label_column not in (None, "none"):
        try:
            column = int(str(label_column))
        except ValueError:
            raise ParameterError(f"--label-column is {label_column!r}, expected a number or 'none'") from None
    return {"format": format, "label_column": column, "scheme": scheme, "outside": outside, "encoding": encoding}


def read_data(path: Path, reading: dict[str, Any]) -> Corpus:
    from semistruct.formats import read

    return read(path, **reading)


def rules_of(path: str | None) -> Rules | None:
    if path is None:
        return None
    from semistruct.rules import Rules

    return Rules.from_file(path)
