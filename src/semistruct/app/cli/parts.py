"""The unfinished output of `predict --resume`: a folder of whole parts, which become the output at the end.

OUTPUT.parts/made-from.json says what the labels depend on.  A part is a file with the text of some sequences, named by
the number of sequences up to its end; its first line counts what the next command has to know of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from semistruct._version import __version__
from semistruct.app.cli.files import Reader
from semistruct.app.cli.options import Writing
from semistruct.base.errors import DataError, ParameterError
from semistruct.base.files import reason, refuse_overwriting, replacing, state_of, take_lock
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, Written, form_named
from semistruct.rules import Rules


def refuse_unresumable(inputs: Sequence[str], output: str, model: Path, format: str | None) -> None:
    """Refuse inputs that cannot be read twice, and an output that cannot be continued."""
    if output == "-":
        raise ParameterError("--resume needs an output file: --output (-o)")
    if Path(output).exists() and not Path(output).is_file():
        raise ParameterError(f"--resume cannot continue {output}, which is not a file")
    for path in inputs:
        if path != "-" and not Path(path).exists():
            raise DataError.at(path, None, "cannot read: no such file or directory")
        if path == "-" or not Path(path).is_file():
            name = "standard input" if path == "-" else path
            raise ParameterError(f"--resume needs files as inputs; {name} cannot be read a second time")
    refuse_overwriting(f"{output}.parts", [model, *inputs])
    if format is not None and not form_named(format).end_to_end:
        fit = ", ".join(name for name, form in FORMATS.items() if form.end_to_end)
        raise ParameterError(f"--resume cannot continue a file in the format {format}; it can continue {fit}")


def origin(
    model: Path, inputs: Sequence[str], reader: Reader, rules: Rules | bool, writing: Writing, target: str
) -> dict[str, Any]:
    """What labels are made from, by name: the same of everything gives the same labels."""
    options = {**reader.options(), "to": target, "confidence": writing.confidence}
    made_from = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    with open(model, "rb") as file:
        made_from |= {"version of semistruct": __version__, "model": hashlib.file_digest(file, "sha256").hexdigest()}
    made_from["rules"] = rules.to_dict() if isinstance(rules, Rules) else rules
    made_from["inputs"] = [[os.path.realpath(path), *(state_of(path) or ())[1:]] for path in inputs]
    record: dict[str, Any] = json.loads(json.dumps(made_from, default=str))
    return record


class Parts:
    """An output that grows by whole parts.

    sequences  how many are in the parts
    uncertain  how many of them are not certain to have the best labels
    """

    def __init__(self, output: str, made_from: dict[str, Any], format: str, scheme: str | None) -> None:
        path = Path(output)
        self.output = path.resolve() if path.is_symlink() else path
        self.folder = path.with_name(f"{path.name}.parts")
        self.record, self.made_from = self.folder / "made-from.json", made_from
        self.written, self.uncertain = Written(form_named(format), scheme), 0

    @property
    def sequences(self) -> int:
        return self.written.sequences

    @contextmanager
    def continued(self) -> Iterator[None]:
        """Parts can be added; when that ends well, they become the output."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as err:
            raise DataError.at(self.folder, None, f"cannot write: {reason(err)}") from None
        with open(self.folder / "lock", "wb") as lock:
            if not take_lock(lock):
                raise DataError.at(self.folder, None, "another process is writing it")
            self._check()
            try:
                yield
                with replacing(self.output) as file:
                    for part in self._files():
                        with open(part, "rb") as content:
                            content.readline()
                            shutil.copyfileobj(content, file)
            except BaseException:
                if not self._files():
                    shutil.rmtree(self.folder, ignore_errors=True)
                raise
        shutil.rmtree(self.folder)
        self.written.tell()

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.part"))

    def _check(self) -> None:
        """Refuse parts of another command; otherwise count what they have."""
        anew = f"delete {self.folder} to start again"
        files = self._files()
        if not files:
            with replacing(self.record, "utf-8") as file:
                json.dump(self.made_from, file, indent=1)
            return
        try:
            before = json.loads(self.record.read_text("utf-8"))
            other = [name for name, value in self.made_from.items() if before.get(name) != value]
            with open(files[-1], encoding="utf-8") as part:
                counts = json.loads(part.readline())
            self.uncertain, self.written.recut, self.written.width = counts
            self.written.sequences = int(files[-1].stem)
        except (OSError, ValueError, TypeError, AttributeError) as err:
            raise DataError.at(self.folder, None, f"is damaged ({err}); {anew}") from None
        if other:
            problem = f"was started with another {', '.join(other)}; give the command as it was then, or {anew}"
            raise DataError.at(self.folder, None, problem)

    def add(self, examples: Iterable[Example], uncertain: int) -> None:
        """Write a part; `uncertain` counts all sequences so far whose labels are not certain to be the best."""
        before, text = self.sequences, io.StringIO(newline="\n")
        self.written.add(examples, text)
        try:
            with replacing(self.folder / f"{self.sequences:012}.part", "utf-8") as file:
                file.write(f"{json.dumps([uncertain, self.written.recut, self.written.width])}\n{text.getvalue()}")
        except DataError as err:
            self.written.sequences = before
            raise DataError(f"{err}; {self.kept()}") from None
        self.uncertain = uncertain

    def kept(self) -> str:
        """What a command that ends early leaves, and what to do then."""
        if not self.sequences:
            return "nothing was kept; give the same command again"
        done = "1 sequence is" if self.sequences == 1 else f"{self.sequences:,} sequences are"
        return f"{done} kept in {self.folder}; give the same command again to continue"
