"""The recurrence of the paper, for comparison: kuu by stepped features, kuf by the stepped exact kernel."""

import copy

import torch

from gpvae.hippo import ScaledLegendre, evolve
from gpvae.inducing import LegSRecurrence
from gpvae.inducing.spectral import amplitudes, features, frequencies
from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky, solve_lower
from tests.toys import rbf

X = torch.linspace(0.1, 2.0, 7, dtype=torch.float64)[:, None]
TASKS = [torch.linspace(a, a + 1, 5, dtype=torch.float64)[:, None] for a in (0.0, 1.0)]
DT = torch.tensor(0.01, dtype=torch.float64)


def build() -> LegSRecurrence:
    """Two tasks on [0, 2], 200 steps."""
    family = LegSRecurrence(6, dt=float(DT), num_frequencies=64)
    with torch.no_grad():
        for x in TASKS:
            family.advance(rbf(), x)
    return family


def stepped(signal: torch.Tensor) -> torch.Tensor:
    """The recurrence from the origin to the end."""
    memory = torch.zeros(6, signal.shape[-1], dtype=torch.float64)
    return evolve(ScaledLegendre(6), memory, torch.zeros((), dtype=torch.float64), signal, DT, "bilinear")


def test_kuf_and_kuu_are_the_recurrences_of_section_32() -> None:
    family, kernel = build(), rbf()
    times = DT * torch.arange(1, 201, dtype=torch.float64)[:, None]
    with torch.no_grad():
        torch.testing.assert_close(family.kuf(kernel, X), stepped(covariance(kernel, times, X)))
        Z = stepped(features(frequencies(kernel, family.base), times))
        a = amplitudes(kernel, 64).repeat(2)
        torch.testing.assert_close(family.kuu(kernel), (Z * a) @ Z.mT)


def test_a_state_goes_on_where_it_was_saved() -> None:
    family, kernel = build(), rbf()
    loaded = LegSRecurrence(6, dt=float(DT), num_frequencies=64)
    loaded.load_state_dict(copy.deepcopy(family.state_dict()))
    for each in (family, loaded):
        each.advance(kernel, TASKS[1] + 1)
    with torch.no_grad():
        torch.testing.assert_close(family.kuf(kernel, X), loaded.kuf(kernel, X), rtol=0, atol=0)
        torch.testing.assert_close(family.kuu(kernel), loaded.kuu(kernel), rtol=0, atol=0)


def test_it_can_explain_more_variance_than_there_is() -> None:
    """Features in kuu and the exact kernel in kuf are not one covariance; features in both are."""
    kernel = rbf()
    for pairing, holds in (("paper", False), ("features", True)):
        family = LegSRecurrence(12, dt=float(DT), num_frequencies=64, pairing=pairing)
        with torch.no_grad():
            for x in TASKS:
                family.advance(kernel, x)
            a = solve_lower(cholesky(family.kuu(kernel)), family.kuf(kernel, X))
        left = kernel.outputscale - (a**2).sum(0)
        assert bool((left > -1e-6).all()) == holds
