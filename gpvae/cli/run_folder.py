"""Run folders, one for each experiment and seed, and the config saved in each."""

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path

from jsonargparse import Namespace
from lightning import LightningModule, Trainer
from lightning.pytorch.cli import LightningArgumentParser, SaveConfigCallback
from lightning.pytorch.utilities import rank_zero_info

from gpvae.utils.atomic import remove_leftovers, replacing
from gpvae.utils.locks import acquire, release

EARLIER = ".earlier"
CONFIG = "config.yaml"
#: What TensorBoard knows its logs by, and what replaces it in the names of those of earlier runs.
EVENTS, HIDDEN_EVENTS = "tfevents", "earlier-events"
#: Bytes that the name of a folder may have.
MAX_NAME = 255
#: Seconds to wait for the lock of a run folder: a killed process may take a while to exit.
LOCK_TIMEOUT = 3.0
#: Options of data that change how far a run goes, what it predicts or how data are downloaded, not its results.
NEUTRAL_OPTIONS = ("stop_after", "end", "predict_every", "predict_until", "download_hours", "refetch_preliminary")
KEYS_NOT_IN_NAME = tuple(f"data.{init}{option}" for init in ("", "init_args.") for option in NEUTRAL_OPTIONS)


def default_name(files: Iterable[object], args: Sequence[str], ignored: Collection[str] = ()) -> str:
    """Return the name of a run: that of its last config file, and the options of model and data beside it.

    Args:
        files: Config files.
        args: Arguments of the command, such as `--model.num_inducing 150`.
        ignored: Options that are not part of the name, beside those that do not change results.
    """
    ignored = {*KEYS_NOT_IN_NAME, *ignored}
    stems = [Path(str(file)).stem for file in files]
    parts = [stems[-1] if stems else "unnamed"]
    for arg, following in zip(args, [*args[1:], ""], strict=False):
        option, equals, value = arg.partition("=")
        key = option.removeprefix("--")
        if option.startswith("--") and re.match(r"(model|data)(\.|$)", key) and key not in ignored:
            parts += [*key.split(".")[1:][-1:], value if equals else following]
    name = "_".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts)
    if len(name.encode()) <= MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name.encode()[: MAX_NAME - 9].decode(errors='ignore')}_{digest}"


def check_name(name: str) -> None:
    """Raise unless a name is that of a folder below the folder of all runs."""
    parts = Path(name).parts
    if (size := max((len(os.fsencode(part)) for part in parts), default=0)) > MAX_NAME:
        raise ValueError(
            f"the name of a run has {size} bytes, more than the {MAX_NAME} of a folder: give a shorter one"
        )
    hidden = any(part.startswith(".") or not part.strip() for part in parts)
    if not name.isprintable() or Path(name).is_absolute() or hidden or not parts:
        raise ValueError(
            f"the name of a run is {name!r}; give a printable relative path without '..' and names that begin with a "
            "dot, such as solar_first. Its parent folder is --trainer.default_root_dir"
        )


def check_local(folder: str | PathLike[str], option: str) -> None:
    """Raise if a folder for results is the address of a website, which nothing can be written to.

    Args:
        folder: The folder.
        option: The option that it is of.
    """
    if re.match(r"https?:", str(folder)):
        raise ValueError(f"{option} is {str(folder)!r}, but results are written to a folder: give its path")


def remove_unfinished(folder: Path) -> None:
    """Remove what killed runs have left in a run folder, which is claimed.

    Args:
        folder: The run folder.
    """
    remove_leftovers(folder)
    for part in (folder / "checkpoints").glob("*.part"):
        part.unlink(missing_ok=True)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Lock the folder of a run for this process; the lock is released when the process ends, however it ends.

    Args:
        folder: The folder of the run.

    Raises:
        OSError: The folder cannot be written to, or another process uses it.
    """
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = acquire(lock, LOCK_TIMEOUT)
    except OSError as error:
        raise OSError(
            f"results cannot be written to {folder} ({error}): give another folder as --trainer.default_root_dir"
        ) from error
    if descriptor is None:
        raise BlockingIOError(
            f"another process uses the run folder {folder}: wait until it ends, or choose another name with --name"
        )
    try:
        yield
    finally:
        release(lock, descriptor)


def clear(folder: Path) -> None:
    """Move the results of an earlier run out of a folder, so that results of two runs never mix.

    Args:
        folder: The run folder, `runs/<name>/seed_<n>`; its content is moved to `runs/.earlier/<name>/`.
    """
    if not folder.exists() or not any(folder.iterdir()):
        return
    stamp = datetime.fromtimestamp(folder.stat().st_mtime).strftime("%Y-%m-%d_%H-%M-%S")
    target = folder.parent.parent / EARLIER / folder.parent.name / f"{folder.name}_{stamp}"
    while target.exists():
        target = target.with_name(target.name + "_")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, target)
    hide_logs(folder.parent.parent / EARLIER)
    rank_zero_info(f"The results of an earlier run are now in {target}")


def hide_logs(folder: Path) -> None:
    """Rename the logs of TensorBoard below a folder, so that it does not list them beside those of present runs.

    TensorBoard looks for `tfevents` in the names of files, in hidden folders too.

    Args:
        folder: The folder.
    """
    for log in folder.rglob(f"*{EVENTS}*"):
        if log.is_file():
            log.rename(log.with_name(log.name.replace(EVENTS, HIDDEN_EVENTS)))


def is_removed(folder: Path) -> bool:
    """Whether the folder of a run that is under way has been removed, or made anew by what it still writes."""
    return not (folder / CONFIG).exists()


def removed(folder: Path) -> OSError:
    """The error for a run folder that has been removed."""
    return OSError(f"the run folder {folder} has been removed while the run was under way: start it again")


class SavedConfig(SaveConfigCallback):
    """Saves the config as `config.yaml` in the run folder, with any logger or none.

    Args:
        parser: The parser of the config.
        config: The config.
        folder: The run folder.
    """

    def __init__(self, parser: LightningArgumentParser, config: Namespace, folder: Path) -> None:
        super().__init__(parser, config, save_to_log_dir=False)
        self.folder = folder
        self.is_saved = False

    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Save the config; Lightning calls this on rank 0 only."""
        with replacing(self.folder / self.config_filename) as unfinished:
            self.parser.save(self.config, unfinished, skip_none=False, overwrite=True, multifile=False)
        self.is_saved = True

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Say how a run that was interrupted goes on."""
        if isinstance(exception, KeyboardInterrupt) and self.is_saved:
            rank_zero_info("Interrupted: repeat the command with --ckpt_path last to go on from the last checkpoint")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End a run whose folder has been removed, and with it the results so far."""
        if trainer.is_global_zero and not trainer.fast_dev_run and is_removed(self.folder):  # type: ignore[attr-defined]
            raise removed(self.folder)
