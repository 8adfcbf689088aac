"""The paper's recurrence converges to the closed form, to first order in the step."""

import numpy as np
import pytest
import torch
from torch import Tensor

from gpvae.hippo import (
    Measure,
    ScaledLegendre,
    TranslatedFourier,
    TranslatedLaguerre,
    TranslatedLegendre,
    absorb_path,
    evolve,
)
from gpvae.hippo.ode import Scheme
from tests import oracle

START, END, WINDOW = 1.0, 2.5, torch.tensor(1.2, dtype=torch.float64)
schemes = pytest.mark.parametrize("scheme", ["euler", "bilinear"])


def wave(steps: int) -> tuple[Tensor, Tensor]:
    """sin 3x at the ends of the steps, and their length."""
    dt = (END - START) / steps
    return torch.sin(3 * (START + dt * torch.arange(1, steps + 1).double()))[:, None], torch.tensor(
        dt, dtype=torch.float64
    )


def error(steps: int, scheme: Scheme) -> float:
    def memory(t: float) -> Tensor:
        return torch.from_numpy(oracle.Projection("LegS", 6, 0.0, t).apply(lambda x: np.sin(3 * x)))

    f, dt = wave(steps)
    got = evolve(ScaledLegendre(6), memory(START), torch.tensor(START, dtype=torch.float64), f, dt, scheme)
    return float((got - memory(END)).abs().max())


@schemes
def test_half_the_step_is_half_the_error(scheme: Scheme) -> None:
    errors = [error(steps, scheme) for steps in (200, 400, 800)]
    assert errors[-1] < 0.02
    assert 1.7 < errors[0] / errors[1] < 2.3
    assert 1.7 < errors[1] / errors[2] < 2.3


@schemes
@pytest.mark.parametrize(
    "measure", [TranslatedLegendre(5), TranslatedLaguerre(5), TranslatedFourier(5)], ids=lambda m: type(m).__name__
)
def test_sliding_measures_converge_to_their_closed_form(measure: Measure, scheme: Scheme) -> None:
    """On a constant signal, so that only the step of the ODE matters."""
    empty, t = torch.zeros(5, 1).double(), torch.zeros(()).double()
    errors = []
    for steps in (400, 800, 1600):
        f, dt = torch.ones(steps, 1).double(), torch.tensor(1.5 / steps, dtype=torch.float64)
        exact = absorb_path(measure, empty, t, f, dt, WINDOW)
        errors.append(float((evolve(measure, empty, t, f, dt, scheme, WINDOW) - exact).abs().max()))
    order = 1 if scheme == "euler" else 2
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(2**order, rel=0.25)


def test_euler_diverges_where_bilinear_does_not() -> None:
    """From an empty memory the first steps have a = Δt / t near 1, and a M > 2."""
    f, t, dt = torch.ones(60, 1).double(), torch.zeros(()).double(), torch.ones(()).double()
    empty = torch.zeros(64, 1).double()
    assert float(evolve(ScaledLegendre(64), empty, t, f, dt, "euler").abs().max()) > 1e6
    assert float(evolve(ScaledLegendre(64), empty, t, f, dt, "bilinear").abs().max()) < 10


def test_unknown_schemes_are_named() -> None:
    f, dt = wave(2)
    with pytest.raises(ValueError, match="must be 'euler' or 'bilinear', got 'midpoint'"):
        evolve(ScaledLegendre(2), torch.zeros(2, 1).double(), dt, f, dt, "midpoint")
