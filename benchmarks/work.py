"""The workbench: how quick the page is on a large pool, and how much work proposals save.

    python benchmarks/work.py page [--pool 100000]           in Chromium, while a model is learned
    python benchmarks/work.py person [--draws 3] [--rules citations] [--corpus citations]

`page` opens the page on synthetic references and measures in the browser: from the address to the first token on the
screen, and from a key to the next sequence on the screen, while a model is being learned and while not.

`person` labels what the workbench picks, and counts actions.  A person who corrects proposals needs, for every run of
wrong labels that are to be the same field, a click on its first token and the key of the field, and a click on its last
token if the run neither has one token nor goes on to the end of the proposed block; and one key to accept.  Without
proposals it is a click and a key for each field, and one key to accept.  Both are counted on the same sequences.  As in
the workbench, a model is learned after every third, and every eighth sequence is random and has no proposals; from
the second model on labels are proposed.  Accuracy is that of the model on other sequences, under its rules.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from semistruct import load, make_citations, read
from semistruct.app.work.folder import Settings
from semistruct.app.work.limits import CANDIDATES, CHOOSE_C_AGAIN, LEARN_POOL
from semistruct.app.work.pool import Pool
from semistruct.app.work.rules_text import EMPTY
from semistruct.app.work.tasks import Lesson, Material, Sample, learn, pick_first
from semistruct.rules.files import SHIPPED

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
MARKS = (5, 20, 50)
SETTINGS = Settings()


# ---- the page

MOVE = """async () => {
    const title = () => document.querySelector(".sequence-head h1")?.textContent;
    const before = title(), began = performance.now();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "-", bubbles: true }));
    while (title() === before) await new Promise((done) => setTimeout(done, 1));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - began;
}"""
STATUS = "fetch('/api/status').then((answer) => answer.json())"
LABEL = """([number, labels]) => fetch("/api/labels", { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ number, labels }) }).then((answer) => answer.status)"""


def page(n: int, moves: int) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "home"
        folder.mkdir()
        small = make_citations(min(n, 2000), seed=1)
        rows = [str(example.text) for example in small.examples]
        pool = Pool([f"{rows[i % len(rows)]} {i}" for i in range(n)])
        (folder / "pool.jsonl").write_text(pool.content(), encoding="utf-8")
        began = time.perf_counter()
        server, address = started(folder)
        print(f"{n} sequences: the server is there after {time.perf_counter() - began:.1f} s")
        try:
            with sync_playwright() as driver:
                path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
                browser = driver.chromium.launch(executable_path=path, args=FLAGS)
                measure(browser.new_page(), address, small, moves)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The server on a folder, and its address."""
    command = [sys.executable, "-m", "semistruct", "work", str(folder), "--no-open", "-r", "citations"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))


def measure(view, address: str, small, moves: int) -> None:
    opened = []
    for _ in range(5):
        began = time.perf_counter()
        view.goto(address)
        view.wait_for_selector(".chip")
        opened.append(time.perf_counter() - began)
    print(f"page open to the first token: {told(opened)}")
    view.evaluate("localStorage.toured = 'yes'")
    times: dict[str, list[float]] = {"while learning": [], "otherwise": []}
    for number in range(4):
        view.evaluate(LABEL, [number, [*small.labels[number], "note"]])
    while min(map(len, times.values())) < moves:
        learning = view.evaluate(STATUS)["training"]["state"] == "running"
        took = view.evaluate(MOVE) / 1000
        learning = learning and view.evaluate(STATUS)["training"]["state"] == "running"
        times["while learning" if learning else "otherwise"].append(took)
        if not learning and len(times["while learning"]) < moves:
            view.evaluate("fetch('/api/train', { method: 'POST' })")
        view.wait_for_timeout(150)
    for when, found in times.items():
        print(f"next sequence, {when}: {told(found)}")


def told(seconds: list[float]) -> str:
    found = sorted(1000 * value for value in seconds)
    worst = found[min(len(found) - 1, int(0.95 * len(found)))]
    return (
        f"median {statistics.median(found):.0f} ms, 95% below {worst:.0f} ms, worst {found[-1]:.0f} ms ({len(found)})"
    )


# ---- the person


def actions_without(gold: list[str]) -> int:
    """A click and a key for each block, and one key to accept; the cursor is at the first token already."""
    return 2 * sum(t == 0 or gold[t - 1] != label for t, label in enumerate(gold)) - 1 + 1


def actions_with(gold: list[str], proposed: list[str]) -> int:
    """Correct what is wrong, or label anew if that is less."""
    now, total, t = list(proposed), 1, 0
    while t < len(gold):
        if now[t] == gold[t]:
            t += 1
            continue
        end = t + 1
        while end < len(gold) and gold[end] == gold[t] and now[end] != gold[end]:
            end += 1
        block = t + 1
        while block < len(now) and now[block] == now[t]:
            block += 1
        total += 2 if end in (t + 1, block) else 3
        now[t:end] = gold[t:end]
        t = end
    return min(total, actions_without(gold))


def person(corpus: str, rules: str | None, draws: int, report: int) -> None:
    text = (SHIPPED / f"{rules}.yaml").read_text("utf-8") if rules else EMPTY
    found = [simulated(corpus, text, seed, report) for seed in range(draws)]
    print(f"{corpus}, {rules or 'no'} rules, {draws} draws, {report} sequences to report on")
    print("| first | actions with proposals | without | accuracy |\n|---|---|---|---|")
    for mark in MARKS:
        rows = [one[mark] for one in found]
        cells = [f"{statistics.mean(row[k] for row in rows):.1f}" for k in (0, 1)]
        scores = [100 * row[2] for row in rows]
        spread = f" ± {statistics.stdev(scores):.1f}" if draws > 1 else ""
        print(f"| {mark} | {' | '.join(cells)} | {statistics.mean(scores):.1f}{spread} |")


def drawn(corpus: str, seed: int, report: int):
    """(sequences to label, their labels, sequences to report on, their labels)."""
    if corpus == "synthetic":
        made = make_citations(300 + report, seed=500 + seed)
        X, y = made.tokens, made.labels
    else:
        train = read(DATA / corpus / "train.tsv")
        order = random.Random(seed).sample(range(len(train)), len(train))
        X, y = [train.tokens[i] for i in order], [train.labels[i] for i in order]
    return X[report:], y[report:], X[:report], y[:report]


class Person:
    """Somebody who knows all labels, and labels what the workbench shows."""

    def __init__(self, corpus: str, rules: str, seed: int, report: int, home: str) -> None:
        self.X, self.y, *self.test = drawn(corpus, seed, report)
        names = sorted({label for row in self.y for label in row})
        self.rules, self.fields = rules, names
        self.seed, self.path = seed, Path(home) / "m.model"
        self.done: list[int] = []
        self.costs: list[tuple[int, int]] = []
        self.proposed: dict[int, list[str]] = {}
        self.queue: list[int] = []
        self.C: float | None = None
        self.chosen_at = 0

    def left(self) -> list[int]:
        return [i for i in range(len(self.X)) if i not in set(self.done)]

    def learn(self) -> None:
        """Have a model, if there are labels, and what to label next."""
        draw, left = random.Random(len(self.done)), self.left()
        numbers = draw.sample(left, min(CANDIDATES, len(left)))
        pool = draw.sample(left, min(LEARN_POOL, len(left)))
        candidates = Sample(numbers, [self.X[i] for i in numbers])
        material = Material(
            [self.X[i] for i in self.done], [self.y[i] for i in self.done], self.done,
            Sample(pool, [self.X[i] for i in pool]), self.rules, Path(), self.fields,
        )  # fmt: skip
        if len(self.done) < 2:
            self.queue = [pick.number for pick in pick_first((material, candidates), quiet)]
            return
        C = None if len(self.done) >= CHOOSE_C_AGAIN * max(self.chosen_at, 3) else self.C
        learned = learn(Lesson(material, candidates, None, C, self.chosen_at, self.path), quiet)
        self.C, self.chosen_at = learned.C, learned.chosen_at
        self.queue = [pick.number for pick in learned.picks]
        self.proposed = {pick.number: pick.labels for pick in learned.picks}

    def label(self) -> None:
        """Label the next sequence, and count the actions."""
        blind = self.proposed and len(self.done) % SETTINGS.blind_every == SETTINGS.blind_every - 1
        number = random.Random(self.seed + len(self.done)).choice(self.left()) if blind else self.queue.pop(0)
        if number not in self.done:
            gold, guess = self.y[number], None if blind else self.proposed.get(number)
            alone = actions_without(gold)
            self.costs.append((alone if guess is None else actions_with(gold, guess), alone))
            self.done.append(number)

    def standing(self) -> tuple[float, float, float]:
        return *means(self.costs), load(self.path).score(*self.test, rules=True)


def simulated(corpus: str, rules: str, seed: int, report: int) -> dict[int, tuple[float, float, float]]:
    """{number of labels: (actions per sequence with proposals, without, accuracy)}."""
    out = {}
    with tempfile.TemporaryDirectory() as home:
        one = Person(corpus, rules, seed, report, home)
        while len(out) < len(MARKS):
            n = len(one.done)
            if not one.queue or n % SETTINGS.train_every == 0 or n in MARKS:
                one.learn()
            if n in MARKS:
                out[n] = one.standing()
            one.label()
    return out


def quiet(step: str, share: float | None = None) -> None:
    """Nobody wants to hear of the progress."""


def means(costs: list[tuple[int, int]]) -> tuple[float, float]:
    return statistics.mean(a for a, _ in costs), statistics.mean(b for _, b in costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("page")
    one.add_argument("--pool", type=int, default=100_000)
    one.add_argument("--moves", type=int, default=30)
    two = commands.add_parser("person")
    two.add_argument("--corpus", default="synthetic", choices=("synthetic", "citations"))
    two.add_argument("--rules", choices=("citations",))
    two.add_argument("--draws", type=int, default=3)
    two.add_argument("--report", type=int, default=100)
    args = parser.parse_args()
    if args.command == "page":
        page(args.pool, args.moves)
    else:
        person(args.corpus, args.rules, args.draws, args.report)


if __name__ == "__main__":
    main()
