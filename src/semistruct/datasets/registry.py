"""The corpora that semistruct knows by name: where they are, and how to get them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from semistruct.datasets import conversion
from semistruct.datasets.fetching import Remote, Show, cache_folder, cached
from semistruct.errors import DataError, ParameterError, meant

CPF = "vwz/CPF/a653e1aacc15ed8058a25f0f1050931d65458f0b/Data/NER/Citation/features"
PARSCIT = "knmnyn/ParsCit/120a7583012ab5a6e11e73d89a98c65b649dd6e7/crfpp/traindata"
TERMS = "other people's data, not part of semistruct: check the terms at its origin before you pass it on"


@dataclass(frozen=True)
class Known:
    """A corpus: `files` are its raw files by their role, `convert` turns them into the parts."""

    what: str
    sizes: str
    origin: str
    terms: str
    files: Mapping[str, Remote] = field(default_factory=dict)
    convert: Callable[[Mapping[str, Path]], conversion.Parts] | None = None
    missing: str = ""  # why it cannot be fetched

    def fetched(self, name: str) -> bool:
        """Whether all files are in the cache."""
        folder = cache_folder() / name
        return bool(self.files) and all((folder / remote.name).is_file() for remote in self.files.values())


CORPORA = {
    "citations": Known(
        what="references of computer science, 13 fields, 36 tokens on average",
        sizes="300 train, 100 dev, 100 test, 999 in the pool",
        origin="A. McCallum's Cora references, as split by V. W. Zheng and K. C.-C. Chang (2016): github.com/vwz/CPF",
        terms=TERMS,
        files={
            "train": Remote(
                f"{CPF}/citation_train.300.0.txt", "60de07ecc45cf89f297d700995e17bb5a98a8812df3b41c1a9fb75543658f113"
            ),
            "dev": Remote(
                f"{CPF}/citation_dev.txt", "6fb05cfcc0acb895e19196981294aaeb41ba9bba3c2a602058b4b5edd0c92004"
            ),
            "test": Remote(
                f"{CPF}/citation_test.txt", "2ce30269c7a585ec2c52f66db5c6376eed929beb4a1763a2b4bd2f7a942922e7"
            ),
            "pool": Remote(
                f"{CPF}/citation_unlabeled.txt", "6a0081e77558b6a170987af2d18597f263f03be06f56e8ef543f477fdb0a58d4"
            ),
        },
        convert=conversion.citations,
    ),
    "headers": Known(
        what="title pages of research papers, 12 fields, 71 tokens on average, line ends are tokens",
        sizes="100 train, 100 dev, 100 test in the order of the file, the rest (about 630) in the pool",
        origin="K. Seymore, A. McCallum and R. Rosenfeld (1999), in github.com/knmnyn/ParsCit",
        terms=TERMS,
        files={
            "pages": Remote(
                f"{PARSCIT}/tagged_headers.txt", "8899784afecfcc69109560a971f11d7d61d3c7057925525e470369713e5f5787"
            )
        },
        convert=conversion.headers,
    ),
    "apartments": Known(
        what="adverts of apartments, 12 fields, 119 tokens on average, line ends are tokens",
        sizes="102 train, 100 dev, 100 test, 8465 in the pool",
        origin="T. Grenager, D. Klein and C. D. Manning (2005); no longer public",
        terms=TERMS,
        missing="its public place (stanford.edu/~grenager/data/unsupie.tgz) is gone; every command reads a copy you "
        "hold, with --format transposed if it has one line per column, and `semistruct data make apartments` makes "
        "synthetic ones",
    ),
}


def get(name: str, *, place: str | None = None, show: Show | None = None) -> conversion.Parts:
    """The parts of a corpus (train, dev, test, pool), fetched if it is not in the cache.

    place  a server to use instead of the public one
    show   called during a transfer with the file, the bytes so far and the bytes in all
    """
    known = named(name)
    if known.convert is None:
        raise DataError(f"{name}: {known.missing}")
    folder = cache_folder() / name
    raw = {role: cached(remote, folder, place=place, show=show) for role, remote in known.files.items()}
    return known.convert(raw)


def named(name: str) -> Known:
    if name not in CORPORA:
        raise ParameterError(f"there is no corpus {name!r}; {meant(name, CORPORA)}")
    return CORPORA[name]
