"""Which sequences of a pool to label next: those that a model would learn most from."""

from semistruct.app.picking.picker import Picked, pick

__all__ = ["Picked", "pick"]
