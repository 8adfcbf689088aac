"""Kill runs on a small weather stream at random times and resume them: is the outcome that of an uninterrupted run?

Each trial starts `gpvae fit` in an empty folder, kills it with SIGKILL at a random time between start and end, possibly
before the first checkpoint or while one is written, and resumes it with `--ckpt_path last`. Counted are trials that end
with the scores and the state of an uninterrupted run, bit for bit (to 1e-6 with several processes, all of which are
killed), and checkpoints that cannot be read after a kill.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import torch
import yaml  # type: ignore[import-untyped]
from rich.progress import track

from benchmarks.report import console, parser, save, table
from gpvae.metrics.task_table import TaskTable

RUN = Path("runs/weather/seed_1")
LAST = RUN / "checkpoints" / "last.ckpt"
SCORES = RUN / "task_metrics.csv"
CONFIG: dict[str, Any] = {
    "model": {
        "class_path": "SVGPVAE",
        "init_args": {
            "num_inducing": 10,
            "latent_dim": 4,
            "hidden_dim": 16,
            "consolidation": "both",
            "num_samples": 20,
        },
    },
    "data": {
        "class_path": "ERA5",
        "init_args": {"points": 6, "land_only": True, "num_tasks": 4, "hours_per_task": 36, "batch_size": 3},
    },
    "trainer": {"accelerator": "cpu"},
    "checkpoint": {"every_n_steps": 1},
    "figures": {"enabled": False},
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--files", action="store_true", help="keep observations and sites in files")
    options.add_argument("--processes", type=int, default=1, help="number of processes, by DDP")
    args = options.parse_args()
    if args.files:
        CONFIG["model"]["init_args"]["sites_folder"] = "sites"
        CONFIG["data"]["init_args"]["on_disk"] = True
    if args.processes > 1:
        CONFIG["trainer"] |= {"devices": args.processes, "strategy": "ddp"}
        CONFIG["data"]["init_args"]["batch_size"] = 1
    kills, rng = 3 if args.quick else args.kills, random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        whole = prepared(Path(name) / "whole")
        begun = time.monotonic()
        finish(start(whole))
        seconds = time.monotonic() - begun
        expected = outcome(whole)
        counts = {"killed": 0, "before a checkpoint": 0, "unreadable checkpoints": 0, "same end": 0}
        off = 0.0 if args.processes == 1 else 1e-6
        for number in track(range(kills), "killing", console=console):
            for attempt in count():  # a run may finish before it is killed
                if counts["killed"] > number:
                    break
                folder = prepared(Path(name) / f"{number}_{attempt}")
                trial(folder, rng.uniform(0, seconds), expected, off, counts)
    title = f"{kills} kills of a run of {seconds:.0f} seconds, {args.processes} processes"
    table(title, list(counts), [list(counts.values())])
    save("kills", {"kills": kills, "seconds": seconds, "processes": args.processes, **counts}, args.output)


def trial(folder: Path, seconds: float, expected: dict[str, torch.Tensor], off: float, counts: dict[str, int]) -> None:
    """Kill a run some seconds after its start, if it is still running, resume it, and count the outcome."""
    process = start(folder)
    time.sleep(seconds)
    if process.poll() is not None:
        return finish(process)
    counts["killed"] += 1
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    counts["before a checkpoint"] += not (folder / LAST).exists()
    try:
        if (folder / LAST).exists():
            torch.load(folder / LAST, weights_only=True)
    except Exception as error:  # any error counts
        console.print(f"{folder.name}: {error}")
        counts["unreadable checkpoints"] += 1
    finish(start(folder, "--ckpt_path", "last"))
    end = outcome(folder)
    counts["same end"] += end.keys() == expected.keys() and all(
        value.shape == expected[name].shape
        and torch.allclose(value.double(), expected[name].double(), rtol=off, atol=off, equal_nan=True)
        for name, value in end.items()
    )


def prepared(folder: Path) -> Path:
    """A folder with the config."""
    folder.mkdir()
    (folder / "weather.yaml").write_text(yaml.safe_dump(CONFIG))
    return folder


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the run in its own session."""
    return subprocess.Popen(
        [sys.executable, "-m", "gpvae", "fit", "-c", "weather.yaml", *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a run."""
    _, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the run failed: {errors.decode()[-2000:]}")


def outcome(folder: Path) -> dict[str, torch.Tensor]:
    """The scores and the final state of a run, including files."""
    state = torch.load(folder / LAST, weights_only=True)["state_dict"]
    files = sorted((folder / "sites").glob("task_*/*"))
    state |= {
        str(file.relative_to(folder)): torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8)
        for file in files
    }
    table = TaskTable.read(folder / SCORES).scores
    return state | {str(key): torch.tensor(value, dtype=torch.float64) for key, value in table.items()}


if __name__ == "__main__":
    main()
