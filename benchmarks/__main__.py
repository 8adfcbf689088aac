"""Run all or some benchmarks one after another; each writes a JSON file, and a summary collects headline figures."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import BENCHMARKS, COMMANDS, PARTS, find
from benchmarks.report import RESULTS, console, table
from benchmarks.runs import run
from benchmarks.summary import compare, summarise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks named on the command line.

    Returns:
        Zero if every benchmark succeeded.
    """
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="all by default; see --list")
    options.add_argument("--quick", action="store_true", help="small runs, as a check")
    options.add_argument("--list", action="store_true", help="list benchmarks and other commands, without running any")
    options.add_argument("--twice", action="store_true", help="run all twice, and report how much the figures changed")
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
    """List benchmarks, other commands and shared modules."""
    table(
        "Benchmarks",
        ["python -m benchmarks NAME", "measures", "CPU seconds, about", "--quick"],
        [[b.name, b.what, *map(str, b.seconds)] for b in BENCHMARKS],
        names=2,
    )
    commands = [[f"python -m benchmarks.{name}", what] for name, what in COMMANDS.items()]
    table("Separate commands, not run by default", ["", "what"], commands, names=2)
    console.print(f"shared parts: {', '.join(PARTS)}", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
