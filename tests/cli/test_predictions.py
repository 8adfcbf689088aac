"""`gpvae predict` writes the predictions of the last checkpoint at the test points."""

import csv
from pathlib import Path

import pytest
import torch

from gpvae.modules import StreamingGP
from tests.cli.program import run_here, write_config


def test_predictions_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml")
    run_here(tmp_path, "predict", "-c", "small.yaml")
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    with (folder / "predictions.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert {row["task"] for row in rows} == {1, 2, 3}
    module = StreamingGP.load_from_checkpoint(folder / "checkpoints" / "last.ckpt", weights_only=True)
    y = module.predict(torch.tensor([[row["x1"]] for row in rows], dtype=torch.float64))
    assert [row["mean"] for row in rows] == pytest.approx(y.mean.tolist(), rel=1e-9, abs=1e-12)
    assert [row["stddev"] for row in rows] == pytest.approx(y.stddev.tolist(), rel=1e-9)
    assert {"y"} <= rows[0].keys()
