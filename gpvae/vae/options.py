"""Choices that the options of a GP-VAE module have, and checks of all of them."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from gpvae.utils import checks
from gpvae.vae.build import Latents, build_family, build_kernel
from gpvae.vae.locations import StaticInput
from gpvae.vae.networks import Networks, Noise

Consolidation = Literal["ewc", "replay", "both", "none"]
Hyperparameters = Literal["fixed", "train_first_task", "train_always"]
Schedule = Literal["cosine", "constant"]
StepPrecision = Literal["float32", "float64"]

CHOICES: dict[str, Any] = {
    "consolidation": Consolidation,
    "hyperparameters": Hyperparameters,
    "latents": Latents,
    "networks": Networks,
    "noise": Noise,
    "schedule": Schedule,
    "step_precision": StepPrecision,
}
#: Numbers that must be positive, if they are given.
POSITIVE = ("lr", "latent_dim", "hidden_dim", "num_samples", "longest", "replay_times", "location_features")
#: Numbers that may also be zero, which switches something off.
NOT_NEGATIVE = ("ewc_strength", "replay_strength", "horizon")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise if an option of `SVGPVAE` makes no sense, before any data are read."""
    for name, choices in CHOICES.items():
        if options[name] is not None:
            checks.choice(name, options[name], get_args(choices))
    checks.positive(**{name: options[name] for name in POSITIVE})
    checks.positive(**{name: options[name] or None for name in NOT_NEGATIVE})
    if options["shared_noise"] and options["noise"] not in (None, "shared"):
        raise ValueError(f"noise is {options['noise']}, but shared_noise is true: leave out shared_noise")
    if options["latents"] == "field" and options["sites_folder"] is not None:
        raise ValueError("sites_folder is for the sites of many series; a field has one site, which stays in memory")
    _check_locations(options)
    if options["waves"] and options["networks"] == "mlp":
        raise ValueError(
            "waves are fitted to principal components, where networks: mlp does not start: leave one of them out"
        )
    if not 0 <= options["left_out"] < 1:
        raise ValueError(f"left_out must be a share from 0 to less than 1, got {options['left_out']}")
    build_family(options)
    build_kernel(options, 1)


def _check_locations(options: Mapping[str, Any]) -> None:
    """Raise if options about locations contradict others."""
    inputs, number = options["static_inputs"] or [], options["location_features"]
    for name in inputs:
        checks.choice("static_inputs", name, get_args(StaticInput))
    if len(set(inputs)) < len(inputs):
        raise ValueError(f"static_inputs has a name twice: {', '.join(inputs)}")
    if number is not None and (options["latents"] != "field" or options["networks"] != "residual"):
        raise ValueError("location_features is for latents: field and networks: residual; leave it out, or use these")
    if inputs and number is None and options["latents"] == "field":
        raise ValueError(
            "static_inputs of a field need location_features, such as 32; without them no location is an input"
        )
