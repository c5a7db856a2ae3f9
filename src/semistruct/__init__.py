"""semistruct: sequence labelling from a few labels, a pile of unlabelled text and the rules you know.

Names are imported on first use, so that `import semistruct` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semistruct._version import __version__

if TYPE_CHECKING:
    from semistruct.constraints import Constraints
    from semistruct.corpus import Corpus, Example
    from semistruct.datasets import make_citations
    from semistruct.features import Features
    from semistruct.formats import read, stream, write
    from semistruct.methods import SSVM, AnnealedSSVM, ContinuousTransductiveSSVM, TransductiveSSVM
    from semistruct.methods.multiclass import TransductiveSVM
    from semistruct.metrics import evaluate
    from semistruct.store import load, save
    from semistruct.tokens import tokenize

_HOME = {
    "AnnealedSSVM": "methods",
    "Constraints": "constraints",
    "ContinuousTransductiveSSVM": "methods",
    "Corpus": "corpus",
    "Example": "corpus",
    "Features": "features",
    "SSVM": "methods",
    "TransductiveSSVM": "methods",
    "TransductiveSVM": "methods.multiclass",
    "evaluate": "metrics",
    "load": "store",
    "make_citations": "datasets",
    "read": "formats",
    "save": "store",
    "stream": "formats",
    "tokenize": "tokens",
    "write": "formats",
}

__all__ = [
    "SSVM",
    "AnnealedSSVM",
    "Constraints",
    "ContinuousTransductiveSSVM",
    "Corpus",
    "Example",
    "Features",
    "TransductiveSSVM",
    "TransductiveSVM",
    "__version__",
    "evaluate",
    "load",
    "make_citations",
    "read",
    "save",
    "stream",
    "tokenize",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semistruct' has no attribute {name!r}")
    return getattr(import_module(f"semistruct.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
