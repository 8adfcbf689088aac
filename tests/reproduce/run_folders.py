"""Run folders with made-up scores."""

from pathlib import Path

from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.runs import Run
from gpvae.metrics import Score, TaskTable
from gpvae.metrics.task_table import FILE_NAME


def make(folder: Path, name: str, seed: int, num_tasks: int = 3, learnt: int = 3, shift: float = 0.0) -> None:
    """A run folder with scores i + 10 j of task j after task i, and i over all tasks seen."""
    table = TaskTable()
    for after in range(1, learnt + 1):
        for task in range(1, after + 1):
            for metric in ("nlpd", "rmse", "ece"):
                table.add(Score(after, task, metric, "", after + 10 * task + shift))
        for metric in ("nlpd", "rmse", "ece"):
            table.add(Score(after, None, metric, "", float(after) + shift))
    run = folder / "runs" / name / f"seed_{seed}"
    run.mkdir(parents=True)
    table.write(run / FILE_NAME)
    config = f"model: {{class_path: A}}\ndata:\n  class_path: B\n  init_args: {{num_tasks: {num_tasks}}}\n"
    (run / "config.yaml").write_text(config)
    for experiment in [experiment for experiment in EXPERIMENTS if experiment.name == name]:
        Run(experiment, seed, folder).write(seconds=1.0 if learnt == num_tasks else None)
