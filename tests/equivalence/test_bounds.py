"""The bound is a bound: below the exact log evidence, for every family, at any M, over any tasks."""

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpvae.kernels import variance
from tests.equivalence import dense
from tests.toys import FAMILIES, model, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
NOISE = torch.tensor(0.1, dtype=torch.float64)


@pytest.mark.parametrize("num_inducing", [1, 2, 5, 12, 25])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_bound_is_below_the_exact_log_evidence(family: str, num_inducing: int) -> None:
    """Bound <= log p(y) of all data, after every task, under the covariance that the family works with."""
    x, y = wave(60)
    gp, seen = model(FAMILIES[family](num_inducing)), 0
    for part in (x[:20], x[20:21], x[21:60]):
        gp.update(part, y[seen : seen + len(part)])
        seen += len(part)
        with torch.no_grad():
            K = gp.inducing.kff(gp.kernel, x[:seen]) + NOISE * torch.eye(seen, dtype=x.dtype)
        assert gp.bound() <= dense.log_normal(y[:seen], K) + 2e-4


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    num_inducing=st.integers(1, 15),
    sizes=st.lists(st.integers(2, 20), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
)
def test_random_streams_keep_the_laws(family: str, num_inducing: int, sizes: list[int], seed: int) -> None:
    """For any stream the bound is valid, variances are between zero and the prior's, and results are finite."""
    x, y = wave(sum(sizes), seed)
    gp = model(FAMILIES[family](num_inducing))
    for part, targets in zip(x.split(sizes), y.split(sizes), strict=True):
        gp.update(part, targets)
    with torch.no_grad():
        K = gp.inducing.kff(gp.kernel, x) + NOISE * torch.eye(len(x), dtype=x.dtype)
        s = torch.linspace(-0.9, 4.9, 50, dtype=torch.float64)[:, None]
        prior = variance(gp.kernel, s)
    assert gp.bound() <= dense.log_normal(y, K) + 2e-4
    f = gp.latent(s)
    assert torch.isfinite(f.mean).all()
    assert (f.variance >= 0).all()
    assert (f.variance <= prior * (1 + 1e-6)).all()


@pytest.mark.parametrize("family", ["LegS", "CosS"])
def test_more_variables_raise_the_bound_of_one_task(family: str) -> None:
    """The variables of M include those of M - 1, so the bound of one task grows with M."""
    x, y = wave(40)
    bounds = [float(model(FAMILIES[family](m)).update(x, y).bound()) for m in range(2, 16)]
    assert all(after >= before - 1e-6 for before, after in itertools.pairwise(bounds))
