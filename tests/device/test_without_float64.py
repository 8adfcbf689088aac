"""Devices without float64: steps in float32 are taken there, everything else on the host, and results are the same."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import xarray as xr
from lightning import Callback, LightningModule, Trainer

from benchmarks.step_cost import SMALL, Steps
from callbacks import NetCDFPredictions
from datamodules import Toy
from datamodules.era5 import ERA5
from gpvae.modules import SVGPVAE, ContinualModule, SeriesGP, StreamingGP
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.step_precision import PrecisionWarning
from gpvae.vae.task_posterior import TaskPosterior
from tests.device.learning import assert_same, learn, trainer
from tests.device.second_device import NAME, counting, without_float64
from tests.device.test_step_budget import LAUNCHES
from tests.vae import test_step_precision

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec"),
    pytest.mark.filterwarnings("ignore:.*infer the batch indices"),
]
SIZES: dict[str, Any] = {"num_inducing": 8, "latent_dim": 3, "hidden_dim": 8, "num_samples": 10, "periods": [24.0]}
SHIPPED: dict[str, Any] = {
    "inducing": "CosineExpansion",
    "kernel": "matern12",
    "waves": [24.0],
    "horizon": 60.0,
    "hyperparameters": "fixed",
    "consolidation": "replay",
}
MODELS: dict[str, dict[str, Any]] = {
    "shipped": SHIPPED,
    "field": SHIPPED | {"latents": "field", "consolidation": "both"},
    "field by location": SHIPPED | {"latents": "field", "location_features": 3, "static_inputs": ["sun"]},
    "static inputs": SHIPPED | {"static_inputs": ["latitude", "sun"], "consolidation": "ewc"},
    "kernel trained in the first task": {"inducing": "CosS", "consolidation": "both"},
    "trained points": {"method": "OSVGP", "consolidation": "ewc"},
}
#: Models that are not only tested among the slow tests.
FAST = ("shipped", "field by location", "kernel trained in the first task")


@pytest.fixture(autouse=True)
def _device_without_float64() -> Iterator[None]:
    with without_float64():
        yield


def data(**options: Any) -> ERA5:
    sizes: dict[str, Any] = {"points": 3, "variables": ["t2m", "ssrd"], "num_tasks": 2, "hours_per_task": 24}
    return ERA5(**sizes, **{"batch_size": 1, "epochs_per_task": 2, **options})


def build(model: str) -> ContinualModule:
    torch.manual_seed(0)
    return SVGPVAE(**({"method": "OHSVGP"} | SIZES | MODELS[model]))


class Watch(Callback):
    """Where the networks are in steps, and checkpoints of some of them.

    Args:
        folder: Folder for checkpoints.
        steps: After which steps a checkpoint is saved.
    """

    def __init__(self, folder: Path = Path(), *steps: int) -> None:
        self.folder, self.steps = folder, steps
        self.devices: list[str] = []

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any) -> None:
        if trainer.global_step in self.steps:
            trainer.save_checkpoint(self.folder / f"{trainer.global_step}.ckpt")

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any) -> None:
        self.devices.append(pl_module.vae.encoder.network[0].weight.grad.device.type)


@pytest.mark.parametrize(
    "model", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_a_run_has_the_scores_and_predictions_of_the_cpu(model: str, tmp_path: Path) -> None:
    found, watch = {}, Watch()
    for device in ("cpu", NAME):
        folder, module, stream = tmp_path / device, build(model), data()
        callbacks = [NetCDFPredictions(folder), watch]
        watch.devices = []
        run = trainer(device, stream, *callbacks, default_root_dir=folder)
        run.fit(module, datamodule=stream)
        scores = {name: value for name, value in run.callback_metrics.items() if name.startswith("nlpd")}
        run.predict(module, datamodule=stream)
        with xr.open_dataset(folder / "predictions.nc") as predictions:
            found[device] = scores | {"predictions": torch.from_numpy(predictions["t2m"].values)}
    assert_same(found[NAME], found["cpu"], 2e-3)
    on_host = {"kernel trained in the first task": 6, "trained points": 12}.get(model, 0)
    assert watch.devices == ["cpu"] * on_host + [NAME] * (12 - on_host)


@pytest.mark.parametrize("model", ["shipped", "kernel trained in the first task"])
@pytest.mark.parametrize(
    ("start", "end"),
    [
        (NAME, "cpu"),
        pytest.param("cpu", NAME, marks=pytest.mark.slow),
        pytest.param(NAME, NAME, marks=pytest.mark.slow),
    ],
)
def test_a_run_resumes_within_a_task_and_between_tasks(model: str, start: str, end: str, tmp_path: Path) -> None:
    expected = learn(build(model), data(), start, beside=[Watch(tmp_path, 2, 6, 8)])
    for step in (2, 6, 8):
        assert_same(learn(build(model), data(), end, resume=tmp_path / f"{step}.ckpt"), expected, 2e-3)


def test_a_task_may_be_evaluated_before_it_ends() -> None:
    found = [learn(build("shipped"), data(), device, check_val_every_n_epoch=3) for device in ("cpu", NAME)]
    assert_same(found[1], found[0], 2e-3)


@pytest.mark.parametrize("model", ["SeriesGP", "OHSGPR", "OHSVGP", "bank"])
def test_what_has_no_steps_in_float32_stays_on_the_host(model: str) -> None:
    def built() -> tuple[ContinualModule, Any]:
        torch.manual_seed(0)
        if model == "SeriesGP":
            return SeriesGP(8, periods=[24.0]), data(batch_size=None)
        options: dict[str, Any] = (
            {"method": "OHSGPR", "hyperparameters": "bank"} if model == "bank" else {"method": model}
        )
        return StreamingGP(**options, num_inducing=8, lengthscale=0.4), Toy(
            "figure_1", num_tasks=2, steps_per_epoch=None
        )

    (module, stream), (other, same) = built(), built()
    assert_same(learn(module, stream, NAME), learn(other, same, "cpu"), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["both, a precision each", "field", "expansion", "outliers", "long stream"])
def test_steps_in_float32_throughout_lose_nothing_that_matters(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        options = test_step_precision.CASES[case]
        single, double = (
            test_step_precision.nlpd("float32", device=NAME, **options),
            test_step_precision.nlpd("float64", **options),
        )
    assert float((single - double).abs().max()) < 0.002


def test_a_step_does_not_wait_and_reads_only_its_batch_from_the_host() -> None:
    steps = Steps("shipped", 12, 4, device=NAME, sizes=SMALL).begin(2)
    with counting() as counts:
        steps.step()
    assert 100 < counts.launches <= LAUNCHES["shipped", 2]
    assert counts.synchronisations == counts.host_draws == 0
    assert counts.uploads == 3  # series, values, mask


def test_a_tensor_in_float64_on_the_device_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: a sum over times in float64."""
    plain = TaskPosterior.sample
    monkeypatch.setattr(TaskPosterior, "sample", lambda q, noise: plain(q, noise.double()))
    with pytest.raises(TypeError, match="no float64"):
        learn(build("shipped"), data(), NAME)


def test_a_device_with_other_integers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Draws._bits

    def bits(self: Draws, series: torch.Tensor, *args: Any) -> torch.Tensor:
        return plain(self, series, *args) >> (series.device.type == NAME)

    monkeypatch.setattr(Draws, "_bits", bits)
    with pytest.raises(RuntimeError, match=rf"{NAME}:0 does not compute integers of 64 bits as the CPU does"):
        learn(build("shipped"), data(), NAME)


def test_several_processes_are_refused() -> None:
    module = SeriesGP(8, num_variables=2)
    strategy = SimpleNamespace(root_device=torch.device(NAME, 0))
    module._trainer = SimpleNamespace(world_size=2, strategy=strategy, precision="32-true")  # type: ignore[assignment]
    with pytest.raises(ValueError, match=rf"2 processes exchange sums in float64, which {NAME}:0 does not have"):
        module.setup("fit")
