"""The command line: `gpvae fit -c configs/solar_ohsgpr.yaml`, also spelt `lightning` and `python -m gpvae`."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lightning import Trainer
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from callbacks import ContinualLearning, TaskCheckpoint, TaskFigures, TaskProgress, TaskReport
from datamodules import TaskStream
from gpvae import run_folder, summary
from gpvae.checks import nearest
from gpvae.modules import ContinualModule
from gpvae.parser import HelpfulParser

DESCRIPTION = "Learn a stream of tasks, and remember. `gpvae summary RUNS...` aggregates the results of several runs."
#: Packages whose errors are written for people, so that no traceback is needed to understand them.
OURS = ("gpvae", "datamodules", "callbacks")


class StreamCLI(LightningCLI):
    """LightningCLI for modules that learn streams of tasks, any subclass of theirs by its short name."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        super().__init__(
            ContinualModule,
            TaskStream,
            subclass_mode_model=True,
            subclass_mode_data=True,
            parser_class=HelpfulParser,
            parser_kwargs={"description": DESCRIPTION, "allow_abbrev": False},
            seed_everything_default=1,
            auto_configure_optimizers=False,
            save_config_kwargs={"overwrite": True},
            trainer_defaults={
                "default_root_dir": "runs",
                "enable_model_summary": False,  # a table of three parameters
                "num_sanity_val_steps": 0,  # there is nothing to evaluate before the first task
                "reload_dataloaders_every_n_epochs": 1,  # the task depends on the epoch
                "use_distributed_sampler": False,  # loaders share out points among processes themselves
                "callbacks": [ContinualLearning(), TaskProgress()],
            },
            args=list(args) if args is not None else None,
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Callbacks whose options are sections of the config; one seed for everything."""
        parser.add_argument(
            "--name",
            type=str | None,
            default=None,
            help="Results go to runs/NAME/seed_N; the config file's name if not given.",
        )
        parser.add_lightning_class_args(TaskReport, "report")
        parser.add_lightning_class_args(TaskFigures, "figures")
        parser.add_lightning_class_args(TaskCheckpoint, "checkpoint")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)
        parser.link_arguments("seed_everything", "model.init_args.seed", compute_fn=int)
        parser.link_arguments("data.input_dim", "model.init_args.input_dim", apply_on="instantiate")

    def _parse_ckpt_path(self) -> None:
        """Leave the config as it is given: a checkpoint of another config is an error, not a change of config."""

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """A trainer that goes through all tasks, evaluates after each of them, and logs to the folder of the run."""
        chosen = self._get(self.config_init, "trainer")
        if chosen["max_epochs"] is None:
            kwargs["max_epochs"] = self.datamodule.num_epochs
        if chosen["log_every_n_steps"] is None:
            kwargs["log_every_n_steps"] = min(10, self.datamodule.steps_per_epoch or 1)
        if self.subcommand == "fit":
            kwargs["check_val_every_n_epoch"] = self.datamodule.epochs_per_task
        folder = self._run_folder()
        self._resolve_checkpoint(folder)
        if chosen["logger"] in (None, True):
            kwargs["logger"] = self.subcommand == "fit" and TensorBoardLogger(
                folder.parent.parent, folder.parent.name, folder.name, default_hp_metric=False
            )
        return super().instantiate_trainer(**kwargs)

    @rank_zero_only
    def before_fit(self) -> None:
        """Make sure of the data before the results of an earlier run are moved out of the way."""
        self.datamodule.prepare_data()
        self.datamodule.setup("fit")
        if self._get(self.config_init, "ckpt_path") is None and self.trainer.logger and self.trainer.log_dir:
            run_folder.clear(Path(self.trainer.log_dir))

    def _run_folder(self) -> Path:
        configs = self._get(self.config, "config") or []
        name = self._get(self.config, "name") or (Path(str(configs[-1])).stem if configs else "unnamed")
        root = self._get(self.config_init, "trainer")["default_root_dir"]
        return Path(root) / name / f"seed_{self._get(self.config, 'seed_everything')}"

    def _resolve_checkpoint(self, folder: Path) -> None:
        """`--ckpt_path last` is the latest checkpoint of this config and seed."""
        config = self.config_init[self.subcommand]
        if config.get("ckpt_path") is None:
            return
        given = config["ckpt_path"]
        path = folder / "checkpoints" / "last.ckpt" if given == "last" else Path(given)
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no checkpoint {path}; run without --ckpt_path to start anew, or give the path of one"
            )
        config["ckpt_path"] = str(path)
        config["weights_only"] = True


COMMANDS = (*StreamCLI.subcommands(), "summary")


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command, ours or that of another distribution that also has a `lightning`."""
    words = list(sys.argv[1:] if argv is None else argv)
    _quieten()
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        if other := _another_lightning():
            other()
            return
        sys.exit(
            f"error: there is no command {command!r}{nearest(command, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    try:
        if command == "summary":
            summary.main(words[words.index("summary") + 1 :])
        else:
            StreamCLI(argv)
    except Exception as error:
        if os.environ.get("GPVAE_TRACEBACK") or not _is_for_people(error):
            raise
        sys.exit(f"error: {error}")


def _quieten() -> None:
    """Leave out what Lightning says of other products, and of code of its own that is getting old."""
    connectors = "lightning.pytorch.trainer.connectors"
    for name in ("logger_connector.logger_connector", "callback_connector"):
        logging.getLogger(f"{connectors}.{name}").addFilter(lambda record: "Tip" not in record.getMessage())
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(
        lambda record: "Tip" not in record.getMessage()
    )
    warnings.filterwarnings("ignore", ".*LeafSpec.*is deprecated")
    warnings.filterwarnings("ignore", ".*configure_optimizers. returned .None.")  # closed form needs none


def _another_lightning() -> Any | None:  # noqa: ANN401
    """The `lightning` command of another distribution, if this was called by that name and there is one."""
    if Path(sys.argv[0]).stem != "lightning":
        return None
    others = [
        point
        for point in entry_points(group="console_scripts", name="lightning")
        if point.dist is None or point.dist.name != "gpvae"
    ]
    return others[0].load() if others else None


def _is_for_people(error: Exception) -> bool:
    """Whether an error was raised by this package on purpose."""
    if not isinstance(error, ValueError | OSError | RuntimeError | ArithmeticError | TypeError):
        return False
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    here = Path(__file__).resolve().parent.parent
    return any(raised_in.is_relative_to(here / package) for package in OURS)
