"""A run on ERA5 series, from a config to scores and figures."""

import csv
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.cli.program import run_here, write_config

MODELS: list[dict[str, Any]] = [
    {"class_path": "SVGPVAE", "num_inducing": 8, "latent_dim": 3, "hidden_dim": 8},
    {"class_path": "SeriesGP", "num_inducing": 8, "periods": [24.0]},
    {"class_path": "SeriesGP", "num_inducing": 8, "latents": "field", "num_eofs": 4},
]
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "points": 3,
    "land_only": True,  # three locations at sea would have no values of the soil
    "num_tasks": 2,
    "hours_per_task": 24,
    "epochs_per_task": 2,
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model['class_path']}-{model.get('latents')}")
def test_weather_from_config_to_scores_and_figures(
    model: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    config = write_config(tmp_path, "weather.yaml", model=model, data=DATA, figures={"dpi": 40})
    run_here(tmp_path, "fit", "-c", str(config))
    folder = tmp_path / "runs" / "weather" / "seed_3"
    with (folder / "task_metrics.csv").open() as file:
        rows = [(row["after_task"], row["task"], row["metric"], row["variable"]) for row in csv.DictReader(file)]
    assert len(set(rows)) == len(rows)
    of_all = [(metric, "") for metric in ("nlpd", "rmse", "coverage")]
    for scored in (*of_all, ("nlpd", "t2m"), ("rmse", "ssrd"), ("coverage", "sp")):
        expected = [("1", "1"), ("1", ""), ("2", "1"), ("2", "2"), ("2", "")]
        assert [row[:2] for row in rows if row[2:] == scored] == expected
    pictures = sorted(path.stem for path in (folder / "figures").glob("*.png"))
    scores = ["forgetting_nlpd", "forgetting_rmse", "forgetting_crps", "forgetting_coverage", "skill"]
    scores += ["skill_over_references", "foresight"]
    assert pictures == sorted([*scores, "reconstructions_02"])
    events = EventAccumulator(str(folder))
    events.Reload()
    heat_maps = {f"forgetting/{metric}" for metric in ("nlpd", "rmse", "crps", "coverage")}
    assert set(events.Tags()["images"]) == {
        "reconstructions",
        "skill",
        "skill_over_references",
        "foresight",
        *heat_maps,
    }
    assert "nlpd_by_variable/t2m" in events.Tags()["scalars"]
    shown = capsys.readouterr().out
    assert "after 2" in shown
    assert "nlpd:" not in shown
    run_here(tmp_path, "summary", "runs")
    assert "t2m" not in capsys.readouterr().out
