"""Data that can be made on the spot."""

from semistruct.datasets.apartments import APARTMENT_LABELS, make_apartments
from semistruct.datasets.citations import LABELS, make_citations

GENERATORS = {"citations": make_citations, "apartments": make_apartments}

__all__ = ["APARTMENT_LABELS", "GENERATORS", "LABELS", "make_apartments", "make_citations"]
