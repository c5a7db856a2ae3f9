"""Learning methods, one module each, under the names the command line and model files use."""

from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.base import SequenceLabeller
from semistruct.methods.crf import CRF
from semistruct.methods.ssvm import SSVM

METHODS: dict[str, type[SequenceLabeller]] = {"annealed": AnnealedSSVM, "crf": CRF, "ssvm": SSVM}

__all__ = ["CRF", "METHODS", "SSVM", "AnnealedSSVM", "SequenceLabeller"]
