"""Files of all kinds, damaged: data, rules, models, checkpoints; and data written and read back."""

import json
import struct
import zipfile
import zlib
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from unittest import mock

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import semistruct
from fuzz.mutation import mutated, mutated_value
from fuzz.part import Input, JsonPart, Part
from semistruct.cli import describing
from semistruct.corpus import Example
from semistruct.fitting import checkpoints
from semistruct.formats import FORMATS, read, write
from semistruct.rules import Rules
from semistruct.rules.files import SHIPPED, shipped

X = [["A", ".", "Turing"], ["K", ".", "Gödel", "1931"], ["1936"], ["Church", ",", "1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"], ["author", "author", "date"]]
POOL = [["B", ".", "Russell"], ["1905"], ["Post", ",", "1921"], ["G", ".", "Frege", "1879"]]

SAMPLES = Path(__file__).parents[1] / "samples"
DATA = {
    "tsv": "A\tauthor\n.\tauthor\nTuring\t?\n\nOn\ttitle\n1936\tdate\n\n",
    "conll": "-DOCSTART- -X- O\n\nHe PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n\nNow RB O\n\n",
    "transposed": "author author title\nA . Numbers\n\ndate\n1936\n\n",
    "jsonl": '{"tokens": ["A", ".", "Turing"], "labels": ["author", "author", null]}\n'
    '{"text": "A. Turing 1936", "spans": [{"start": 0, "end": 9, "label": "author"}, [10, 14, "date"]]}\n'
    '{"tokens": [["He", "PRP"], ["runs", "VBZ"]], "labels": ["B-x", "I-x"]}\n',
    "inline": "<author>A. Turing.</author> <title>On &lt;computable&gt; numbers.</title> 1936.\nplain &amp; simple\n",
    "text": "B. Russell. On denoting... http://x.org/a?b 1905--6.\nAT&T's 0.5 l, e-mail a@b.c (rock'n'roll)\n",
}
"""A file in each format: these, and those that other programs write."""
DATA |= {
    name: (SAMPLES / file).read_text(encoding="utf-8")
    for name, file in {
        "doccano": "doccano-relations.jsonl",
        "label-studio": "label-studio.json",
        "prodigy": "prodigy.jsonl",
        "huggingface": "huggingface.jsonl",
        "csv": "tokens.csv",
        "csv-texts": "texts.csv",
        "json": "records.json",
    }.items()
}
assert DATA.keys() == {name for name, form in FORMATS.items() if form.ending is None}, "a format without a sample"
SCHEMES = ["plain", "bio", "bioes", "iob1", "nonsense"]
WAYS = ["whitespace", "given", "nonsense", r"pattern:\w+|\W", "pattern:(", "pattern:(a|aa)+$"]
CODINGS = [
    "latin-1",
    "utf-16",
    "cp1252",
    "ascii",
    "utf-8-sig",
    "nonsense",
    "rot13",
    "utf-7",
    "unicode_escape",
    "idna",
    "",
]


class Data(Part):
    """Damaged data files, read with and without naming the format."""

    name = "data"
    share = 3.0

    def make(self, rng):
        kind = rng.choice(list(DATA))
        samples = [text.encode() for text in DATA.values()]
        options = {"format": rng.choice([None, None, kind, kind, rng.choice(list(DATA))])}
        if rng.random() < 0.3:
            options["scheme"] = rng.choice(SCHEMES)
        if rng.random() < 0.15:
            options["label_column"] = rng.choice([0, 1, -1, -2, 7, "none"])
        if rng.random() < 0.15:
            options["outside"] = rng.choice(["O", "", "x y"])
        if rng.random() < 0.1:
            options["encoding"] = rng.choice(CODINGS)
        if rng.random() < 0.1:
            options["tokens"] = rng.choice(WAYS)
        if rng.random() < 0.1:
            options["cut_tokens"] = rng.choice(["split", "widen", "refuse", "nonsense"])
        if rng.random() < 0.1:
            options["label_names"] = ["O", "B-PER", "I-PER", "B-LOC"]
        return Input(mutated(rng, DATA[kind].encode(), samples), options)

    def run(self, given):
        path = self.folder / "data"
        path.write_bytes(given.content)
        corpus = read(path, **given.options)
        assert len(corpus) > 0
        assert corpus.digest
        if corpus.label_set:
            assert semistruct.evaluate(corpus.labels, corpus.labels)["token_accuracy"] == 1.0
        return "accepted"


PIECES = ["a", "B", "1936", ".", ",", "--", "&", "<", ">", "&lt;", "<x>", "</x>", "?", "O", "-DOCSTART-",
"B-x", "I-x", "x y", " ", "\t",
          "\n", "\r", "\0", "\ufeff", "\u2028", "\x85", "\x0b", "\x1c", "\xa0", "\u3000", "\ud800", "é",
          "e\u0301", "💩", "\\", '"', "{", "[",
          "#", "http://a.b", "a@b", "_", "-", "'"]  # fmt: skip
LABELS = ["author", "title", "O", "B-x", "I-x", "E-x", "S-y", "B-", "?", "x y", " ", "\t", "", "1", "a.b", "<",
"é", "\ufeff", "\ud800",
          "-DOCSTART-"]  # fmt: skip


class RoundTrips(JsonPart):
    """What a format agrees to write is read back as it was."""

    name = "round trips"
    share = 2.0

    def make(self, rng):
        width, rows = rng.choice([1, 1, 1, 2, 3]), []
        labels = LABELS[:5] if rng.random() < 0.7 else LABELS
        pieces = PIECES[:8] if rng.random() < 0.4 else PIECES

        def word():
            return "".join(rng.choices(pieces, k=rng.choice([1, 1, 1, 2, 3])))

        for _ in range(rng.choice([1, 1, 2, 3])):
            n = rng.choice([1, 2, 3, 4])
            tokens = [word() if width == 1 else [word() for _ in range(width)] for _ in range(n)]
            known = [rng.choice(labels) if rng.random() < 0.9 else None for _ in range(n)]
            row = {"tokens": tokens, "labels": known if rng.random() < 0.8 else None}
            if width == 1 and rng.random() < 0.4:
                row["text"] = True
            rows.append(row)
        return Input(json.dumps(rows).encode(), {"format": rng.choice(list(DATA))})

    def run(self, given):
        name, examples = given.options["format"], []
        for row in json.loads(given.content):
            tokens = [token if isinstance(token, str) else tuple(token) for token in row["tokens"]]
            labels = row["labels"] if row["labels"] and any(y is not None for y in row["labels"]) else None
            if row.get("text"):
                text, offsets = "", []
                for token in tokens:
                    offsets.append((len(text), len(text) + len(token)))
                    text += token + " "
                examples.append(Example(tokens, labels, text[:-1], offsets))
            else:
                examples.append(Example(tokens, labels))
        before = sorted(self.folder.iterdir())
        path = self.folder / "written"
        try:
            write(examples, path, name)
        finally:
            left = [p for p in sorted(self.folder.iterdir()) if p not in before and p != path]
            assert not left, left
        found = read(path, format=name)
        self.compare(name, examples, found)
        again = self.folder / "again"
        write(found, again, name)
        assert read(again, format=name).digest == found.digest, "the second round trip differs from the first"
        return "accepted"

    @staticmethod
    def compare(name, examples, found):
        if name not in (
            "tsv",
            "conll",
            "transposed",
            "csv",
            "jsonl",
            "json",
            "huggingface",
        ):  # these cut the text into tokens again; a line that is blank is no sequence
            assert len(found) == len(examples), f"{len(examples)} sequences became {len(found)}"
            return
        for i, (wanted, got) in enumerate(zip(examples, found, strict=True)):
            if name in ("jsonl", "json") and wanted.text is not None:
                assert got.text == wanted.text, f"sequence {i}: {wanted.text!r} became {got.text!r}"
                continue
            assert got.tokens == wanted.tokens, f"sequence {i}: {wanted.tokens} became {got.tokens}"
            assert got.labels == wanted.labels, f"sequence {i}: {wanted.labels} became {got.labels}"


RULES = """labels: [author, title, date]
lists: {names: [Turing, Alan Turing], more: [{list: names}, x]}
rules:
  - starts_with: author
    weight: hard
  - ends_with: [date, title]
  - words: [pp, "1936"]
    are: date
    after: '\\W'
  - pattern: '\\d{4}'
    are_not: title
    level: corpus
    fraction: [0.9, null]
  - at_most_once: all
    penalty: square
    counting: labels
  - {exactly_once: [author], weight: 0.5}
  - change_only_on: [punctuation, newline]
    side: either
  - min_length: 2
    labels: [title]
  - max_length: 9
  - order: [author, title, date]
  - follows: {date: [author, title]}
  - never_follows: {author: date}
  - proportion: {author: 0.3, title: [0.1, 0.6]}
    unit: percent
  - count: {date: [null, 2]}
    of: tokens
  - words: [{list: names}, to appear, St. Louis]
    are: {all_except: [date]}
    case: any
    punctuation: ignore
    before: '\\w+'
    within: 3
    if: {present: author, no_words: [in, {list: names}]}
  - pattern: ['[A-Z].*', '\\d+']
    are_not: title
    place: last
  - present: date
    if: {absent: [title], pattern: '\\d+'}
  - change_after: [',', newline]
    labels: author
  - block_starts_with: {title: '[A-Z].*'}
  - block_ends_with: {author: punctuation, date: [x, y]}
  - votes: {column: 1}
  - differ: [author, title]
  - agree: [title, date]
"""


class RulesFiles(Part):
    """Damaged rules files; those that are accepted are used to label."""

    name = "rules"
    share = 2.0

    def warm(self, folder):
        super().warm(folder)
        self.estimator = semistruct.SSVM(features=["word"], rules=Rules([], ["author", "date", "title"])).fit(X, Y)
        self.estimator.predict(X, rules=Rules.from_text(RULES), corpus=True)

    @cached_property
    def samples(self):
        files = [(SHIPPED / f"{name}.yaml").read_bytes() for name in shipped()]
        return [RULES.encode(), *files]

    def make(self, rng):
        if rng.random() < 0.95:  # reading YAML takes long
            rows = RULES.split("  - ")
            head, rows = rows[0], rows[1:]
            text = head + "".join("  - " + row for row in rng.sample(rows, rng.randint(1, 4)))
            return Input(mutated(rng, text.encode(), self.samples[:1]), {"use": rng.random() < 0.5})
        return Input(mutated(rng, rng.choice(self.samples), self.samples), {"use": rng.random() < 0.3})

    def run(self, given):
        path = self.folder / "rules.yaml"
        path.write_bytes(given.content)
        rules = Rules.from_file(path)
        assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
        assert str(rules) is not None
        if given.options["use"]:
            found = self.estimator.predict(X, rules=rules, corpus=bool(len(rules)))
            assert [len(row) for row in found] == [len(row) for row in X]
        return "accepted"


class Models(Part):
    """Damaged model files: the archive, its JSON, its arrays, and what is said about sizes."""

    name = "models"
    share = 2.0
    batch = 100

    @cached_property
    def sample(self):
        """(model.json as data, arrays)."""
        path = self.folder / "sample"
        path.write_text("".join(f"{x[0]} 1 {i}\n" for i, x in enumerate(X)))
        features = ["word", "shape", f"vectors({path})[-1..0]"]
        semistruct.SSVM(features=features, rules=Rules.from_text(RULES)).fit(X, Y).save(path, card={"created": "2020"})
        with zipfile.ZipFile(path) as file:
            return json.loads(file.read("model.json")), load_arrays(file.read("weights.safetensors"))

    def warm(self, folder):
        super().warm(folder)
        assert self.run(Input(archive(*self.sample_bytes()), {})) == "accepted"

    def sample_bytes(self):
        about, arrays = self.sample
        return json.dumps(about).encode(), tensors(arrays)

    def make(self, rng):
        about, arrays = self.sample
        text, weights = self.sample_bytes()
        kind = rng.randrange(6)
        if kind == 0:
            return Input(mutated(rng, archive(text, weights)))
        if kind == 1:
            return Input(archive(json.dumps(mutated_value(rng, about)).encode("utf-8", "surrogatepass"), weights))
        if kind == 2:
            return Input(archive(mutated(rng, text), weights))
        if kind == 3:
            return Input(archive(text, tensors(self.damaged(rng, arrays))))
        if kind == 4:
            ends = np.cumsum([0, *(a.nbytes for a in arrays.values())]).tolist()
            header = {
                n: {"dtype": f"F{8 * a.itemsize}", "shape": list(a.shape), "data_offsets": ends[i : i + 2]}
                for i, (n, a) in enumerate(arrays.items())
            }
            head = json.dumps(mutated_value(rng, header)).encode()
            size = rng.choice([len(head)] * 4 + [0, 1, 1 << 40, (1 << 64) - 1])
            body = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays.values())
            return Input(archive(text, struct.pack("<Q", size) + head + body))
        content = bytearray(archive(text, weights, stored=rng.random() < 0.5))
        for _ in range(rng.randint(1, 3)):
            mark, fields = rng.choice(
                [(b"PK\1\2", (8, 10, 16, 20, 24, 28, 42)), (b"PK\3\4", (6, 8, 14, 18, 22, 26, 28))]
            )
            at = content.find(mark, rng.choice([0, content.find(mark) + 1]))
            value = rng.choice([0, 1, 0xFF, 0xFFFF, 1 << 20, 1 << 31, 0xFFFFFFFF])
            if at >= 0:
                struct.pack_into("<I", content, at + rng.choice(fields), value)
        return Input(bytes(content))

    @staticmethod
    def damaged(rng, arrays):
        arrays = {name: a.copy() for name, a in arrays.items()}
        name = rng.choice(list(arrays))
        a = arrays[name]
        changes = [
            lambda: a.astype(np.float32), lambda: a.astype(np.int64), lambda: a.T, lambda: a.ravel(),
            lambda: a[:-1], lambda: a[..., :-1],
            lambda: np.zeros((0,)), lambda: a * np.nan, lambda: a * 1e308 * 1e10, lambda: np.full_like(a, 1e308),
            lambda: -a, lambda: a * 1e-320,
            lambda: np.concatenate([a, a]), lambda: a[None], lambda: np.zeros((3000, 30)),
        ]  # fmt: skip
        if rng.random() < 0.1:
            del arrays[name]
        elif rng.random() < 0.1:
            arrays["more"] = a
        else:
            with np.errstate(all="ignore"):
                arrays[name] = rng.choice(changes)()
        return arrays

    def run(self, given):
        path = self.folder / "model"
        path.write_bytes(given.content)
        estimator = semistruct.load(path)
        list(describing.dump_report(describing.dump(path, 3)))
        found = estimator.predict(X)
        assert [len(row) for row in found] == [len(row) for row in X]
        assert {y for row in found for y in row} <= set(estimator.classes_)
        if estimator.model_.rules is not None:
            estimator.predict(X, rules=True)
        estimator.save(self.folder / "again")
        again = semistruct.load(self.folder / "again")
        assert again.predict(X) == found
        return "accepted"


def archive(text, weights, stored=False):
    """A zip archive of a model; the same at all times, unlike those that zipfile writes."""
    out, directory = b"", b""
    for name, content in ((b"model.json", text), (b"weights.safetensors", weights)):
        packed, method = content, 0
        if not stored:
            deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
            packed, method = deflate.compress(content) + deflate.flush(), 8
        common = struct.pack(
            "<HHHHHIIIHH", 20, 0, method, 0, 33, zlib.crc32(content), len(packed), len(content), len(name), 0
        )
        directory += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, len(out)) + name
        out += b"PK\3\4" + common + name + packed
    return out + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 2, 2, len(directory), len(out), 0)


def tensors(arrays):
    return save_arrays({name: np.ascontiguousarray(a) for name, a in arrays.items()})


class Killed(Exception):
    pass


class Checkpoints(Part):
    """Checkpoints with damaged bytes: refused, or the fit ends as if nothing had happened."""

    name = "checkpoints"
    share = 1.0
    batch = 20

    def fit(self, folder, **further):
        params = {"schedule": [1.0, 10.0], "rounds": 2, "features": ["word"], "C": 0.5}
        rules = Rules.from_text("rules:\n - starts_with: author\n - words: ['1905']\n   are: date\n")
        return semistruct.AnnealedSSVM(**params, rules=rules).fit(X, Y, pool=POOL, checkpoint=folder, **further)

    def warm(self, folder):
        super().warm(folder)
        self.whole = self.weights(self.fit(self.folder / "whole"))
        assert self.run(Input(self.samples[0])) == "accepted"

    @staticmethod
    def weights(estimator):
        model = estimator.model_
        return (
            model.labels,
            list(model.encoder.vocabulary),
            model.weights.tokens.tobytes(),
            model.weights.trans.tobytes(),
        )

    @cached_property
    def samples(self):
        """Checkpoints of a fit that was killed at several moments."""
        found = []
        for after in (3, 5, 7):
            seen = []

            def watch(record, seen=seen, after=after):
                seen.append(record)
                if len(seen) == after:
                    raise Killed

            folder = self.folder / f"killed {after}"
            with (
                suppress(Killed),
                mock.patch("time.perf_counter", return_value=0.0),
            ):  # a checkpoint says how long it took
                self.fit(folder, watch=watch)
            content = (folder / checkpoints.NAME).read_bytes()
            found.append(content)
        return found

    def make(self, rng):
        content = rng.choice(self.samples)
        if rng.random() < 0.5:
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 1, 2, 8])):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return Input(bytes(changed))
        if rng.random() < 0.5:
            size = struct.unpack("<Q", content[:8])[0]
            header = json.loads(content[8 : 8 + size])
            state = json.loads(header["__metadata__"]["state"])
            header["__metadata__"]["state"] = json.dumps(mutated_value(rng, state, most=1))
            text = json.dumps(header).encode()
            return Input(struct.pack("<Q", len(text)) + text + content[8 + size :])
        return Input(mutated(rng, content, most=2))

    def run(self, given):
        folder = self.folder / "damaged"
        folder.mkdir(exist_ok=True)
        (folder / checkpoints.NAME).write_bytes(given.content)
        assert self.weights(self.fit(folder, resume=True)) == self.whole, "the model is another one"
        return "accepted"
