"""A folder of data, and trainings in it that take a moment, for the tests of `semistruct train`."""

from semistruct import make_citations, write

QUICK = ("-C", "0.5", "-f", "word", "-f", "shape", "--quiet")
ANNEALED = (*QUICK, "-p", "schedule=1,10", "-p", "rounds=1", "-r", "citations")


def fill(folder):
    """Write train.tsv, dev.tsv, test.tsv, pool.txt, more.txt and rules.yaml."""
    made = [("train.tsv", 6), ("dev.tsv", 8), ("test.tsv", 12), ("pool.txt", 25), ("more.txt", 5)]
    for seed, (name, n) in enumerate(made):
        write(make_citations(n, seed=seed), folder / name, "text" if name.endswith("txt") else "tsv")
    (folder / "rules.yaml").write_text("rules:\n  - starts_with: date\n    weight: hard\n")


def train(home, output, *options):
    return ["train", home / "train.tsv", "-u", home / "pool.txt", *ANNEALED, "-o", output, *options]
