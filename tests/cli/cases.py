"""Configs for tests of resuming, each with state of a different kind."""

from typing import Any

#: A small GP-VAE with every component that has state.
SERIES: dict[str, dict[str, Any]] = {
    "model": {
        "class_path": "SVGPVAE",
        "num_inducing": 8,
        "latent_dim": 3,
        "hidden_dim": 8,
        "consolidation": "both",
        "num_samples": 10,
    },
    "data": {
        "class_path": "ERA5",
        "points": 4,
        "variables": ["t2m", "msl", "ssrd"],
        "num_tasks": 3,
        "hours_per_task": 24,
        "batch_size": 2,
    },
}
#: Sections of a config by name. Three tasks of a few steps each.
CASES: dict[str, dict[str, Any]] = {
    "closed form": {"data": {"batch_size": 5}},
    "free form": {"model": {"method": "OHSVGP"}, "data": {"steps_per_epoch": 30, "batch_size": 5}},
    "series": {**SERIES, "data": SERIES["data"] | {"epochs_per_task": 10}},
}
