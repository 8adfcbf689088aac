"""Bases are orthonormal and are those of the definition; A and B differentiate the memory in time."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from gpvae.hippo import Measure, ScaledCosine, ScaledLegendre, TranslatedFourier, TranslatedLaguerre, TranslatedLegendre
from tests import oracle

DOUBLE = torch.zeros((), dtype=torch.float64)
#: Measures by their names in the literature, which are those of the oracle.
NAMES = {
    ScaledLegendre: "LegS",
    ScaledCosine: "CosS",
    TranslatedLegendre: "LegT",
    TranslatedLaguerre: "LagT",
    TranslatedFourier: "FouT",
}
ALL = list(NAMES)


@pytest.mark.parametrize("measure", ALL)
@pytest.mark.parametrize("size", [1, 2, 7, 10])  # LagT is cut at an age of 74, which g_m² ω notices from m = 11 on
def test_bases_are_orthonormal_under_their_measures(measure: type[Measure], size: int) -> None:
    """∫ g_m g_n ω = δ_mn."""
    s, Phi = measure(size).projection(256, DOUBLE)
    torch.testing.assert_close(Phi.mT @ measure(size).basis(s), torch.eye(size).double(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("measure", ALL)
def test_basis_and_density_are_those_of_the_definition(measure: type[Measure]) -> None:
    name, size, end, window = NAMES[measure], 8, 2.3, 0.9
    instance = measure(size)
    length = float(instance.length(DOUBLE + end, DOUBLE + window))
    s = torch.linspace(0.6, 1, 9, dtype=torch.float64)
    x = end - length * (1 - s.numpy())
    np.testing.assert_allclose(instance.basis(s), oracle.basis(name, size, x, 0.0, end, window), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(instance.density(s) / length, oracle.density(name, x, 0.0, end, window), rtol=1e-12)


def polynomial(x: np.ndarray) -> np.ndarray:
    return 1 - x + 0.5 * x**2 + 0.2 * x**3


def periodic(x: np.ndarray) -> np.ndarray:
    phase = 2 * math.pi * x / 0.9
    return 0.3 + np.cos(phase) - 0.7 * np.sin(phase) + 0.4 * np.sin(2 * phase)


@pytest.mark.parametrize(
    ("measure", "size", "f"),
    [
        (ScaledLegendre(6), 6, np.sin),
        (TranslatedLaguerre(6), 6, np.sin),
        (TranslatedLegendre(4), 4, polynomial),
        (TranslatedLegendre(7), 7, polynomial),
        (TranslatedFourier(5), 5, periodic),
        (TranslatedFourier(9), 9, periodic),
    ],
    ids=["LegS", "LagT", "LegT4", "LegT7", "FouT5", "FouT9"],
)
def test_the_ode_is_the_derivative_of_the_memory(
    measure: Measure, size: int, f: Callable[[np.ndarray], np.ndarray]
) -> None:
    """dc/dt = (A c + B f(t)) / T, for the windows where the memory reconstructs f(t - θ) exactly."""
    t, window, h = 1.7, 0.9, 1e-4

    def memory(t: float) -> np.ndarray:
        return oracle.Projection(NAMES[type(measure)], size, 0.0, t, window).apply(lambda x: f(x[:, 0]))

    A, B = (tensor.numpy() for tensor in measure.ode(DOUBLE))
    slope = (memory(t + h) - memory(t - h)) / (2 * h)
    expected = (A @ memory(t) + B * f(np.array(t))) / (window if measure.sliding else t)
    np.testing.assert_allclose(slope, expected, atol=1e-6 * np.abs(expected).max() * size)


def test_matrices_are_the_papers() -> None:
    """Appendix A for M = 3, with the diagonal of LegS corrected to -(n+1)."""
    root3, root5, root15 = math.sqrt(3), math.sqrt(5), math.sqrt(15)
    A, B = ScaledLegendre(3).ode(DOUBLE)
    torch.testing.assert_close(
        A, torch.tensor([[-1, 0, 0], [-root3, -2, 0], [-root5, -root15, -3]], dtype=torch.float64)
    )
    torch.testing.assert_close(B, torch.tensor([1, root3, root5], dtype=torch.float64))
    A, B = TranslatedLegendre(2).ode(DOUBLE)
    torch.testing.assert_close(A, torch.tensor([[-1, root3], [-root3, -3]], dtype=torch.float64))
    A, B = TranslatedLaguerre(3).ode(DOUBLE)
    torch.testing.assert_close(A, -torch.ones(3, 3).double().tril())
    torch.testing.assert_close(B, torch.ones(3).double())


def test_cosines_have_no_ode() -> None:
    with pytest.raises(NotImplementedError, match="no finite ODE"):
        ScaledCosine(4).ode(DOUBLE)


def test_a_sliding_measure_needs_its_window() -> None:
    with pytest.raises(ValueError, match="TranslatedLegendre slides a window over time and requires its length"):
        TranslatedLegendre(4).length(DOUBLE)


@pytest.mark.parametrize("measure", ALL)
def test_a_memory_needs_a_basis_function(measure: type[Measure]) -> None:
    with pytest.raises(ValueError, match="at least one basis function"):
        measure(0)
