"""The benchmarks, how long they take, and other commands."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A module in this folder that measures something and writes `NAME.json`.

    Attributes:
        name: Name of the module.
        what: What it measures, in one line.
        seconds: Expected CPU seconds, by default and with `--quick`.
        options: Options with which it runs among others, to take less time.
        package: Package of the module.
    """

    name: str
    what: str
    seconds: tuple[int, int]
    options: tuple[str, ...] = ()
    package: str = "benchmarks"


BENCHMARKS = (
    Benchmark(
        "solar_stream", "ten Solar tasks, compared with the paper's recurrence and five uses of gpytorch", (110, 20)
    ),
    Benchmark("growth", "powers by which an update grows with tasks, points and variables", (150, 25)),
    Benchmark("update_cost", "every update of a stream, compared with gpytorch's fantasies and exact GP", (60, 10)),
    Benchmark("peak_memory", "peak memory of a stream, compared with gpytorch", (110, 35)),
    Benchmark("long_stream", "an update early and late in 1,000 tasks", (270, 45)),
    Benchmark("single_points", "points given one by one: time and loss, with a buffer and without", (60, 10)),
    Benchmark("outputs", "several outputs that share a kernel, compared with one and with a kernel for each", (10, 3)),
    Benchmark("composed", "composed memories against one family, on Audio and London", (60, 25)),
    Benchmark("path_memory", "the memory of a path, compared with stepping the HiPPO ODE", (65, 10)),
    Benchmark("lightning_overhead", "overhead of Lightning over the plain library", (25, 20), ("--training-only",)),
    Benchmark("nlpd", "test NLPD, compared with targets", (37, 20), ("--data", "solar", "skillcraft")),
    Benchmark("hyperparameter_fit", "log evidence and time of a fit, compared with a search over a grid", (180, 8)),
    Benchmark(
        "state_space",
        "a Kalman filter and smoother of a Matérn process, beside LegS and CosS, on Solar and Audio",
        (400, 15),
    ),
    Benchmark("bank", "test NLPD of a bank of kernels, compared with one kernel", (420, 6)),
    Benchmark("features", "error of random features by sampling method", (15, 5)),
    Benchmark("vae_steps", "training steps of the GP-VAE, computed once for each task or in every step", (190, 10)),
    Benchmark("step_cost", "launches, synchronisations and CPU time of a training step of the GP-VAE", (400, 40)),
    Benchmark("ddp_run", "runs of two processes that share series, compared with one", (250, 45)),
    Benchmark("vae_line_up", "training steps of the GP-VAE, compared with one in gpytorch", (70, 12)),
    Benchmark("vae_long_stream", "1,000 tasks of the GP-VAE: memory and time, early and late", (135, 30)),
    Benchmark(
        "series_scale",
        "cost of the GP-VAE by number of series",
        (105, 45),
        ("--series", "100", "1000", "--steps", "5"),
    ),
    Benchmark("field_scale", "cost of a field whose networks take the location, by number of locations", (150, 40)),
)

#: Separate commands: long experiments, and a test of interrupted runs.
COMMANDS = {
    "era5_variants": "families, EWC, replay and joint training on ERA5: hours; can be interrupted and repeated",
    "memory": "scores on ERA5 against all numbers kept, for everything that learns series: hours; can be continued",
    "foresight": "how well tasks are foreseen, and what 90 % intervals hold, by lead time: a quarter of an hour",
    "held_out_locations": "scores at locations never seen, beside interpolation: a quarter of an hour",
    "kills": "kills runs of every kind at random times and resumes them: a few seconds for each",
    "start_up": "CPU seconds until commands answer, beside another checkout (`--other`): a few minutes",
    "shared_precision": "scores with one precision for all series and with one for each: a quarter of an hour",
    "reproduce": "the experiments of the paper: hours",
}

#: Modules that benchmarks share.
PARTS = (
    "contenders",
    "forked_runs",
    "gpytorch_caches",
    "gpytorch_ovc",
    "gpytorch_refits",
    "gpytorch_vae",
    "powers",
    "process_memory",
    "processes",
    "registry",
    "report",
    "runs",
    "state_space_gp",
    "streams",
    "summary",
    "targets",
    "timing",
)


def find(names: list[str]) -> list[Benchmark]:
    """Benchmarks by name, or all of them; raises ValueError for unknown names."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    if unknown := [name for name in names if name not in known]:
        hints = [f"; {name} is a separate command: python -m benchmarks.{name}" for name in unknown if name in COMMANDS]
        raise ValueError(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}{''.join(hints)}")
    return [known[name] for name in names] or list(BENCHMARKS)
