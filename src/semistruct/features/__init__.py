"""From tokens to feature numbers: templates say which features a token has, the encoder numbers them."""

from semistruct.features.encoder import Encoder
from semistruct.features.templates import SETS, Features, FeatureSet

__all__ = ["SETS", "Encoder", "FeatureSet", "Features"]
