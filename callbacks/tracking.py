"""What loggers show beside scalars: a layout of charts, pictures, tables, and options with final scores."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger

from gpvae.metrics import describe

#: Charts beside those of the metrics, on the first page of TensorBoard: their titles, and which scalars they show.
MEMORY = {
    "numbers kept": "memory/numbers",
    "memory: share of variance that the variables resolve": "memory/resolved",
}
OTHERS = {"forgetting": [".*/forgetting"], "before each task was learnt": ["foresight_nlpd/.*"]}
#: Metrics whose charts come before those of memory.
FIRST = ("nlpd", "coverage")
#: Options that tell runs apart, the first columns of HParams.
COLUMNS = ("data", "inducing", "method", "model", "num_inducing")
#: The address at which TensorBoard shows these charts, without smoothing: what is smoothed is not the score of a task.
ADDRESS = "http://localhost:6006/#custom_scalars&_smoothingWeight=0"


def lay_out(logger: Logger, metrics: Sequence[str], logged: Collection[str]) -> None:
    """Let TensorBoard show one chart for each metric, with all tasks in it: NLPD and coverage, memory, the others.

    Args:
        logger: Any logger; others than that of TensorBoard have layouts of their own.
        metrics: Names of the metrics that are logged for each task, in order.
        logged: Names of all scalars that a validation logs.
    """
    if isinstance(logger, TensorBoardLogger):
        first, last = (
            {
                f"{describe(metric).label}, each task": [rf"{metric}/task_.*", rf"{metric}/seen"]
                for metric in metrics
                if (metric in FIRST) == is_first
            }
            for is_first in (True, False)
        )
        memory = {title: [tag] for title, tag in MEMORY.items() if tag in logged}
        charts = {title: ["Multiline", tags] for title, tags in (first | memory | last | OTHERS).items()}
        logger.experiment.add_custom_scalars({"after each task": charts})


def log_image(logger: Logger, tag: str, pixels: np.ndarray, step: int) -> None:
    """Give a picture to a logger that takes pictures.

    Args:
        logger: Any logger.
        tag: Name of the picture.
        pixels: Its pixels, `[height, width, 3]`.
        step: Number of tasks learnt.
    """
    if isinstance(logger, TensorBoardLogger):
        logger.experiment.add_image(tag, pixels, global_step=step, dataformats="HWC")
    elif isinstance(logger, MLFlowLogger):
        logger.experiment.log_image(logger.run_id, pixels, f"{tag}_{step:02d}.png")
    elif hasattr(logger, "log_image"):  # as WandbLogger has it
        logger.log_image(key=tag, images=[pixels], step=step)


def log_table(logger: Logger, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
    """Give a table to a logger that takes tables.

    Args:
        logger: Any logger.
        name: Name of the table.
        columns: Names of its columns.
        rows: Its rows.
        step: Number of tasks learnt.
    """
    if isinstance(logger, TensorBoardLogger):
        lines = [columns, ["---"] * len(columns), *rows]
        logger.experiment.add_text(name, "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines), step)
    elif isinstance(logger, MLFlowLogger):
        table = {column: [row[i] for row in rows] for i, column in enumerate(columns)}
        logger.experiment.log_table(logger.run_id, table, f"{name}.json")
    elif hasattr(logger, "log_table"):
        logger.log_table(key=name, columns=list(columns), data=[list(row) for row in rows], step=step)


def log_end(logger: Logger, options: Mapping[str, Any], scores: Mapping[str, float], step: int) -> None:
    """Give a logger the options of a run and its final scores, by which runs can be compared.

    Args:
        logger: Any logger.
        options: Options of model and data.
        scores: Final scores.
        step: Number of tasks learnt.
    """
    plain = {
        name: value
        for name, value in options.items()
        if isinstance(value, bool | int | float | str) and "_class_path" not in name and "_instantiator" not in name
    }
    if isinstance(logger, TensorBoardLogger):
        _choose_columns(logger, plain, scores)
        logger.log_hyperparams(plain, dict(scores), step)
    elif not isinstance(logger, CSVLogger):  # `task_metrics.csv` and `config.yaml` have both
        logger.log_hyperparams(plain)
        logger.log_metrics(dict(scores), step=step)


def _choose_columns(logger: TensorBoardLogger, options: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    """Let HParams show the same columns first, whatever run it takes them from: it shows five, as if they differed."""
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
    from torch.utils.tensorboard.summary import hparams

    summary, _, _ = hparams(dict(options), dict(scores))
    held = summary.value[0].metadata.plugin_data
    content = plugin_data_pb2.HParamsPluginData.FromString(held.content)
    infos = content.experiment.hparam_infos
    for name in set(COLUMNS) - {info.name for info in infos}:
        infos.add(name=name, type=api_pb2.DATA_TYPE_STRING)
    for info in infos:
        info.differs = info.name in COLUMNS
    held.content = content.SerializeToString()
    logger.experiment._get_file_writer().add_summary(summary)
