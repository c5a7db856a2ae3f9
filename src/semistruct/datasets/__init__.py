"""Data that can be made on the spot."""

from semistruct.datasets.citations import LABELS, make_citations

__all__ = ["LABELS", "make_citations"]
