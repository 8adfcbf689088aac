"""Which benchmarks there are, how long they take, and which other commands stand beside them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A module of this folder that measures something and writes `NAME.json`.

    Attributes:
        name: Of the module.
        what: What it measures, in a line.
        seconds: CPU seconds to expect, and with `--quick`.
        options: Options that it gets as one of several, to take less time than alone.
        package: Where the module is.
    """

    name: str
    what: str
    seconds: tuple[int, int]
    options: tuple[str, ...] = ()
    package: str = "benchmarks"


BENCHMARKS = (
    Benchmark("solar_stream", "ten Solar tasks against the paper's recurrence and gpytorch in five ways", (110, 20)),
    Benchmark("growth", "powers by which an update grows with tasks, points and variables", (150, 25)),
    Benchmark("peak_memory", "the most memory of a stream, against gpytorch", (110, 35)),
    Benchmark("long_stream", "an update early and late in 1,000 tasks", (270, 45)),
    Benchmark("path_memory", "the memory of a path against stepping the HiPPO ODE", (65, 10)),
    Benchmark("lightning_overhead", "Lightning against the plain library", (25, 20), ("--training-only",)),
    Benchmark("nlpd", "test NLPD beside targets", (37, 20), ("--data", "solar", "skillcraft")),
    Benchmark("features", "noise of random features by sampling method", (15, 5)),
    Benchmark("vae_steps", "training steps of the GP-VAE, computed once a task or every step", (190, 10)),
    Benchmark("vae_line_up", "training steps of the GP-VAE against one written with gpytorch", (70, 12)),
    Benchmark("vae_long_stream", "1,000 tasks of the GP-VAE: memory and time, early and late", (135, 30)),
    Benchmark(
        "series_scale",
        "the GP-VAE against the number of series",
        (105, 45),
        ("--series", "100", "1000", "--steps", "5"),
    ),
)

#: Commands of their own: experiments that take long, and a trial of safety.
COMMANDS = {
    "era5_variants": "families, EWC against replay and joint training on ERA5: hours; can be stopped and given again",
    "kills": "kills `gpvae fit` at random moments and resumes it: minutes a trial",
    "shared_precision": "scores with one precision for all series against one for each: a quarter of an hour",
    "reproduce": "the experiments of the paper: hours",
}

#: Modules that others share.
PARTS = (
    "contenders",
    "gpytorch_ovc",
    "gpytorch_refits",
    "gpytorch_vae",
    "memory",
    "powers",
    "processes",
    "registry",
    "report",
    "runs",
    "streams",
    "summary",
    "targets",
    "timing",
)


def find(names: list[str]) -> list[Benchmark]:
    """The benchmarks of these names, all if there are none; refuses others with those there are."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    if unknown := [name for name in names if name not in known]:
        hints = [
            f"; {name} is a command of its own: python -m benchmarks.{name}" for name in unknown if name in COMMANDS
        ]
        raise ValueError(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}{''.join(hints)}")
    return [known[name] for name in names] or list(BENCHMARKS)
