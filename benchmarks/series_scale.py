"""Memory and time of the GP-VAE by number of series, compared with a simple model of both.

A model with the options of `configs/era5_ohsvgp.yaml` learns two tasks of 149 hours of synthetic series. Of the second
task, the benchmark measures the beginning (the past of every series is transported, and its latents are computed for
replay), steps with 8 series, the end (every series is consolidated), the size of the rows stored for each series, and
the peak of memory above that with the fewest series. Each case is its own process; `files` keeps rows in files.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.progress import track

from benchmarks.era5_variants import COMMON
from benchmarks.powers import exponent
from benchmarks.processes import in_a_process
from benchmarks.report import console, parser, save, table
from benchmarks.vae_steps import stepper
from gpvae.modules import SVGPVAE
from gpvae.vae.replay import Replay

WAYS = {"each its own": {}, "one precision": {"shared_precision": True}, "files": {"sites_folder": "sites"}}
HOURS, VARIABLES, LATENT_DIM, BATCH = 149, 17, 20, 8
REPLAYED = 256
COLUMNS = ["series", "sites", "begin s", "steps/s", "end s", "rows MB", "model", "memory MB", "model "]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--series", nargs="+", type=int, default=[100, 1_000, 10_000])
    options.add_argument("--num-inducing", type=int, default=50)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--only", nargs=2, metavar=("SERIES", "WAY"), help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.quick:
        args.series, args.num_inducing, args.steps = [20, 200], 10, 2
    if args.only:
        print(json.dumps(measure(int(args.only[0]), args.only[1], args)))
        return
    cases = [(way, number) for way in WAYS for number in args.series]
    words = ["--num-inducing", args.num_inducing, "--steps", args.steps]
    found = {
        (way, number): in_a_process("series_scale", *words, "--only", number, way)
        for way, number in track(cases, "Measuring", console=console, transient=True)
    }
    rows = []
    for (way, number), seen in found.items():
        least = found[way, args.series[0]]
        more = model(number, way, seen["touched"], args.num_inducing)
        fewest = model(args.series[0], way, seen["touched"], args.num_inducing)
        memory = (seen["memory"] - least["memory"]) / 1e6
        expected = (more["memory"] - fewest["memory"]) / 1e6
        figures = [
            seen["begin"],
            1 / seen["step"],
            seen["end"],
            seen["rows"] / 1e6,
            more["rows"] / 1e6,
            memory,
            expected,
        ]
        rows.append([number, way, *figures])
    title = f"A task of {HOURS} hours, {VARIABLES} variables, L = {LATENT_DIM}, M = {args.num_inducing}, one thread"
    table(title, COLUMNS, rows)
    headline = {
        f"{way}: power of {name} in series": exponent(args.series, [found[way, number][key] for number in args.series])
        for way in WAYS
        for name, key in {"the time to begin": "begin", "the time to end": "end", "rows": "rows"}.items()
    }
    headline |= {f"{way}: time of a step, most series / fewest": _step(found, way, args.series) for way in WAYS}
    save("series_scale", [dict(zip(COLUMNS, row, strict=True)) for row in rows], args.output, headline)


def _step(found: dict[tuple[str, int], dict[str, float]], way: str, series: list[int]) -> float:
    return found[way, max(series)]["step"] / found[way, min(series)]["step"]


def model(series: int, way: str, touched: int, size: int) -> dict[str, float]:
    """Expected bytes of the stored rows, and of memory while a task ends.

    The rows of a site are c, h and G in double precision, of the past and of the past in the `touched` variables of the
    task; those of replay are mean and deviation, before and after, in single precision. With one precision for all, G
    and deviations are not counted. When a task ends, new sites exist beside the old ones. Observations take 5 bytes
    each, including their mask.
    """
    shared = way == "one precision"

    def sites(variables: int) -> float:
        return 8.0 * series * LATENT_DIM * (1 + variables + (0 if shared else variables**2))

    replay = 4.0 * (2 if shared else 4) * series * LATENT_DIM * REPLAYED
    rows = sites(size) + sites(touched) + replay
    data = 5.0 * series * HOURS * VARIABLES
    return {"rows": rows, "memory": data + (0.0 if way == "files" else rows + sites(size))}


def measure(series: int, way: str, args: argparse.Namespace) -> dict[str, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        options = {"num_inducing": args.num_inducing, "inducing": "CosS", "consolidation": "replay", "periods": [24.0]}
        if "sites_folder" in WAYS[way]:
            options["sites_folder"] = folder
        options |= {name: value for name, value in WAYS[way].items() if name != "sites_folder"}
        module = SVGPVAE(num_variables=VARIABLES, **(COMMON | {"latent_dim": LATENT_DIM} | options))
        module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
        y, mask = torch.randn(series, HOURS, VARIABLES), torch.ones(series, HOURS, VARIABLES, dtype=torch.bool)
        with MemoryWatch() as watch:
            for task in range(2):
                times = 186.0 * task + torch.arange(HOURS, dtype=torch.float64)
                begin = seconds(lambda times=times: module.begin_task(times, y, mask))
                some = torch.arange(BATCH)
                step = stepper(module, (some, times, y[:BATCH], mask[:BATCH]))
                step()
                steps = seconds(lambda step=step: [step() for _ in range(args.steps)])
                fixed, replay = module._task._fixed, module.replay  # type: ignore[union-attr]
                end = seconds(module.end_task)
    assert fixed is not None
    assert isinstance(replay, Replay)
    site = module.vae.posterior.site
    kept = [site.c, site.h, site.G, fixed[1].c, fixed[1].h, fixed[1].G, *replay.latents]
    rows = sum(tensor.numel() * tensor.element_size() for tensor in kept)
    touched = fixed[0].a.shape[-2]
    times_taken = {"begin": begin, "step": steps / args.steps, "end": end}
    return {**times_taken, "rows": rows, "memory": watch.peak, "touched": touched}


def seconds(do: Callable[[], object]) -> float:
    start = time.process_time()
    do()
    return time.process_time() - start


class MemoryWatch:
    """The peak of resident memory of this process, without mapped files, as `.peak`."""

    def __enter__(self) -> "MemoryWatch":
        self.peak, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            lines = Path("/proc/self/status").read_text().splitlines()
            (used,) = (int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.peak = max(self.peak, 1024 * used)


if __name__ == "__main__":
    main()
