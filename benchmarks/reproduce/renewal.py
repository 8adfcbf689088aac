"""The AR(2) renewal model of deaths in an epidemic, a sanity check of the paper (appendix D.1).

A reproduction number that changes from week to week drives infections, and these, with a delay, deaths:

    R_d = 3.3 · 2 σ(-f_w),    f_w ~ N(ρ₁ f_{w-1} + ρ₂ f_{w-2}, s²),
    μ_d = IFR Σ_{τ<d} m_τ π(d - τ),    y_d ~ NegativeBinomial(mean μ_d, variance μ_d + μ_d² / φ)

with the infections m of `infections.py`. Delays and serial interval are those of Flaxman et al. (2020), the priors of
ρ those of Unwin et al. (2020); choices that the paper leaves open are marked below.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.distributions import NegativeBinomial

from benchmarks.reproduce.infections import Infections, gamma_by_day

#: Inhabitants of Santa Catarina in 2020, estimated by IBGE.
POPULATION = 7_252_502.0
#: Days from the start of the epidemic to the first day of the data, in whole weeks (not in the paper; Flaxman et al.:
#: 30 days before the tenth death).
BEFORE = 42
WEEK = 7
LARGEST_R = 2 * 3.3
#: Deaths per infection, within about ten per cent (not in the paper); it sets the scale of infections.
FATALITY = 0.008
#: Logarithms are clamped to ± this, so that numbers stay finite wherever a sampler goes.
MAX_LOG = 12.0
#: ρ₁ ~ N(0.8, 0.05²) and ρ₂ ~ N(0.1, 0.05²), within [0, 1].
RHO, RHO_SCALE = (0.8, 0.1), 0.05
SERIAL_DAYS, DELAY_DAYS = 40, 80


def delay(num_days: int = DELAY_DAYS) -> Tensor:
    """π, from infection to death: 5.1 days to the onset of symptoms, 17.8 from there, both gamma distributed."""
    onset, death = gamma_by_day(5.1, 0.86, num_days), gamma_by_day(17.8, 0.45, num_days)
    return torch.from_numpy(np.convolve(onset, death)[: num_days - 1].copy())


class Quantities(NamedTuple):
    """Quantities to infer: ρ `[2]`, s, infections of a seeded day, factor of the IFR, 1 / √φ and f `[W]`."""

    rho: Tensor
    scale: Tensor
    seed: Tensor
    fatality: Tensor
    spread: Tensor
    effects: Tensor


@dataclass
class Renewal:
    """The model for a number of days.

    Args:
        num_days: Number of days with data, from the first.
        G: Precision of a site exp(hᵀf - ½ fᵀG f) that approximates the likelihood of f `[W, W]`; none by default. It
            changes the coordinates of f, not the model.
        h: Precision times mean of the site `[W]`.
    """

    num_days: int
    G: Tensor | None = None
    h: Tensor | None = None
    serial: Tensor = field(init=False)
    delays: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.serial = torch.from_numpy(gamma_by_day(6.5, 0.62, SERIAL_DAYS))
        days = BEFORE + self.num_days
        #: Row d has π(d - τ) in column τ; the convolution of two delays of at least one day takes at least two days.
        self.delays = torch.zeros(days, days, dtype=torch.float64)
        for lag, share in enumerate(delay(), start=2):
            if lag < days:
                self.delays += torch.diag(torch.full((days - lag,), float(share), dtype=torch.float64), -lag)

    @property
    def num_weeks(self) -> int:
        """Number of weeks, the last of which may be incomplete."""
        return -(-(BEFORE + self.num_days) // WEEK)

    def reproduction(self, effects: Tensor) -> Tensor:
        """R of each day `[D]` from f of each week `[W]`."""
        return (LARGEST_R * torch.sigmoid(-effects)).repeat_interleave(WEEK)[: BEFORE + self.num_days]

    def expected_deaths(self, at: "Quantities") -> Tensor:
        """μ of each day of the data `[num_days]`."""
        r = self.reproduction(at.effects)
        infections = Infections.apply(r, at.seed, self.serial, POPULATION)
        return (FATALITY * at.fatality * (self.delays @ infections))[BEFORE:]

    def posterior(self, rho: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Mean `[W]` and Cholesky factor of the precision A `[W, W]` of f, given ρ, s and the site.

        A = TᵀT / s² + G, where T maps f to its steps.
        """
        steps = steps_from(rho, self.num_weeks) / scale
        L = torch.linalg.cholesky(steps.mT @ steps + (0.0 if self.G is None else self.G))
        h = torch.zeros(self.num_weeks, dtype=rho.dtype) if self.h is None else self.h
        return torch.cholesky_solve(h[:, None], L)[:, 0], L

    def constrain(self, x: Tensor) -> "Quantities":
        """The quantities of the model at a point of unconstrained space `[P]`.

        ρ is mapped by quantiles to coordinates that are standard normal a priori. f = A⁻¹h + L⁻ᵀw, with A = LLᵀ, has
        coordinates w, which are standard normal for any s and ρ if the site equals the likelihood. Coordinates f would
        give a funnel where data are weak, and steps of f a narrow ridge where they are strong.
        """
        return self._constrain(x)[0]

    def _constrain(self, x: Tensor) -> tuple["Quantities", Tensor]:
        """The quantities at a point, and the factor L of the precision of f."""
        quantile, scale, seed, fatality, spread, w = x.split([2, 1, 1, 1, 1, self.num_weeks])
        positive = [part[0].clamp(-MAX_LOG, MAX_LOG).exp() for part in (scale, seed, fatality, spread)]
        rho = truncated(quantile)
        mean, L = self.posterior(rho, positive[0])
        effects = mean + torch.linalg.solve_triangular(L.mT, w[:, None], upper=True)[:, 0]
        return Quantities(rho, *positive, effects), L

    def around(self, at: "Quantities", days: Tensor, deaths: Tensor) -> "Renewal":
        """The same model, with the Gauss-Newton approximation of a likelihood at some values as site.

        Args:
            at: The values.
            days: Observed days, from 0 `[N]`.
            deaths: Deaths on them `[N]`.
        """

        def expected(effects: Tensor) -> Tensor:
            return self.expected_deaths(at._replace(effects=effects))[days]

        mean, J = expected(at.effects), torch.autograd.functional.jacobian(expected, at.effects)
        weighted = J.mT / (mean + (at.spread * mean).square())
        G = weighted @ J
        return replace(self, G=G, h=G @ at.effects + weighted @ (deaths - mean))

    @property
    def start(self) -> Tensor:
        """Start of the search for the mode: without a site, an epidemic at R = 3.3 that slows down to about 1."""
        known = torch.zeros(2, dtype=torch.float64), torch.tensor([0.4, 10.0, 1.0, 0.3]).log().double()
        if self.G is not None:
            return torch.cat([*known, torch.zeros(self.num_weeks, dtype=torch.float64)])
        effects = torch.full((self.num_weeks,), 1.7, dtype=torch.float64)
        effects[:8] = 0.0
        mean, L = self.posterior(truncated(known[0]), known[1][0].exp())
        return torch.cat([*known, L.mT @ (effects - mean)])

    def log_density(self, x: Tensor, days: Tensor, deaths: Tensor) -> Tensor:
        """log p(deaths, x), up to a constant, at a point of unconstrained space.

        Scale s ~ half N(0, 0.5²) and spread 1 / √φ ~ half N(0, 1), infections of a seeded day ~ LogNormal(3, 1.5),
        the factor of the IFR ~ LogNormal(0, 0.1).

        Args:
            x: The point `[P]`.
            days: Observed days, from 0 `[N]`.
            deaths: Deaths on them `[N]`.
        """
        at, L = self._constrain(x)
        prior = -0.5 * x[:2].square().sum()
        prior = prior - 0.5 * (at.scale / 0.5).square() + x[2] - 0.5 * ((x[3] - 3.0) / 1.5).square()
        prior = prior - 0.5 * (x[4] / 0.1).square() - 0.5 * at.spread.square() + x[5]
        steps = steps_from(at.rho, self.num_weeks) @ at.effects / at.scale
        prior = prior - 0.5 * steps.square().sum() - self.num_weeks * at.scale.log() - L.diagonal().log().sum()
        return prior + counts(self.expected_deaths(at)[days], at.spread).log_prob(deaths).sum()


def truncated(normal: Tensor) -> Tensor:
    """ρ `[2]` with its prior from standard normal variables `[2]`, by quantiles."""
    middle = torch.tensor(RHO, dtype=normal.dtype)
    low, high = (torch.special.ndtr((end - middle) / RHO_SCALE) for end in (0.0, 1.0))
    share = low + (high - low) * torch.special.ndtr(normal.clamp(-6, 6))
    return middle + RHO_SCALE * torch.special.ndtri(share)


def steps_from(rho: Tensor, num_weeks: int) -> Tensor:
    """The matrix `[W, W]` that maps f to its steps, f_w - ρ₁ f_{w-1} - ρ₂ f_{w-2}, with zero before the first week."""
    one = torch.eye(num_weeks, dtype=rho.dtype)
    return one - rho[0] * one.roll(1, 0).tril() - rho[1] * one.roll(2, 0).tril()


def counts(mean: Tensor, spread: Tensor) -> NegativeBinomial:
    """Negative binomial counts with variance mean + mean² / φ, where 1 / φ = spread².

    Args:
        mean: Means.
        spread: 1 / √φ.
    """
    total = spread.clamp_min(1e-3) ** -2
    return NegativeBinomial(total, logits=mean.clamp_min(1e-9).log() - total.log(), validate_args=False)
