"""Variants of the GP-VAE on ERA5: families of inducing variables, protection of the networks, and joint training.

Every run is `gpvae fit` with one of two configs and some options, so all share encoder, decoder, data and steps: those
of the paper, with a noise for each variable and the hour by a clock.
Finished runs are kept: the command can be interrupted and repeated. `--table` shows the results so far. `joint` learns
all hours at once, for as many epochs in total and with the initial kernel.
"""

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import console, parser, save
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.results.experiments import Interval
from gpvae.results.summary import summarise

CONFIGS = {"sample": "era5_ohsvgp.yaml", "finse": "era5_finse.yaml"}
#: Options of each variant: the family of inducing variables; the last one shares one precision between all series.
VARIANTS = {
    "OSVGP": ["--model.method", "OSVGP", "--model.inducing", "null"],
    "OVC": ["--model.method", "OVC", "--model.inducing", "null"],
    "OVC-per-dim": ["--model.method", "OVC-per-dim", "--model.inducing", "null"],
    "OHSVGP": ["--model.method", "OHSVGP", "--model.inducing", "null"],
    "OHSVGP-CosS": ["--model.method", "OHSVGP", "--model.inducing", "CosS"],
    "OHSVGP-CosS-shared": ["--model.inducing", "CosS", "--model.shared_precision", "true"],
}
#: The networks and the training that all variants share: those of the paper, with a noise for each variable.
COMMON: dict[str, str | int | float | bool | None] = {
    "latent_dim": 20,
    "longest": 100.0,
    "horizon": 0.0,
    "kernel": "rbf",
    "waves": None,
    "networks": "mlp",
    "noise": "variable",
    "schedule": "constant",
    "left_out": 0.0,
    "hyperparameters": "train_first_task",
    "replay_times": 256,
    "shared_precision": False,
    "lr": 0.005,
}


def as_word(value: object) -> str:
    """An option as the command line takes it."""
    return "null" if value is None else str(value).lower()


PROTECTIONS = ("replay", "ewc", "none")
JOINT = "joint"


@dataclass(frozen=True)
class Run:
    """A run with one seed."""

    data: str
    variant: str
    num_inducing: int
    protection: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.data}/{self.variant}/M{self.num_inducing}/{self.protection}"

    @property
    def folder(self) -> Path:
        return Path("runs") / self.name / f"seed_{self.seed}"

    @property
    def num_tasks(self) -> int:
        return 1 if self.protection == JOINT else 10

    def done(self, where: Path) -> bool:
        """Whether its last task has been scored."""
        file = where / self.folder / FILE_NAME
        return file.exists() and TaskTable.read(file).num_tasks == self.num_tasks

    def command(self, args: argparse.Namespace) -> list[str]:
        """The arguments of `gpvae`."""
        config = Path(__file__).parents[1] / "configs" / CONFIGS[self.data]
        words = ["fit", "-c", str(config), "--name", self.name, "--seed_everything", str(self.seed)]
        for option in ("model.seed", "data.seed"):
            words += [f"--{option}", str(self.seed)]
        words += ["--model.num_inducing", str(self.num_inducing), "--data.points", str(args.points)]
        words += ["--data.batch_size", str(-(-args.points // 2)), "--data.min_steps_per_task", "null"]
        words += [word for name, value in COMMON.items() for word in (f"--model.{name}", as_word(value))]
        words += [*VARIANTS[self.variant], "--figures.enabled", "false"]
        if self.protection == JOINT:
            epochs = str(10 * args.epochs)
            joint = ["--data.joint", "true", "--model.consolidation", "none", "--model.hyperparameters", "fixed"]
            return [*words, *joint, "--data.epochs_per_task", epochs]
        protect = ["--model.consolidation", self.protection, "--model.ewc_strength", str(args.ewc_strength)]
        return [*words, *protect, "--data.epochs_per_task", str(args.epochs)]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", choices=CONFIGS, default=list(CONFIGS))
    options.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options.add_argument("--protections", nargs="+", choices=[*PROTECTIONS, JOINT], default=list(PROTECTIONS))
    options.add_argument("--num-inducing", nargs="+", type=int, default=[50, 100])
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--points", type=int, default=8, help="locations, in two batches in each epoch")
    options.add_argument("--epochs", type=int, default=20, help="epochs for each task")
    options.add_argument("--ewc-strength", type=float, default=1.0)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    options.add_argument("--folder", type=Path, default=Path("era5_variants"), help="where the runs are")
    options.add_argument("--table", action="store_true", help="only show the results so far")
    args = options.parse_args()
    if args.quick:
        args.seeds, args.num_inducing, args.points, args.epochs = [0], [10], 2, 1
    if not args.table:
        carry_out([run for run in matrix(args) if not run.done(args.folder)], args)
    show(args)


def matrix(args: argparse.Namespace) -> Iterable[Run]:
    """All runs, seed by seed."""
    for seed in args.seeds:
        for num_inducing in args.num_inducing:
            for protection in args.protections:
                for variant in args.variants if protection != JOINT else ["OHSVGP-CosS"]:
                    for data in args.data:
                        yield Run(data, variant, num_inducing, protection, seed)


def carry_out(runs: list[Run], args: argparse.Namespace) -> None:
    """Carry out runs, several at a time, and print how each ended."""
    args.folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        for number, (run, failure) in enumerate(pool.map(lambda run: (run, carry_out_one(run, args)), runs), start=1):
            console.print(f"{number} of {len(runs)}: {run.name}, seed {run.seed} {failure or 'done'}", highlight=False)


def carry_out_one(run: Run, args: argparse.Namespace) -> str:
    """Carry out a run; returns the error, or an empty string."""
    done = subprocess.run(
        [sys.executable, "-m", "gpvae", *run.command(args)],
        cwd=args.folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else f"FAILED: {done.stderr.strip().splitlines()[-1]}"


def show(args: argparse.Namespace) -> None:
    """Print a Markdown table with a row for each variant and protection, and write all scores as JSON."""
    rows: defaultdict[tuple[str, int, str, str], dict[str, Interval]] = defaultdict(dict)
    for run in matrix(args):
        if run.done(args.folder) and (key := (run.data, run.num_inducing, run.protection, run.variant)) not in rows:
            same = [other for seed in args.seeds if (other := Run(*run_of(key), seed)).done(args.folder)]
            (experiment,) = summarise([args.folder / other.folder for other in same])
            for metric in ("nlpd", "rmse", "coverage"):
                rows[key][metric] = experiment.scores[experiment.num_tasks, None, metric, ""]
            if run.protection != JOINT:
                rows[key]["forgetting"] = experiment.forgetting["nlpd", ""]
    console.print("| data | M | networks kept by | variables | NLPD | forgetting | RMSE | coverage | runs |")
    console.print("|---|---|---|---|---|---|---|---|---|")
    for key, cells in rows.items():
        columns = [format_interval(cells.get(name)) for name in ("nlpd", "forgetting", "rmse", "coverage")]
        console.print(f"| {' | '.join(map(str, key))} | {' | '.join(columns)} | {cells['nlpd'].runs} |", soft_wrap=True)
    scores = {" ".join(map(str, key)): {name: asdict(cell) for name, cell in row.items()} for key, row in rows.items()}
    save("era5_variants", {"points": args.points, "ewc_strength": args.ewc_strength, "scores": scores}, args.output)


def run_of(key: tuple[str, int, str, str]) -> tuple[str, str, int, str]:
    """The arguments of `Run`, without the seed, from a key of the table."""
    data, num_inducing, protection, variant = key
    return data, variant, num_inducing, protection


def format_interval(cell: Interval | None) -> str:
    """A mean ± half the width of its 95 % interval."""
    if cell is None:
        return ""
    return f"{cell.mean:.2f}" if cell.runs < 2 else f"{cell.mean:.2f} ± {cell.high - cell.mean:.2f}"


if __name__ == "__main__":
    main()
