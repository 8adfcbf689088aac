"""A small stream of weather is killed at random moments and resumed: does it always end as if nothing had happened?

Each trial starts `gpvae fit` in an empty folder, kills it with SIGKILL at a random moment between its first step and
its end, also while a checkpoint is being written, and gives the same command again with `--ckpt_path last`. Counted are
trials that end with the table of scores and the state of the run that nobody killed, bit for bit, and checkpoints that
cannot be read after a kill.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import yaml  # type: ignore[import-untyped]
from rich.progress import track

from benchmarks.report import console, parser, save, table

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
    args = options.parse_args()
    if args.files:
        CONFIG["model"]["init_args"]["sites_folder"] = "sites"
        CONFIG["data"]["init_args"]["on_disk"] = True
    kills, rng = 3 if args.quick else args.kills, random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        whole = prepared(Path(name) / "whole")
        begun = time.monotonic()
        started = start(whole)
        to_first_step = wait_for(whole / LAST, started) - begun
        finish(started)
        seconds = time.monotonic() - begun
        expected = outcome(whole)
        counts = {"killed": 0, "unreadable checkpoints": 0, "same end": 0}
        for number in track(range(kills), "killing", console=console):
            trial(prepared(Path(name) / str(number)), rng.uniform(0, seconds - to_first_step), expected, counts)
    table(f"{kills} kills of a run of {seconds:.0f} seconds", list(counts), [list(counts.values())])
    save("kills", {"kills": kills, "seconds": seconds, **counts}, args.output)


def trial(
    folder: Path, seconds: float, expected: tuple[bytes, dict[str, torch.Tensor]], counts: dict[str, int]
) -> None:
    """Kill a run so many seconds after its first step, resume it, and count what came of it."""
    process = start(folder)
    wait_for(folder / LAST, process)
    time.sleep(seconds)
    if process.poll() is None:  # a fast one may be over
        counts["killed"] += 1
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    try:
        torch.load(folder / LAST, weights_only=True)
    except Exception as error:  # whatever it is, it must not happen
        console.print(f"{folder.name}: {error}")
        counts["unreadable checkpoints"] += 1
    finish(start(folder, "--ckpt_path", "last"))
    scores, state = outcome(folder)
    same = scores == expected[0] and state.keys() == expected[1].keys()
    counts["same end"] += same and all(torch.equal(value, expected[1][name]) for name, value in state.items())


def prepared(folder: Path) -> Path:
    """A folder with the config."""
    folder.mkdir()
    (folder / "weather.yaml").write_text(yaml.safe_dump(CONFIG))
    return folder


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the run, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "gpvae", "fit", "-c", "weather.yaml", *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> float:
    """When a file is there."""
    while not path.exists():
        if process.poll() is not None:
            finish(process)
        time.sleep(0.005)
    return time.monotonic()


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a run."""
    _, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the run failed: {errors.decode()[-2000:]}")


def outcome(folder: Path) -> tuple[bytes, dict[str, torch.Tensor]]:
    """The scores of a run and the state it ended with, files included."""
    state = torch.load(folder / LAST, weights_only=True)["state_dict"]
    files = sorted((folder / "sites").glob("task_*/*"))
    state |= {
        str(file.relative_to(folder)): torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8)
        for file in files
    }
    return (folder / SCORES).read_bytes(), state


if __name__ == "__main__":
    main()
