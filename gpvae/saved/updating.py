"""Learns new data by the command of a run, in a folder of its own, from which the results are saved."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from datamodules import TaskStream
from gpvae.cli.run_folder import claimed
from gpvae.metrics import foresight_table, task_table
from gpvae.modules import ContinualModule
from gpvae.results import config_history, task_times
from gpvae.saved.command import read_run_config, run_command
from gpvae.utils import checks
from gpvae.utils.atomic import process_name, remove_leftovers, replacing

CHECKPOINTS, LAST_NAME = "checkpoints", "last.ckpt"
#: Results that are saved, beside checkpoints.
RESULTS = (
    *(file.FILE_NAME for file in (task_table, foresight_table, task_times, config_history)),
    "events.out.tfevents.*",
)
#: What the user may accept, as on the command line.
Accepted = Literal["changed"]


class Staged:
    """The results of an update, in a temporary folder until they are saved.

    Attributes:
        module: The module that has learnt.
        stream: The stream that it has learnt from.
        folder: A run folder with checkpoints, scores and logs.
    """

    module: ContinualModule
    stream: TaskStream
    folder: Path

    def __init__(self) -> None:
        remove_leftovers(Path(tempfile.gettempdir()), "gpvae-update-")
        self.root = Path(tempfile.mkdtemp(prefix="gpvae-update-", suffix=f"-{process_name()}"))
        weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)  # once nobody needs it, or at the exit

    @property
    def checkpoint(self) -> Path:
        """The latest checkpoint."""
        return self.folder / CHECKPOINTS / LAST_NAME

    def publish(self, folder: Path) -> None:
        """Copy the results to a run folder, the latest checkpoint last.

        Args:
            folder: The run folder.
        """
        results = [file for pattern in RESULTS for file in sorted(self.folder.glob(pattern))]
        checkpoints = sorted((self.folder / CHECKPOINTS).glob("*.ckpt"), key=lambda file: file.name == LAST_NAME)
        for file in (*results, *checkpoints):
            with replacing(folder / file.relative_to(self.folder)) as unfinished:
                shutil.copyfile(file, unfinished)


def learn(
    folder: Path,
    checkpoint: Path,
    change_stream: Callable[[TaskStream], None],
    allow: Sequence[str] = (),
    accept: Accepted | None = None,
) -> Staged:
    """Give the command of a run again with new data, as `gpvae fit --ckpt_path` would.

    Args:
        folder: The run folder, which stays as it is.
        checkpoint: The checkpoint to go on from.
        change_stream: Gives the new data to the stream.
        allow: Packages and classes that configs may name.
        accept: See `--accept` of the command.

    Raises:
        ValueError: The run needs several processes, or keeps its sites in files.
    """
    config = read_run_config(folder)
    devices = config.trainer.get("devices", "auto")
    if devices not in ("auto", 1, "1", [0], -1) or config.trainer.get("num_nodes", 1) not in (1, None):
        raise ValueError(
            f"the run was learnt by several processes (trainer.devices is {devices}), which one process cannot repeat: "
            "learn new data with `gpvae fit --ckpt_path last`"
        )
    if config.model.options.get("sites_folder"):
        raise ValueError(
            "the run keeps its sites in files (sites_folder), which an update would change before it is saved: learn "
            "new data with `gpvae fit --ckpt_path last`"
        )
    if accept is not None:
        checks.choice("accept", accept, get_args(Accepted))
    staged = Staged()
    logger = ("--trainer.logger", "false") if config.trainer.get("logger") is False else ("--trainer.logger", "null")
    command = run_command(
        folder,
        *("fit", "--ckpt_path", str(checkpoint.resolve()), "--trainer.default_root_dir", str(staged.root)),
        *("--name", "run", "--trainer.max_epochs", "null", *logger),
        *("--report.print_table", "false", "--figures.enabled", "false"),
        *(() if accept is None else ("--accept", accept)),
        allow=allow,
        change_stream=change_stream,
    )
    (staged.folder,) = (staged.root / "run").glob("seed_*")
    staged.module, staged.stream = command.model, command.datamodule
    config_history.continue_history(checkpoint.parent.parent, staged.folder)
    return staged


@contextmanager
def unchanged(folder: Path, version: tuple[int, int] | None) -> Iterator[None]:
    """Lock a run folder whose latest checkpoint is still the one that was loaded.

    Args:
        folder: The run folder.
        version: What `checkpoint_version` gave when the run was loaded.

    Raises:
        OSError: Another process uses the run, or the folder cannot be written to.
        RuntimeError: The run has gone on since it was loaded.
    """
    with claimed(folder):
        if checkpoint_version(folder) != version:
            raise RuntimeError(
                f"the run in {folder} has gone on since it was loaded: load it again, and give the new data again; "
                "hours that were learnt are skipped"
            )
        yield


def checkpoint_version(folder: Path) -> tuple[int, int] | None:
    """Size and time of the latest checkpoint of a run; None if there is none.

    Args:
        folder: The run folder.
    """
    file = folder / CHECKPOINTS / LAST_NAME
    if not file.is_file():
        return None
    status = file.stat()
    return status.st_size, status.st_mtime_ns
