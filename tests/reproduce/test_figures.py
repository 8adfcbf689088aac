"""Figures are drawn from finished runs only."""

from pathlib import Path

import numpy as np
import pytest
import torch
from gpytorch.means import ZeroMean

from benchmarks.reproduce.curves import common_seeds, curve, ends
from benchmarks.reproduce.drawing.checkpoints import load
from benchmarks.reproduce.drawing.covid import covid
from benchmarks.reproduce.drawing.forgetting import forgetting, matrix
from benchmarks.reproduce.drawing.moons import moons
from benchmarks.reproduce.drawing.predictions import predictions
from benchmarks.reproduce.drawing.scores import weather
from benchmarks.reproduce.drawing.seeds import named
from benchmarks.reproduce.drawing.toy import exact, follow
from benchmarks.reproduce.drawing.trained import trained
from benchmarks.reproduce.experiment import CONFIGS
from benchmarks.reproduce.figures import main
from gpvae.inducing import LegS
from gpvae.online_gp import OnlineGP
from tests.cli.program import run_here
from tests.configs.runs import expect_warnings
from tests.reproduce.run_folders import make


def test_curves_are_means_over_the_seeds_that_every_experiment_has_finished(tmp_path: Path) -> None:
    for seed, shift in ((1, 0.0), (2, 2.0), (4, 50.0)):
        make(tmp_path, "toy_legs", seed, shift=shift)
    make(tmp_path, "toy_legs", 3, learnt=2, shift=100.0)
    for seed in (1, 2, 3):
        make(tmp_path, "toy_legt", seed)
    legs, legt, nothing = (tmp_path / "runs" / name for name in ("toy_legs", "toy_legt", "nothing"))
    seeds = common_seeds([legs, legt, nothing])
    assert seeds == ["seed_1", "seed_2"]
    np.testing.assert_allclose(curve(legs, "nlpd", seeds), [2, 3, 4])
    np.testing.assert_allclose(curve(legs, "nlpd", seeds, task=1), [12, 13, 14])
    both = ends(legs, "nlpd", seeds)
    assert both is not None
    np.testing.assert_allclose(both.first, [12, 23, 34])
    np.testing.assert_allclose(both.last, [14, 24, 34])
    assert curve(nothing, "nlpd", seeds) is None
    assert common_seeds([nothing]) == []


@pytest.mark.parametrize(
    ("name", "num_tasks", "drawn"),
    [
        ("toy_legs", 3, {"measures.png"}),
        ("solar_ovc_M50", 10, {"series.png", "rmse.png", "forgetting.png"}),
        ("solar_ohsgpr_trained_M50", 10, {"trained.png"}),
        ("covid_osvgp_M15", 5, {"covid.png", "rmse.png"}),
        ("covid_ovc_natural_M30", 5, {"covid.png", "rmse.png"}),
        ("skillcraft_l2_ovc", 10, {"tables.png", "rmse.png"}),
        ("era5_finse_OVC_ewc_M50", 10, {"weather.png", "rmse.png", "forgetting.png"}),
        ("era5_sample_OVC_replay_M100", 10, {"weather.png"}),
    ],
)
def test_only_figures_with_runs_are_drawn(name: str, num_tasks: int, drawn: set[str], tmp_path: Path) -> None:
    make(tmp_path, name, 1, num_tasks, num_tasks)
    main(["--folder", str(tmp_path), "--output", str(tmp_path / "figures")])
    files = {path.name: path.stat().st_size for path in (tmp_path / "figures").iterdir()}
    assert files.keys() == drawn
    assert max(files.values()) < 120_000


def test_the_renewal_model_is_shown_where_it_has_all_seeds(tmp_path: Path) -> None:
    for name, seeds in (("covid_ovc_natural_M15", (1, 2)), ("covid_osvgp_M15", (1,)), ("covid_renewal", (1,))):
        for seed in seeds:
            make(tmp_path, name, seed, 5, 5)
    figure = covid(tmp_path / "runs")
    assert figure is not None
    natural, by_adam = figure.axes[:2]
    assert natural.get_title() == "M = 15, natural gradients\nseeds 1 to 2"
    assert by_adam.get_title() == "M = 15, Adam\nseed 1"
    shown = [[label for label in ax.get_legend_handles_labels()[1] if "renewal" in label] for ax in (natural, by_adam)]
    assert shown == [[], ["AR(2) renewal, all at once"]]
    assert named(["seed_4", "seed_1"]) == "seeds 1, 4"


def test_only_panels_with_runs_are_drawn(tmp_path: Path) -> None:
    names = ("finse_OVC_ewc_M50", "finse_OSVGP_ewc_M50", "finse_OVC_replay_M100", "sample_OHSVGP_ewc_M50")
    for name in names:
        make(tmp_path, f"era5_{name}", 1, 10, 10)
    make(tmp_path, "era5_finse_OVC_ewc_M50", 2, 10, 10)
    make(tmp_path, "era5_sample_OVC_ewc_M100", 1, 10, learnt=4)
    figure = weather(tmp_path / "runs")
    assert figure is not None
    assert [ax.get_title() for ax in figure.axes] == [
        "Finse, EWC, M = 50",
        "Finse, replay, M = 100",
        "Sample, EWC, M = 50",
    ]
    assert {ax.get_xlabel() for ax in figure.axes} == {"tasks seen (1 seed)"}


def test_very_large_scores_are_drawn_in_powers_of_ten(tmp_path: Path) -> None:
    for name, shift in (("solar_osgpr_trained_M50", 500.0), ("audio_osgpr_trained_M100", -9.0)):
        make(tmp_path, name, 1, 10, 10, shift)
    make(tmp_path, "solar_osgpr_M150", 1, 10, 10)
    figure = trained(tmp_path / "runs")
    assert figure is not None
    assert [(ax.get_title(), ax.get_yscale()) for ax in figure.axes[::2]] == [
        ("Solar, M = 50", "symlog"),
        ("Audio, M = 100", "linear"),
    ]


def test_forgetting_is_the_mean_rise_of_a_task_on_one_scale(tmp_path: Path) -> None:
    for name, shift in (("solar_osgpr_M50", 0.0), ("solar_ovc_M50", 40.0)):
        make(tmp_path, name, 1, 3, 3, shift)
    figure = forgetting(tmp_path / "runs")
    assert figure is not None
    first, second, _ = figure.axes
    assert [ax.get_title() for ax in (first, second)] == ["OSGPR: forgets 1.50", "OVC: forgets 1.50"]
    assert first.images[0].get_clim() == second.images[0].get_clim()
    scores = matrix(tmp_path / "runs" / "solar_osgpr_M50", ["seed_1"])
    np.testing.assert_allclose(scores, [[11, np.nan, np.nan], [12, 22, np.nan], [13, 23, 33]])


def test_skipped_figures_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, "toy_legs", 1)
    main(["--folder", str(tmp_path), "--output", str(tmp_path / "figures"), "--only", "series.png", "measures.png"])
    output = capsys.readouterr().out
    assert "skipped series.png" in output
    assert "measures.png" in output.partition("wrote ")[2]
    assert "tables.png" not in output


def fit(folder: Path, config: str, name: str, *options: str) -> None:
    """Run `gpvae fit` with the options of the runner."""
    common = [f"--name={name}", "--seed_everything=1", "--figures.enabled=false", "--checkpoint.keep_tasks=false"]
    run_here(folder, "fit", "-c", str(CONFIGS / f"{config}.yaml"), *common, *options)


@expect_warnings
def test_the_first_figure_is_learnt_again_from_the_kernel_of_the_run(tmp_path: Path) -> None:
    known = ("--model.hyperparameters=fixed", "--model.lengthscale=0.8", "--model.noise=0.0025")
    fit(tmp_path, "toy_figure_1", "toy_figure_1", *known)
    main(["--folder", str(tmp_path), "--output", str(tmp_path / "figures")])
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["toy.png"]

    found, seed = load({"toy": tmp_path / "runs" / "toy_figure_1"})
    assert seed == "seed_1"
    learnt = found["toy"]
    x = torch.linspace(0, 3, 50, dtype=torch.float64)[:, None]
    f, true = learnt.gp.latent(x), exact(learnt.gp.kernel, learnt.gp.likelihood.noise, learnt.tasks, x)
    torch.testing.assert_close(f.mean, true.mean, atol=1e-2, rtol=0)
    torch.testing.assert_close(f.stddev, true.stddev, atol=1e-2, rtol=0)

    first, second = learnt.tasks
    gp = OnlineGP(LegS(10), learnt.gp.kernel, learnt.gp.likelihood, mean=ZeroMean())
    gp.update(first.x_train, first.y_train)
    evolution = follow(gp, second)
    assert float(evolution.ends[0]) > float(first.x_train.max())
    gp.update(second.x_train, second.y_train)
    frame, q = gp.posterior.q(gp.kernel)
    torch.testing.assert_close(evolution.mean[-1], frame.L @ q.mean)


@expect_warnings
def test_predictions_have_the_same_axes(tmp_path: Path) -> None:
    for method in ("ohsgpr", "osgpr"):
        known = ("--model.hyperparameters=fixed", "--model.noise=0.01", "--data.num_tasks=2")
        fit(tmp_path, "toy_figure_1", f"solar_{method}_M50", f"--model.method={method.upper()}", *known)
    figure = predictions(tmp_path / "runs")
    assert figure is not None
    assert [ax.get_title("left").partition(",")[0] for ax in figure.axes] == ["OSGPR", "OHSGPR"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes}) == 1
    assert [len(ax.lines[-1].get_xdata()) for ax in figure.axes] == [10, 0]  # inducing points


@expect_warnings
def test_moons_are_drawn_with_the_boundary_between_them(tmp_path: Path) -> None:
    name = "moons_ohsvgp_kmax"
    fit(tmp_path, name, name, "--data.num_points=60", "--data.num_test=12", "--model.num_inducing=12")
    figure = moons(tmp_path / "runs")
    assert figure is not None
    ax, bar = figure.axes
    assert ax.get_title().startswith("OHSVGP, greatest similarity\naccuracy 100%")
    assert bar.get_ylabel() == "p(y = 1), seed 1"
    assert sum(len(line.get_xdata()) for line in ax.lines) == 48
