"""The command of a saved run, given again from Python."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from lightning import Trainer
from lightning.pytorch.cli import LightningArgumentParser
from lightning.pytorch.utilities.seed import isolate_rng

from datamodules import TaskStream
from gpvae.cli.allowed_classes import OPTION
from gpvae.cli.lightning_cli import StreamCLI
from gpvae.results import run_config
from gpvae.results.run_config import RunConfig

#: What Lightning says about ways to call it that are right here.
IGNORED_WARNINGS = ("LightningCLI's args parameter", ".*across ranks is zero", "Couldn't infer the batch indices")
#: Beginnings of messages of Lightning that do not concern the user of a saved run.
IGNORED_MESSAGES = ("Seed set", "GPU available", "TPU available", "💡 Tip", "Restor", "`Trainer.fit` stopped")
LOGGERS = ("lightning.pytorch.utilities.rank_zero", "lightning.fabric.utilities.seed")
#: Options of any command: one process, nothing printed but logs.
ALONE = ("--trainer.devices", "1", "--trainer.strategy", "auto", "--trainer.num_nodes", "1")


class RunCommand(StreamCLI):
    """The command line as it was, with other data.

    Args:
        args: The arguments.
        change_stream: Called with the stream before its data are read.
        runs: Whether to run the command; if not, model, data and trainer are built, and the checkpoint is loaded.
    """

    def __init__(
        self, args: Sequence[str], *, change_stream: Callable[[TaskStream], None] | None = None, runs: bool = True
    ) -> None:
        self._change_stream, self._runs = change_stream, runs
        super().__init__(args)

    def init_parser(self, **kwargs: Any) -> LightningArgumentParser:
        """A parser that raises errors instead of ending the process."""
        return super().init_parser(**kwargs, exit_on_error=False)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Build the trainer, after the stream has been changed."""
        if self._change_stream is not None:
            self._change_stream(self.datamodule)
        return super().instantiate_trainer(**kwargs)

    def _run_subcommand(self, subcommand: str) -> None:
        if self._runs:
            super()._run_subcommand(subcommand)


def run_command(folder: Path, subcommand: str, *options: str, allow: Sequence[str] = (), **settings: Any) -> RunCommand:
    """Give the command of a run again, in the folder that it was given in.

    Args:
        folder: The run folder.
        subcommand: `fit` or `predict`.
        options: Options that take precedence over those of the run.
        allow: Packages and classes that configs may name.
        settings: See `RunCommand`.

    Raises:
        FileNotFoundError: The run folder has no config.
        ValueError: The config cannot be read.
    """
    root = str(read_run_config(folder).trainer.get("default_root_dir") or "")
    config = (folder / run_config.FILE_NAME).resolve()
    allowed = [word for name in allow for word in (OPTION, name)]
    args = [subcommand, "-c", str(config), *ALONE, *options, *allowed]
    with _undisturbed(), chdir(_working_folder(folder.resolve(), root)):
        return RunCommand(args, **settings)


def read_run_config(folder: Path) -> RunConfig:
    """The config of a run.

    Args:
        folder: The run folder.

    Raises:
        FileNotFoundError: The run folder has no config.
        ValueError: The config cannot be read.
    """
    path = folder / run_config.FILE_NAME
    if not path.is_file():
        raise FileNotFoundError(f"the run in {folder} has no {path.name}, which names its data and options")
    return run_config.read_config(path)


def read_description(folder: Path, checkpoint: Path, allow: Sequence[str]) -> dict[str, Any]:
    """What is known of the data of a run whose checkpoint does not say it: by reading the data.

    Args:
        folder: The run folder.
        checkpoint: The checkpoint, saved by an earlier version.
        allow: Packages and classes that configs may name.

    Raises:
        ValueError: The data cannot be read.
    """
    try:
        stream = run_command(
            folder, "predict", "--ckpt_path", str(checkpoint.resolve()), allow=allow, runs=False
        ).datamodule
        stream.prepare_data()
        stream.setup()
    except Exception as error:
        raise ValueError(
            f"{checkpoint} was saved by an earlier version, without the scale of the data, and these cannot be read: "
            f"{error}. Put the data where the run's {run_config.FILE_NAME} names them, and load it again"
        ) from error
    return stream.describe()


def _working_folder(folder: Path, root: str) -> Path:
    """The folder in which the command was given, to which paths in the config are relative; else the present one."""
    parts = Path(root).parts
    parent = folder.parent
    while parent != parent.parent:  # a name may have several parts
        if not Path(root).is_absolute() and parts and parent.parts[-len(parts) :] == parts:
            return Path(*parent.parts[: -len(parts)])
        parent = parent.parent
    return Path.cwd()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep random states and variables of the environment as they are, and hide messages that do not apply."""
    environment = dict(os.environ)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(_concerns_user)
    try:
        with isolate_rng(), warnings.catch_warnings():
            for message in IGNORED_WARNINGS:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(_concerns_user)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)


def _concerns_user(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(IGNORED_MESSAGES)
