"""The command line: `gpvae fit -c configs/solar_ohsgpr.yaml`, also spelt `lightning` and `python -m gpvae`."""

import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lightning import Trainer
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only
from lightning.pytorch.utilities.exceptions import SIGTERMException

from callbacks import (
    ContinualLearning,
    NetCDFPredictions,
    PredictionTable,
    TaskCheckpoint,
    TaskFigures,
    TaskProgress,
    TaskReport,
)
from callbacks.checkpoint import load_state, read_checkpoint
from callbacks.continual import check_same_data
from datamodules import TaskStream
from datamodules.era5 import SeriesStream
from gpvae import __version__, origin, process_group, run_folder, shipped_configs, summary
from gpvae.checks import nearest
from gpvae.class_paths import allowed_by, only_from
from gpvae.config_size import limit_configs
from gpvae.disk_errors import disk_error
from gpvae.modules import ContinualModule
from gpvae.parser import HelpfulParser
from gpvae.report import command as report

DESCRIPTION = (
    "Learn a stream of tasks, and remember. `gpvae summary RUNS...` aggregates the results of several runs. "
    "`gpvae report RUNS...` makes a page of them. "
    "`gpvae configs` lists the configs that come with the package, for `gpvae fit -c NAME`. "
    "`--allow PACKAGE` lets configs name classes of a package of yours; repeat it for several. "
    "`--version` says which gpvae this is."
)
#: Packages whose errors are written for people, so that no traceback is needed to understand them.
OURS = ("gpvae", "datamodules", "callbacks")


class StreamCLI(LightningCLI):
    """LightningCLI for modules that learn streams of tasks, any subclass of theirs by its short name."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        allowed, words = allowed_by(sys.argv[1:] if args is None else args)
        self._words = shipped_configs.with_files(words)
        limit_configs()
        with only_from(allowed):
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
                },
                args=self._words,
            )

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:  # noqa: ANN401
        """Parse the words of the command that are the parser's."""
        with in_words("The config cannot be read"):
            self.config = parser.parse_args(args)

    def instantiate_classes(self) -> None:
        """Build data, module and trainer."""
        with in_words("Data, model or trainer cannot be built as the config has it"):
            super().instantiate_classes()

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Callbacks whose options are sections of the config; one seed for everything."""
        parser.add_argument(
            "--name",
            type=str | None,
            default=None,
            help="Results go to runs/NAME/seed_N. Not given: the config file's name, and options changed beside it.",
        )
        parser.add_lightning_class_args(TaskReport, "report")
        parser.add_lightning_class_args(TaskFigures, "figures")
        parser.add_lightning_class_args(TaskCheckpoint, "checkpoint")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)
        parser.link_arguments("seed_everything", "model.init_args.seed", compute_fn=int)
        parser.link_arguments("data", "model.init_args.input_dim", _input_dim, apply_on="instantiate")
        parser.link_arguments("data", "model.init_args.num_variables", _num_variables, apply_on="instantiate")

    def _set_seed(self) -> None:
        with in_words("The seed cannot be used"):
            super()._set_seed()

    def _parse_ckpt_path(self) -> None:
        """Leave the config as it is given: a checkpoint of another config is an error, not a change of config."""

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """A trainer that goes through all tasks, evaluates after each of them, and logs to the folder of the run."""
        chosen = self._get(self.config_init, "trainer")
        open_to_choice = ("max_epochs", "log_every_n_steps")
        options = self.datamodule.trainer_options
        kwargs |= {key: value for key, value in options.items() if key not in open_to_choice or chosen[key] is None}
        folder = self._run_folder()
        self._resolve_checkpoint(folder)
        if chosen["logger"] in (None, True):
            kwargs["logger"] = self.subcommand == "fit" and TensorBoardLogger(
                folder.parent.parent, folder.parent.name, folder.name, default_hp_metric=False
            )
        self.trainer_defaults["callbacks"] = [ContinualLearning(), *([TaskProgress()] if _wants_bar(chosen) else [])]
        trainer = super().instantiate_trainer(**kwargs)
        if self.subcommand == "predict":
            writer = NetCDFPredictions if isinstance(self.datamodule, SeriesStream) else PredictionTable
            trainer.callbacks.append(writer(str(folder)))  # type: ignore[attr-defined]
            self.config_init["predict"]["return_predictions"] = False  # nobody is here to take them
        return trainer

    @rank_zero_only
    def before_fit(self) -> None:
        """Make sure of the data before the results of an earlier run are moved out of the way."""
        self.datamodule.prepare_data()
        self.datamodule.setup("fit")
        for task in range(self.datamodule.num_learnt):
            self.model.check_task(*self.datamodule.task_data(task))
        folder = self._run_folder()
        # Only a folder of our own: that of another logger may hold more than one run.
        if self.trainer.logger is not None and self.trainer.log_dir == str(folder):
            self._claims.enter_context(run_folder.claimed(folder))
            if self._get(self.config, "ckpt_path") is None:
                run_folder.clear(folder)

    def _run_subcommand(self, subcommand: str) -> None:
        with ExitStack() as self._claims:
            super()._run_subcommand(subcommand)

    def before_instantiate_classes(self) -> None:
        """Name the run, in the config that is saved too, which begins with what made it."""
        if self.subcommand != "fit":
            self.save_config_callback = None  # there is no run to save it with
        else:
            parser = self._parser(self.subcommand)
            parser.dump_header = [*(parser.dump_header or []), origin.program()]
        config = self.config[self.subcommand]
        config["name"] = config["name"] or run_folder.name_of(config["config"] or [], self._words)

    def _run_folder(self) -> Path:
        config = self.config[self.subcommand]
        return Path(config["trainer"]["default_root_dir"]) / config["name"] / f"seed_{config['seed_everything']}"

    def _resolve_checkpoint(self, folder: Path) -> None:
        """`last` is the latest checkpoint of this config and seed; only `fit` can do without any.

        So it can where a run was killed before its first one: that begins again, in its own folder, which all processes
        find as it was.
        """
        config = self.config_init[self.subcommand]
        config["weights_only"] = True  # for whatever Lightning may load by itself, too
        given = config.get("ckpt_path") or (None if self.subcommand == "fit" else "last")
        if given is None:
            return
        path = folder / "checkpoints" / "last.ckpt" if given == "last" else Path(given)
        if self.subcommand == "fit" and given == "last" and run_folder.begun(folder) and not path.is_file():
            rank_zero_info(f"The run in {folder} was interrupted before its first checkpoint: it begins again.")
            config["ckpt_path"] = None
            return
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no checkpoint {path}: it is written by `fit` with the same config, name and seed; or give "
                "the path of one as --ckpt_path"
            )
        checkpoint = read_checkpoint(path, to_go_on=self.subcommand == "fit")
        self.model.on_load_checkpoint(checkpoint)
        check_same_data(checkpoint, self.datamodule)
        load_state(self.model, checkpoint, path)
        config["ckpt_path"] = str(path)


COMMANDS = (*StreamCLI.subcommands(), "summary", "report", "configs")


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command, ours or that of another distribution that also has a `lightning`."""
    words = list(sys.argv[1:] if argv is None else argv)
    _quieten()
    command = words[0] if words and not words[0].startswith("-") else None
    if command is not None and command not in COMMANDS:
        if other := _another_lightning():
            other()
            return
        sys.exit(
            f"error: there is no command {command!r}{nearest(command, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    try:
        if command == "summary":
            summary.main(words[1:])
        elif command == "report":
            report.main(words[1:])
        elif command == "configs":
            shipped_configs.main(words[1:])
        elif words == ["--version"]:
            print(f"gpvae {__version__}")
        else:
            StreamCLI(argv)
            process_group.leave()  # not after an error: others may be waiting in the midst of an exchange
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM)  # else it would pass for success
    except Exception as error:
        causes = (error, error.__cause__)  # the parser wraps what constructors raise
        told = next((cause for cause in causes if cause is not None and is_for_people(cause)), None)
        said = disk_error(error) if told is None else str(told)
        if os.environ.get("GPVAE_TRACEBACK") or said is None:
            raise
        sys.exit(f"error: {said}")


def _wants_bar(options: Mapping[str, Any]) -> bool:
    """Whether there is to be a progress bar, and the user has none of their own."""
    given = options["callbacks"] or []
    given = given if isinstance(given, list) else [given]
    return options["enable_progress_bar"] is not False and not any(isinstance(one, ProgressBar) for one in given)


def _input_dim(stream: TaskStream) -> int:
    """The dimension of inputs; that of time, where a stream is one of series."""
    return getattr(stream, "input_dim", 1)


def _num_variables(stream: TaskStream) -> int:
    """How many variables a stream of series has, which its files may have to tell; else the one target."""
    if not isinstance(stream, SeriesStream):
        return 1
    stream.prepare_data()
    stream.setup()
    return stream.num_variables


def _quieten() -> None:
    """Say in plain words what concerns the user, and leave out what Lightning says of other products and old code."""
    speaker = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    speaker.addFilter(lambda record: "Tip" not in record.getMessage())
    for message in (".*LeafSpec.*is deprecated", "Couldn't infer the batch indices"):
        warnings.filterwarnings("ignore", message)
    others = warnings.formatwarning

    def plain(message: Warning | str, category: type[Warning], *where: Any) -> str:
        """Our own warnings speak to people, who need no line of code."""
        ours = category.__module__.split(".")[0] in OURS
        return f"warning: {message}\n" if ours else others(message, category, *where)

    warnings.formatwarning = plain  # type: ignore[assignment]


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


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Say of any error what could not be done, unless it says so itself.

    Args:
        what: What could not be done.
    """
    try:
        yield
    except Exception as error:
        if any(cause is not None and is_for_people(cause) for cause in (error, error.__cause__)):
            raise
        reason = " ".join(str(error).split())
        raise ValueError(f"{what}: {reason} ({type(error).__name__}; GPVAE_TRACEBACK=1 shows where)") from error


def is_for_people(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by this package or by Lightning about its own options."""
    if isinstance(error, MisconfigurationException):
        return True
    if not isinstance(error, ValueError | OSError | RuntimeError | ArithmeticError | TypeError):
        return False
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    here = Path(__file__).resolve().parent.parent
    return any(raised_in.is_relative_to(here / package) for package in OURS)
