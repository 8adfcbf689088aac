"""Samples of the renewal model by NUTS, several chains one after the other, and whether they agree."""

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

#: At most 2⁷ - 1 gradients a sample.
DEEPEST = 7
#: Which share of its proposals a chain is to accept: with more, steps are shorter, and few of them diverge.
ACCEPTED = 0.95
#: How often to look for the mode, each time in the coordinates of what data say near the one before.
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
        samples = [self.model.cut(point) for point in self.points.flatten(0, 1)]
        means = [self.model.expected_deaths(sample)[days] for sample in samples]
        return counts(torch.stack(means, dim=-1), torch.stack([sample.spread for sample in samples]))


def sample(days: Tensor, deaths: Tensor, num_days: int, chains: int, warmup: int, samples: int, seed: int) -> Drawn:
    """Sample the model.

    Args:
        days: Days that were observed, from 0 `[N]`.
        deaths: Deaths on them `[N]`.
        num_days: How many days there are in all.
        chains: How many chains.
        warmup: Steps of each that only adapt.
        samples: Steps of each after these.
        seed: Seed of the chains.
    """
    model, started = Renewal(num_days), time.monotonic()
    coordinates = around_mode(model, days, deaths)
    for _ in range(ROUNDS - 1):
        model = model.around(model.cut(coordinates.mode), days, deaths)
        coordinates = around_mode(model, days, deaths)
    drawn, divergences = [], 0
    for chain in range(chains):
        pyro.set_rng_seed(1000 * seed + chain)
        how = {"adapt_mass_matrix": False, "target_accept_prob": ACCEPTED, "max_tree_depth": DEEPEST}
        kernel = NUTS(potential_fn=coordinates, **how)
        # As far apart as draws from the posterior, as judged at its mode.
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
    """Coordinates in which the posterior is about as wide in all directions.

    Args:
        model: The model.
        days: Days that were observed, from 0 `[N]`.
        deaths: Deaths on them `[N]`.
    """
    return Coordinates(lambda x: model.log_density(x, days, deaths), model.start)


def diagnose(model: Renewal, points: Tensor) -> dict[str, Any]:
    """The largest split R-hat and the smallest effective sample size of each quantity, and of all.

    Args:
        model: The model.
        points: Samples `[C, S, P]`.
    """
    quantities = [model.cut(point) for point in points.flatten(0, 1)]
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
