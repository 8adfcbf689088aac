"""The comparison of scores against memory counts what is kept, and continues where it was interrupted."""

from pathlib import Path

import pytest
import torch

from benchmarks.memory import __main__ as memory
from benchmarks.memory.contenders import CONFIGS, CONTENDERS
from benchmarks.memory.figure import COLOURS
from benchmarks.memory.simple import SIMPLE, Climatology, Interpolation
from datamodules import ERA5
from gpvae.modules import SVGPVAE, SeriesGP
from gpvae.modules.memory import numbers_kept


def small(seed: int) -> ERA5:
    return ERA5(points=3, variables=["t2m", "msl"], num_tasks=2, hours_per_task=48, seed=seed)


def test_every_contender_is_a_config_and_has_a_colour() -> None:
    assert all((CONFIGS / f"{contender.config}.yaml").exists() for contender in CONTENDERS.values())
    assert set(COLOURS) == {*SIMPLE, *CONTENDERS}


def test_means_and_precisions_are_counted_and_what_follows_from_them_is_not() -> None:
    data = small(0)
    data.prepare_data()
    data.setup()
    gp = SeriesGP(6, num_variables=2, periods=[24.0])
    gp.begin_task(*data.task_data(0))
    gp.end_task()
    kept = numbers_kept(gp)
    assert kept["precisions"] == 6 * (1 + 3)  # a number of observations and three moments of each interval
    assert kept["means"] == 3 * 2 * (6 + 1)
    assert "networks" not in kept
    assert kept["other"] < 300
    vae = SVGPVAE(num_inducing=6, num_variables=2, latent_dim=2, hidden_dim=4, consolidation="both")
    parts = numbers_kept(vae)
    assert parts["networks"] == sum(p.numel() for net in (vae.vae.encoder, vae.vae.decoder) for p in net.parameters())
    assert parts["protection"] > parts["networks"]


def test_simple_contenders() -> None:
    times = torch.arange(96, dtype=torch.float64)
    y = (times / 10).reshape(1, -1, 1).expand(2, -1, 3).clone()
    mask = torch.ones_like(y, dtype=torch.bool)
    line, half, day = Interpolation(), Interpolation(every=2), Climatology()
    for model in (line, half, day):
        model.learn(times[:48], y[:, :48], mask[:, :48])
        model.learn(times[48:], y[:, 48:], mask[:, 48:])
    for model in (line, half):
        found = model.predict(torch.tensor([20.5]).double()).mean[0, 0]
        torch.testing.assert_close(found, torch.full((3,), 2.05).double())
    expected = y[0, 5::24, 0].mean()
    torch.testing.assert_close(day.predict(torch.tensor([5.0])).mean[1, 0, 2], expected.double())
    assert sum(day.numbers().values()) == 2 * 24 * 3
    assert sum(line.numbers().values()) == 96 * 3
    assert sum(half.numbers().values()) == 48 * 3


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(memory.DATASETS, "sample", small)
    monkeypatch.setattr(memory, "DATASETS", {"sample": small})
    command = ["memory", "--seeds", "0", "--csv", str(tmp_path / "runs.csv"), "--figure", str(tmp_path / "figure.png")]
    chosen = ["--contenders", "climatology", "exact GP", "one GP per variable", "--sizes", "all", "25"]
    monkeypatch.setattr("sys.argv", [*command, *chosen])
    memory.main()
    first = (tmp_path / "runs.csv").read_text()
    assert len(first.splitlines()) == 4
    capsys.readouterr()
    memory.main()
    assert (tmp_path / "runs.csv").read_text() == first
    shown = capsys.readouterr().out
    assert "| sample | one GP per variable | 25 |" in shown
    assert (tmp_path / "figure.png").exists()
