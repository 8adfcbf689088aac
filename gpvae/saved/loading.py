"""Reads a run from its folder: checkpoint, module and what is known of the data."""

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from callbacks.checkpoint import load_state, read_checkpoint
from callbacks.data_identity import CLASS_KEY, DESCRIPTION_KEY
from datamodules.era5 import SeriesDescription
from gpvae.cli.allowed_classes import refusal_message
from gpvae.modules import ContinualModule, SeriesModule, StreamingGP
from gpvae.results import run_config
from gpvae.saved.command import read_description
from gpvae.saved.point_run import SavedPointRun
from gpvae.saved.run import SavedRun
from gpvae.saved.series_run import SavedSeriesRun
from gpvae.saved.updating import CHECKPOINTS, LAST_NAME
from gpvae.utils import provenance

LAST = Path(CHECKPOINTS) / LAST_NAME
EXAMPLE = "give the folder of a run, such as runs/era5_ohsvgp/seed_1"


def load(path: str | Path, *, allow: Iterable[str] = ()) -> SavedRun[Any]:
    """Load a run that `gpvae fit` has saved; see `gpvae.load`.

    Args:
        path: The run folder, or one of its checkpoints.
        allow: Further packages and classes that the run may name, like `--allow` on the command line.

    Raises:
        FileNotFoundError: There is no run, or it has no checkpoint.
        ValueError: The checkpoint is damaged, or is not one of this version.
    """
    file = find_checkpoint(Path(path).expanduser())
    folder = file.parent.parent if file.parent.name == CHECKPOINTS else file.parent
    checkpoint = read_checkpoint(file)
    module = build_module(checkpoint, file, tuple(allow))
    plain = checkpoint.get(DESCRIPTION_KEY) or read_description(folder, file, tuple(allow))
    if isinstance(module, SeriesModule):
        return SavedSeriesRun(folder, module, file, SeriesDescription.from_plain(plain), tuple(allow))
    if isinstance(module, StreamingGP):
        return SavedPointRun(folder, module, file, plain, tuple(allow))
    raise ValueError(f"{file} is of {type(module).__name__}: runs of SVGPVAE, SeriesGP and StreamingGP can be loaded")


def find_checkpoint(path: Path) -> Path:
    """The checkpoint of a run.

    Args:
        path: The run folder, or the checkpoint itself.

    Raises:
        FileNotFoundError: There is no such folder, it is not of a run, or has no checkpoint.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {path}: {EXAMPLE}")
    if (path / LAST).is_file():
        return path / LAST
    runs = sorted(str(file.parent.parent.relative_to(path)) for file in path.glob(f"*/{LAST}"))
    if runs:
        raise FileNotFoundError(f"{path} is not a run, but holds {', '.join(runs)}: give the folder of one of them")
    if (path / run_config.FILE_NAME).is_file():
        raise FileNotFoundError(
            f"the run in {path} has no checkpoint: there is no {LAST}. It has not learnt anything yet, or did not save "
            "(checkpoint, trainer.fast_dev_run)"
        )
    raise FileNotFoundError(f"{path} is not the folder of a run: it has no {LAST}; {EXAMPLE}")


def build_module(checkpoint: dict[str, Any], file: Path, allow: tuple[str, ...]) -> ContinualModule:
    """The module of a checkpoint, with its state.

    Args:
        checkpoint: The content of the checkpoint.
        file: Its file, for errors.
        allow: Packages and classes that may be named beside those of gpvae.

    Raises:
        ValueError: The checkpoint names a class that is not allowed, or options that this version does not have.
    """
    saved = checkpoint["hyper_parameters"]
    name = str(saved.get("_class_path") or checkpoint.get(CLASS_KEY) or _guess(checkpoint["state_dict"]))
    if refusal := refusal_message(name, allow):
        raise ValueError(f"{file}: {refusal}")
    package, _, class_name = name.rpartition(".")
    found = getattr(__import__(package, fromlist=[class_name]), class_name)
    if not issubclass(found, ContinualModule):
        raise ValueError(f"{file} is of {name}, which is not a model that learns a stream")
    known = inspect.signature(found).parameters
    try:
        module = found(**{key: value for key, value in saved.items() if key in known})
        module.on_load_checkpoint(checkpoint)
        load_state(module, checkpoint, file)
    except Exception as error:
        raise ValueError(f"{file} cannot be loaded by {provenance.program()}{_made_by(file)}: {error}") from error
    return module


def _guess(state: dict[str, torch.Tensor]) -> str:
    """The class of a module that was trained without the command line, by an early version."""
    return "gpvae.modules.SVGPVAE" if any(key.startswith("vae.") for key in state) else "gpvae.modules.StreamingGP"


def _made_by(file: Path) -> str:
    """Which version made a run, if its config says so."""
    config = file.parent.parent / run_config.FILE_NAME
    try:
        made_by = run_config.read_config(config).made_by
    except (OSError, ValueError):
        return ""
    return f"; the run was made by {made_by}" if made_by else ""
