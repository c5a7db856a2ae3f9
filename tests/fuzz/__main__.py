"""`python -m fuzz --minutes N`: the whole campaign."""

import argparse
import sys

from fuzz.calls import Calls
from fuzz.campaign import campaign, is_good, replay, table
from fuzz.commands import Interrupts, Kills, Room
from fuzz.decoding import Decoding
from fuzz.files import Checkpoints, Data, Models, RulesFiles
from fuzz.round_trips import RoundTrips
from planted_faults import FAULTS

PARTS = [
    Data(), RoundTrips(), RulesFiles(), Models(), Checkpoints(), Calls(), Decoding(), Kills(), Interrupts(), Room(),
]  # fmt: skip


def main(argv=None):
    parser = argparse.ArgumentParser("fuzz", description="Give made-up inputs to every door of semistruct.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; default 10")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same inputs")
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS], help="only this part")
    parser.add_argument("--workers", type=int, help="processes; default: as many as cores")
    parser.add_argument("--failures", default="fuzz-failures", help="folder for failures")
    parser.add_argument("--planted", choices=list(FAULTS), help="break the package so, to see that it is found")
    parser.add_argument("--replay", help="run the input of this file of a failure once more, and nothing else")
    args = parser.parse_args(argv)
    if args.replay:
        answer, failure = replay(PARTS, args.replay)
        print(failure[1] if failure else answer)
        return 1 if failure else 0

    def show(failure):
        print(f"{args.failures}/{failure.name} after {failure.after:.0f} s: {failure.place}", flush=True)

    try:
        tallies = campaign(
            [part for part in PARTS if not args.part or part.name in args.part], seconds=60 * args.minutes,
            seed=args.seed, workers=args.workers, folder=args.failures, planted=args.planted, show=show,
        )  # fmt: skip
    except KeyboardInterrupt:
        print(f"interrupted; failures so far are in {args.failures}", file=sys.stderr)
        return 130
    print("\n".join(table(tallies)))
    if idle := [name for name, tally in tallies.items() if not tally.tried]:
        print(f"nothing was tried: {', '.join(idle)}")
    return 0 if is_good(tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
