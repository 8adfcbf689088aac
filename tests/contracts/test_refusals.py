"""Unsupported input raises an error with a helpful message."""

import gpytorch.kernels as gk
import pytest
import torch

from gpvae.inducing import FourierFeatures, LegSPath, LegSRecurrence
from gpvae.kernels import UnsupportedKernelError
from tests.contracts.families import FAMILIES, Family, queries, stream
from tests.contracts.kernels import ARD, MATERN32, OVER_SPACE

ONLY_OVER_TIME = [family for family in FAMILIES if not set(OVER_SPACE) & set(family.kernels)]
spectral = pytest.mark.parametrize(
    "make",
    [
        lambda: LegSPath(4, num_frequencies=16),
        lambda: LegSRecurrence(4, num_frequencies=16, pairing="features"),
        lambda: FourierFeatures(5, -1.0, 4.0),
    ],
    ids=["LegSPath", "LegSRecurrence", "FourierFeatures"],
)


@spectral
@pytest.mark.parametrize("kernel", [gk.PeriodicKernel(), gk.LinearKernel(), gk.CosineKernel()])
def test_kernels_without_a_known_spectrum_are_named(make: type, kernel: gk.Kernel) -> None:
    with pytest.raises(
        UnsupportedKernelError, match=rf"{type(kernel).__name__}.*expected RBFKernel, MaternKernel, RQKernel"
    ):
        make().advance(kernel.double(), stream(1)[0])


@pytest.mark.parametrize(
    "kernel",
    [
        gk.RBFKernel(),
        gk.MaternKernel(nu=0.5) + gk.MaternKernel(nu=1.5),
        gk.MaternKernel(nu=0.5) * gk.MaternKernel(nu=1.5),
        gk.RQKernel(),
        gk.MaternKernel(ard_num_dims=2),
    ],
    ids=["rbf", "sum", "product", "rq", "ard"],
)
def test_fourier_features_serve_one_matern_kernel(kernel: gk.Kernel) -> None:
    with pytest.raises(UnsupportedKernelError, match="FourierFeatures"):
        FourierFeatures(5, -1.0, 4.0).kuu(kernel.double())


@pytest.mark.parametrize("family", [f for f in FAMILIES if not f.remembers_kernel], ids=lambda f: f.name)
@pytest.mark.parametrize("kernel", [gk.PeriodicKernel(), gk.LinearKernel()], ids=["periodic", "linear"])
def test_families_made_of_function_values_take_any_kernel(family: Family, kernel: gk.Kernel) -> None:
    kernel = kernel.double().requires_grad_(False)
    instance = family.make()
    for x in stream(1):
        instance.advance(kernel, x)
    kuu = instance.kuu(kernel)
    assert torch.isfinite(kuu).all()
    assert torch.linalg.eigvalsh(kuu)[0] > -1e-10 * kuu.abs().max() * len(kuu)


@pytest.mark.parametrize("family", ONLY_OVER_TIME, ids=lambda f: f.name)
def test_families_over_time_say_that_they_take_one_dimension(family: Family) -> None:
    name = "CosS" if family.name == "Composed" else family.name  # the first part that cannot
    with pytest.raises(ValueError, match=rf"{name}.*one dimension.* got"):
        family.make().advance(MATERN32.build(), stream(2)[0])


@pytest.mark.parametrize("family", ONLY_OVER_TIME, ids=lambda f: f.name)
def test_families_over_time_answer_for_one_dimension_only(family: Family) -> None:
    """kuf raises at inputs of two dimensions, and does not use the first of them."""
    kernel = MATERN32.build().requires_grad_(False)
    instance = family.make().advance(kernel, stream(1)[0])
    with pytest.raises((ValueError, RuntimeError)):
        instance.kuf(kernel, queries(2))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_family_without_inputs_raises(family: Family) -> None:
    """Before the first task there are no covariances (except those of Fourier features, which know their interval)."""
    instance, kernel = family.make(), MATERN32.build()
    if isinstance(instance, FourierFeatures):
        assert instance.kuu(kernel).shape[-1] == instance.num_inducing
        return
    for ask in (lambda: instance.kuu(kernel), lambda: instance.kuf(kernel, queries(1))):
        with pytest.raises(RuntimeError, match=rf"{family.name} has seen no inputs yet; call advance"):
            ask()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_family_needs_variables(family: Family) -> None:
    number = () if family.name == "Composed" else (0,)
    with pytest.raises(ValueError, match="num_inducing"):
        type(family.make())(*number, **({"start": 0.0, "end": 1.0} if family.name == "FourierFeatures" else {}))


def test_fourier_features_need_their_interval_beforehand() -> None:
    kernel = MATERN32.build()
    with pytest.raises(ValueError, match=r"lie outside the interval \[0, 2\]"):
        FourierFeatures(5, 0.0, 2.0).advance(kernel, stream(1)[2])
    with pytest.raises(ValueError, match="end > start"):
        FourierFeatures(5, 2.0, 2.0)


def test_different_intervals_or_frequencies_do_not_compare() -> None:
    kernel = MATERN32.build().requires_grad_(False)
    with pytest.raises(ValueError, match="different intervals"):
        FourierFeatures(5, 0.0, 4.0).kuv(kernel, FourierFeatures(5, 0.0, 5.0))
    kernel = ARD.build().requires_grad_(False)
    a, b = (LegSPath(4, 16, seed=seed).advance(kernel, stream(2)[0]) for seed in (0, 1))
    with pytest.raises(ValueError, match="different random frequencies"):
        a.kuv(kernel, b)
