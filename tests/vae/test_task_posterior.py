"""The posterior of a task: its values, and the derivatives that are written out by hand."""

import torch
from torch import Tensor

from gpvae.bounds import online_elbo
from gpvae.inducing import CosS
from gpvae.methods import latent_kernel
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.streaming import Frame
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.task_posterior import TaskPosterior

B, L, M, T = 3, 2, 4, 5


def given(trained: bool) -> tuple[TimeFeatures, list[Tensor]]:
    """Features, which may be trained, and pseudo-observations, precisions and the parts of the past."""
    torch.manual_seed(0)
    kernel, times = latent_kernel("rbf", L, 1.0, 3.0).double(), torch.linspace(0, 4, T, dtype=torch.float64)
    family = CosS(M).advance(kernel, times[:, None])
    with torch.no_grad():
        features = TimeFeatures.of(Frame.of(family, kernel), times)
    features.a.requires_grad_(trained)
    root = torch.randn(B, L, M, M, dtype=torch.float64)
    y, precision = torch.randn(B, L, T, dtype=torch.float64), torch.rand(B, L, T, dtype=torch.float64) + 0.5
    past = torch.randn(B, L).double(), torch.randn(B, L, M).double(), root @ root.mT
    return features, [y, precision, *past]


def infer(features: TimeFeatures, y: Tensor, precision: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
    q = TaskPosterior.of(features, Site(*past), y, precision)
    return q.mean, q.stddev, q.prior_terms


def test_it_is_the_conjugate_posterior_and_its_terms_are_those_of_the_bound() -> None:
    features, (y, precision, *past) = given(trained=False)
    mean, stddev, terms = infer(features, y, precision, *past)
    task = Site(
        torch.zeros(B, L).double(), features.weighted_sum(precision * y), features.weighted_outer_sum(precision)
    )
    q = Posterior.from_site(Site(*past) + task)
    for ours, expected in zip((mean, stddev**2), q.marginals(features.a, features.prior), strict=True):
        torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(terms, online_elbo(q, Site(*past), torch.zeros(B, L).double()).sum(-1))


def test_derivatives() -> None:
    features, inputs = given(trained=False)
    y, precision, c, h, root = *inputs[:4], torch.linalg.cholesky(inputs[4])

    def of(y: Tensor, precision: Tensor, c: Tensor, h: Tensor, root: Tensor) -> tuple[Tensor, ...]:
        return infer(features, y, precision, c, h, root @ root.mT)  # G stays symmetric

    assert torch.autograd.gradcheck(of, [part.requires_grad_() for part in (y, precision, c, h, root)])


def test_derivatives_by_trained_features_and_a_past_that_series_share() -> None:
    features, (y, precision, *past) = given(trained=True)
    shared = [part[0] for part in past]

    def of(a: Tensor, residual: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        other = TimeFeatures(features.frame, a, features.prior, residual, features.times)
        return infer(other, y, precision, *shared)

    trained = [part.detach().requires_grad_() for part in (features.a, features.residual, y)]
    assert torch.autograd.gradcheck(of, trained)


def test_a_matrix_that_is_not_positive_definite_makes_the_bound_nan() -> None:
    features, (y, precision, c, h, G) = given(trained=False)
    G[1, 0] = -100 * torch.eye(M)
    terms = infer(features, y, precision, c, h, G)[2]
    assert terms.isnan().tolist() == [False, True, False]


def test_single_precision_is_that_of_double_precision_up_to_rounding() -> None:
    features, inputs = given(trained=False)
    for ours, expected in zip(
        infer(features.to(features.a.device, torch.float32), *inputs), infer(features, *inputs), strict=True
    ):
        torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=1e-5)
