"""The matrix ODE of kuu (appendix B.2) converges to the closed form, with the corrected boundary term only."""

import pytest
import torch
from torch import Tensor

from gpvae.hippo import ScaledLegendre
from tests import oracle
from tests.hippo.direct import boundary, evolve_kuu

SIZE, START, END = 5, torch.tensor(1.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
KERNEL = oracle.Term(float("inf"), 1.0, (0.5,))


def correlation(lag: Tensor) -> Tensor:
    return torch.exp(-0.5 * (lag / 0.5) ** 2)


def exact(t: Tensor) -> Tensor:
    return torch.from_numpy(oracle.Projection("LegS", SIZE, 0.0, float(t)).kuu(KERNEL))


def error(steps: int, scheme: str) -> float:
    return float((evolve_kuu(correlation, exact(START), START, END, steps, scheme) - exact(END)).abs().max())


def test_the_boundary_term_is_kuf_at_the_newest_input() -> None:
    expected = oracle.Projection("LegS", SIZE, 0.0, 2.0).kuf(KERNEL, END.numpy().reshape(1, 1))[:, 0]
    torch.testing.assert_close(boundary(correlation, SIZE, END, 64), torch.from_numpy(expected), rtol=0, atol=1e-12)


def test_euler_halves_its_error_with_the_step() -> None:
    errors = [error(steps, "euler") for steps in (100, 200, 400)]
    assert errors[-1] < 1e-2
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.15)


def test_runge_kutta_reaches_the_closed_form() -> None:
    assert error(200, "rk4") < 1e-7


def test_without_its_factors_the_boundary_term_is_wrong() -> None:
    """The paper's B̃ lacks sqrt(2m+1): the same steps then end far from the closed form."""
    A, _ = ScaledLegendre(SIZE).ode(START)
    K, steps = exact(START), 2000
    for i in range(steps):
        t = START + i / steps
        half = A @ K + boundary(correlation, SIZE, t, 64)[:, None]
        K = K + (half + half.mT) / t / steps
    assert float((K - exact(END)).abs().max()) > 0.05


def test_with_the_many_variables_of_the_paper_euler_explodes() -> None:
    """It is stable for steps below t / M, roughly; the closed form knows no steps."""
    size, lengthscale = 150, 0.03

    def smooth(lag: Tensor) -> Tensor:
        return torch.exp(-0.5 * (lag / lengthscale) ** 2)

    def closed_form(t: Tensor) -> Tensor:
        s, Phi = ScaledLegendre(size).projection(400, t)
        return Phi.mT @ smooth(t * (s[:, None] - s)) @ Phi

    ends = {steps: evolve_kuu(smooth, closed_form(START), START, END, steps) for steps in (300, 1200)}
    errors = {steps: float((K - closed_form(END)).abs().max()) for steps, K in ends.items()}
    assert errors[300] > 1e6
    assert errors[1200] < 1e-2
    assert torch.linalg.eigvalsh(closed_form(END)).min() > -1e-15
    assert torch.linalg.eigvalsh(ends[1200]).min() < -1e-12
