"""All parts of the campaign."""

from fuzz.calls import Calls, Decoding
from fuzz.commands import Interrupts, Kills, Room
from fuzz.files import Checkpoints, Data, Models, RoundTrips, RulesFiles

PARTS = [
    Data(), RoundTrips(), RulesFiles(), Models(), Checkpoints(), Calls(), Decoding(), Kills(), Interrupts(), Room(),
]  # fmt: skip
