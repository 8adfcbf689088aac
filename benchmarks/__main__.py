"""Benchmarks, all or those named, one after another: tables, a JSON file each, and a summary of headline figures."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import BENCHMARKS, COMMANDS, PARTS, find
from benchmarks.report import RESULTS, console, table
from benchmarks.runs import run
from benchmarks.summary import compare, summarise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for.

    Returns:
        Zero if every benchmark succeeded.
    """
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="all if not given; --list has them")
    options.add_argument("--quick", action="store_true", help="small runs, to see that all works")
    options.add_argument("--list", action="store_true", help="list benchmarks and other commands, and run nothing")
    options.add_argument("--twice", action="store_true", help="run all twice, and say how far the figures moved")
    options.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="for tables and JSON files")
    args = options.parse_args(arguments)
    if args.list:
        show()
        return 0
    try:
        chosen = find(args.names)
    except ValueError as error:
        options.error(str(error))
    args.output.mkdir(parents=True, exist_ok=True)
    if args.output == RESULTS:
        (RESULTS / ".gitignore").write_text("*\n")
    runs = run(chosen, args.output, args.quick)
    summarise(runs, args.output, args.quick)
    if args.twice:
        again = run(chosen, args.output / "second", args.quick)
        summarise(again, args.output / "second", args.quick)
        compare(runs, again, args.output, args.quick)
        runs += again
    return int(any(one.code for one in runs))


def show() -> None:
    """What there is to run."""
    table(
        "Benchmarks",
        ["python -m benchmarks NAME", "measures", "CPU seconds, about", "--quick"],
        [[b.name, b.what, *map(str, b.seconds)] for b in BENCHMARKS],
        names=2,
    )
    commands = [[f"python -m benchmarks.{name}", what] for name, what in COMMANDS.items()]
    table("Separate commands, not part of a run of all", ["", "what"], commands, names=2)
    console.print(f"shared parts: {', '.join(PARTS)}", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
