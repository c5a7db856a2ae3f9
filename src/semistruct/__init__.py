"""semistruct: sequence labelling from a few labels, a pool of unlabelled sequences and the rules you know.

Names are imported on first use, so that `import semistruct` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semistruct._version import __version__

if TYPE_CHECKING:
    from semistruct.app.advising import suggest
    from semistruct.app.picking import pick
    from semistruct.data.corpus import Corpus, Example
    from semistruct.data.datasets import make_apartments, make_citations
    from semistruct.data.formats import read, stream, write
    from semistruct.data.metrics import evaluate, scorer
    from semistruct.data.tokens import tokenize
    from semistruct.features import Features
    from semistruct.methods import load, save
    from semistruct.methods.annealed import AnnealedSSVM
    from semistruct.methods.codl import CODL
    from semistruct.methods.continuous import ContinuousTransductiveSSVM
    from semistruct.methods.crf import CRF
    from semistruct.methods.ge import GeneralizedExpectation
    from semistruct.methods.hmm import HMM
    from semistruct.methods.multiclass import TransductiveSVM
    from semistruct.methods.projected import DASO, AlternatingProjections, PosteriorRegularization
    from semistruct.methods.ssvm import SSVM
    from semistruct.methods.transductive import TransductiveSSVM
    from semistruct.rules import Rules

_NAMES = {
    "data.corpus": "Corpus Example",
    "data.datasets": "make_apartments make_citations",
    "features": "Features",
    "data.formats": "read stream write",
    "methods": "load save",
    "methods.annealed": "AnnealedSSVM",
    "methods.codl": "CODL",
    "methods.continuous": "ContinuousTransductiveSSVM",
    "methods.crf": "CRF",
    "methods.ge": "GeneralizedExpectation",
    "methods.hmm": "HMM",
    "methods.multiclass": "TransductiveSVM",
    "methods.projected": "AlternatingProjections DASO PosteriorRegularization",
    "methods.ssvm": "SSVM",
    "methods.transductive": "TransductiveSSVM",
    "data.metrics": "evaluate scorer",
    "app.picking": "pick",
    "rules": "Rules",
    "app.advising": "suggest",
    "data.tokens": "tokenize",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CODL", "CRF", "DASO", "HMM", "SSVM", "AlternatingProjections", "AnnealedSSVM", "ContinuousTransductiveSSVM",
    "Corpus", "Example", "Features", "GeneralizedExpectation", "PosteriorRegularization", "Rules", "TransductiveSSVM",
    "TransductiveSVM", "__version__", "evaluate", "load", "make_apartments", "make_citations", "pick", "read", "save",
    "scorer", "stream", "suggest", "tokenize", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semistruct' has no attribute {name!r}")
    return getattr(import_module(f"semistruct.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
