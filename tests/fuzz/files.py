"""Files of all kinds, damaged: data, rules, models, checkpoints; and data written and read back."""

import io
import json
import struct
import zipfile
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from unittest import mock

import numpy as np
import yaml
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import semistruct
from fuzz.campaign import Part
from fuzz.damage import made_by, mutated, mutated_value
from rule_strategies import EVERY_KIND, built
from semistruct.app.cli import describing
from semistruct.data.formats import FORMATS, read
from semistruct.learning import checkpoints
from semistruct.rules import Rules
from semistruct.rules.files import SHIPPED, shipped
from vocabulary_strategies import descriptions

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
OPTIONS = {
    "scheme": ["plain", "bio", "bioes", "iob1", "nonsense"],
    "label_column": [0, 1, -1, -2, 7, "none"],
    "outside": ["O", "", "x y"],
    "encoding": ["latin-1", "utf-16", "cp1252", "ascii", "utf-8-sig", "nonsense", "rot13", "utf-7", "idna", ""],
    "tokens": ["whitespace", "given", "nonsense", r"pattern:\w+|\W", "pattern:(", "pattern:(a|aa)+$"],
    "label_names": [["O", "B-PER", "I-PER", "B-LOC"]],
}


class Data(Part):
    """Damaged data files, read with and without naming the format."""

    name = "data"
    share = 3.0

    def inputs(self):
        samples = [text.encode() for text in DATA.values()]

        def make(rng):
            kind = rng.choice(list(DATA))
            options = {"format": rng.choice([None, None, kind, kind, rng.choice(list(DATA))])}
            for name in [name for name in OPTIONS if rng.randrange(7) == 0]:
                options[name] = rng.choice(OPTIONS[name])
            return mutated(rng, DATA[kind].encode(), samples), options

        return made_by(make)

    def run(self, given):
        content, options = given
        path = self.folder / "data"
        path.write_bytes(content)
        corpus = read(path, **options)
        assert len(corpus) > 0
        assert corpus.digest
        if corpus.label_set:
            assert semistruct.evaluate(corpus.labels, corpus.labels)["token_accuracy"] == 1.0


NAMES = ["a", "b", "c"]
LISTS = "lists: {names: [Turing, Alan Turing], more: [{list: names}, x]}\n"


class RulesFiles(Part):
    """Rules files: of all rules there are, as they should be and damaged; what is accepted is used to label."""

    name = "rules"
    share = 2.0

    def warm(self, folder):
        super().warm(folder)
        self.samples = [(SHIPPED / f"{name}.yaml").read_bytes() for name in shipped()]
        self.estimator = semistruct.SSVM(features=["word"], rules=Rules([], NAMES)).fit(X, Y)
        self.estimator.predict(X, rules=Rules([built(rule) for rule in EVERY_KIND], NAMES), corpus=True)

    def inputs(self):
        some = st.lists(descriptions(NAMES), min_size=1, max_size=3)
        whole = some.flatmap(lambda rules: st.tuples(st.just(as_yaml(rules)), st.just(rules), st.booleans()))
        randoms = st.randoms(use_true_random=False)
        damaged = st.builds(
            lambda rules, rng, use: (mutated(rng, (LISTS + as_yaml(rules)).encode(), self.samples), None, use),
            some, randoms, st.booleans(),
        )  # fmt: skip
        ours = made_by(lambda rng: (mutated(rng, rng.choice(self.samples), self.samples), None, False))
        return st.one_of(whole, damaged, damaged, damaged, damaged, ours)

    def run(self, given):
        content, described, use = given
        path = self.folder / "rules.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        rules = Rules.from_file(path)
        assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules, "other rules come back from to_dict"
        assert str(rules)
        if described is not None:
            assert rules == Rules([built(rule) for rule in described], NAMES), "the file is read as other rules"
        if use:
            found = self.estimator.predict(X, rules=rules, corpus=True)
            assert [len(row) for row in found] == [len(row) for row in X]


def as_yaml(rules):
    """The text of a rules file."""
    return yaml.safe_dump(
        {"labels": NAMES, "rules": json.loads(json.dumps(rules))}, allow_unicode=True, sort_keys=False
    )


class Models(Part):
    """Damaged model files: the archive, its JSON, its arrays, and what is said about sizes."""

    name = "models"
    share = 2.0

    @cached_property
    def sample(self):
        """(model.json as data, arrays)."""
        path = self.folder / "sample"
        path.write_text("".join(f"{x[0]} 1 {i}\n" for i, x in enumerate(X)))
        features = ["word", "shape", f"vectors({path})[-1..0]"]
        semistruct.SSVM(features=features, rules=Rules([built(rule) for rule in EVERY_KIND], NAMES)).fit(X, Y).save(
            path, card={"created": "2020"}
        )
        with zipfile.ZipFile(path) as file:
            return json.loads(file.read("model.json")), load_arrays(file.read("weights.safetensors"))

    def warm(self, folder):
        super().warm(folder)
        self.run(archive(*self.sample_bytes()))

    def sample_bytes(self):
        about, arrays = self.sample
        return json.dumps(about).encode(), tensors(arrays)

    def inputs(self):
        return made_by(self.make)

    def make(self, rng):
        about, arrays = self.sample
        text, weights = self.sample_bytes()
        kind = rng.randrange(6)
        if kind == 0:
            return mutated(rng, archive(text, weights))
        if kind == 1:
            return archive(json.dumps(mutated_value(rng, about)).encode("utf-8", "surrogatepass"), weights)
        if kind == 2:
            return archive(mutated(rng, text), weights)
        if kind == 3:
            return archive(text, tensors(self.damaged(rng, arrays)))
        if kind == 4:
            return archive(text, with_header(weights, lambda header: mutated_value(rng, header)))
        content = bytearray(archive(text, weights, stored=bool(rng.randrange(2))))
        for _ in range(rng.choice([1, 2, 3])):
            mark, fields = rng.choice(
                [(b"PK\1\2", (8, 10, 16, 20, 24, 28, 42)), (b"PK\3\4", (6, 8, 14, 18, 22, 26, 28))]
            )
            at = content.find(mark, rng.choice([0, content.find(mark) + 1]))
            value = rng.choice([0, 1, 0xFF, 0xFFFF, 1 << 20, 1 << 31, 0xFFFFFFFF])
            if at >= 0:
                struct.pack_into("<I", content, at + rng.choice(fields), value)
        return bytes(content)

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
        how = rng.randrange(10)
        if how == 0:
            del arrays[name]
        elif how == 1:
            arrays["more"] = a
        else:
            with np.errstate(all="ignore"):
                arrays[name] = rng.choice(changes)()
        return arrays

    def run(self, given):
        path = self.folder / "model"
        path.write_bytes(given)
        estimator = semistruct.load(path)
        list(describing.contents(path, 3).report())
        found = estimator.predict(X)
        assert [len(row) for row in found] == [len(row) for row in X]
        assert {y for row in found for y in row} <= set(estimator.classes_)
        if estimator.model_.rules is not None:
            estimator.predict(X, rules=True)
        estimator.save(self.folder / "again")
        again = semistruct.load(self.folder / "again")
        assert again.predict(X) == found


def archive(text, weights, stored=False):
    """A model file; the same at all times."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as file:
        for name, content in (("model.json", text), ("weights.safetensors", weights)):
            file.writestr(zipfile.ZipInfo(name), content, file.compression)
    return out.getvalue()


def with_header(content, change):
    """Arrays, as safetensors writes them, with another header."""
    (size,) = struct.unpack("<Q", content[:8])
    head = json.dumps(change(json.loads(content[8 : 8 + size]))).encode()
    return struct.pack("<Q", len(head)) + head + content[8 + size :]


def tensors(arrays):
    return save_arrays({name: np.ascontiguousarray(a) for name, a in arrays.items()})


class Killed(Exception):
    pass


class Checkpoints(Part):
    """Checkpoints with damaged bytes: refused, or the fit ends as if nothing had happened."""

    name = "checkpoints"
    share = 1.0

    def fit(self, folder, **further):
        params = {"schedule": [1.0, 10.0], "rounds": 2, "features": ["word"], "C": 0.5}
        rules = Rules.from_text("rules:\n - starts_with: author\n - words: ['1905']\n   are: date\n")
        return semistruct.AnnealedSSVM(**params, rules=rules).fit(X, Y, pool=POOL, checkpoint=folder, **further)

    def warm(self, folder):
        super().warm(folder)
        self.whole = self.weights(self.fit(self.folder / "whole"))
        self.run(self.samples[0])

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

    def inputs(self):
        return made_by(self.make)

    def make(self, rng):
        content, how = rng.choice(self.samples), rng.randrange(4)
        if how < 2:
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 1, 2, 8])):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        if how == 2:
            return with_header(content, partial(self.with_state, rng))
        return mutated(rng, content, most=2)

    @staticmethod
    def with_state(rng, header):
        about = header["__metadata__"]
        about["state"] = json.dumps(mutated_value(rng, json.loads(about["state"]), most=1))
        return header

    def run(self, given):
        folder = self.folder / "damaged"
        folder.mkdir(exist_ok=True)
        (folder / checkpoints.NAME).write_bytes(given)
        assert self.weights(self.fit(folder, resume=True)) == self.whole, "the model is another one"
