"""semistruct: sequence labelling from a few labels, a pile of unlabelled text and the rules you know.

Names are imported on first use, so that `import semistruct` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semistruct._version import __version__

if TYPE_CHECKING:
    from semistruct.corpus import Corpus, Example
    from semistruct.datasets import make_apartments, make_citations
    from semistruct.features import Features
    from semistruct.formats import read, stream, write
    from semistruct.methods import (
        CODL,
        CRF,
        DASO,
        HMM,
        SSVM,
        AlternatingProjections,
        AnnealedSSVM,
        ContinuousTransductiveSSVM,
        GeneralizedExpectation,
        PosteriorRegularization,
        TransductiveSSVM,
        TransductiveSVM,
    )
    from semistruct.metrics import evaluate
    from semistruct.rules import Rules
    from semistruct.store import load, save
    from semistruct.tokens import tokenize

_HOME = {
    "AlternatingProjections": "methods",
    "AnnealedSSVM": "methods",
    "CODL": "methods",
    "CRF": "methods",
    "Rules": "rules",
    "ContinuousTransductiveSSVM": "methods",
    "Corpus": "corpus",
    "DASO": "methods",
    "Example": "corpus",
    "Features": "features",
    "GeneralizedExpectation": "methods",
    "HMM": "methods",
    "PosteriorRegularization": "methods",
    "SSVM": "methods",
    "TransductiveSSVM": "methods",
    "TransductiveSVM": "methods",
    "evaluate": "metrics",
    "load": "store",
    "make_apartments": "datasets",
    "make_citations": "datasets",
    "read": "formats",
    "save": "store",
    "stream": "formats",
    "tokenize": "tokens",
    "write": "formats",
}

__all__ = [
    "CODL",
    "CRF",
    "DASO",
    "HMM",
    "SSVM",
    "AlternatingProjections",
    "AnnealedSSVM",
    "ContinuousTransductiveSSVM",
    "Corpus",
    "Example",
    "Features",
    "GeneralizedExpectation",
    "PosteriorRegularization",
    "Rules",
    "TransductiveSSVM",
    "TransductiveSVM",
    "__version__",
    "evaluate",
    "load",
    "make_apartments",
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
