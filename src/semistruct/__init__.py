"""semistruct: sequence labelling from a few labels, a pool of unlabelled sequences and the rules you know.

Names are imported on first use, so that `import semistruct` and the command line stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semistruct._version import __version__

if TYPE_CHECKING:
    from semistruct.advising import suggest
    from semistruct.corpus import Corpus, Example
    from semistruct.datasets import make_apartments, make_citations
    from semistruct.features import Features
    from semistruct.formats import read, stream, write
    from semistruct.methods import load, save
    from semistruct.methods.annealed import AnnealedSSVM
    from semistruct.methods.ap import AlternatingProjections
    from semistruct.methods.codl import CODL
    from semistruct.methods.continuous import ContinuousTransductiveSSVM
    from semistruct.methods.crf import CRF
    from semistruct.methods.daso import DASO
    from semistruct.methods.ge import GeneralizedExpectation
    from semistruct.methods.hmm import HMM
    from semistruct.methods.multiclass import TransductiveSVM
    from semistruct.methods.pr import PosteriorRegularization
    from semistruct.methods.ssvm import SSVM
    from semistruct.methods.transductive import TransductiveSSVM
    from semistruct.metrics import evaluate, scorer
    from semistruct.picking import pick
    from semistruct.rules import Rules
    from semistruct.tokens import tokenize

_NAMES = {
    "corpus": "Corpus Example",
    "datasets": "make_apartments make_citations",
    "features": "Features",
    "formats": "read stream write",
    "methods": "load save",
    "methods.annealed": "AnnealedSSVM",
    "methods.ap": "AlternatingProjections",
    "methods.codl": "CODL",
    "methods.continuous": "ContinuousTransductiveSSVM",
    "methods.crf": "CRF",
    "methods.daso": "DASO",
    "methods.ge": "GeneralizedExpectation",
    "methods.hmm": "HMM",
    "methods.multiclass": "TransductiveSVM",
    "methods.pr": "PosteriorRegularization",
    "methods.ssvm": "SSVM",
    "methods.transductive": "TransductiveSSVM",
    "metrics": "evaluate scorer",
    "picking": "pick",
    "rules": "Rules",
    "advising": "suggest",
    "tokens": "tokenize",
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
