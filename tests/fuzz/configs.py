"""Builds everything that a config names and loads the data, without training."""

import contextlib
import io
import os
import tempfile
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from lightning.pytorch.cli import LightningCLI

from gpvae.cli import main
from gpvae.cli.lightning_cli import StreamCLI
from tests.fuzz.outcomes import Outcome


class Built(Exception):
    """Raised instead of training."""

    def __init__(self, cli: StreamCLI) -> None:
        self.cli = cli


def _stop(cli: StreamCLI, *_: Any) -> None:
    cli.before_fit()
    raise Built(cli)


def build(path: str) -> Outcome:
    stderr = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stderr(stderr),
        contextlib.redirect_stdout(io.StringIO()),
        mock.patch.object(LightningCLI, "_run_subcommand", _stop),
    ):
        os.environ["GPVAE_DATA_DIR"] = str(Path(path).parent / "data")
        try:
            main(["fit", "-c", path, "--trainer.logger", "false"])
        except Built as built:
            return _finite(built.cli)
        except SystemExit as refusal:
            message = refusal.code if isinstance(refusal.code, str) else stderr.getvalue()
            if not message.startswith("error: ") or "Traceback" in message:
                return Outcome("crash", f"ended with {refusal.code!r}: {message}")
            return Outcome("refused", message)
        except Exception:
            return Outcome("crash", traceback.format_exc(limit=-6))
    return Outcome("crash", "nothing was built")


def _finite(cli: StreamCLI) -> Outcome:
    for name, parameter in cli.model.named_parameters():
        if not parameter.isfinite().all():
            return Outcome("silent NaN", f"{name} of the model")
    for task in range(min(cli.datamodule.num_learnt, 5)):
        for part in cli.datamodule.task_data(task):
            if not torch.as_tensor(part).isfinite().all():
                return Outcome("silent NaN", f"data of task {task}")
    return Outcome("taken")
