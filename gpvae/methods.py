"""Kernels, likelihoods, families of inducing variables and methods of the literature, by name."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    Likelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
)

from gpvae import inducing
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import AUTO, AUTO_FAMILIES
from gpvae.kernels import TimeMaternKernel, TimeRBFKernel
from gpvae.utils import checks

Scalar = bool | int | float | str
KernelName = Literal["rbf", "matern12", "matern32", "matern52"]
LikelihoodName = Literal["gaussian", "bernoulli", "negative_binomial", "poisson"]
Inference = Literal["collapsed", "free_form"]

LIKELIHOODS: dict[LikelihoodName, type[Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "bernoulli": BernoulliLikelihood,
    "negative_binomial": NegativeBinomialLikelihood,
    "poisson": PoissonLikelihood,
}
SMOOTHNESS: dict[KernelName, float] = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
#: The concrete classes of `gpvae.inducing` that are built from a number of variables.
FAMILIES = tuple(
    name
    for name in inducing.__all__
    if not inspect.isabstract(getattr(inducing, name))
    and "num_inducing" in inspect.signature(getattr(inducing, name)).parameters
)


@dataclass(frozen=True)
class Method:
    """The components of a method of the literature.

    Attributes:
        family: Its inducing variables, for inputs of one dimension.
        family_in_space: Its inducing variables for inputs of several dimensions, if they differ.
        options: Options of the family.
        inference: How q(u) is found, if the method specifies it.
        kernel: Its default kernel.
    """

    family: str
    family_in_space: str | None = None
    options: Mapping[str, Scalar] = field(default_factory=dict)
    inference: Inference | None = None
    kernel: KernelName = "rbf"


METHODS: dict[str, Method] = {
    "OSGPR": Method("Points", inference="collapsed"),
    "OSVGP": Method("Points", inference="free_form"),
    "OVC": Method("PivotedPoints"),
    "OVC-optZ": Method("PivotedPoints", options={"trainable": True}),
    "OVC-per-dim": Method("PerDimPoints"),
    "OVFF": Method("FourierFeatures", inference="collapsed", kernel="matern52"),
    "OHSGPR": Method("LegS", "LegSPath", inference="collapsed"),
    "OHSVGP": Method("LegS", "LegSPath", inference="free_form"),
    AUTO: Method(AUTO, inference="collapsed"),
    **{name: Method(name) for name in FAMILIES},
    "FourierFeatures": Method("FourierFeatures", kernel="matern52"),
}


def find_method(name: str) -> Method:
    """Find a method by name: one of the literature, a family of inducing variables, or `auto`.

    Raises:
        ValueError: There is no such method; the message suggests the nearest name.
    """
    checks.choice("method", name, METHODS)
    return METHODS[name]


def build_kernel(name: KernelName, input_dim: int) -> Kernel:
    """A scaled kernel with a lengthscale for each input dimension."""
    return ScaleKernel(_base_kernel(name, ard_num_dims=input_dim if input_dim > 1 else None)).double()


def latent_kernel(name: KernelName, latent_dim: int, shortest: float, longest: float) -> Kernel:
    """A kernel over time of batch shape `[L]` and variance one; log-spaced lengthscales are learnt as logarithms."""
    if not 0 < shortest <= longest:
        raise ValueError(f"lengthscales must satisfy 0 < shortest <= longest, got {shortest=}, {longest=}")
    logarithm = GreaterThan(0.0, torch.exp, torch.log)
    options: dict[str, Any] = {"batch_shape": torch.Size([latent_dim]), "lengthscale_constraint": logarithm}
    kernel = TimeRBFKernel(**options) if name == "rbf" else TimeMaternKernel(nu=SMOOTHNESS[name], **options)
    kernel = kernel.double()
    spread = torch.linspace(0, 1, latent_dim, dtype=torch.float64)
    kernel.lengthscale = (shortest * (longest / shortest) ** spread)[:, None, None]
    return kernel


def _base_kernel(name: KernelName, **options: Any) -> RBFKernel | MaternKernel:
    return RBFKernel(**options) if name == "rbf" else MaternKernel(nu=SMOOTHNESS[name], **options)


def build_method_families(
    method: Method,
    inducing: str | None,
    num_inducing: int,
    input_dim: int,
    seed: int,
    options: Mapping[str, Scalar] | None,
) -> list[InducingVariables]:
    """Build the families of inducing variables of a method, or another family in their place.

    Args:
        method: The method.
        inducing: Name of another family; that of the method, with its options, if not given.
        num_inducing: Number of variables.
        input_dim: Input dimension.
        seed: Seed, for families that take it.
        options: Further options of the family.
    """
    own = (method.family_in_space if input_dim > 1 else None) or method.family
    preset = method.options if inducing is None else {}
    return build_families(inducing or own, num_inducing, input_dim, seed, {**preset, **(options or {})})


def build_families(
    name: str, num_inducing: int, input_dim: int, seed: int, options: Mapping[str, Scalar]
) -> list[InducingVariables]:
    """Build the families of inducing variables of a name: one, or those that `auto` chooses from.

    Args:
        name: Name of a class in `gpvae.inducing`, or `auto`.
        num_inducing: Number of variables.
        input_dim: Input dimension, for families that take it.
        seed: Seed, for families that take it.
        options: Further arguments of the class.

    Raises:
        ValueError: There is no such family or option; the message suggests the nearest name.
    """
    names = [family.__name__ for family in AUTO_FAMILIES] if name == AUTO else [name]
    return [_build_family(part, num_inducing, {"input_dim": input_dim, "seed": seed}, options) for part in names]


def _build_family(
    name: str, num_inducing: int, known: Mapping[str, Scalar], options: Mapping[str, Scalar]
) -> InducingVariables:
    checks.choice("inducing", name, FAMILIES)
    family = getattr(inducing, name)
    parameters = [p for p in inspect.signature(family).parameters if p != "num_inducing"]
    for option in options:
        checks.choice(f"an option of {name}", option, parameters)
    accepted = {key: value for key, value in known.items() if key in parameters}
    try:
        return family(num_inducing, **{**accepted, **options})
    except TypeError as error:  # an argument without a default
        raise ValueError(f"{name} cannot be built: {error}; pass it in the options of the family") from error
