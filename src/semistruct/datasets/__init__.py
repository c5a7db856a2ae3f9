"""Data that can be made on the spot."""

from semistruct.datasets.citations import LABELS, make_citations

GENERATORS = {"citations": make_citations}

__all__ = ["GENERATORS", "LABELS", "make_citations"]
