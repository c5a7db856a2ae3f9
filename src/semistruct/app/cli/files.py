"""The files of a command: of which kind a file is, whether an output may be written, reading data, rules and models."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from semistruct.app.cli.options import Labelling, Reading
from semistruct.base.errors import DataError, ModelError, ParameterError, quoted
from semistruct.base.files import PathLike, refuse_overwriting, source_name
from semistruct.data.corpus import Corpus, Example
from semistruct.data.formats import FORMATS, detect, named_after, read, sharing_words, stream
from semistruct.data.formats.marked import Reader as Marks
from semistruct.data.rows import read_rows
from semistruct.data.tokens import GIVEN, UNCUT, WORDS
from semistruct.features.text_style import advice_on_cutting, probable_cut
from semistruct.methods import SequenceLabeller, load
from semistruct.rules import Rules

SAMPLE = 1 << 16  # bytes of a file that show its kind
ZIP = b"PK\3\4"  # the first bytes of a model file
RULES = re.compile(r"^rules:[ \t]*(#.*)?\n(\s*(#.*)?\n)*\s*- ", re.MULTILINE)
UNCERTAIN = ("text", "conll", "transposed", "csv", "csv-texts")  # formats that files of other kinds may look like
ORDER = "the model comes first, then the data"

# ---- kinds of files


def kind_of(path: PathLike) -> Literal["model", "rules", "data"] | None:
    """What the content of a file shows it to be; None if that cannot be told, or the file cannot be read twice."""
    if path == "-" or not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as file:
            start = file.read(SAMPLE)
    except OSError:
        return None
    if start.startswith(ZIP):
        return "model"
    text = start.decode("utf-8", "replace").replace("\r\n", "\n")
    if RULES.search(text):
        return "rules"
    return None if detect(text) in UNCERTAIN else "data"


def check_data(path: PathLike, hint: str = "") -> None:
    """Refuse a model or rules in the place of data."""
    kind = kind_of(path)
    if kind == "model":
        raise DataError.at(path, None, f"this is a model, not data{hint}")
    if kind == "rules":
        raise DataError.at(path, None, "these are rules, not data; rules are given with --rules (-r)")


def check_order(model: Path, data: Iterable[str]) -> None:
    """Refuse data or rules in the place of the model, and a model or rules in the place of the data."""
    for path in data:
        check_data(path, hint=f"; {ORDER}")
    if model.is_file() and (kind := kind_of(model)) != "model":
        problem = "these are rules, not a model" if kind == "rules" else "not a semistruct model"
        raise ModelError(f"{model}: {problem}; {ORDER}")


def check_output(path: PathLike | None, inputs: Iterable[PathLike | None], *, plot: bool = False) -> None:
    """Refuse an output that cannot be written, or that is an input, before the work for it is done."""
    if path is None or path == "-":
        return
    refuse_overwriting(path, inputs)
    file = Path(path)
    if plot and file.suffix not in (".png", ".svg"):
        raise DataError.at(path, None, "a plot must be a .png or .svg file")
    if file.is_dir():
        raise DataError.at(path, None, "is a folder, name a file")
    if not file.resolve().parent.is_dir():
        raise DataError.at(path, None, "cannot write: no such folder")


# ---- data


@dataclass(frozen=True)
class Reader:
    """Reads data files as options say; `advice` is given where text cannot be cut."""

    reading: Reading
    advice: str = ""

    @property
    def tokens(self) -> str | None:
        return self.reading.tokens

    def options(self, path: PathLike = "-") -> dict[str, Any]:
        """The options of `formats.read` for a file."""
        column: int | str | None = self.reading.label_column
        if column not in (None, "none"):
            try:
                column = int(column)
            except ValueError:
                problem = f"--label-column is {quoted(column)}, expected a number or 'none'"
                raise ParameterError(problem) from None
        texts = self.reading.text_column if self._has_columns(path) else None
        return {**asdict(self.reading), "label_column": column, "tokens": self.tokens or WORDS, "text_column": texts}

    def _has_columns(self, path: PathLike) -> bool:
        """Whether the file is a table in which --text-column names a column; other files beside it may be none."""
        table = Path(path).suffix.lower() == ".csv" or self.reading.format == "csv-texts"
        return table and self.reading.text_column is not None

    def cutting(self, tokens: str) -> Reader:
        """The same, where text is cut in this way unless an option says otherwise."""
        return replace(self, reading=replace(self.reading, tokens=self.tokens or tokens))

    def like(self, labelled: Corpus) -> Reader:
        """The same, for files that are used together with labelled data: text is cut as there."""
        cut = labelled.cut_by or probable_cut(labelled.tokens)
        unknown = cut == GIVEN and not self.tokens
        advice = f"{labelled.source} {advice_on_cutting(labelled.tokens)}" if unknown else ""
        return replace(self.cutting(cut), advice=advice)

    def corpus(self, path: Path) -> Corpus:
        with self._checking(path):
            return read(path, **self.options(path))

    def pool(self, path: Path) -> Corpus:
        """The tokens of a file, without the text that they were cut out of: a pool may be large."""
        with self._checking(path):
            found = self._texts(path) if self._has_columns(path) else stream(path, **self.options(path))
            examples = (replace(e, text=None, offsets=None) for e in found)
            return Corpus(list(sharing_words(examples)), source_name(path))

    def _texts(self, path: Path) -> Iterator[Example]:
        """The texts of a table; its other columns are not read."""
        reader = Marks(source_name(path), tokens=self.tokens or WORDS)
        found = read_rows(path, reader, encoding=self.reading.encoding, text_column=self.reading.text_column)
        return (row.example for row in found.rows if row.example is not None)

    @contextmanager
    def _checking(self, path: Path) -> Iterator[None]:
        """Refuse a file of another kind before it is read; say what to do if text cannot be cut."""
        if self.reading.format is None:
            check_data(path)
        try:
            yield
        except DataError as err:
            if not self.advice:
                raise
            raise DataError(str(err).replace(UNCUT, f"running text, but {self.advice}")) from None


ENDINGS = {
    ".jsonl": ("jsonl", "doccano", "prodigy", "huggingface"),
    ".json": ("json", "label-studio", "huggingface"),
    ".csv": ("csv-texts", "csv"),
    ".tsv": ("tsv", "conll", "transposed"),
    ".conll": ("conll", "tsv"),
    ".txt": ("inline",),
}
"""The formats that a file with this ending may have; the first is written where the input has none of them."""


def check_ending(output: str) -> None:
    """Refuse an output whose ending says no format; one without an ending is in the format of the input."""
    known = [*ENDINGS, ".xlsx", ".parquet", ".spacy"]
    ending = Path(output).suffix.lower()
    if ending and ending not in known:
        raise DataError.at(output, None, f"no format has the ending {quoted(ending)}; use {', '.join(known)}, or --to")


def natural_format(format: str, output: str) -> str:
    """The format that the ending of the output says, else that of the input; plain text gets tags."""
    own = FORMATS[format].answer or format
    ending = Path(output).suffix.lower()
    possible = (own,) if ending == ".txt" else ENDINGS.get(ending, (own,))
    return named_after(output) or (own if own in possible else possible[0])


# ---- rules and models


def read_rules(path: str | None, none: bool = False) -> Rules | None:
    """The rules of a file or of a shipped name; None if none are given, an empty list if none are wanted."""
    if path is None:
        return Rules([]) if none else None
    if none:
        raise ParameterError("--rules (-r) and --no-rules are both given; use one of them")
    kind = kind_of(path)
    if kind in ("model", "data"):
        raise DataError.at(path, None, f"this is {'a model' if kind == 'model' else 'data'}, not rules")
    return Rules.from_file(path)


def rules_to_obey(labelling: Labelling) -> Rules | bool:
    """The rules that labels obey: those given, those of the model (True), or none (False)."""
    rules = read_rules(labelling.rules, labelling.no_rules)
    return not labelling.no_rules if rules is None or labelling.no_rules else rules


def load_model(path: Path, trust: list[str] | None, jobs: int | None = None) -> SequenceLabeller:
    """The estimator of a model file, which may call functions of the modules `trust`."""
    with own_modules(trust):
        estimator = load(path, trust=trust or ())
    estimator.n_jobs = jobs
    return estimator


@contextmanager
def own_modules(wanted: object) -> Iterator[None]:
    """If anything is wanted, Python modules are looked for in the current folder too, after all other places."""
    here = [os.getcwd()] if wanted else []
    sys.path += here
    try:
        yield
    finally:
        for folder in here:
            sys.path.remove(folder)


def feature_functions(features: list[str] | None) -> list[str]:
    """The templates that call Python functions."""
    return [template for template in features or () if "python(" in template]


def feature_files(features: list[str] | None) -> list[str]:
    """What stands in the brackets of templates, among it the files that they name."""
    return [found[1] for template in features or () if (found := re.search(r"\((.*)\)", template))]
