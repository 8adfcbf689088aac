"""How well the GP-VAE foresees the next task, by lead time, and what its 90 % intervals hold.

Every task is predicted before it is learnt: synthetic weather of the sample, and real ERA5 at Finse and at London. The
model is that of the config of Finse. `as decoded` are the same predictions without `Widening`.
"""

import argparse
import csv
import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import torch
import yaml
from lightning.pytorch import Callback, Trainer, seed_everything

from benchmarks.report import console, parser, save, table
from callbacks import ContinualLearning, TaskReport
from datamodules.data_folder import data_dir
from datamodules.era5 import ERA5
from gpvae.metrics import ForesightTable
from gpvae.modules import SVGPVAE
from gpvae.utils.lead_times import GROUPS

CONFIG = Path(__file__).parents[1] / "configs" / "era5_finse.yaml"
LONDON = {"u10": "m s**-1", "v10": "m s**-1", "d2m": "K", "t2m": "K", "blh": "m", "sp": "Pa"}
LONDON |= {"ssrd": "J m**-2", "tcc": "(0 - 1)", "tp": "m"}
COLUMNS = ["data", "hours ahead", "held by 90 % intervals", "as decoded", "NLPD", "as decoded ", "CRPS"]
COLUMNS += ["skill over climatology", "over persistence"]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", default=["sample", "finse", "london"])
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    options.add_argument("--epochs", type=int, default=20, help="of each task")
    options.add_argument("--points", type=int, default=8, help="locations")
    args = options.parse_args()
    if args.quick:
        args.data, args.seeds, args.epochs, args.points = ["sample"], [1], 2, 2
    torch.set_num_threads(1)
    rows, headline = [], {}
    for name in args.data:
        with_widening, decoded = ForesightTable(), ForesightTable()
        for number, seed in enumerate(args.seeds):
            for total, part in zip((with_widening, decoded), foresee(name, seed, args), strict=True):
                total.add(cell._replace(task=1000 * number + cell.task) for cell in part.rows())
        for lead in (*GROUPS, ""):
            row = [
                *(found.score("coverage", lead=lead).value for found in (with_widening, decoded)),
                *(found.score("nlpd", lead=lead).value for found in (with_widening, decoded)),
                *(with_widening.score(metric, lead=lead).value for metric in ("crps", "skill_climatology")),
                with_widening.score("skill_persistence", lead=lead).value,
            ]
            rows.append([name, lead or "all", *row])
            headline[f"{name}, {lead or 'all'} h: held by 90 % intervals"] = row[0]
    table(f"Tasks before they are learnt, {args.epochs} epochs each, mean of {len(args.seeds)} seeds", COLUMNS, rows, 2)
    save("foresight", [dict(zip(COLUMNS, row, strict=True)) for row in rows], args.output, headline)


class AsDecoded(Callback):
    """Scores the same predictions without widening."""

    def __init__(self) -> None:
        self.table = ForesightTable()

    def on_task_foreseen(self, trainer: Trainer, module: SVGPVAE, task: int) -> None:
        widening, learnt, cells = module.vae.widening, module.vae.widening.log_factor.clone(), module.last_foresight
        widening.log_factor.zero_()
        module.foresee(trainer.datamodule.preview_loader(task, 0, 1))
        self.table.add(module.last_foresight)
        widening.log_factor.copy_(learnt)
        module.last_foresight = cells


def foresee(name: str, seed: int, args: argparse.Namespace) -> tuple[ForesightTable, ForesightTable]:
    """Prequential scores of a run, with widening and without."""
    seed_everything(seed, verbose=False)
    config = yaml.safe_load(CONFIG.read_text())
    with stream_options(name) as options, tempfile.TemporaryDirectory() as folder:
        common = {"batch_size": 8, "epochs_per_task": args.epochs, "points": args.points, "seed": seed}
        data = ERA5(**{**common, **options}, **({"num_tasks": 3} if args.quick else {}))
        data.prepare_data()
        data.setup()
        module = SVGPVAE(**{**config["model"]["init_args"], "num_variables": data.num_variables, "seed": seed})
        report, decoded = TaskReport(print_table=False), AsDecoded()
        trainer = Trainer(
            accelerator="cpu",
            callbacks=[ContinualLearning(), report, decoded],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
            **data.trainer_options,
        )
        trainer.fit(module, datamodule=data)
    after = report.table
    console.print(
        f"{name}, seed {seed}: held-out hours of all tasks, interpolated: NLPD {after.seen('nlpd')[-1]:.3f}, "
        f"coverage {after.seen('coverage')[-1]:.3f}; factors by lead time "
        f"{module.vae.widening.log_factor.exp().mean(-1).tolist()}"
    )
    return report.foresight, decoded.table


@contextmanager
def stream_options(name: str) -> Iterator[dict[str, Any]]:
    """Options of `ERA5` for a data set."""
    if name == "sample":
        yield {"source": "sample"}
    elif name == "finse":
        yield {"source": "files", "paths": str(data_dir() / "era5" / "finse_2018" / "*.nc")}
    else:
        with tempfile.TemporaryDirectory() as folder:
            write_london(Path(folder) / "london.nc")
            yield {"source": "files", "paths": f"{folder}/london.nc", "num_tasks": 15, "points": 1}


def write_london(path: Path) -> None:
    """Write the csv file of London as netCDF in the layout of the Climate Data Store."""
    with gzip.open(data_dir() / "era5" / "london_2020.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    hours = [(datetime.fromisoformat(row["date"]) - datetime(1900, 1, 1)).total_seconds() / 3600 for row in rows]
    with netCDF4.Dataset(path, "w") as output:
        place = {"latitude": ([51.5], "degrees_north"), "longitude": ([0.0], "degrees_east")}
        axes = {"time": (hours, "hours since 1900-01-01"), **place}
        for axis, (values, units) in axes.items():
            output.createDimension(axis, len(values))
            output.createVariable(axis, "f8", (axis,))[:] = values
            output[axis].units = units
        for variable, units in LONDON.items():
            values = np.array([float(row[variable]) for row in rows])
            output.createVariable(variable, "f4", tuple(axes))[:] = values.reshape(-1, 1, 1)
            output[variable].units = units


if __name__ == "__main__":
    main()
