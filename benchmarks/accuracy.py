"""What unlabelled data and rules are worth: token accuracy on four corpora, several draws.

    python benchmarks/accuracy.py                       supervised and annealed, the main table
    python benchmarks/accuracy.py --table methods       all methods
    python benchmarks/accuracy.py --table paper         the paper's features and settings, citations only
    python benchmarks/accuracy.py --table ablation      what each part of the annealed method contributes, 20 labels
    python benchmarks/accuracy.py --table C             methods by C
    python benchmarks/accuracy.py --dev no --jobs 16 --records accuracy.jsonl

n labelled sequences are drawn from the training part; C, the point of the path and the weight of rules in prediction
are chosen on the dev part, or with --dev no without further labels; the rest of the training part is reported on.
Columns: plain, under the rules, whole sequences under the rules; under the rules also at the point chosen without
labels, at the last one and, in hindsight, at the best; processor seconds of a run.  Bold: the best method, and those
that a paired bootstrap of the reported sequences does not tell from it (p >= 0.05).
"""

from __future__ import annotations

import statistics
from functools import partial

from harness import CORPORA, SIZES, folder, parser, percent, records_of, table
from semistruct.app.experiments.lineup import applying, lists_of
from semistruct.app.experiments.runner import Run, run
from semistruct.app.experiments.view import SIGNIFICANT, View, accuracy, outcome

PRINTED = {"match_by": "slack", "schedule": "printed", "rounds": 10}
LINES = {  # {table: {title of a row: fields of its cells}}
    "main": {"supervised": {"method": "ssvm"}, "annealed": {"method": "annealed"}},
    "methods": {name: {"method": name} for name in applying(lists_of("citations", "default"))},
    "paper": {
        "its schedule, single labels": {"features": "paper", "settings": {**PRINTED, "moves": "tokens"}},
        "its schedule, spans": {"features": "paper", "settings": PRINTED},
        "our schedule, spans": {"features": "paper", "settings": {"match_by": "slack"}},
    },
    "ablation": {
        "default": {},
        "one model": {"settings": {"match_by": "score"}},
        "one model, single-label switching": {"settings": {"match_by": "score", "moves": "tokens"}},
        "one model, matched by slack": {"settings": {"match_by": "slack"}},
        "schedule of the paper": {"settings": {"schedule": "printed"}},
        "schedule 1, 3, 10, 30, 100": {"settings": {"schedule": [1.0, 3.0, 10.0, 30.0, 100.0]}},
        "one round per temperature": {"settings": {"rounds": 1}},
        "100 unlabelled": {"pool": 100},
        "300 unlabelled": {"pool": 300},
    },
    "C": {
        f"{method}, C = {C:g}": {"method": method, "settings": {"C": C}}
        for method, values in {
            "ssvm": (0.03, 0.1, 0.3, 1.0), "crf": (0.3, 1.0, 3.0, 10.0), "annealed": (0.03, 0.1, 0.3, 1.0),
            "pr": (1.0, 3.0, 10.0),
        }.items()
        for C in values
    },
}  # fmt: skip
HEAD = ("", "plain", "rules", "whole", "labels-free", "last", "hindsight", "seconds")


def cell(corpus, size, seed, dev, fields):
    rules = {"adverts": "apartments"}.get(corpus)
    return vars(Run(corpus, size=str(size), seed=seed, dev=dev, **{"method": "annealed", "features": "default",
                                                                  "rules": rules, **fields}))  # fmt: skip


def row(title, runs, bold):
    """The cells of one row of a table."""
    whole = [outcome(run, "rules", "dev")["sequence_accuracy"] for run in runs]
    columns = [[accuracy(run, decoding, "dev") for run in runs] for decoding in ("plain", "rules")]
    columns += [whole, [accuracy(run, "rules", "labels-free") for run in runs]]
    columns += [[run["points"][-1]["rules"] for run in runs], [accuracy(run, "rules", "best-test") for run in runs]]
    cells = [percent(values) for values in columns]
    cells[1] = f"**{cells[1]}**" if bold else cells[1]
    return [title, *cells, f"{statistics.mean(run['cpu_seconds'] for run in runs):.1f}"]


def best_lines(by_title, size):
    """The titles of the best row and of those that do not differ from it significantly."""
    titled = [{**run, "cell": {**run["cell"], "method": title}} for title, runs in by_title.items() for run in runs]
    view, size = View(titled), str(size)
    best = max(by_title, key=lambda title: view.mean(title, size, "rules"))
    return {title for title in by_title if view.against(best, title, size, "rules").bootstrap >= SIGNIFICANT}


def main():
    options = parser(__doc__)
    options.add_argument("--table", choices=LINES, default="main")
    options.add_argument("--dev", choices=("yes", "no", "both"), default="yes", help="whether to choose on dev data")
    options.add_argument("--methods", help="only these, of the table `methods`, for example ssvm,crf")
    args = options.parse_args()
    lines = {title: f for title, f in LINES[args.table].items() if not args.methods or title in args.methods.split(",")}
    devs = {"yes": (True,), "no": (False,), "both": (True, False)}[args.dev]
    corpora = ("citations",) if args.table == "paper" else args.corpus or CORPORA
    groups = [
        (corpus, size, dev)
        for corpus in corpora
        for size in args.sizes or ((20,) if args.table == "ablation" else SIZES[corpus])
        for dev in devs
    ]
    cells = [
        cell(corpus, size, seed, dev, fields)
        for seed in range(args.draws)
        for corpus, size, dev in groups
        for fields in lines.values()
    ]
    found = records_of(partial(run, folders={corpus: folder(corpus) for corpus in corpora}), cells, args)
    for corpus, size, dev in groups:
        by_title = {}
        for title, fields in lines.items():
            wanted = [cell(corpus, size, seed, dev, fields) for seed in range(args.draws)]
            by_title[title] = [record for record in found if record["cell"] in wanted]
        best = best_lines(by_title, size)
        title = f"{corpus}, {size} labelled, {'parameters chosen on dev data' if dev else 'no dev data'}"
        table(HEAD, [row(name, runs, name in best) for name, runs in by_title.items()], title)


if __name__ == "__main__":
    main()
