"""Bad input raises an error with a helpful message, and does not change the model."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.kernels import LinearKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    FixedNoiseGaussianLikelihood,
    GaussianLikelihood,
    Likelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
)

from gpvae import OnlineGP, online_gp
from gpvae.inducing import CosS, FourierFeatures, LegS, LegSPath, LegT, Points
from gpvae.kernels import UnsupportedKernelError
from tests.toys import FAMILIES, assert_refused, gaussian, matern, model, wave

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([0.0, NAN, 1.0], [1.0, 2.0, 3.0], r"x has 1 NaN or infinite.*index \(1, 0\)"),
        ([0.0, INF, 1.0], [1.0, 2.0, 3.0], "x has 1 NaN or infinite"),
        ([0.0, 0.5, 1.0], [1.0, INF, -INF], r"y has 2 infinite.*index \(1,\)"),
        ([0.0, 0.5, 1.0], [NAN, NAN, NAN], "all 3 targets of the batch are NaN"),
        ([0.0, 0.5, 1.0], [1.0, 2.0], r"y has shape \(2,\), expected \(3,\)"),
        ([0.0, 0.5, 1.0], [[1.0, 2.0, 3.0]], r"y has shape \(1, 3\), expected \(3,\)"),
        ([], [], "empty"),
        (np.zeros((2, 2, 2)), [1.0, 2.0], r"x must be \[N\] or \[N, D\], got shape \(2, 2, 2\)"),
        (1.0, 2.0, r"x must be \[N\] or \[N, D\]"),
        (np.zeros((3, 2)), [1.0, 2.0, 3.0], "2 input dimension"),
        ([-5.0, 1.0], [1.0, 2.0], "before the origin"),
        (np.zeros((3, 0)), [1.0, 2.0, 3.0], "dimension"),
    ],
)
@pytest.mark.parametrize("started", [False, True])
def test_bad_batches_are_refused(x: object, y: object, words: str, started: bool) -> None:
    """`update` and `fit_hyperparameters` raise, before the first batch and later."""
    gp = model(LegS(20, origin=0.0))
    if started:
        gp.update(*wave(20))
    elif "input dimension" in words:
        words = "one dimension"
    assert_refused(gp, lambda: gp.update(x, y), words)
    if "origin" not in words and "one dimension" not in words:
        assert_refused(gp, lambda: gp.fit_hyperparameters(x, y), words)
    gp.update(*wave(20))


@pytest.mark.parametrize(
    ("x", "words"),
    [([NAN], "NaN"), ([], "empty"), (np.zeros((2, 2)), "2 input dimension"), (np.zeros(()), "got shape")],
)
@pytest.mark.parametrize("query", ["predict", "latent", "sample", "reconstruct"])
def test_bad_queries_are_refused(x: object, words: str, query: str) -> None:
    """All methods that take inputs raise."""
    gp = model(LegS(20)).update(*wave(20))
    assert_refused(gp, lambda: getattr(gp, query)(x), words)


@pytest.mark.parametrize("x", [np.array(["a", "b"]), np.array([1, 2], dtype="timedelta64[D]"), None])
def test_inputs_that_are_no_numbers_are_refused_by_name(x: object) -> None:
    """For strings and durations, the error names x."""
    gp = model(LegS(20))
    assert_refused(gp, lambda: gp.update(x, [1.0, 2.0]), r"\bx\b", (TypeError, ValueError))


def test_targets_of_a_batch_of_outputs_must_match_it() -> None:
    """Targets must have shape `[*L, N]`."""
    shape = torch.Size([3])
    gp = OnlineGP(LegS(12), ScaleKernel(RBFKernel(batch_shape=shape), batch_shape=shape), GaussianLikelihood())
    x, y = wave(10)
    assert_refused(gp, lambda: gp.update(x, y), r"expected \(3, 10\)")
    assert_refused(gp, lambda: gp.update(x, torch.stack([y, y])), r"got|expected \(3, 10\)")


@pytest.mark.parametrize(
    ("likelihood", "bad", "words"),
    [
        (BernoulliLikelihood, -1.0, "labels 0 or 1; got -1"),
        (BernoulliLikelihood, 0.5, "labels 0 or 1; got 0.5"),
        (PoissonLikelihood, -1.0, "counts 0, 1, 2, ...; got -1"),
        (PoissonLikelihood, 1.5, "counts"),
        (NegativeBinomialLikelihood, -2.0, "counts"),
        (NegativeBinomialLikelihood, 0.1, "counts"),
    ],
)
def test_impossible_targets_are_refused(likelihood: type[Likelihood], bad: float, words: str) -> None:
    """The error has an example of them."""
    gp = OnlineGP(LegS(12), matern(), likelihood())
    assert_refused(gp, lambda: gp.update([0.0, 1.0], [1.0, bad]), words)
    assert_refused(gp, lambda: gp.fit_hyperparameters([0.0, 1.0], [1.0, bad]), words)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LegSPath(5, sampling="nope").advance(matern(), wave(5)[0]), "sampling must be one of"),
        (lambda: LegSPath(5, ordering="nope"), "ordering must be one of"),
        (lambda: LegSPath(5, evolution="nope"), "evolution must be one of"),
        (lambda: LegSPath(5, pairing="nope"), "pairing must be one of"),
        (lambda: LegSPath(5, dt=0.0), "dt must be positive"),
        (lambda: LegSPath(5, stride=0), "stride"),
        (lambda: LegS(0), "at least 1"),
        (lambda: Points(5, keep=1.5), "between 0 and 1"),
        (lambda: LegT(5, window=-1.0), "window must be positive"),
        (lambda: FourierFeatures(5, 1.0, 1.0), "end > start"),
        (lambda: model("nope"), 'or "auto"; got .nope'),
        (lambda: model("auto"), "requires num_inducing"),
        (lambda: model(LegS(5), power=1.5), "power must be between 0"),
        (lambda: model(LegS(5), power=-0.1), "power must be between 0"),
        (lambda: OnlineGP(LegS(5), matern(), BernoulliLikelihood(), power=0.5), "requires a Gaussian"),
    ],
)
def test_unknown_options_are_refused(make: Callable[[], object], words: str) -> None:
    """The error says what is possible instead."""
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("inducing", [LegS, [], [LegS], 5])
def test_what_is_no_family_is_refused(inducing: object) -> None:
    """A class instead of an instance, an empty list, a number: the error mentions inducing variables."""
    with pytest.raises((TypeError, ValueError), match="inducing"):
        model(inducing)


@pytest.mark.parametrize(
    "options",
    [{"steps": -1}, {"batch_size": 0}, {"batch_size": -3}, {"lr": -0.1}, {"lr": NAN}, {"lr": 0.0}],
    ids=lambda options: str(options),
)
def test_impossible_training_is_refused(options: dict[str, float]) -> None:
    """The error names the option."""
    gp = OnlineGP(LegS(12), matern(), BernoulliLikelihood())
    x, y = wave(10)
    arguments = {"steps": 2} | options
    assert_refused(
        gp, lambda: gp.update(x, (y > 0).double(), **arguments), next(iter(options)).replace("lr", "lr|learning rate")
    )


def test_a_likelihood_that_does_not_fit_the_stream_is_refused_by_name() -> None:
    """Noise that is fixed for 10 points is not defined for later points."""
    with pytest.raises((TypeError, ValueError), match="FixedNoise"):
        OnlineGP(LegS(12), matern(), FixedNoiseGaussianLikelihood(torch.full((10,), 0.1))).update(*wave(10), steps=1)


@pytest.mark.parametrize(("outputs", "own"), [([], [2]), ([3], [2]), ([2], [3, 2])])
def test_a_likelihood_for_other_outputs_than_those_of_the_kernel_is_refused(outputs: list[int], own: list[int]) -> None:
    kernel, likelihood = RBFKernel(batch_shape=torch.Size(outputs)), GaussianLikelihood(batch_shape=torch.Size(own))
    with pytest.raises(ValueError, match=r"GaussianLikelihood has batch shape .* give both the same batch_shape"):
        OnlineGP(LegS(5), kernel, likelihood)


def test_a_kernel_without_spectrum_is_refused_where_it_is_needed() -> None:
    """Families that do not need the spectrum accept it."""
    x, y = wave(20)
    gp = OnlineGP(LegSPath(5), ScaleKernel(LinearKernel()), gaussian())
    assert_refused(gp, lambda: gp.update(x, y), "LinearKernel", UnsupportedKernelError)
    gp = OnlineGP(FourierFeatures(5, 0.0, 3.0), ScaleKernel(RBFKernel()), gaussian())
    assert_refused(gp, lambda: gp.update(x, y), "MaternKernel", UnsupportedKernelError)
    gp = OnlineGP(LegS(5), ScaleKernel(LinearKernel()), gaussian()).update(x, 2 * x[:, 0])
    assert gp.predict([2.0]).mean.item() == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("family", ["LegS", "CosS", "LegT", "LagT", "FouT", "LegSRecurrence", "FourierFeatures"])
def test_families_over_time_refuse_inputs_of_several_dimensions(family: str) -> None:
    """The error says what to use instead."""
    gp = model(FAMILIES[family](8))
    assert_refused(gp, lambda: gp.update(torch.zeros(4, 2), torch.zeros(4)), "one dimension")


@pytest.mark.parametrize("family", ["LegS", "CosS", "LegT", "LagT", "FouT"])
def test_times_before_the_origin_are_refused(family: str) -> None:
    """The error says how to avoid it."""
    gp = model(FAMILIES[family](60 if family != "LagT" else 8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online_gp, "warn_unresolved", lambda *arguments, stacklevel: None)
        gp.update(*wave(20))
    assert_refused(gp, lambda: gp.update([-1.0], [0.0]), r"before the origin 0.*origin=")


@pytest.mark.parametrize("kernel", [RBFKernel, "rbf", gaussian()], ids=["class", "name", "likelihood"])
def test_what_is_no_kernel_is_refused(kernel: object) -> None:
    with pytest.raises(TypeError, match=r"kernel must be a kernel of gpytorch, such as gpytorch.kernels.RBFKernel\(\)"):
        OnlineGP(CosS(5), kernel, gaussian())


@pytest.mark.parametrize("num", [20.5, 0, "20"])
def test_a_number_of_variables_that_is_no_count_is_refused(num: object) -> None:
    with pytest.raises(ValueError, match=f"num_inducing must be a whole number of at least 1, got {num!r}"):
        CosS(num)
    assert CosS(np.int64(20)).num_inducing == 20


def test_nodes_without_an_axis_of_dimensions_are_named() -> None:
    """A family of your own that returns them as a vector."""

    class Flat(Points):
        @property
        def nodes(self) -> torch.Tensor:
            return super().nodes.flatten()

    with pytest.raises(ValueError, match=r"Flat.nodes must have shape \[Q, D\], got \(5,\); add an axis"):
        model(Flat(5)).update(*wave(20))
