"""Faults that can be planted in the package, to see that a campaign finds them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from semistruct.data import formats
from semistruct.data.formats.programs import LabelStudio
from semistruct.rules.conditions import If
from semistruct.rules.vocabulary.blocks import MinLength


@dataclass(frozen=True)
class Fault:
    """What is replaced, in which module or class; `part` of the campaign has inputs that show it, with this in them."""

    part: str
    shows: str
    owner: object
    name: str
    change: Callable

    def plant(self, put=setattr):
        put(self.owner, self.name, self.change(getattr(self.owner, self.name)))


def one_less(terms):
    return lambda self, labels: terms(self.model_copy(update={"min_length": self.min_length - 1}), labels)


def end_too_early(record_of):
    def record(self, example):
        found = record_of(self, example)
        for annotation in found.get("annotations", ()):
            for result in annotation["result"]:
                value = result["value"]
                value |= {"end": value["end"] - 1, "text": value["text"][:-1]}
        return found

    return record


def without_absent(limit):
    return lambda self, term, labels: limit(self.model_copy(update={"absent": None}), term, labels)


def in_lower_case(examples):
    def lowered(found):
        for example in examples(found):
            yield (example.labels and replace(example, labels=[y and y.lower() for y in example.labels])) or example

    return lowered


FAULTS = {
    "min_length": Fault("decoding", "min_length", MinLength, "terms", one_less),
    "label-studio": Fault("round trips", "label-studio", LabelStudio, "record_of", end_too_early),
    "absent": Fault("decoding", "absent", If, "limit", without_absent),
    "lower case": Fault("round trips", "labels", formats, "sharing_words", in_lower_case),
}
