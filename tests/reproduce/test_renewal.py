"""The renewal model: infections compared with plain sums, the density with SciPy's, and what sampling recovers."""

import importlib.util
import math

import numpy as np
import pytest
import torch
from scipy import stats

from benchmarks.reproduce.infections import SEEDED, Infections, gamma_by_day
from benchmarks.reproduce.renewal import BEFORE, FATALITY, POPULATION, Renewal, delay

DOUBLE = torch.float64
NO_PYRO = "Pyro is not installed: pip install -e '.[reproduce]'"


def plain_infections(r: np.ndarray, seed: float, serial: np.ndarray, population: float) -> np.ndarray:
    """m_d = R_d (1 - C_d / N) Σ_i m_i SI(d - i), term by term."""
    m = [seed] * SEEDED
    for day in range(SEEDED, len(r)):
        pressure = sum(m[i] * serial[day - i - 1] for i in range(day) if day - i <= len(serial))
        m.append(r[day] * max(1 - sum(m) / population, 0) * pressure)
    return np.array(m)


def plain_deaths(m: np.ndarray, fatality: float) -> np.ndarray:
    """Deaths on each day: every infection delayed by two delays of at least one day each."""
    onset, death = gamma_by_day(5.1, 0.86, 80), gamma_by_day(17.8, 0.45, 80)
    mu = np.zeros(len(m))
    for day in range(len(m)):
        for tau in range(day):
            for first in range(1, day - tau):
                second = day - tau - first
                if first + second <= 80 and first <= 80 and second <= 80:
                    mu[day] += fatality * m[tau] * onset[first - 1] * death[second - 1]
    return mu


def test_gamma_distribution_by_day_keeps_mass_and_mean() -> None:
    shares = gamma_by_day(6.5, 0.62, 100)
    assert shares.sum() == pytest.approx(1, abs=1e-4)
    assert (shares * np.arange(1, 101)).sum() == pytest.approx(6.5, abs=0.05)
    assert float(delay().sum()) == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("population", [1e9, 2e4])
def test_infections_are_the_renewal_equation(population: float) -> None:
    r = torch.rand(80, dtype=DOUBLE) * 2 + 0.5
    serial = torch.from_numpy(gamma_by_day(6.5, 0.62, 15))
    found = Infections.apply(r, torch.tensor(30.0, dtype=DOUBLE), serial, population)
    np.testing.assert_allclose(found, plain_infections(r.numpy(), 30.0, serial.numpy(), population), rtol=1e-10)


def test_gradient_of_infections_agrees_with_finite_differences() -> None:
    r = (torch.rand(40, dtype=DOUBLE) + 1).requires_grad_()
    seed = torch.tensor(40.0, dtype=DOUBLE, requires_grad=True)
    serial = torch.from_numpy(gamma_by_day(6.5, 0.62, 15))
    assert torch.autograd.gradcheck(lambda r, seed: Infections.apply(r, seed, serial, 5e4), (r, seed))


@pytest.mark.parametrize("with_site", [False, True])
def test_the_log_density_is_that_of_the_formula(with_site: bool) -> None:
    """Differences of log densities agree with SciPy and plain loops, in both coordinates; constants are left out."""
    torch.manual_seed(0)
    model, days = Renewal(40), torch.arange(0, 40, 3)
    deaths = torch.tensor([0, 1, 0, 2, 5, 3, 7, 4, 9, 3, 6, 8, 2, 1], dtype=DOUBLE)

    if with_site:
        model = model.around(model.constrain(model.start), days, deaths)

    def rho_of(x: np.ndarray) -> np.ndarray:
        ends = (np.array([[0.0], [1.0]]) - [0.8, 0.1]) / 0.05
        return stats.truncnorm(*ends, [0.8, 0.1], 0.05).ppf(stats.norm.cdf(x))

    def by_hand(x: np.ndarray) -> float:
        """The log density of the quantities and the log determinant of their derivative with respect to x."""
        rho, scale, seed, fatality, spread = rho_of(x[:2]), *np.exp(x[2:6])
        weeks = len(x[6:])
        steps = np.array(
            [[{0: 1.0, 1: -rho[0], 2: -rho[1]}.get(i - j, 0.0) for j in range(weeks)] for i in range(weeks)]
        )
        precision, site = steps.T @ steps / scale**2, np.zeros(weeks)
        if model.G is not None and model.h is not None:
            precision, site = precision + model.G.numpy(), model.h.numpy()
        f = np.linalg.solve(precision, site) + np.linalg.solve(np.linalg.cholesky(precision).T, x[6:])
        r = np.repeat(3.3 * 2 / (1 + np.exp(f)), 7)[: BEFORE + 40]
        m = plain_infections(r, seed, gamma_by_day(6.5, 0.62, 40), POPULATION)
        mu = plain_deaths(m, FATALITY * fatality)[BEFORE:][days.numpy()]
        phi = spread**-2
        total = stats.nbinom(phi, phi / (phi + mu)).logpmf(deaths.numpy()).sum()
        slope = (rho_of(x[:2] + 1e-5) - rho_of(x[:2] - 1e-5)) / 2e-5
        total += stats.norm([0.8, 0.1], 0.05).logpdf(rho).sum() + np.log(slope).sum()
        total += stats.halfnorm(scale=0.5).logpdf(scale) + math.log(scale)
        total += stats.halfnorm(scale=1.0).logpdf(spread) + math.log(spread)
        total += stats.lognorm(1.5, scale=math.exp(3)).logpdf(seed) + math.log(seed)
        total += stats.lognorm(0.1).logpdf(fatality) + math.log(fatality)
        total += stats.norm(0, scale).logpdf(steps @ f).sum()
        return float(total - np.linalg.slogdet(precision)[1] / 2)

    points = [model.start + 0.1 * torch.randn(len(model.start), dtype=DOUBLE) for _ in range(3)]
    found = [float(model.log_density(point, days, deaths)) for point in points]
    wanted = [by_hand(point.numpy()) for point in points]
    np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_sampling_recovers_the_deaths_it_was_given() -> None:
    if importlib.util.find_spec("pyro") is None:
        pytest.skip(NO_PYRO)
    from benchmarks.reproduce.sampling import sample

    torch.manual_seed(1)
    model = Renewal(70)
    truth = model.constrain(model.start)
    mean = model.expected_deaths(truth._replace(seed=torch.tensor(200.0, dtype=DOUBLE)))
    deaths = torch.poisson(mean)
    drawn = sample(torch.arange(70), deaths, 70, chains=1, warmup=40, samples=30, seed=1)
    predicted = drawn.predict(torch.arange(70)).mean.mean(dim=1)
    error = (predicted - mean).abs() / mean.clamp_min(1).sqrt()
    assert float(error.mean()) < 1  # in standard deviations of a count
    assert drawn.diagnostics["chains"] == 1
    assert set(drawn.diagnostics["r_hat"]) == {"rho", "scale", "seed", "fatality", "spread", "effects"}
