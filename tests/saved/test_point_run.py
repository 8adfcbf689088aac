"""A saved run of a streaming Gaussian process, read and continued in Python."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from lightning import Trainer
from scipy import stats

import gpvae
from callbacks import ContinualLearning, TaskCheckpoint
from datamodules import MeasuredStream, Toy
from gpvae.modules import StreamingGP
from gpvae.plotting.canvas import render
from tests.cli.program import CONFIG, weights, write_config

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's, about small data
RUN = Path("runs") / "small" / "seed_3"
Command = Callable[..., None]


def test_predictions_are_those_of_the_command(points: Path, command: Command) -> None:
    """The toy series is learnt as it is, so both are on the same scale."""
    command(points, "predict", "-c", "small.yaml")
    with (points / RUN / "predictions.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    found = gpvae.load(points / RUN).predict([row["x1"] for row in rows])
    assert found["mean"].values == pytest.approx([row["mean"] for row in rows], rel=1e-12)
    assert found["stddev"].values == pytest.approx([row["stddev"] for row in rows], rel=1e-12)


class Hill(MeasuredStream):
    """A series far from 0 and 1, on both axes."""

    input_dim = 1
    likelihood = "gaussian"
    interval = (0.0, 10.0)

    def read(self) -> tuple[torch.Tensor, torch.Tensor]:
        years = torch.arange(1900.0, 2000.0, dtype=torch.float64)
        return years[:, None], 5000 + 300 * torch.sin(years / 10)


def test_measured_data_come_back_in_their_units(tmp_path: Path) -> None:
    data, module = Hill(num_tasks=2), StreamingGP(num_inducing=30)
    options: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    callbacks = [ContinualLearning(), TaskCheckpoint()]
    trainer = Trainer(
        accelerator="cpu", default_root_dir=tmp_path, callbacks=callbacks, **options, **data.trainer_options
    )
    trainer.fit(module, data)
    run = gpvae.load(tmp_path)  # without the command line there is no config
    years = pd.Series(np.arange(1900.0, 2000.0))
    found = run.predict(years)
    np.testing.assert_allclose(found["mean"], 5000 + 300 * np.sin(years / 10), atol=15)
    assert (found["x"].values == years).all()
    scaled = data.scale.inputs(torch.from_numpy(years.to_numpy())[:, None])
    y = module.predict(scaled)
    np.testing.assert_allclose(found["stddev"], y.stddev * data.scale.deviation, rtol=1e-12)
    assert "Hill, x from 1900 to 1999" in repr(run)
    with pytest.raises(FileNotFoundError, match=r"has no config.yaml"):
        run.update([2001.0], [5000.0])
    assert render(run.plot(observed=(years, found["mean"]))).std() > 0


class Own(Toy):
    """A stream that scales its points without telling how."""

    def scaled(self, tasks: list, x: torch.Tensor, y: torch.Tensor) -> list:
        return tasks


def test_a_scale_that_is_not_known_is_said(tmp_path: Path) -> None:
    data, module = Own("figure_1"), StreamingGP(num_inducing=5, hyperparameters="fixed")
    options: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=tmp_path,
        callbacks=[ContinualLearning(), TaskCheckpoint()],
        **options,
        **data.trainer_options,
    )
    trainer.fit(module, data)
    with pytest.raises(ValueError, match=r"Own scales its points in its own way.*run.module.predict\(x\)"):
        gpvae.load(tmp_path).predict([0.0])


def test_quantiles_and_samples(points: Path) -> None:
    run = gpvae.load(points / RUN)
    found = run.predict(np.linspace(0, 3, 40), quantiles=(0.05, 0.5, 0.95), num_samples=400)
    expected = stats.norm(found["mean"], found["stddev"]).ppf([[0.05], [0.5], [0.95]])
    np.testing.assert_allclose(found["quantiles"], expected, atol=1e-9)
    assert found["samples"].sizes == {"sample": 400, "x": 40}
    np.testing.assert_allclose(found["samples"].std("sample"), found["stddev"], rtol=0.3)
    between = (found["samples"] > found["quantiles"][0]) & (found["samples"] < found["quantiles"][2])
    assert 0.87 < float(between.mean()) < 0.93
    xr.testing.assert_equal(run.predict(np.linspace(0, 3, 40), num_samples=400)["samples"], found["samples"])


@pytest.mark.parametrize("likelihood", ["negative_binomial", "bernoulli"])
def test_counts_and_labels(tmp_path: Path, command: Command, likelihood: str, real_data: Callable[[str], Path]) -> None:
    counts = likelihood == "negative_binomial"
    if counts:
        real_data("covid_santa_catarina.csv")
    data = {"class_path": "Covid" if counts else "TwoMoons", "num_tasks": 2, "batch_size": 50}
    model = {"class_path": "StreamingGP", "method": "OSVGP", "num_inducing": 8, "likelihood": likelihood}
    write_config(tmp_path, model={**model, "hyperparameters": "fixed"}, data=data)
    command(tmp_path, "fit", "-c", "small.yaml", "--trainer.limit_train_batches", "3")
    run = gpvae.load(tmp_path / RUN)
    x = np.linspace(0, 300, 7) if counts else np.random.default_rng(0).normal(size=(7, 2))
    found = run.predict(x, quantiles=(0.1, 0.9), num_samples=3)
    for name in ("quantiles", "samples"):
        assert (found[name] == found[name].round()).all()
    assert (found["quantiles"][0] <= found["quantiles"][1]).all()
    assert set(found.coords) >= ({"x"} if counts else {"x1", "x2"})
    if not counts:
        assert set(np.unique(found["quantiles"])) <= {0.0, 1.0}
        with pytest.raises(ValueError, match="the run has 2 inputs"):
            run.plot()


def test_an_update_is_one_more_task(points: Path, command: Command) -> None:
    run = gpvae.load(points / RUN)
    x = np.linspace(3.05, 4, 20)
    before = run.predict(x)
    assert run.update(x, np.cos(x)) is run
    after = run.predict(x)
    assert run.num_tasks == 4
    errors = [float(abs(found["mean"] - np.cos(x))[10:].max()) for found in (before, after)]
    assert errors[1] < 0.1 < errors[0]
    last = run.scores.query("after_task == 4 and metric == 'nlpd'")
    assert last["task"].dropna().tolist() == [1, 2, 3]  # of the new points, none are held out
    run.save()
    again = gpvae.load(points / RUN)
    assert again.num_tasks == 4
    xr.testing.assert_identical(again.predict(x), after)
    assert "Toy, x from 0 to 4" in repr(again)
    more = np.linspace(4.05, 5, 20)
    again.update(more, np.cos(more)).save()
    assert gpvae.load(points / RUN).num_tasks == 5


def test_an_update_is_what_the_gp_itself_would_learn(points: Path) -> None:
    run = gpvae.load(points / RUN)
    gp = gpvae.load(points / RUN).module.gp
    x = torch.linspace(3.05, 4, 20, dtype=torch.float64)
    run.update(x, x.cos())
    gp.update(x, x.cos())
    np.testing.assert_allclose(run.predict(x)["mean"], gp.predict(x).mean, atol=1e-9)


def test_a_bank_is_loaded_and_goes_on(tmp_path: Path, command: Command) -> None:
    """Its quantiles and samples are those of its mixture."""
    model = {
        "class_path": "StreamingGP",
        "method": "CosS",
        "num_inducing": 8,
        "hyperparameters": "bank",
        "bank_size": 4,
    }
    write_config(tmp_path, model=model)
    command(tmp_path, "fit", "-c", "small.yaml")
    run = gpvae.load(tmp_path / RUN)
    assert isinstance(run.module.gp, gpvae.Bank)
    found = run.predict(np.linspace(0, 3, 40), quantiles=(0.05, 0.95), num_samples=400)
    between = (found["samples"] > found["quantiles"][0]) & (found["samples"] < found["quantiles"][1])
    assert 0.87 < float(between.mean()) < 0.93
    x = torch.linspace(3.05, 4, 20, dtype=torch.float64)
    alone = gpvae.load(tmp_path / RUN).module.gp.update(x, x.cos())
    np.testing.assert_allclose(run.update(x, x.cos()).predict(x)["mean"], alone.predict(x).mean, atol=1e-9)


def test_adam_goes_on(tmp_path: Path, command: Command) -> None:
    model = {**CONFIG["model"]["init_args"], "class_path": "StreamingGP", "method": "OHSVGP"}
    write_config(tmp_path, model=model, data={"kind": "figure_1", "epochs_per_task": 5})
    command(tmp_path, "fit", "-c", "small.yaml")
    run = gpvae.load(tmp_path / RUN)
    state = weights(tmp_path / RUN / "checkpoints" / "last.ckpt")
    run.update([3.1, 3.2, 3.3], [0.0, 0.1, 0.2])
    assert run.num_tasks == 4
    assert int(weights(tmp_path / RUN / "checkpoints" / "last.ckpt")["learned"]) == int(state["learned"]) == 3


def test_wrong_points_are_refused(points: Path) -> None:
    run = gpvae.load(points / RUN)
    with pytest.raises(ValueError, match="y has shape"):
        run.update([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        run.update([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"x has 2 input dimension\(s\)"):
        run.predict([[1.0, 2.0]])
    assert run.num_tasks == 3


def test_a_table_with_times(tmp_path: Path, command: Command) -> None:
    times = pd.date_range("2020-01-01", periods=130, freq="3h")
    heights = 10 + 3 * np.sin(np.arange(130) / 8)
    pd.DataFrame({"when": times, "height": heights}).to_csv(tmp_path / "tide.csv", index=False)
    data = {"class_path": "DataTable", "paths": "tide.csv", "points_per_task": 40}
    model = {"class_path": "StreamingGP", "num_inducing": 30}
    write_config(tmp_path, model=model, data=data)
    command(tmp_path, "fit", "-c", "small.yaml")
    run = gpvae.load(tmp_path / RUN)
    assert run.num_tasks == 3
    assert "DataTable, when from 2020-01-01T" in repr(run)
    found = run.predict(times[:120])
    assert (found["when"].values == times[:120].to_numpy()).all()
    np.testing.assert_allclose(found["mean"], heights[:120], atol=0.5)
    command(tmp_path, "predict", "-c", "small.yaml")
    table = pd.read_csv(tmp_path / RUN / "predictions.csv")
    np.testing.assert_allclose(run.predict(table["when"])["mean"], table["mean"], rtol=1e-9)
    figure = run.plot()
    assert render(figure).std() > 0
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("when", "height")
    with pytest.raises(ValueError, match=r"[56] of 15 points are not after 2020-01-15T\d\d:00:00, the last time"):
        run.update(times[115:], heights[115:])
    run.update(times[120:], heights[120:]).save()
    assert gpvae.load(tmp_path / RUN).num_tasks == 4
    with pytest.raises(ValueError, match=r"10 of 10 points are not after 2020-01-17T03:00:00"):
        run.update(times[120:], heights[120:])
    assert run.num_tasks == 4
    (tmp_path / "tide.csv").unlink()
    again = gpvae.load(tmp_path / RUN).update(times[-1:] + pd.Timedelta(hours=3), [10.0])
    assert again.num_tasks == 5
    again.save()
