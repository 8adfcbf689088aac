"""Memory and time of a field whose networks take the location, by number of locations, compared with a simple model.

Synthetic weather over Britain (plane waves; temperature, pressure and wind) on grids up to 0.1°, 20,125 locations, is
written to netCDF files, prepared on disk (`on_disk`) and learnt for two tasks of 186 hours in batches of 64 locations.
Of the second task, the benchmark measures the beginning (coefficients of all locations), steps, the end, and
predictions of held-out hours; and the peak of memory without mapped files, above that of the process before it, while
data are prepared and while they are learnt and predicted. Each case is its own process.
"""

import argparse
import itertools
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from rich.progress import track

from benchmarks.powers import exponent
from benchmarks.process_memory import anonymous_bytes
from benchmarks.processes import in_a_process
from benchmarks.report import console, parser, save, table
from benchmarks.series_scale import MemoryWatch, seconds
from benchmarks.vae_steps import stepper
from datamodules import ERA5
from datamodules.era5.synthetic.plane_waves import PlaneWaves
from gpvae.modules import SVGPVAE
from gpvae.vae.locations import located

NORTH, WEST, SOUTH, EAST = 61.0, -12.0, 49.5, 5.5
VARIABLES = ("t2m", "msl", "u10", "v10")
TASKS, HOURS, BATCH = 2, 186, 64
LATENT_DIM, NUM_INDUCING, FEATURES = 20, 200, 64
STEP = {1_000: 0.45, 5_000: 0.2, 20_000: 0.1}
COLUMNS = ["locations", "prepare s", "begin s", "steps/s", "end s", "pass s", "predict s"]
COLUMNS += ["prepare MB", "by formula", "learn MB", "numbers kept"]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--locations", nargs="+", type=int, choices=STEP, default=list(STEP))
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--only", type=int, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.quick:
        args.locations, args.steps = [1_000, 5_000], 2
    if args.only:
        print(json.dumps(measure(args.only, args.steps)))
        return
    found = {
        number: in_a_process("field_scale", "--steps", args.steps, "--only", number)
        for number in track(args.locations, "Measuring", console=console, transient=True)
    }
    rows = []
    for seen in found.values():
        one_pass = seen["begin"] + seen["locations"] / BATCH * seen["step"] + seen["end"]
        times = [seen["prepare"], seen["begin"], 1 / seen["step"], seen["end"], one_pass, seen["predict"]]
        memory = [seen["prepare_bytes"] / 1e6, preparation(seen["locations"]) / 1e6, seen["learn_bytes"] / 1e6]
        rows.append([seen["locations"], *times, *memory, seen["kept"]])
    title = f"A task of {HOURS} hours, {len(VARIABLES)} variables, L = {LATENT_DIM}, M = {NUM_INDUCING}, D = {FEATURES}"
    table(title, COLUMNS, rows)
    numbers = [seen["locations"] for seen in found.values()]
    headline = {
        f"power of {name} in locations": exponent(numbers, [seen[key] for seen in found.values()])
        for name, key in {"the time to begin": "begin", "a step": "step", "numbers kept": "kept"}.items()
    }
    save("field_scale", [dict(zip(COLUMNS, row, strict=True)) for row in rows], args.output, headline)


def preparation(locations: float) -> float:
    """Expected bytes for one task as it is read and split: values, those of its training hours, and their masks."""
    return locations * HOURS * len(VARIABLES) * (4 + 4 + 1 + 1)


def measure(number: int, steps: int) -> dict[str, float]:
    """Times and memory for one grid, in this process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GPVAE_DATA_DIR"] = folder
        write_weather(Path(folder), STEP[number])
        before = anonymous_bytes()
        with MemoryWatch() as preparing:
            data = ERA5("files", f"{folder}/*.nc", points=None, num_tasks=TASKS, hours_per_task=HOURS, on_disk=True)
            prepare = seconds(data.setup)
        with MemoryWatch() as learning:
            module = build(data)
            times = learn(module, data, steps)
    kept = sum(part.numel() for name, part in module.state_dict().items() if ".locations." not in name)
    memory = {"prepare_bytes": preparing.peak - before, "learn_bytes": learning.peak - before}
    return {"locations": data.num_series, "prepare": prepare, **times, **memory, "kept": kept}


def build(data: ERA5) -> SVGPVAE:
    """The model, with the locations of the data."""
    module = SVGPVAE(
        num_variables=data.num_variables,
        num_inducing=NUM_INDUCING,
        latents="field",
        location_features=FEATURES,
        static_inputs=["sun"],
        latent_dim=LATENT_DIM,
        inducing="CosS",
        hyperparameters="fixed",
        consolidation="replay",
        periods=[24.0],
        horizon=10.0 * HOURS,
        lr=0.003,
    )
    assert module.vae.locations is not None
    module.vae.locations.set(*located(data))
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    return module


def learn(module: SVGPVAE, data: ERA5, steps: int) -> dict[str, float]:
    """CPU seconds of the parts of the last task."""
    data.batch_size = BATCH
    for task in range(TASKS):
        begin = seconds(lambda task=task: module.begin_task(*data.task_data(task)))
        batches = itertools.islice(data.train_loader(task, 0, 0, 1), steps + 1)
        step = stepper(module, next(batches))
        step()
        taken = seconds(lambda batches=batches: [stepper(module, batch)() for batch in batches])
        end = seconds(module.end_task)
    some = list(itertools.islice(data.test_loader(0, 0, 1), 4))
    with torch.no_grad():
        predict = seconds(lambda: [module.predictive(batch) for batch in some])
    whole = predict * data.num_series / sum(len(batch.series) for batch in some)
    return {"begin": begin, "step": taken / steps, "end": end, "predict": whole}


def write_weather(folder: Path, step: float) -> None:
    """Write the weather of each task to a file, on a grid of some degrees."""
    latitude, longitude = np.arange(NORTH, SOUTH, -step), np.arange(WEST, EAST, step)
    north, east = (part.ravel() for part in np.meshgrid(latitude, longitude, indexing="ij"))
    x, y = 111.2 * (east + 2.5) * np.cos(np.radians(54.5)), 111.2 * (north - 54.5)
    scales = {"t2m": (280.0, 5.0, "K"), "msl": (101_000.0, 900.0, "Pa"), "u10": (4.0, 6.0, "m s**-1")}
    scales["v10"] = (0.0, 6.0, "m s**-1")
    waves = {name: PlaneWaves(number, 16, (400, 4000), (4, 40)) for number, name in enumerate(scales, start=1)}
    for task in range(TASKS):
        hours = np.arange(task * HOURS, (task + 1) * HOURS, dtype=np.float64)
        data = {}
        for name, (mean, deviation, units) in scales.items():
            values = mean + deviation * waves[name].at(hours, x, y)
            shape = len(hours), len(latitude), len(longitude)
            data[name] = (
                ("valid_time", "latitude", "longitude"),
                values.reshape(shape).astype(np.float32),
                {"units": units},
            )
        times = np.datetime64("2020-01-01", "ns") + (3600 * hours).astype("timedelta64[s]")
        where = {"valid_time": times, "latitude": latitude, "longitude": longitude}
        xr.Dataset(data, where).to_netcdf(folder / f"weather_{task}.nc")


if __name__ == "__main__":
    main()
