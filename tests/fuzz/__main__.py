"""`python -m fuzz --minutes N`: the whole campaign."""

import argparse
import sys

from fuzz.campaign import campaign, drawing, replay
from fuzz.parts import PARTS


def main(argv=None):
    parser = argparse.ArgumentParser("fuzz", description="Give made-up inputs to every door of semistruct.")
    parser.add_argument("--minutes", type=float, help="how long; default 10, unless --inputs is given")
    parser.add_argument("--inputs", type=int, help="how many inputs for each part")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same inputs")
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS], help="only this part")
    parser.add_argument("--workers", type=int, help="processes; default: as many as cores")
    parser.add_argument("--failures", default="fuzz-failures", help="folder for failures")
    parser.add_argument("--replay", help="run the input in this folder of a failure once more, and nothing else")
    args = parser.parse_args(argv)
    if args.replay:
        answer, failure = replay(PARTS, args.replay)
        print(answer or failure[1])
        return 1 if failure else 0
    minutes = args.minutes if args.minutes or args.inputs else 10
    chosen = [part for part in PARTS if not args.part or part.name in args.part]
    show = drawing() if sys.stdout.isatty() else None
    try:
        result = campaign(
            chosen, seconds=None if minutes is None else 60 * minutes, inputs=args.inputs, seed=args.seed,
            workers=args.workers, folder=args.failures, show=show,
        )  # fmt: skip
    except KeyboardInterrupt:
        print(f"interrupted; failures so far are in {args.failures}", file=sys.stderr)
        return 130
    if show:
        show(result)
    else:
        print("\n".join(result.table()))
    for failure in result.failures.values():
        print(f"{args.failures}/{failure.name}: {failure.place} (input {failure.index})")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
