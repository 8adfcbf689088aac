"""Samples of the renewal model by NUTS in several chains, with diagnostics."""

import time
from dataclasses import dataclass
from typing import Any

import pyro
import torch
from pyro.infer import MCMC, NUTS
from pyro.ops.stats import effective_sample_size, split_gelman_rubin
from torch import Tensor
from torch.distributions import NegativeBinomial

from benchmarks.reproduce.laplace import Coordinates
from benchmarks.reproduce.renewal import Quantities, Renewal, counts

#: At most 2⁷ - 1 gradients for each sample.
MAX_TREE_DEPTH = 7
#: Target acceptance probability; higher values give shorter steps and fewer divergences.
TARGET_ACCEPTANCE = 0.95
#: Number of searches for the mode, each with the site at the previous one.
ROUNDS = 3


@dataclass
class Drawn:
    """Samples, by chain.

    Args:
        model: The model.
        points: Samples in unconstrained space `[C, S, P]`.
        diagnostics: R-hat, effective sample sizes, divergences, seconds.
    """

    model: Renewal
    points: Tensor
    diagnostics: dict[str, Any]

    def predict(self, days: Tensor) -> NegativeBinomial:
        """Counts on some days, one distribution for each sample `[N, C · S]`."""
        samples = [self.model.constrain(point) for point in self.points.flatten(0, 1)]
        means = [self.model.expected_deaths(sample)[days] for sample in samples]
        return counts(torch.stack(means, dim=-1), torch.stack([sample.spread for sample in samples]))


def sample(days: Tensor, deaths: Tensor, num_days: int, chains: int, warmup: int, samples: int, seed: int) -> Drawn:
    """Sample the model.

    Args:
        days: Observed days, from 0 `[N]`.
        deaths: Deaths on them `[N]`.
        num_days: Number of days in all.
        chains: Number of chains.
        warmup: Warm-up steps of each chain.
        samples: Samples of each chain.
        seed: Seed of the chains.
    """
    model, started = Renewal(num_days), time.monotonic()
    coordinates = around_mode(model, days, deaths)
    for _ in range(ROUNDS - 1):
        model = model.around(model.constrain(coordinates.mode), days, deaths)
        coordinates = around_mode(model, days, deaths)
    drawn, divergences = [], 0
    for chain in range(chains):
        pyro.set_rng_seed(1000 * seed + chain)
        how = {"adapt_mass_matrix": False, "target_accept_prob": TARGET_ACCEPTANCE, "max_tree_depth": MAX_TREE_DEPTH}
        kernel = NUTS(potential_fn=coordinates, **how)
        # Dispersed like draws from the Laplace approximation.
        begin = {"w": torch.randn(len(coordinates.mode), dtype=torch.float64)}
        mcmc = MCMC(kernel, samples, warmup, initial_params=begin, disable_progbar=True)
        mcmc.run()
        drawn.append(coordinates.back(mcmc.get_samples()["w"]))
        divergences += sum(len(found) for found in mcmc.diagnostics()["divergences"].values())
        print(f"chain {chain + 1} of {chains}: {time.monotonic() - started:.0f} s", flush=True)
    points = torch.stack(drawn)
    known = {"divergences": divergences, "chains": chains, "warmup": warmup, "samples": samples}
    seconds = round(time.monotonic() - started, 1)
    return Drawn(model, points, diagnose(model, points) | known | {"seconds": seconds})


def around_mode(model: Renewal, days: Tensor, deaths: Tensor) -> Coordinates:
    """Coordinates in which the posterior has about the same scale in all directions.

    Args:
        model: The model.
        days: Observed days, from 0 `[N]`.
        deaths: Deaths on them `[N]`.
    """
    return Coordinates(lambda x: model.log_density(x, days, deaths), model.start)


def diagnose(model: Renewal, points: Tensor) -> dict[str, Any]:
    """The largest split R-hat and the smallest effective sample size of each quantity, and of all.

    Args:
        model: The model.
        points: Samples `[C, S, P]`.
    """
    quantities = [model.constrain(point) for point in points.flatten(0, 1)]
    found = torch.stack([torch.hstack(quantity) for quantity in quantities]).unflatten(0, points.shape[:2])
    r_hat, size = split_gelman_rubin(found, 0, 1), effective_sample_size(found, 0, 1)
    lengths = [part.numel() for part in quantities[0]]
    parts = zip(Quantities._fields, r_hat.split(lengths), size.split(lengths), strict=True)
    by_name = {name: (round(float(r.max()), 4), round(float(n.min()), 1)) for name, r, n in parts}
    return {
        "largest_r_hat": max(r for r, _ in by_name.values()),
        "smallest_effective_sample_size": min(n for _, n in by_name.values()),
        "r_hat": {name: r for name, (r, _) in by_name.items()},
        "effective_sample_size": {name: n for name, (_, n) in by_name.items()},
    }
