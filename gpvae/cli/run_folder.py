"""The folder of a run: one for each experiment and seed."""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

from gpvae.utils.locks import acquire, release

EARLIER = ".earlier"
#: Seconds to wait for the lock of a run folder: a killed process may take a while to exit.
LOCK_TIMEOUT = 3.0
#: Options of data that change how far a run goes, what is asked of it or how data are fetched, not what it is.
FREE = ("stop_after", "predict_every", "download_hours", "refetch_preliminary")
NOT_IN_NAME = tuple(f"data.{init}{option}" for init in ("", "init_args.") for option in FREE)


def name_of(files: Iterable[object], words: Sequence[str]) -> str:
    """A name for the results of a command: that of its last config file, and what it changes in model and data.

    Args:
        files: Config files.
        words: The words of the command, such as `--model.num_inducing 150`.
    """
    stems = [Path(str(file)).stem for file in files]
    parts = [stems[-1] if stems else "unnamed"]
    for word, following in zip(words, [*words[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        key = option.removeprefix("--")
        if option.startswith("--") and re.match(r"(model|data)(\.|$)", key) and key not in NOT_IN_NAME:
            parts += [*key.split(".")[1:][-1:], value if equals else following]
    return "_".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts)


def check_name(name: str) -> None:
    """Raise if results under a name would be elsewhere than below the folder of all runs, or could not be.

    Args:
        name: The name of a run.
    """
    if not name.isprintable() or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(
            f"the name of a run is {name!r}; give one that is a folder below others, such as solar_first. What they "
            "are below is --trainer.default_root_dir"
        )


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
            f"another process is at the run in {folder}: wait for its end, or give this one a --name of its own"
        )
    try:
        yield
    finally:
        release(lock, descriptor)


def clear(folder: Path) -> None:
    """Move what an earlier run has left in a folder out of the way, so that results of two runs never mix.

    Args:
        folder: The folder of the run, `runs/<name>/seed_<n>`; what is in it goes to `runs/.earlier/<name>/`.
    """
    if not folder.exists() or not any(folder.iterdir()):
        return
    stamp = datetime.fromtimestamp(folder.stat().st_mtime).strftime("%Y-%m-%d_%H-%M-%S")
    target = folder.parent.parent / EARLIER / folder.parent.name / f"{folder.name}_{stamp}"
    while target.exists():
        target = target.with_name(target.name + "_")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, target)
    rank_zero_info(f"The results of an earlier run are now in {target}")
