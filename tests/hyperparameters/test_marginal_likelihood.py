"""Maximum marginal likelihood: it finds what is there, minds bounds and priors, and does not depend on units."""

import math

import pytest
import torch
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import CosineKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from gpvae import OnlineGP
from gpvae.hyperparameters.marginal_likelihood import HyperparameterWarning, exact_log_evidence, fit
from gpvae.inducing import CosS, LegS, PivotedPoints
from tests.equivalence import dense
from tests.toys import gaussian, matern, rbf, snapshot, states_equal, wave


def draw(kernel: ScaleKernel, x: Tensor, noise: float, seed: int = 0) -> Tensor:
    """A sample of the GP with noise."""
    K = kernel(x).to_dense().detach() + noise * torch.eye(len(x), dtype=torch.float64)
    rng = torch.Generator().manual_seed(seed)
    return torch.linalg.cholesky(K) @ torch.randn(len(x), generator=rng, dtype=torch.float64)


def grid(num: int = 200, end: float = 20.0) -> Tensor:
    return torch.linspace(0, end, num, dtype=torch.float64)[:, None]


def free(**options: object) -> OnlineGP:
    """A model whose noise is free to be small."""
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-30))
    return OnlineGP(CosS(40), ScaleKernel(RBFKernel(**options)), likelihood)


def found(gp: OnlineGP) -> tuple[float, float, float]:
    """Lengthscale, outputscale and noise."""
    return gp.kernel.base_kernel.lengthscale.item(), gp.kernel.outputscale.item(), gp.likelihood.noise.item()


def test_exact_log_evidence_is_the_textbook_one() -> None:
    """log N(y; 0, K + noise I)."""
    x, y = wave(20)
    kernel = matern()
    with torch.no_grad():
        expected = dense.log_normal(y, kernel(x).to_dense() + 0.1 * torch.eye(20, dtype=torch.float64))
        torch.testing.assert_close(exact_log_evidence(kernel, gaussian().noise, x, y), expected)


def test_gradient_of_the_log_evidence_is_that_of_finite_differences() -> None:
    """Also for several latents that share a kernel."""
    x, y = wave(20)
    kernel, likelihood = matern(), gaussian()
    parameters = [*kernel.parameters(), *likelihood.parameters()]

    def value() -> Tensor:
        return exact_log_evidence(kernel, likelihood.noise, x, torch.stack([y, 2 * y]))

    for parameter, gradient in zip(parameters, torch.autograd.grad(value(), parameters), strict=True):
        steps = []
        for step in (1e-5, -1e-5):
            parameter.data += step
            steps.append(value().item())
            parameter.data -= step
        assert gradient.item() == pytest.approx((steps[0] - steps[1]) / 2e-5, rel=1e-5)


def test_a_lengthscale_near_the_spacing_is_found() -> None:
    """Below a hundredth of the extent, where a long lengthscale with much noise is another optimum."""
    x = grid(300, 300.0)
    y = draw(rbf(2.0, 1.0), x, 0.05) + torch.sin(x[:, 0] / 50)
    gp = OnlineGP(CosS(60), ScaleKernel(RBFKernel()), GaussianLikelihood()).fit_hyperparameters(x, y)
    assert found(gp)[0] == pytest.approx(2.0, rel=0.5)


@pytest.mark.parametrize("period", [0.6, 1.0, 7.0])
def test_a_period_is_found_whatever_its_first_value(period: float) -> None:
    """Even where the first overtone is as strong."""
    x = 40 * torch.rand(200, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    angle = 2 * math.pi * x[:, 0] / period
    y = angle.sin() + 0.9 * (2 * angle).cos() + 0.1 * draw(rbf(1e-6, 1.0), x, 0.01)
    kernel, likelihood = ScaleKernel(PeriodicKernel()).double(), GaussianLikelihood().double()
    fit(kernel, likelihood, x, y)
    assert kernel.base_kernel.period_length.item() == pytest.approx(period, rel=0.01)
    kernel = ScaleKernel(CosineKernel()).double()
    fit(kernel, likelihood, x, angle.sin() + 0.1 * draw(rbf(1e-6, 1.0), x, 0.01))
    assert 2 * kernel.base_kernel.period_length.item() == pytest.approx(period, rel=0.01)  # half a cycle in gpytorch


def test_the_terms_of_a_sum_get_different_lengthscales() -> None:
    """Starts differ for each of them."""
    x = grid(200, 10.0)
    y = torch.sin(x[:, 0]) + 0.3 * torch.sin(20 * x[:, 0]) + 0.05 * draw(rbf(1e-6, 1.0), x, 0.01)
    kernel, likelihood = ScaleKernel(RBFKernel()) + ScaleKernel(RBFKernel()), GaussianLikelihood().double()
    fit(kernel.double(), likelihood, x, y)
    short, long = sorted(part.base_kernel.lengthscale.item() for part in kernel.kernels)
    assert long > 5 * short


@pytest.mark.parametrize("truth", [(0.5, 2.0, 0.05), (2.0, 0.5, 0.01)])
def test_known_hyperparameters_are_recovered(truth: tuple[float, float, float]) -> None:
    """From a draw of the GP itself, up to what 200 points can tell."""
    x = grid(200, 40 * truth[0])
    y = draw(rbf(*truth[:2]), x, truth[2])
    gp = OnlineGP(CosS(60), ScaleKernel(RBFKernel()), GaussianLikelihood()).fit_hyperparameters(x, y)
    with torch.no_grad():
        at_truth = exact_log_evidence(rbf(*truth[:2]), gaussian(truth[2]).noise, x, y)
        assert exact_log_evidence(gp.kernel, gp.likelihood.noise, x, y) > at_truth - 0.5
    lengthscale, outputscale, noise = found(gp)
    assert lengthscale == pytest.approx(truth[0], rel=0.4)
    assert math.log(outputscale) == pytest.approx(math.log(truth[1]), abs=0.8)
    assert noise == pytest.approx(truth[2], rel=0.35)
    assert not gp.posterior.started


def test_sparse_objective_agrees_with_the_exact_one() -> None:
    """With enough variables, max_exact does not matter."""
    x, y = wave(80)
    exact, sparse = (OnlineGP(CosS(40), ScaleKernel(RBFKernel()), GaussianLikelihood()) for _ in range(2))
    exact.fit_hyperparameters(x, y)
    sparse.fit_hyperparameters(x, y, max_exact=50)
    assert found(sparse) == pytest.approx(found(exact), rel=0.02)
    assert not sparse.inducing.started


@pytest.mark.parametrize("family", [LegS, PivotedPoints])
def test_sparse_objective_serves_every_family(family: type[LegS]) -> None:
    """It is the family's own bound."""
    x, y = wave(80)
    gp = OnlineGP(family(40), ScaleKernel(MaternKernel(nu=2.5)), GaussianLikelihood())
    gp.fit_hyperparameters(x, y, max_exact=50)
    assert found(gp)[2] == pytest.approx(0.1, rel=0.5)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_of_the_targets_do_not_matter(scale: float) -> None:
    """Targets times s: variances times s², lengthscale as before."""
    x, y = wave(80)
    one, other = free(), free()
    one.fit_hyperparameters(x, y)
    other.fit_hyperparameters(x, scale * y)
    lengthscale, outputscale, noise = found(one)
    assert found(other)[0] == pytest.approx(lengthscale, rel=0.02)
    assert found(other)[1] == pytest.approx(outputscale * scale**2, rel=0.1)
    assert found(other)[2] == pytest.approx(noise * scale**2, rel=0.02)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_of_the_inputs_do_not_matter(scale: float) -> None:
    """Inputs times s: lengthscale times s, variances as before."""
    x, y = wave(80)
    one, other = free(), free()
    one.fit_hyperparameters(x, y)
    other.fit_hyperparameters(scale * x, y)
    lengthscale, outputscale, noise = found(one)
    assert found(other)[0] == pytest.approx(lengthscale * scale, rel=0.02)
    assert found(other)[1] == pytest.approx(outputscale, rel=0.1)
    assert found(other)[2] == pytest.approx(noise, rel=0.02)


@pytest.mark.parametrize("start", [1e-4, 1e4])
def test_restarts_escape_a_bad_start(start: float) -> None:
    """A lengthscale far off has no gradient; other starts have."""
    x, y = wave(80)
    good, bad = (OnlineGP(CosS(40), rbf(length, 1.0), gaussian()) for length in (0.7, start))
    for gp in (good, bad):
        gp.fit_hyperparameters(x, y)
    assert found(bad)[0] == pytest.approx(found(good)[0], rel=0.02)


@pytest.mark.parametrize("kind", ["noise", "zero", "constant", "one point", "two points", "same input"])
@pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning")
def test_data_that_say_nothing_give_finite_hyperparameters(kind: str) -> None:
    """And predictions that follow what little there is."""
    x, _ = wave(30)
    noise = torch.randn(30, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    x, y = {
        "noise": (x, noise),
        "zero": (x, torch.zeros(30, dtype=torch.float64)),
        "constant": (x, torch.full((30,), 7.0, dtype=torch.float64)),
        "one point": (x[:1], noise[:1]),
        "two points": (x[:2], noise[:2]),
        "same input": (torch.ones_like(x), noise),
    }[kind]
    gp = OnlineGP(PivotedPoints(10), ScaleKernel(RBFKernel()), GaussianLikelihood())
    gp.fit_hyperparameters(x, y)
    assert all(math.isfinite(value) and value > 0 for value in found(gp))
    gp.update(x, y)
    y_hat = gp.predict(x)
    assert torch.isfinite(y_hat.log_prob(y)).all()
    if kind == "constant":
        torch.testing.assert_close(y_hat.mean, y, rtol=0.05, atol=0)


def test_a_fit_that_ends_on_a_bound_says_so() -> None:
    """With the parameter and its value."""
    x, _ = wave(40)
    rough = torch.tensor([(-1.0) ** i for i in range(40)], dtype=torch.float64)
    gp = OnlineGP(CosS(40), ScaleKernel(RBFKernel()), GaussianLikelihood())
    with pytest.warns(HyperparameterWarning, match="bound"):
        gp.fit_hyperparameters(x, 1e-6 * rough)


def test_the_warning_points_at_the_caller() -> None:
    """Its line is the user's, not the package's."""
    x, _ = wave(10)
    gp = OnlineGP(CosS(40), ScaleKernel(RBFKernel()), GaussianLikelihood())
    with pytest.warns(HyperparameterWarning) as caught:
        gp.fit_hyperparameters(x, torch.zeros(10))
    assert caught[0].filename == __file__


def test_frozen_parameters_stay() -> None:
    """requires_grad = False takes a parameter out of the search."""
    x, y = wave(40)
    gp = OnlineGP(CosS(40), rbf(0.9, 1.0), gaussian(0.3))
    gp.likelihood.raw_noise.requires_grad_(False)
    gp.kernel.base_kernel.raw_lengthscale.requires_grad_(False)
    gp.fit_hyperparameters(x, y)
    assert found(gp)[0] == pytest.approx(0.9)
    assert found(gp)[2] == pytest.approx(0.3)
    assert found(gp)[1] != pytest.approx(1.0, abs=1e-3)


def test_nothing_to_fit_is_fine() -> None:
    """All frozen: nothing happens."""
    fixed = rbf(0.9, 1.0).requires_grad_(False), gaussian(0.3).requires_grad_(False)
    gp = OnlineGP(CosS(40), *fixed, mean=ZeroMean())
    before = snapshot(gp)
    gp.fit_hyperparameters(*wave(20))
    assert states_equal(before, snapshot(gp))


def test_registered_priors_count() -> None:
    """A tight prior holds the lengthscale where the data alone would not have it."""
    x, y = wave(40)
    prior = LogNormalPrior(math.log(3.0), 0.01)
    gp = OnlineGP(CosS(40), ScaleKernel(RBFKernel(lengthscale_prior=prior)), GaussianLikelihood())
    gp.fit_hyperparameters(x, y)
    assert found(gp)[0] == pytest.approx(3.0, rel=0.1)


@pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning")
def test_constraints_of_the_user_count() -> None:
    """An interval from gpytorch holds, at either end."""
    x, y = wave(60)
    for low, high in ((1.5, 2.0), (0.05, 0.2)):
        kernel = ScaleKernel(RBFKernel(lengthscale_constraint=Interval(low, high)))
        gp = OnlineGP(CosS(60), kernel, GaussianLikelihood())
        gp.fit_hyperparameters(x, y)
        assert low <= found(gp)[0] <= high
        assert found(gp)[2] < 1.0


def test_an_idle_input_gets_a_long_lengthscale() -> None:
    """Automatic relevance determination, without a warning."""
    rng = torch.Generator().manual_seed(0)
    x = torch.rand(120, 2, generator=rng, dtype=torch.float64)
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(120, generator=rng, dtype=torch.float64)
    gp = OnlineGP(PivotedPoints(30), ScaleKernel(RBFKernel(ard_num_dims=2)), GaussianLikelihood())
    gp.fit_hyperparameters(x, y)
    relevant, idle = gp.kernel.base_kernel.lengthscale.detach()[0].tolist()
    assert idle > 5 * relevant


def test_outputs_of_a_batch_are_fitted_each_for_itself() -> None:
    """`[*L]` hyperparameters agree with those of separate fits."""
    shape = torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=shape), batch_shape=shape).double()
    likelihood = GaussianLikelihood(batch_shape=shape).double()
    x, y = wave(60)
    other = torch.sin(9 * x[:, 0]) + 0.05 * y
    fit(kernel, likelihood, x, torch.stack([y, other]))
    for i, target in enumerate((y, other)):
        alone = OnlineGP(CosS(40), ScaleKernel(RBFKernel()), GaussianLikelihood())
        alone.fit_hyperparameters(x, target)
        assert kernel.base_kernel.lengthscale[i].item() == pytest.approx(found(alone)[0], rel=0.1)
        assert likelihood.noise[i].item() == pytest.approx(found(alone)[2], rel=0.3)


@pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning")
def test_a_sum_of_kernels_is_fitted() -> None:
    """Slow and fast parts; one that is not needed may end on its bound."""
    x, y = wave(60)
    kernel = ScaleKernel(RBFKernel()) + ScaleKernel(MaternKernel(nu=1.5))
    gp = OnlineGP(CosS(60), kernel, GaussianLikelihood())
    gp.fit_hyperparameters(x, y)
    gp.update(x, y)
    assert gp.likelihood.noise.item() == pytest.approx(0.1, rel=0.6)


def test_a_fit_in_the_middle_of_a_stream_looks_at_its_batch_alone() -> None:
    """The sparse objective begins with the batch, not with the memory of the stream."""
    x, y = wave(60)
    later, first = (OnlineGP(LegS(25), rbf(1.0, 1.0), gaussian(), mean=ZeroMean()) for _ in range(2))
    later.update(x - 3.0, y)
    for gp in (later, first):
        gp.fit_hyperparameters(x, y, max_exact=20)
    assert found(later) == pytest.approx(found(first), rel=0.02)
