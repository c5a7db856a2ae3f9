"""Commands that are killed, interrupted, or run out of room."""

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile

from hypothesis import strategies as st

from fuzz.campaign import Part
from semistruct import make_citations
from semistruct.base.errors import SemistructError
from semistruct.data.formats import write

TRAIN = ["train", "few.tsv", "-u", "pool.txt", "-r", "citations", "-C", "0.5", "-p", "schedule=1,3,10", "-p",
    "rounds=2",
         "-f", "word", "--quiet", "--jobs", "1"]  # fmt: skip
ANSWER = 1.0  # seconds in which an interruption is answered
OUTPUT = "out"
MOMENTS = [i / 200 for i in range(200)]  # of the time that a command takes


class Commands(Part):
    """Commands run in a folder of their own with an empty home; whatever they leave must be in OUTPUT."""

    share = 1.0
    seconds = 120.0
    memory = None

    def warm(self, folder):
        super().warm(folder)
        data = make_citations(16, seed=5)
        self.material = self.folder / "inputs"
        self.material.mkdir()
        write(data.examples[:6], self.material / "few.tsv", "tsv")
        write(data.examples[6:], self.material / "pool.txt", "text")
        code, _, err, place = self.whole([*TRAIN, "-o", "out/a.model"])
        assert code == 0, err
        self.model = (place / OUTPUT / "a.model").read_bytes()
        (self.material / "a.model").write_bytes(self.model)
        began = time.monotonic()  # once more, now that all is loaded
        assert self.whole([*TRAIN, "-o", "out/a.model"])[0] == 0
        self.usual = time.monotonic() - began

    def place(self):
        """A new folder with the inputs, an empty OUTPUT and an empty home."""
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.material, place)
        for name in (OUTPUT, "home"):
            (place / name).mkdir()
        return place

    def start(self, args, place, limit=None, stdout=subprocess.PIPE):
        def prepare():
            signal.signal(signal.SIGINT, signal.default_int_handler)  # which workers ignore
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {
            **os.environ,
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "home"),
            "XDG_CACHE_HOME": str(place / "home"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "semistruct", *args], cwd=place, env=environment, preexec_fn=prepare,
            stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=subprocess.PIPE,
        )  # fmt: skip

    def whole(self, args, place=None, **further):
        """(exit code, standard output, standard error, folder) of a command that is left alone."""
        place = place or self.place()
        process = self.start(args, place, **further)
        out, err = process.communicate()
        self.check_folder(place)
        return process.returncode, out, err.decode(), place

    def check_folder(self, place):
        """Nothing was added outside of OUTPUT."""
        known = {OUTPUT, "home", *(path.name for path in self.material.iterdir())}
        added = [path.name for path in place.iterdir() if path.name not in known] + [
            p.name for p in (place / "home").rglob("*")
        ]
        assert not added, f"left behind: {added}"

    def same_model(self, content):
        return about_model(content) == about_model(self.model)


def about_model(path_or_bytes):
    """What a model file says, but for when it was made."""
    with zipfile.ZipFile(io.BytesIO(path_or_bytes)) as archive:
        about = json.loads(archive.read("model.json"))
        about["card"].pop("created")
        return about, archive.read("weights.safetensors")


def check_sentence(err, code):
    """What a command that was refused or interrupted says."""
    lines = [line for line in err.splitlines() if "warning" not in line]
    assert len(lines) == 1, f"exit code {code}: {err}"
    assert lines[0].startswith("semistruct: "), err


class Kills(Commands):
    """Killed at any moment and resumed: the model is the same as without."""

    name = "kills"

    def inputs(self):
        return st.lists(st.sampled_from(MOMENTS), min_size=1, max_size=3)

    def run(self, given):
        place = self.place()
        command = [*TRAIN, "-o", "out/a.model", "--checkpoint", "out/run"]
        for i, moment in enumerate(given):
            process = self.start(command + ["--resume"] * (i > 0), place)
            try:
                process.communicate(timeout=moment * self.usual * 1.1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            self.check_folder(place)
            if (place / OUTPUT / "a.model").exists():
                assert self.same_model((place / OUTPUT / "a.model").read_bytes()), "a killed command left another model"
        code, _, err, _ = self.whole([*command, "--resume"], place)
        assert code == 0, err
        assert self.same_model((place / OUTPUT / "a.model").read_bytes()), "the resumed model is another one"


class Interrupts(Commands):
    """Ctrl-C at any moment: one sentence, exit code 130, within a second."""

    name = "interrupts"

    def inputs(self):
        return st.sampled_from(MOMENTS)

    def run(self, given):
        slow = min(self.once(given) for _ in range(2))
        waiting = os.getloadavg()[0] / (os.cpu_count() or 1)  # processes that want each core
        assert slow <= ANSWER * max(1.0, waiting), f"answered after {slow:.1f} s"

    def once(self, moment):
        place = self.place()
        process = self.start([*TRAIN, "-o", "out/a.model"], place)
        time.sleep(0.1 + moment * self.usual)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = process.communicate()
        seconds, code = time.monotonic() - began, process.returncode
        self.check_folder(place)
        if code in (0, -signal.SIGINT) or b"semistruct" not in err:  # it had ended, or Python was not yet there
            return 0.0
        assert code == 130, f"exit code {code}: {err.decode()}"
        check_sentence(err.decode(), code)
        assert not list((place / OUTPUT).glob(".*")), "half a file is left"
        return seconds


class Room(Commands):
    """A full disk, and files that may not grow: one sentence, the old file as it was, nothing half written."""

    name = "room"
    COMMANDS = (
        ["data", "make", "citations", "-n", "300", "-o", "@"],
        ["data", "make", "citations", "-n", "300", "--to", "jsonl", "-o", "@"],
        ["predict", "a.model", "pool.txt", "-o", "@"],
        ["predict", "a.model", "pool.txt", "--to", "jsonl", "--confidence", "-o", "@"],
        [*TRAIN, "-o", "@"],
        [*TRAIN, "-o", "@", "--checkpoint", "out/run"],
        ["evaluate", "a.model", "few.tsv", "--json"],
        ["rules", "citations"],
    )

    def inputs(self):
        return st.fixed_dictionaries({
            "how": st.sampled_from(["full", "limit", "limit"]), "command": st.sampled_from(range(len(self.COMMANDS))),
            "limit": st.sampled_from([int(2 ** (i / 8)) for i in range(8 * 14)]), "old": st.booleans(),
        })  # fmt: skip

    def run(self, given):
        place, options = self.place(), given
        target = place / OUTPUT / "target"
        args = [str(target) if word == "@" else word for word in self.COMMANDS[options["command"]]]
        printed = str(target) not in args
        if options["old"] and not printed:
            target.write_bytes(b"old")
        if options["how"] == "full":
            if not printed:
                args = ["/dev/full" if word == str(target) else word for word in args]
            with open("/dev/full", "wb") as full:
                code, _, err, _ = self.whole(args, place, stdout=full if printed else subprocess.PIPE)
        else:
            with open(target if printed else os.devnull, "wb") as out:
                code, _, err, _ = self.whole(args, place, limit=options["limit"], stdout=out)
        if code == 0:
            assert options["how"] == "limit", "succeeded on a full disk"
            return
        assert code == 2, f"exit code {code}: {err}"
        check_sentence(err, code)
        if not printed:
            assert (target.read_bytes() if target.exists() else None) == (b"old" if options["old"] else None), (
                "the old file is lost"
            )
        assert not list((place / OUTPUT).rglob(".*")), "half a file is left"
        raise SemistructError(err)
