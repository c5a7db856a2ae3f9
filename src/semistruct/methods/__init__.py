"""Learning methods, one module each, under the names the command line and model files use."""

from semistruct.fitting.labeller import SequenceLabeller
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.ap import AlternatingProjections
from semistruct.methods.codl import CODL
from semistruct.methods.continuous import ContinuousTransductiveSSVM
from semistruct.methods.crf import CRF
from semistruct.methods.daso import DASO
from semistruct.methods.ge import GeneralizedExpectation
from semistruct.methods.hmm import HMM
from semistruct.methods.multiclass import TransductiveSVM
from semistruct.methods.projected import PosteriorRegularization
from semistruct.methods.ssvm import SSVM
from semistruct.methods.transductive import TransductiveSSVM

METHODS: dict[str, type[SequenceLabeller]] = {
    "annealed": AnnealedSSVM,
    "ap": AlternatingProjections,
    "codl": CODL,
    "continuous": ContinuousTransductiveSSVM,
    "crf": CRF,
    "daso": DASO,
    "ge": GeneralizedExpectation,
    "hmm": HMM,
    "pr": PosteriorRegularization,
    "ssvm": SSVM,
    "transductive": TransductiveSSVM,
}

__all__ = [
    "CODL",
    "CRF",
    "DASO",
    "HMM",
    "METHODS",
    "SSVM",
    "AlternatingProjections",
    "AnnealedSSVM",
    "ContinuousTransductiveSSVM",
    "GeneralizedExpectation",
    "PosteriorRegularization",
    "SequenceLabeller",
    "TransductiveSSVM",
    "TransductiveSVM",
]
