"""Corpora by name: public ones to fetch, synthetic ones made on the spot."""

from semistruct.data.datasets.apartments import APARTMENT_LABELS, make_apartments
from semistruct.data.datasets.citations import LABELS, make_citations
from semistruct.data.datasets.corpora import CORPORA, get

GENERATORS = {"citations": make_citations, "apartments": make_apartments}

__all__ = ["APARTMENT_LABELS", "CORPORA", "GENERATORS", "LABELS", "get", "make_apartments", "make_citations"]
