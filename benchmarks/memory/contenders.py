"""The contenders: configs and what is changed in them, by name and size."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpvae import modules
from gpvae.modules import SeriesModule

CONFIGS = Path(__file__).parents[2] / "configs"


@dataclass(frozen=True)
class Contender:
    """A config, with options of its model that differ.

    Attributes:
        config: Name of the config.
        sizes: Options by size: the curve of the contender.
        model: Options of the model that all sizes share.
        data: Options of the data that differ from the config's.
        datasets: Data sets that it is for; all if empty.
    """

    config: str
    sizes: dict[str, dict[str, Any]]
    model: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()

    def build(self, size: str, seed: int, num_series: int) -> tuple[SeriesModule, int, int | None]:
        """The module, epochs a task, and the batch size, for as many batches in an epoch as the config has."""
        config = yaml.safe_load((CONFIGS / f"{self.config}.yaml").read_text())
        kind = getattr(modules, config["model"]["class_path"])
        options = config["model"]["init_args"] | self.model | self.sizes[size]
        options |= {"seed": seed} if "seed" in kind.__init__.__annotations__ else {}
        data = config["data"]["init_args"] | self.data
        share = data["batch_size"] / data["points"] if data.get("batch_size") else None
        batch_size = None if share is None else max(1, math.ceil(share * num_series))
        return kind(**options), data["epochs_per_task"], batch_size


def sizes(**values: list[Any]) -> dict[str, dict[str, Any]]:
    """Sizes by name: `sizes(num_inducing=[50, 100])` has 50 and 100."""
    return {" ".join(map(str, row)): dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)}


#: Data sets with several locations.
FIELDS = ("finse_8", "finse_70", "cornwall", "sample")
#: Cosines over the past so far, under a kernel without waves.
MOVING: dict[str, Any] = {"inducing": "CosS", "kernel": "rbf", "waves": None}
#: The GP-VAE without what this package adds to its networks and its memory.
FORMER: dict[str, Any] = {
    **MOVING,
    "networks": "mlp",
    "noise": "variable",
    "schedule": "constant",
    "left_out": 0.0,
    "horizon": 0.0,
    "longest": 100.0,
    "latent_dim": 20,
    "hyperparameters": "train_first_task",
    "shared_precision": False,
}

CONTENDERS: dict[str, Contender] = {
    "one GP per variable": Contender("era5_gp", sizes(num_inducing=[25, 50, 100, 150, 200, 300, 400])),
    "one GP per EOF of the field": Contender(
        "era5_gp",
        sizes(num_eofs=[10, 20, 40, 40], num_inducing=[100, 200, 200, 400]),
        {"latents": "field"},
        datasets=FIELDS,
    ),
    "OHSVGP + EWC (paper)": Contender("era5_ohsvgp_paper", sizes(num_inducing=[50, 100])),
    "GP-VAE, paper's networks": Contender(
        "era5_ohsvgp", sizes(num_inducing=[50, 100]), FORMER, {"epochs_per_task": 20}
    ),
    "paper's networks, one precision": Contender(
        "era5_ohsvgp", sizes(num_inducing=[50, 100]), FORMER | {"shared_precision": True}, {"epochs_per_task": 20}
    ),
    "GP-VAE, moving cosines": Contender(
        "era5_finse",
        sizes(latent_dim=[5, 5, 5], num_inducing=[50, 100, 200]),
        MOVING,
        {"epochs_per_task": 120},
    ),
    "field, moving cosines": Contender(
        "era5_field", sizes(latent_dim=[20, 20], num_inducing=[100, 200]), MOVING, datasets=FIELDS
    ),
    "GP-VAE": Contender("era5_finse", sizes(latent_dim=[5, 5, 5, 7], num_inducing=[50, 100, 200, 280])),
    "GP-VAE of a field": Contender(
        "era5_field", sizes(latent_dim=[20, 20, 20], num_inducing=[100, 200, 400]), datasets=FIELDS
    ),
    "the same, by location": Contender(
        "era5_locations",
        sizes(latent_dim=[20, 40], num_inducing=[200, 200]),
        {"static_inputs": ["sun"]},
        {"batch_size": None, "epochs_per_task": 100},
        datasets=("finse_70", "cornwall"),
    ),
}
