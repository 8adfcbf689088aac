"""Every ERA5 config runs, and has the inducing variables that its name states."""

from pathlib import Path

import pytest

from datamodules.public_files import data_dir
from gpvae.inducing import (
    ChosenCosines,
    CosineExpansion,
    CosS,
    InducingVariables,
    LegS,
    PerDimPoints,
    PivotedPoints,
    Points,
)
from gpvae.modules import SVGPVAE, SeriesGP
from tests.configs.runs import CONFIGS, ERA5_NAMES, SCORED, arguments, expect_warnings, read, run

FAMILIES: dict[str, type[InducingVariables]] = {
    "era5_field": CosineExpansion,
    "era5_finse": CosineExpansion,
    "era5_gp": ChosenCosines,
    "era5_locations": CosS,
    "era5_ohsvgp": CosineExpansion,
    "era5_ohsvgp_paper": LegS,
    "era5_osvgp": Points,
    "era5_ovc": PivotedPoints,
    "era5_ovc_per_dim": PerDimPoints,
}
QUICK = [
    "--data.points=4",
    "--data.batch_size=2",
    "--data.hours_per_task=30",
    "--data.epochs_per_task=1",
    "--data.stop_after=2",
    "--model.num_inducing=8",
    "--figures.enabled=false",
]
#: Config of the model in closed form, which has no latent dimensions and learns in one epoch.
CLOSED_FORM = "era5_gp"


@expect_warnings
@pytest.mark.parametrize("name", ERA5_NAMES)
def test_runs_and_is_what_its_name_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "era5_finse":
        if not (data_dir() / "era5" / "finse_2018").is_dir():
            pytest.skip(f"no era5/finse_2018 in {data_dir()}; set GPVAE_DATA_DIR")
        monkeypatch.setenv("GPVAE_DATA_DIR", str(data_dir()))
    sizes = [] if name == CLOSED_FORM else ["--model.latent_dim=3"]
    done = run(monkeypatch, tmp_path, name, *QUICK, *sizes)
    assert {score[:2] for score in done.table.rows()} == SCORED
    kind = SeriesGP if name == CLOSED_FORM else SVGPVAE
    model = kind.load_from_checkpoint(done.folder / "checkpoints" / "last.ckpt", weights_only=True)
    assert type(model.series_model.posterior.inducing) is FAMILIES[name]
    assert model.learned == 2
    if isinstance(model, SeriesGP):
        assert float(model.gp.inducing.horizon) == 300  # ten tasks are planned
        return
    assert (model.ewc is None) == (arguments(name, "model")["consolidation"] == "replay")


@pytest.mark.parametrize("name", ERA5_NAMES)
def test_has_the_numbers_of_the_paper(name: str) -> None:
    model, stream = arguments(name, "model"), arguments(name, "data")
    assert max(map(len, (CONFIGS / f"{name}.yaml").read_text().splitlines())) <= 120
    if name == CLOSED_FORM:
        assert (read(name)["model"]["class_path"], stream["epochs_per_task"]) == ("SeriesGP", 1)
        return
    if name not in ("era5_ohsvgp", "era5_field", "era5_finse", "era5_locations"):  # ours
        assert (model["num_inducing"], model["latent_dim"], model["lr"]) == (50, 20, 0.005)
        assert (model["networks"], model["noise"], model["schedule"]) == ("mlp", "shared", "constant")
        assert (model["horizon"], model["longest"], model["left_out"]) == (0.0, 100.0, 0.0)
        assert stream["epochs_per_task"] == 20
    assert read(name)["model"]["class_path"] == "SVGPVAE"
