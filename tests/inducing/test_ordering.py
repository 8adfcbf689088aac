"""Orders of a path: permutations, greedy walks as defined in the paper, and independence of the unit of time."""

from typing import get_args

import gpytorch.kernels as gk
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpvae.inducing import LegSPath
from gpvae.inducing.ordering import Ordering, order
from tests import oracle

ORDERINGS = get_args(Ordering)
TERM = oracle.Term(1.5, 1.0, (0.8,))


def kernel() -> gk.Kernel:
    matern = gk.MaternKernel(nu=1.5).double()
    matern.lengthscale = 0.8
    return matern.requires_grad_(False)


def points(num: int = 15, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(num, 2)))


def walk(x: np.ndarray, start: np.ndarray, best: type(max)) -> list[int]:
    """x_i = argmax (or argmin) of k(x, x_{i-1}) over the remaining points."""
    path, last, left = [], start, list(range(len(x)))
    while left:
        nearest = best(left, key=lambda i: TERM(x[i][None], last[None])[0, 0])
        path.append(nearest)
        left.remove(nearest)
        last = x[nearest]
    return path


@given(st.sampled_from(ORDERINGS), st.integers(1, 12), st.integers(0, 100), st.booleans())
def test_every_order_is_a_permutation(ordering: Ordering, num: int, seed: int, ties: bool) -> None:
    x = points(num, seed).round() if ties else points(num, seed)
    indices = order(ordering, kernel(), x, seed=seed)
    assert torch.equal(indices.sort().values, torch.arange(num))


@pytest.mark.parametrize(("ordering", "best"), [("kernel_max", max), ("kernel_min", min)])
def test_greedy_walks_are_those_of_the_paper(ordering: Ordering, best: type(max)) -> None:
    """They start from the zero vector in the first task, and from the last point of the previous task in later ones."""
    x = points().numpy()
    assert order(ordering, kernel(), points()).tolist() == walk(x, np.zeros(2), best)
    previous = np.array([1.5, -1.0])
    assert order(ordering, kernel(), points(), torch.from_numpy(previous)).tolist() == walk(x, previous, best)


def test_several_latent_dimensions_walk_by_their_average() -> None:
    batch = gk.RBFKernel(batch_shape=torch.Size([2])).double().requires_grad_(False)
    single = gk.RBFKernel().double().requires_grad_(False)
    single.lengthscale = float(batch.lengthscale[0])
    assert torch.equal(order("kernel_max", batch, points()), order("kernel_max", single, points()))


def test_sorted_orders_sort() -> None:
    x = points()
    assert torch.equal(x[order("first_dimension", kernel(), x), 0], x[:, 0].sort().values)
    assert torch.equal(x[order("l2_norm", kernel(), x)].norm(dim=-1), x.norm(dim=-1).sort().values)
    assert torch.equal(order("given", kernel(), x), torch.arange(len(x)))


def test_random_orders_depend_on_the_seed_alone() -> None:
    a, b, c = (order("random", kernel(), points(), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_unknown_orders_are_named() -> None:
    with pytest.raises(ValueError, match=r"ordering must be one of given, .*; got 'alphabetical'"):
        order("alphabetical", kernel(), points())
    with pytest.raises(ValueError, match="got 'alphabetical'"):
        LegSPath(4, ordering="alphabetical")


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_a_path_takes_its_points_in_order_and_goes_on_from_its_end(ordering: Ordering) -> None:
    first, second = points(8, 1), points(9, 2)
    path = LegSPath(5, 16, ordering=ordering).advance(kernel(), first)
    expected = first[order(ordering, kernel(), first, None, seed=0)]
    assert torch.equal(path.path, expected)
    path.advance(kernel(), second)
    assert torch.equal(path.path, second[order(ordering, kernel(), second, expected[-1], seed=1)])


def test_the_unit_of_path_time_does_not_matter() -> None:
    """LegS stretches with time: kuu is the same for any dt."""
    one, other = LegSPath(6, 32), LegSPath(6, 32, dt=0.037)
    for seed in (1, 2, 3):
        for family in (one, other):
            family.advance(kernel(), points(9, seed))
    torch.testing.assert_close(one.kuu(kernel()), other.kuu(kernel()), rtol=0, atol=1e-12)


def test_a_stride_keeps_every_nth_point() -> None:
    """stride=3 is the path of the points 0, 3, 6, .. of each task."""
    strided, thinned = LegSPath(6, 32, stride=3), LegSPath(6, 32)
    for seed in (1, 2):
        strided.advance(kernel(), points(12, seed))
        thinned.advance(kernel(), points(12, seed)[::3])
    torch.testing.assert_close(strided.kuu(kernel()), thinned.kuu(kernel()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", [{"dt": 0.0}, {"stride": 0}, {"num_frequencies": 0}])
def test_impossible_settings_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="dt must be positive, stride and num_frequencies at least 1"):
        LegSPath(4, **setting)
