"""Learning methods, one module each, under the names the command line and model files use."""

from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.base import SequenceLabeller
from semistruct.methods.continuous import ContinuousTransductiveSSVM
from semistruct.methods.ssvm import SSVM
from semistruct.methods.transductive import TransductiveSSVM

METHODS: dict[str, type[SequenceLabeller]] = {
    "annealed": AnnealedSSVM,
    "continuous": ContinuousTransductiveSSVM,
    "ssvm": SSVM,
    "transductive": TransductiveSSVM,
}

__all__ = [
    "METHODS",
    "SSVM",
    "AnnealedSSVM",
    "ContinuousTransductiveSSVM",
    "SequenceLabeller",
    "TransductiveSSVM",
]
