"""LightningCLI for streams of tasks: what a config builds, where results go, and where a run resumes."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from lightning import Trainer
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

from callbacks import (
    ContinualLearning,
    LocationScores,
    NetCDFPredictions,
    PredictionTable,
    SeriesPredictions,
    TaskCheckpoint,
    TaskClock,
    TaskFigures,
    TaskProgress,
    TaskReport,
)
from callbacks.changed_options import accepted_changes
from callbacks.checkpoint import check_synchronous, load_state, read_checkpoint
from callbacks.data_identity import accepted_data, check_same_stream
from callbacks.results_folder import ResultsWriter
from datamodules import TaskStream
from datamodules.era5 import SeriesStream
from gpvae.cli import run_folder
from gpvae.cli.allowed_classes import restrict_classes, split_allow_options
from gpvae.cli.errors import explain_errors
from gpvae.cli.parser import HelpfulParser, subclasses
from gpvae.cli.run_folder import SavedConfig
from gpvae.cli.shipped_configs import resolve_config_names
from gpvae.cli.yaml_limits import limit_configs
from gpvae.modules import ContinualModule
from gpvae.modules.configuration import Differences
from gpvae.results.config_history import record_changes
from gpvae.utils import provenance


class StreamCLI(LightningCLI):
    """LightningCLI for continual modules and streams of tasks; configs name their classes by short name."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        allowed, others = split_allow_options(sys.argv[1:] if args is None else args)
        self._args = resolve_config_names(others)
        self._changes: Differences = {}
        limit_configs()
        with restrict_classes(allowed):
            super().__init__(
                ContinualModule,
                TaskStream,
                subclass_mode_model=True,
                subclass_mode_data=True,
                parser_class=HelpfulParser,
                parser_kwargs={"allow_abbrev": False},
                seed_everything_default=1,
                auto_configure_optimizers=False,
                save_config_callback=SavedConfig,
                trainer_defaults={
                    "default_root_dir": "runs",
                    "enable_model_summary": False,  # a table of three parameters
                },
                args=self._args,
            )

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:  # noqa: ANN401
        """Parse the arguments."""
        with explain_errors("The config cannot be read"):
            self.config = parser.parse_args(args)

    def instantiate_classes(self) -> None:
        """Instantiate data, module and trainer."""
        with explain_errors("Data, model or trainer cannot be built from the config"):
            super().instantiate_classes()

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Callbacks whose options are sections of the config; one seed for everything."""
        parser.add_argument(
            "--name",
            type=str | None,
            default=None,
            help="Results go to runs/NAME/seed_N. Default: the name of the config and the options changed from it.",
        )
        parser.add_argument(
            "--accept",
            type=Literal["changed"] | None,
            default=None,
            help="With `changed`, a resumed run may differ from its checkpoint in epochs per task, batch size, "
            "learning rate and the like, and in data that were learnt, except for the first task. It takes the "
            "new values from the next task on, and records them in config_history.yaml of the run folder.",
        )
        parser.add_lightning_class_args(TaskReport, "report")
        parser.add_lightning_class_args(TaskFigures, "figures")
        parser.add_lightning_class_args(TaskCheckpoint, "checkpoint")
        parser.link_arguments("seed_everything", "data.init_args.seed", compute_fn=int)
        parser.link_arguments("seed_everything", "model.init_args.seed", compute_fn=int)
        parser.link_arguments("data", "model.init_args.input_dim", _input_dim, apply_on="instantiate")

    def _set_seed(self) -> None:
        with explain_errors("The seed cannot be used"):
            super()._set_seed()

    def _parse_ckpt_path(self) -> None:
        """Keep the config: a checkpoint of another config is an error, and does not change the config."""

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Build a trainer that learns all tasks, evaluates after each of them, and writes results to the run folder."""
        folder = self._run_folder()
        checkpoint = self._read_checkpoint(folder)
        self.datamodule.prepare_data()
        self.datamodule.setup()  # the number of tasks, variables and batches may depend on the data
        self.model.build(self.datamodule.num_variables, getattr(self.datamodule, "num_series", None))
        if checkpoint is not None:
            self._load(checkpoint)
        chosen = self._get(self.config_init, "trainer")
        open_to_choice = ("max_epochs", "log_every_n_steps")
        options = self.datamodule.trainer_options
        kwargs |= {key: value for key, value in options.items() if key not in open_to_choice or chosen[key] is None}
        if chosen["logger"] in (None, True):
            kwargs["logger"] = self.subcommand == "fit" and TensorBoardLogger(
                folder.parent.parent, folder.parent.name, folder.name, default_hp_metric=False
            )
        for logger in chosen["logger"] if isinstance(chosen["logger"], list) else [chosen["logger"]]:
            run_folder.check_local(getattr(logger, "save_dir", None) or "", "save_dir of the logger")
        kwargs["plugins"] = trainer_plugins(chosen["plugins"])
        self.trainer_defaults["callbacks"] = [
            TaskClock(),
            ContinualLearning(),
            SeriesPredictions(),
            *([TaskProgress()] if _wants_bar(chosen) else []),
            *([LocationScores()] if getattr(self.datamodule, "test_locations", None) else []),
        ]
        trainer = super().instantiate_trainer(**kwargs)
        check_synchronous(trainer)
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, ResultsWriter):
                callback.folder = folder
        if self.subcommand == "predict":
            writer = NetCDFPredictions if isinstance(self.datamodule, SeriesStream) else PredictionTable
            trainer.callbacks.append(writer(str(folder)))  # type: ignore[attr-defined]
            self.config_init["predict"]["return_predictions"] = False  # the callback writes them
        return trainer

    @rank_zero_only
    def before_fit(self) -> None:
        """Check the data before the results of an earlier run are moved away."""
        self.datamodule.prepare_data()
        self.datamodule.setup("fit")
        for task in range(self.model.learned, self.datamodule.num_learnt):
            self.model.check_task(*self.datamodule.task_data(task))
        if self.trainer.fast_dev_run:  # type: ignore[attr-defined]
            return  # writes nothing
        folder = self._run_folder()
        self._claims.enter_context(run_folder.claimed(folder))
        run_folder.remove_unfinished(folder)
        if self._get(self.config, "ckpt_path") is None:
            run_folder.clear(folder)
        if self._changes:
            record_changes(folder, self.model.learned, self._changes)

    def _run_subcommand(self, subcommand: str) -> None:
        with ExitStack() as self._claims:
            try:
                super()._run_subcommand(subcommand)
            except OSError as error:
                folder = self._run_folder()
                if self._has_saved_config() and run_folder.is_removed(folder):
                    raise run_folder.removed(folder) from error
                raise

    def _has_saved_config(self) -> bool:
        """Whether this run has written to its folder; an error before that says nothing about the folder."""
        callbacks = self.trainer.callbacks  # type: ignore[attr-defined]
        return any(isinstance(callback, run_folder.SavedConfig) and callback.is_saved for callback in callbacks)

    def before_instantiate_classes(self) -> None:
        """Set the name of the run. It is saved with the config, whose header is the version of the program."""
        if self.subcommand != "fit":
            self.save_config_callback = None  # only `fit` has a run folder
        else:
            parser = self._parser(self.subcommand)
            parser.dump_header = [*(parser.dump_header or []), provenance.program()]
        config = self.config[self.subcommand]
        ignored = _changeable_keys() if config["accept"] else []
        config["name"] = config["name"] or run_folder.default_name(config["config"] or [], self._args, ignored)
        run_folder.check_name(config["name"])
        run_folder.check_local(config["trainer"]["default_root_dir"], "trainer.default_root_dir")
        self.save_config_kwargs["folder"] = self._run_folder()

    def _run_folder(self) -> Path:
        config = self.config[self.subcommand]
        return Path(config["trainer"]["default_root_dir"]) / config["name"] / f"seed_{config['seed_everything']}"

    def _read_checkpoint(self, folder: Path) -> dict[str, Any] | None:
        """Read the checkpoint to start from; `last` is the latest one of this config and seed.

        Only `fit` can start without a checkpoint. If there is none yet, `last` starts with the first task, so that the
        same command starts a run and resumes it after any interruption. A checkpoint of other data is refused before
        these are downloaded.
        """
        config = self.config_init[self.subcommand]
        config["weights_only"] = True  # also for what Lightning loads itself
        given = config.get("ckpt_path")
        if given is not None and not given.strip():
            raise ValueError("--ckpt_path is empty: give `last`, the path of a checkpoint, or leave it out")
        given = given or (None if self.subcommand == "fit" else "last")
        if given is None:
            return None
        path = folder / "checkpoints" / "last.ckpt" if given == "last" else Path(given)
        if self.subcommand == "fit" and given == "last" and not path.is_file():
            rank_zero_info(f"There is no checkpoint in {path.parent} yet: the run begins with its first task.")
            config["ckpt_path"] = None
            return None
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no checkpoint {path}: run `fit` with the same config, name and seed first, or give the path "
                "of a checkpoint as --ckpt_path"
            )
        checkpoint = read_checkpoint(path, resume=self.subcommand == "fit")
        check_same_stream(checkpoint, self.datamodule)
        config["ckpt_path"] = str(path)
        return checkpoint

    def _load(self, checkpoint: dict[str, Any]) -> None:
        """Load the state of the module; raise if model or data differ in what may not change."""
        config = self.config_init[self.subcommand]
        self.model.accept_changes = self.datamodule.accept_changes = config["accept"] == "changed"
        self.model.on_load_checkpoint(checkpoint)
        changes = accepted_changes(checkpoint, self.model, self.datamodule)
        load_state(self.model, checkpoint, Path(config["ckpt_path"]))
        if self.subcommand != "fit":
            return
        for name, (old, new) in changes.items():
            rank_zero_info(f"From task {self.model.learned + 1} on, {name} is {new}; it was {old}.")
        for name, (_, new) in (data := accepted_data(checkpoint, self.datamodule)).items():
            rank_zero_info(f"Accepted: {name} are not those that were learnt ({new}). What was learnt stays.")
        self._changes = changes | data
        if self.model.learned == self.datamodule.num_learnt:
            rank_zero_info(f"All {self.datamodule.num_learnt} tasks of the data are learnt: there is nothing new.")


def _wants_bar(options: Mapping[str, Any]) -> bool:
    """Whether to add our progress bar: it is enabled, and the user has added no other."""
    given = options["callbacks"] or []
    given = given if isinstance(given, list) else [given]
    return options["enable_progress_bar"] is not False and not any(isinstance(one, ProgressBar) for one in given)


def _changeable_keys() -> list[str]:
    """Return the keys of all options that may change in the course of a run."""
    bases: dict[str, type] = {"model": ContinualModule, "data": TaskStream}
    return [
        f"{section}.{init}{option}"
        for section, base in bases.items()
        for kind in subclasses(base)
        for option in getattr(kind, "changeable")  # noqa: B009  # mypy does not know that the base has it
        for init in ("", "init_args.")
    ]


def _input_dim(stream: TaskStream) -> int:
    """Return the dimension of inputs; 1 for series, whose input is time."""
    return getattr(stream, "input_dim", 1)


def trainer_plugins(plugins: Sequence[Any] | Any | None) -> list[Any]:  # noqa: ANN401
    """Return the plugins of a trainer, on SLURM with one that does not handle signals.

    By default Lightning answers a signal of SLURM with a checkpoint in the middle of a step, in a folder that all runs
    share; a run resumed from it ends with other results. `--ckpt_path last` resumes from a checkpoint of ours instead.

    Args:
        plugins: Plugins that the user has chosen.
    """
    result = list(plugins) if isinstance(plugins, list | tuple) else [plugins] if plugins else []
    if SLURMEnvironment.detect() and not any(isinstance(plugin, ClusterEnvironment) for plugin in result):
        result.append(SLURMEnvironment(auto_requeue=False))
    return result
