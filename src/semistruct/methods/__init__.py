"""Learning methods, one module each, under the names the command line and model files use."""

from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.base import SequenceLabeller
from semistruct.methods.codl import CODL
from semistruct.methods.hmm import HMM
from semistruct.methods.ssvm import SSVM

METHODS: dict[str, type[SequenceLabeller]] = {"annealed": AnnealedSSVM, "codl": CODL, "hmm": HMM, "ssvm": SSVM}

__all__ = ["CODL", "HMM", "METHODS", "SSVM", "AnnealedSSVM", "SequenceLabeller"]
