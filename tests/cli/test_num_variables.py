"""The number of variables is that of the data, which are read once the parser has done its work."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import Trainer

from callbacks import ContinualLearning
from datamodules import ERA5
from gpvae.cli.lightning_cli import StreamCLI
from gpvae.modules import SVGPVAE

CONFIG = str(Path(__file__).parents[2] / "configs" / "era5_ohsvgp.yaml")
SMALL: dict[str, Any] = {"num_inducing": 4, "latent_dim": 2, "hidden_dim": 4, "num_samples": 5}
DATA: dict[str, Any] = {"points": 2, "variables": ["t2m", "tp"], "num_tasks": 1, "hours_per_task": 12}
QUIET: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def test_the_parser_touches_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["fit", "-c", CONFIG, "--data.source=files", "--data.paths=[absent_*.nc]"]
    message = r"'absent_\*.nc' matches no file. Relative names begin at .*"
    with pytest.raises(FileNotFoundError, match=message):
        StreamCLI(command)
    parsed = []
    monkeypatch.setattr(StreamCLI, "instantiate_trainer", lambda cli: parsed.append((cli.datamodule, cli.model)))
    monkeypatch.setattr(StreamCLI, "_run_subcommand", lambda *_: None)
    StreamCLI(command)
    ((data, model),) = parsed
    assert not model.built
    with pytest.raises(FileNotFoundError, match=message):
        data.setup()


def test_a_module_without_the_number_takes_it_from_the_data(tmp_path: Path) -> None:
    """The same weights, hyperparameters and scores as with the number given, and a checkpoint that loads."""
    scores = []
    for options in ({}, {"num_variables": 2}):
        data = ERA5(**DATA, epochs_per_task=1)
        torch.manual_seed(0)
        module = SVGPVAE(**SMALL, **options)
        assert module.built == bool(options)
        trainer = Trainer(
            accelerator="cpu",
            default_root_dir=tmp_path,
            callbacks=[ContinualLearning()],
            enable_checkpointing=False,
            **data.trainer_options,
            **QUIET,
        )
        trainer.fit(module, data)
        trainer.save_checkpoint(tmp_path / "saved.ckpt")
        loaded = SVGPVAE.load_from_checkpoint(tmp_path / "saved.ckpt")
        for built in (module, loaded):
            assert built.hparams["num_variables"] == built.hparams_initial["num_variables"] == 2
        assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in module.state_dict().items())
        scores.append({name: float(value) for name, value in trainer.callback_metrics.items()})
    assert scores[0] == scores[1]


def test_another_number_than_that_of_the_data_is_refused() -> None:
    data = ERA5(**DATA)
    data.setup()
    with pytest.raises(ValueError, match="the data have 2 variables, but num_variables is 3; leave it out"):
        SVGPVAE(**SMALL, num_variables=3).check_task(*data.task_data(0))


def test_without_data_the_number_has_to_be_given(tmp_path: Path) -> None:
    trainer = Trainer(accelerator="cpu", default_root_dir=tmp_path, enable_checkpointing=False, **QUIET)
    with pytest.raises(ValueError, match="num_variables is unknown: set it, or use a datamodule"):
        trainer.validate(SVGPVAE(**SMALL), [0])
