"""The renewal model on the split of a run on COVID: sampled by NUTS, scored on the same test days as the GPs.

It is fitted once, offline, to the training days of all tasks, as in the paper, and writes the files of `gpvae fit`,
`task_metrics.csv` (after the last task only) and `config.yaml`, and `diagnostics.json`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from datamodules import Covid
from gpvae.metrics import TaskScores, TaskTable, equal_mixture, for_likelihood
from gpvae.metrics.task_table import FILE_NAME
from gpvae.utils.provenance import program

NEEDED = "the renewal model is sampled by Pyro, which is not installed: pip install -e '.[reproduce]'"
DIAGNOSTICS = "diagnostics.json"


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--name", default="covid_renewal")
    parser.add_argument("--seed_everything", type=int, default=1)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--samples", type=int, default=500)
    options = parser.parse_args(argv)
    try:
        from benchmarks.reproduce.sampling import sample
    except ModuleNotFoundError as error:
        parser.exit(1, f"error: {NEEDED} ({error})\n")
    data = Covid(statistics="global", seed=options.seed_everything)
    data.prepare_data()
    data.setup("fit")
    last = len(data.read()[0]) - 1

    def days(x: Tensor) -> Tensor:
        """Times from 0 to 10 as days."""
        return (x[:, 0] / 10 * last).round().long()

    train = torch.cat([days(task.x_train) for task in data.tasks])
    deaths = torch.cat([task.y_train for task in data.tasks])
    drawn = sample(train, deaths, last + 1, options.chains, options.warmup, options.samples, options.seed_everything)
    scores = TaskScores(for_likelihood("negative_binomial"))
    scores.reset(len(data.tasks))
    for number, task in enumerate(data.tasks):
        scores.update(number, equal_mixture(drawn.predict(days(task.x_test))), task.y_test)
    write(Path("runs") / options.name / f"seed_{options.seed_everything}", scores, drawn.diagnostics, data, options)


def write(
    folder: Path, scores: TaskScores, diagnostics: dict[str, Any], data: Covid, options: argparse.Namespace
) -> None:
    """Write scores, diagnostics and a config for the report."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DIAGNOSTICS).write_text(json.dumps(diagnostics, indent=1) + "\n")
    known = {"num_tasks": data.num_tasks, "num_test": data.num_test, "statistics": data.statistics}
    known |= {"batch_size": None, "steps_per_epoch": None, "epochs_per_task": 1, "stop_after": None}
    asked = {key: getattr(options, key) for key in ("chains", "warmup", "samples")}
    model = {"class_path": "Renewal", "init_args": {"method": "AR(2) renewal", "offline": True, **asked}}
    config = {"model": model, "data": {"class_path": "datamodules.Covid", "init_args": known}}
    (folder / "config.yaml").write_text(f"# {program()}\n" + yaml.safe_dump(config, sort_keys=False))
    table = TaskTable(scores.compute(data.num_tasks))
    table.write(folder / FILE_NAME)
    print(json.dumps(diagnostics, indent=1))
    for metric in table.metrics:
        print(f"{metric} {table.seen(metric)[-1]:.4f}")


if __name__ == "__main__":
    main()
