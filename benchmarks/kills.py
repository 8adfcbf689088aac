"""Kill runs of all kinds at random times and resume them: is the outcome that of an uninterrupted run?

Each trial starts `gpvae fit` in an empty folder, kills it with SIGKILL at a random time, after its first checkpoint in
three of four trials, and resumes it with `--ckpt_path last`. With several processes, trials take turns: all of them are
killed, or one, and the others must end by themselves. Counted are trials that end with the scores, the state, the
optimiser and the files of an uninterrupted run, bit for bit, and checkpoints that cannot be read after a kill.
"""

import random
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import torch
import yaml  # type: ignore[import-untyped]
from rich.progress import track

from benchmarks.forked_runs import ForkedRun
from benchmarks.report import console, parser, save, table

RUN = Path("runs/small/seed_1")
LAST = RUN / "checkpoints" / "last.ckpt"
SERIES: dict[str, Any] = {
    "num_inducing": 8,
    "latent_dim": 2,
    "hidden_dim": 8,
    "consolidation": "both",
    "num_samples": 5,
}
WEATHER: dict[str, Any] = {
    "points": 4,
    "variables": ["t2m", "msl"],
    "num_tasks": 3,
    "hours_per_task": 24,
    "batch_size": 2,
    "epochs_per_task": 6,
}
POINTS: dict[str, Any] = {"num_inducing": 10, "hyperparameters": "fixed", "lengthscale": 0.5, "noise": 0.01}
TRAINED: dict[str, Any] = {"method": "OSGPR", "num_inducing": 10, "hyperparameters": "train_first_task"}
TOY: dict[str, Any] = {"kind": "figure_1", "num_tasks": 3, "batch_size": 5}
#: Model and data of each kind of run: their classes and arguments.
KINDS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "closed form": ("StreamingGP", POINTS, "Toy", TOY),
    "free form": ("StreamingGP", POINTS | {"method": "OHSVGP"}, "Toy", TOY | {"steps_per_epoch": 20}),
    "kernel trained": ("StreamingGP", TRAINED, "Toy", TOY | {"steps_per_epoch": 20, "batch_size": None}),
    "bank": ("StreamingGP", {"num_inducing": 10, "hyperparameters": "bank", "bank_size": 4}, "Toy", TOY),
    "series": ("SVGPVAE", SERIES, "ERA5", WEATHER),
    "series in closed form": ("SeriesGP", {"num_inducing": 8, "periods": [24.0]}, "ERA5", WEATHER),
    "field": ("SVGPVAE", SERIES | {"latents": "field"}, "ERA5", WEATHER | {"batch_size": None, "epochs_per_task": 10}),
    "files": ("SVGPVAE", SERIES | {"sites_folder": "sites"}, "ERA5", WEATHER | {"on_disk": True}),
}
#: Kinds that several processes can share.
SHARED = ("series", "series in closed form", "files")
COUNTS = ("killed", "after a checkpoint", "one process only", "unreadable checkpoints", "same end")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--processes", type=int, default=1, help="number of processes, by DDP")
    args = options.parse_args()
    kinds = SHARED if args.processes > 1 else tuple(KINDS)
    kills, rng = len(kinds) if args.quick else args.kills, random.Random(args.seed)
    counts = {kind: dict.fromkeys(COUNTS, 0) for kind in kinds}
    with tempfile.TemporaryDirectory() as name:
        whole = {kind: Whole(prepared(Path(name) / kind, kind, args.processes), args.processes) for kind in kinds}
        for number in track(range(kills), "killing", console=console):
            kind = kinds[number % len(kinds)]
            for attempt in count():  # a run may finish before it is killed
                folder = prepared(Path(name) / f"{number}_{attempt}", kind, args.processes)
                if trial(folder, whole[kind], number // len(kinds), rng, counts[kind]):
                    break
    rows = [[kind, *found.values()] for kind, found in counts.items()]
    total = {name: sum(found[name] for found in counts.values()) for name in COUNTS}
    table(f"{kills} kills, {args.processes} processes", ["run", *COUNTS], [*rows, ["all", *total.values()]])
    save("kills", {"kills": kills, "processes": args.processes, "kinds": counts, **total}, args.output)


class Whole:
    """An uninterrupted run: its outcome, and how long it takes.

    Args:
        folder: Where it runs.
        num_processes: Number of processes.
    """

    def __init__(self, folder: Path, num_processes: int) -> None:
        begun, self.num_processes = time.monotonic(), num_processes
        run = ForkedRun(folder, num_processes)
        while not (folder / LAST).exists() and run.is_running:
            time.sleep(0.001)
        self.first_checkpoint = time.monotonic() - begun
        run.finish()
        self.seconds = time.monotonic() - begun
        self.outcome = outcome(folder)


def trial(folder: Path, whole: Whole, number: int, rng: random.Random, counts: dict[str, int]) -> bool:
    """Kill a run at a random time, resume it and count the outcome; return whether it was still running.

    Args:
        folder: Where it runs.
        whole: The same run, uninterrupted.
        number: Number of the trial; in one of four, the run is killed at any time, perhaps before its first checkpoint.
        rng: Random numbers.
        counts: Counts of this kind of run.
    """
    run = ForkedRun(folder, whole.num_processes)
    seconds = rng.uniform(0, whole.seconds)
    if number % 4 != 3:
        while not (folder / LAST).exists() and run.is_running:
            time.sleep(0.001)
        seconds = rng.uniform(0, whole.seconds - whole.first_checkpoint)
    time.sleep(seconds)
    alone = number % 3 - 1 if whole.num_processes > 1 else -1  # all, the first, the second
    if not run.kill(None if alone < 0 else alone):
        return False
    counts["killed"] += 1
    counts["one process only"] += alone >= 0
    if (folder / LAST).exists():
        counts["after a checkpoint"] += 1
        try:
            torch.load(folder / LAST, weights_only=True)
        except Exception as error:  # any error counts
            console.print(f"{folder.name}: {error}")
            counts["unreadable checkpoints"] += 1
    ForkedRun(folder, whole.num_processes, "--ckpt_path", "last").finish()
    counts["same end"] += same(outcome(folder), whole.outcome)
    return True


def prepared(folder: Path, kind: str, num_processes: int) -> Path:
    """A folder with the config of a kind of run."""
    model, model_options, data, data_options = KINDS[kind]
    devices = {"devices": num_processes, "strategy": "ddp"} if num_processes > 1 else {}
    config = {
        "model": {"class_path": model, "init_args": model_options},
        "data": {"class_path": data, "init_args": data_options | ({"batch_size": 1} if devices else {})},
        "trainer": {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, **devices},
        "checkpoint": {"every_n_steps": 1},
        "figures": {"enabled": False},
    }
    folder.mkdir()
    (folder / "small.yaml").write_text(yaml.safe_dump(config))
    return folder


def outcome(folder: Path) -> dict[str, Any]:
    """The tables of scores, the final checkpoint and the sites of a run."""
    checkpoint = torch.load(folder / LAST, weights_only=True)
    kept = {key: checkpoint[key] for key in ("state_dict", "optimizer_states", "epoch", "global_step")}
    tables = [folder / RUN / name for name in ("task_metrics.csv", "foresight.csv")]
    files = [file for file in (*tables, *(folder / "sites").rglob("*")) if file.is_file()]
    return kept | {str(file.relative_to(folder)): file.read_bytes() for file in files}


def same(a: Any, b: Any) -> bool:  # noqa: ANN401
    """Whether two nested outcomes are equal, bit for bit."""
    if isinstance(a, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.nan_to_num(nan=-7.0), b.nan_to_num(nan=-7.0))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


if __name__ == "__main__":
    main()
