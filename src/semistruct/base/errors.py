"""The errors that users can cause, in one small hierarchy; the command line prints each as one line.

An error says where it is (file and line, or sequence number), what was found and what was expected.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LONGEST = 60  # characters of what a message quotes
LONGEST_LIST = 120  # characters of a list of names
LONGEST_MESSAGE = 300
NAMED = 3  # names that a message gives as examples


class SemistructError(Exception):
    """Base of all errors in the user's input, as opposed to bugs in semistruct: one line, of bearable length."""

    def __init__(self, message: str = "") -> None:
        super().__init__(bearable(message))


class DataError(SemistructError, ValueError):
    """Bad data: a malformed file, labels of the wrong length, a value that is not finite."""

    @classmethod
    def at(cls, path: object, line: int | None, problem: str) -> "DataError":
        """`DataError.at("x.tsv", 17, "3 columns, expected 2")` reads `x.tsv:17: 3 columns, expected 2`."""
        where = f"{path}:{line}" if line is not None else f"{path}"
        return cls(f"{where}: {problem}")


class WriteError(DataError):
    """A file that cannot be written: the disk is full, or the folder may not be written to."""


class ParameterError(SemistructError, ValueError):
    """An estimator or a command was given a parameter it cannot work with."""


class ModelError(SemistructError, ValueError):
    """A file that is not a model, is damaged, or comes from a newer version."""


class CoreError(SemistructError, ImportError):
    """The compiled core cannot be used."""


class DataWarning(UserWarning):
    """Data that can be read, but probably means something else than what was read."""

    def __init__(self, message: str = "") -> None:
        super().__init__(bearable(message))


class RuleWarning(UserWarning):
    """Rules that cannot all be obeyed, or do not fit the data.

    sequence  the number of the sequence it is about, if it is about one
    """

    def __init__(self, problem: str, sequence: int | None = None) -> None:
        super().__init__(bearable(problem if sequence is None else f"sequence {sequence}: {problem}"))
        self.problem, self.sequence = problem, sequence

    def __reduce__(self) -> tuple[type["RuleWarning"], tuple[object, ...]]:
        """Warnings come from other processes, too."""
        return type(self), (self.problem, self.sequence)

    def at(self, place: str) -> "RuleWarning":
        """The same warning with another name for the sequence, such as its file and line."""
        return RuleWarning(f"{place}: {self.problem}")


class UncertainWarning(RuleWarning):
    """Labels of some sequences may not be the best ones under the rules: the search for them was cut short.

    uncertain, sequences  how many they are, of how many
    """

    def __init__(self, uncertain: int, sequences: int) -> None:
        it = "it is" if uncertain == 1 else "they are"
        super().__init__(
            f"{uncertain} of {sequences} sequences: the search for the best labels under the rules was cut short, so "
            f"{it} not certain to have them"
        )
        self.uncertain, self.sequences = uncertain, sequences

    def __reduce__(self) -> tuple[type[RuleWarning], tuple[object, ...]]:
        return type(self), (self.uncertain, self.sequences)


def quoted(value: object) -> str:
    """How messages show what was found: as in Python, at most about `LONGEST` characters of it.

    >>> quoted("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    return shortened(repr(value[: LONGEST + 1] if isinstance(value, str | bytes) else value))


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text that goes into a message as it is, cut if it is long."""
    return text if len(text) <= longest + 2 else f"{text[:longest]}..."


def bearable(message: str) -> str:
    """A message as one line; a long one keeps its beginning (where it is) and its end (what was wanted)."""
    line = " ".join(message.splitlines())
    half = LONGEST_MESSAGE // 2 - 3
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:half]} ... {line[-half:]}"


def some_of(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    return _up_to(names, NAMED)


def all_of(names: Iterable[str]) -> str:
    """All of some names, or as many as a message has room for, and how many more there are."""
    listed, room = list(map(shortened, names)), LONGEST_LIST
    for n, name in enumerate(listed):
        room -= len(name) + 2
        if room < 0:
            return _up_to(listed, max(n, 1))
    return _up_to(listed, len(listed))


def _up_to(names: Sequence[str], n: int) -> str:
    more = len(names) - n
    return ", ".join(names[:n]) + (f" and {more} more" if more > 0 else "")


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that is most like a mistyped one, ignoring case; None if no name is similar."""
    lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), lower, 1, 0.6)
    return lower[near[0]] if near else None


def meant(word: object, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the one that was probably meant, or a list of all."""
    listed = list(names)
    near = nearest(word[:LONGEST], listed) if isinstance(word, str) else None
    return f"did you mean {quoted(near)}?" if near else f"there are {all_of(listed)}"
