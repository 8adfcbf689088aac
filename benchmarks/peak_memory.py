"""Peak memory of a stream: ten tasks and one prediction, for this package and for gpytorch.

Each contender runs in its own process. Measured is the peak of resident memory while it learns, above that after the
data were made and a stream of two small tasks was learnt, which loads modules and fills caches. The kernel measures it,
so torch's own allocations count, with a resolution of a few hundred kilobytes.
"""

import argparse
import json

import torch
from rich.progress import track

from benchmarks.contenders import EXACT, GROWING, OURS, RECURRENCE, contenders, given_kernel, wave
from benchmarks.process_memory import Peak
from benchmarks.processes import in_a_process
from benchmarks.report import console, parser, save, table
from benchmarks.streams import expected_warnings

NUM_TASKS = 10
EXTENT = 20.0


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--points", type=int, default=300, help="points in a task")
    options.add_argument("--num-inducing", type=int, default=50)
    options.add_argument("--only", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.quick:
        args.points = 50
    if args.only:
        print(json.dumps(measure(args.only, args.points, args.num_inducing)))
        return
    words = ["--points", args.points, "--num-inducing", args.num_inducing]
    names = [*OURS[:2], EXACT] if args.quick else list(contenders())
    cases = track(names, "Measuring", console=console, transient=True)
    peaks = {name: in_a_process("peak_memory", *words, "--only", name)["bytes"] for name in cases}
    times = {name: {ours: peak / peaks[ours] for ours in OURS if ours in peaks} for name, peak in peaks.items()}
    table(
        f"Peak memory of ten tasks of {args.points} points and a prediction, M = {args.num_inducing}",
        ["", "MB", *(f"times {name}" for name in OURS if name in peaks)],
        [[name, peak / 1e6, *times[name].values()] for name, peak in peaks.items()],
    )
    headline = {f"{name} / CosS": times[name]["CosS"] for name in (RECURRENCE, GROWING, EXACT) if name in peaks}
    save(
        "peak_memory", {"points": args.points, "num_inducing": args.num_inducing, "bytes": peaks}, args.output, headline
    )


def measure(name: str, points: int, num_inducing: int) -> dict[str, int]:
    """Peak memory of one contender, in this process."""
    torch.set_num_threads(1)
    make = contenders(dt=EXTENT / 1000, steps=20)[name]
    batches = list(wave(NUM_TASKS, points, EXTENT))
    with expected_warnings():
        small = make(10, given_kernel())
        for x, y in wave(2, 20, EXTENT / 5):
            small.update(x, y)
            small.predict(x)
        with Peak() as peak:
            model = make(num_inducing, given_kernel())
            for batch in batches:
                model.update(*batch)
            model.predict(batches[0][0])
    return {"bytes": peak.bytes}


if __name__ == "__main__":
    main()
