"""A GP-VAE, built from the options of a module."""

from collections.abc import Mapping
from typing import Any, Literal

from gpytorch.kernels import Kernel

from gpvae.inducing import InducingVariables
from gpvae.methods import build_method_families, find_method, latent_kernel
from gpvae.vae.field import Field
from gpvae.vae.location_field import LocationField
from gpvae.vae.locations import Locations
from gpvae.vae.model import GPVAE
from gpvae.vae.networks import Decoder, Encoder, LocationDecoder, Noise
from gpvae.vae.wave_kernel import WaveKernel

Latents = Literal["series", "field"]

#: Maximum number of latent dimensions that is chosen for the variables of one location.
MAX_LATENT_DIM = 20
#: Number of latent dimensions that is chosen for a field, as a multiple of its variables.
FIELD_LATENT_RATIO = 2
#: Number of past times that replay draws for a task, and for a task of a field.
REPLAY_TIMES, FIELD_REPLAY_TIMES = 256, 1024


def build_family(options: Mapping[str, Any]) -> InducingVariables:
    """The inducing variables of a method."""
    method, given = find_method(options["method"]), dict(options["inducing_options"] or {})
    if options.get("waves"):
        given["periods"] = options["waves"]
    (family,) = build_method_families(method, options["inducing"], options["num_inducing"], 1, options["seed"], given)
    return family


def build_kernel(options: Mapping[str, Any], latent_dim: int) -> Kernel:
    """The kernel of the latents."""
    if options.get("waves"):
        return WaveKernel(options["kernel"], latent_dim, options["waves"])
    longest = options["shortest"] if options["longest"] is None else options["longest"]
    return latent_kernel(options["kernel"], latent_dim, options["shortest"], longest)


def chosen_noise(options: Mapping[str, Any]) -> Noise:
    """The kind of noise: as given, or predicted unless `shared_noise` asks for another."""
    if options["noise"] is not None:
        return options["noise"]
    return "shared" if options["shared_noise"] else "predicted"


def num_replayed(options: Mapping[str, Any]) -> int:
    """The number of past times that replay draws for a task: as given, or more for a field, whose decoder is larger."""
    return options["replay_times"] or (FIELD_REPLAY_TIMES if options["latents"] == "field" else REPLAY_TIMES)


def build_vae(options: Mapping[str, Any], num_variables: int, num_series: int | None) -> GPVAE:
    """Build networks, kernel, inducing variables and posterior.

    Args:
        options: The arguments of `SVGPVAE`.
        num_variables: Number of observed variables.
        num_series: Number of locations, which a field needs.
    """
    field: Field | LocationField | None = None
    num_features, inputs = options["location_features"], options["static_inputs"] or []
    if num_features is not None:
        field = LocationField(num_features, num_variables)
    elif options["latents"] == "field":
        if num_series is None:
            raise ValueError("a field needs the number of its locations: set num_series, or use a datamodule")
        field = Field(num_series, num_variables)
    latent_dim = options["latent_dim"]
    if latent_dim is None:
        latent_dim = (
            min(num_variables, MAX_LATENT_DIM) if field is None else min(field.size, FIELD_LATENT_RATIO * num_variables)
        )
    noise, periods = chosen_noise(options), options["periods"] or []
    sizes = {"latent_dim": latent_dim, "num_hidden": options["hidden_dim"], "num_phases": len(periods)}
    scales: dict[str, Any] = {"shared_noise": noise == "shared", "predicted_scale": noise == "predicted"}
    decoder: Decoder
    if isinstance(field, LocationField):
        encoder = Encoder(field.size, networks="residual", **sizes)
        decoder = LocationDecoder(
            num_variables=num_variables, num_features=field.num_features, num_inputs=len(inputs), **sizes, **scales
        )
    else:
        sizes |= {"num_variables": num_variables if field is None else field.size, "num_inputs": len(inputs)}
        decoder = Decoder(networks=options["networks"], **sizes, **scales)
        encoder = Encoder(networks=options["networks"], **sizes)
    return GPVAE(
        encoder,
        decoder,
        build_kernel(options, latent_dim),
        build_family(options),
        periods=periods,
        power=options["power"],
        shared_precision=options["shared_precision"],
        folder=options["sites_folder"],
        field=field,
        locations=Locations(inputs) if inputs or num_features is not None else None,
    )
