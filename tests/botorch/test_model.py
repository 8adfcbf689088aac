"""The model in BoTorch's own machinery: shapes, gradients, acquisition functions, a loop of constant memory."""

import copy

import pytest
import torch
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood
from torch import Tensor

botorch = pytest.importorskip("botorch", reason="needs the extra gpvae[botorch]")

from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement  # noqa: E402
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient  # noqa: E402
from botorch.acquisition.monte_carlo import qUpperConfidenceBound  # noqa: E402
from botorch.acquisition.objective import ScalarizedPosteriorTransform  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from botorch.optim import optimize_acqf  # noqa: E402
from botorch.sampling import SobolQMCNormalSampler  # noqa: E402

from gpvae import Bank, OnlineGP  # noqa: E402
from gpvae.botorch import OnlineGPModel  # noqa: E402
from gpvae.inducing import PivotedPoints  # noqa: E402

BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
NOISE = 1e-2


def peak(X: Tensor) -> Tensor:
    """A smooth function on the unit square with its maximum, 1, at (0.7, 0.3)."""
    return torch.exp(-4 * ((X - torch.tensor([0.7, 0.3]).to(X)) ** 2).sum(-1))


def points(num: int, seed: int = 0) -> Tensor:
    return torch.rand(num, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def kernel(outputs: int = 0) -> ScaleKernel:
    shape = torch.Size([outputs] if outputs else [])
    made = ScaleKernel(MaternKernel(nu=2.5, batch_shape=shape), batch_shape=shape).double()
    made.base_kernel.lengthscale, made.outputscale = 0.4, 1.0
    return made


def online_gp(num_inducing: int = 40, outputs: int = 0) -> OnlineGP:
    likelihood = GaussianLikelihood(batch_shape=torch.Size([outputs] if outputs else [])).double()
    likelihood.noise = NOISE
    return OnlineGP(PivotedPoints(num_inducing), kernel(outputs), likelihood)


def learnt(num_inducing: int = 40) -> OnlineGPModel:
    X = points(20)
    return OnlineGPModel(online_gp(num_inducing).update(X, peak(X)))


def exact(model: OnlineGPModel, X: Tensor, Y: Tensor) -> SingleTaskGP:
    """BoTorch's own model with the same kernel, noise and mean, on given data."""
    other = SingleTaskGP(X, Y, torch.full_like(Y, NOISE), covar_module=copy.deepcopy(kernel()), outcome_transform=None)
    other.mean_module.load_state_dict({"raw_constant": model.gp.mean.mean.raw_constant.detach()})
    return other.eval()


def test_posterior_is_that_of_an_exact_gp_with_as_many_points_as_data() -> None:
    model, X = learnt(), points(20)
    ours, theirs = model.posterior(points(7, 1)), exact(model, X, peak(X)[:, None]).posterior(points(7, 1))
    torch.testing.assert_close(ours.mean, theirs.mean, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours.variance, theirs.variance, rtol=0, atol=1e-5)
    noisy = model.posterior(points(7, 1), observation_noise=True)
    torch.testing.assert_close(noisy.variance, ours.variance + NOISE)


def test_batches_are_the_sets_one_by_one() -> None:
    model, X = learnt(), points(24, 1).reshape(2, 4, 3, 2)
    f = model.posterior(X)
    assert f.mean.shape == (2, 4, 3, 1)
    for i in range(2):
        for j in range(4):
            one = model.posterior(X[i, j])
            torch.testing.assert_close(f.mean[i, j], one.mean)
            torch.testing.assert_close(
                f.distribution.covariance_matrix[i, j], one.distribution.covariance_matrix, rtol=0, atol=1e-9
            )


def test_outputs_are_independent_and_can_be_chosen() -> None:
    X = points(20)
    model = OnlineGPModel(online_gp(outputs=2).update(X, torch.stack([peak(X), -3 * peak(X)])))
    assert model.num_outputs == 2
    f = model.posterior(points(15, 1).reshape(5, 3, 2))
    assert f.mean.shape == (5, 3, 2)
    assert f.rsample(torch.Size([4])).shape == (4, 5, 3, 2)
    only = model.posterior(points(15, 1).reshape(5, 3, 2), output_indices=[1])
    torch.testing.assert_close(only.mean[..., 0], f.mean[..., 1])
    weighed = model.posterior(
        points(3, 1), posterior_transform=ScalarizedPosteriorTransform(torch.tensor([3.0, 1.0]).double())
    )
    torch.testing.assert_close(weighed.mean, torch.zeros(3, 1).double(), rtol=0, atol=1e-2)


def test_gradients_by_inputs_are_those_of_finite_differences() -> None:
    model, X = learnt(), points(6, 1).reshape(3, 2, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda X: model.posterior(X).mean, X)
    assert torch.autograd.gradcheck(lambda X: model.posterior(X).distribution.covariance_matrix, X)


def test_fantasies_are_observations() -> None:
    """Supposing observations equals learning them, as long as the inducing points suffice."""
    model, X, new = learnt(), points(5, 1), points(3, 2)
    Y = peak(new)[:, None]
    known = model.condition_on_observations(new, Y).posterior(X)
    supposed = model.condition_on_observations(new[None], Y[None])
    assert supposed.batch_shape == (1,)
    torch.testing.assert_close(supposed.posterior(X).mean[0], known.mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(supposed.posterior(X).variance[0], known.variance, rtol=0, atol=1e-4)
    one_by_one = model.condition_on_observations(new[None, :1], Y[None, :1]).condition_on_observations(
        new[None, 1:], Y[None, 1:]
    )
    torch.testing.assert_close(one_by_one.posterior(X).mean, supposed.posterior(X).mean)


def test_fantasies_average_to_what_is_known() -> None:
    """The mean over fantasies is the posterior mean, and every fantasy reduces the variance alike."""
    model, X, new = learnt(), points(5, 1), points(8, 2).reshape(4, 2, 2)
    fantasy = model.fantasize(new, SobolQMCNormalSampler(torch.Size([4096]), seed=0))
    assert fantasy.batch_shape == (4096, 4)
    f = fantasy.posterior(X)
    assert f.mean.shape == (4096, 4, 5, 1)
    torch.testing.assert_close(f.mean.mean(0), model.posterior(X).mean.expand(4, 5, 1), rtol=0, atol=1e-3)
    assert (f.variance <= model.posterior(X).variance + 1e-12).all()


@pytest.mark.parametrize("name", ["LogEI", "qLogEI", "qUCB", "KG"])
def test_acquisition_functions_agree_with_an_exact_gp(name: str) -> None:
    """Values and gradients are those that BoTorch's own model gives for the same data, kernel and noise."""
    X = points(20)
    ours = learnt()
    values, gradients = [], []
    for model in (ours, exact(ours, X, peak(X)[:, None])):
        sampler = SobolQMCNormalSampler(torch.Size([16]), seed=0)
        make = {
            "LogEI": lambda m: LogExpectedImprovement(m, 0.8),
            "qLogEI": lambda m, sampler=sampler: qLogExpectedImprovement(m, 0.8, sampler=sampler),
            "qUCB": lambda m, sampler=sampler: qUpperConfidenceBound(m, 0.1, sampler=sampler),
            "KG": lambda m, sampler=sampler: qKnowledgeGradient(m, num_fantasies=16, sampler=sampler),
        }[name]
        q = {"LogEI": 1, "KG": 1 + 16}.get(name, 2)
        at = points(3 * q, 1).reshape(3, q, 2).requires_grad_()
        value = make(model)(at)
        values.append(value.detach())
        gradients.append(torch.autograd.grad(value.sum(), at)[0])
    torch.testing.assert_close(values[0], values[1], rtol=0, atol=2e-3)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-2, atol=1e-2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        q = {"LogEI": 1, "KG": 1}.get(name, 2)
        found, _ = optimize_acqf(make(ours), BOUNDS, q=q, num_restarts=2, raw_samples=16, options={"maxiter": 20})
    assert ((found >= 0) & (found <= 1)).all()


def test_a_loop_finds_the_peak_and_its_memory_stays_constant() -> None:
    X = points(5)
    model = OnlineGPModel(online_gp(20).update(X, peak(X)))
    best, sizes = float(peak(X).max()), set()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(12):
            acquisition = LogExpectedImprovement(model, best)
            found, _ = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=16)
            model = model.condition_on_observations(found, peak(found)[:, None])
            best = max(best, float(peak(found)))
            consolidated = copy.deepcopy(model.gp).consolidate()  # besides it, fewer than `buffer_size` points wait
            sizes.add(sum(value.numel() for value in consolidated.state_dict().values()))
    assert len(sizes) == 1
    assert best > 0.98
    assert int(model.gp.inputs.num_points) == 17


def test_learning_leaves_the_former_model_as_it_was() -> None:
    model, X = learnt(), points(5, 1)
    before = model.posterior(X).mean
    model.condition_on_observations(X, 7 + peak(X)[:, None], noise=torch.full((5, 1), 0.1).double())
    assert torch.equal(model.posterior(X).mean, before)


def test_models_that_botorch_cannot_use_are_refused() -> None:
    with pytest.raises(TypeError, match="Gaussian likelihood is needed, got Bernoulli"):
        OnlineGPModel(OnlineGP(PivotedPoints(5), kernel(), BernoulliLikelihood()))
    with pytest.raises(TypeError, match="posterior of a Bank is a mixture"):
        OnlineGPModel(Bank(PivotedPoints(5), kernel(), GaussianLikelihood(), size=2))
    with pytest.raises(ValueError, match="there is one output"):
        learnt().posterior(points(3), output_indices=[1])
