"""GPs in closed form agree with the exact GP, with OnlineGP, and with themselves however the data are given."""

import copy

import pytest
import torch
from gpytorch.means import ZeroMean
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import ChosenCosines
from gpvae.kernels import covariance
from gpvae.modules import SeriesGP
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.wave_kernel import WaveKernel
from tests.toys import gaussian

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
Data = tuple[Tensor, Tensor, Tensor]
HOURS, LENGTH, NUM_SERIES, NUM_VARIABLES = 144, 48, 3, 2


def weather(missing: float = 0.0, hours: int = HOURS, seed: int = 0) -> list[Data]:
    """Tasks of 48 hours: a daily wave and a slow one, each variable its own, with noise."""
    rng = torch.Generator().manual_seed(seed)
    times = torch.arange(hours, dtype=torch.float64)
    phase = torch.rand(NUM_SERIES, 1, NUM_VARIABLES, generator=rng, dtype=torch.float64)
    t = times[None, :, None]
    y = torch.sin(2 * torch.pi * (t / 24 + phase)) + torch.cos(t / 17 + 5 * phase)
    y = (y + 0.1 * torch.randn(y.shape, generator=rng, dtype=torch.float64)).float()
    mask = torch.rand(y.shape, generator=rng) >= missing
    y = torch.where(mask, y, 0.0)
    return list(zip(times.split(LENGTH), y.split(LENGTH, 1), mask.split(LENGTH, 1), strict=True))


def learnt(tasks: list[Data], **options: object) -> SeriesGP:
    defaults = {"num_inducing": 60, "num_variables": NUM_VARIABLES, "periods": [24.0], "horizon": float(HOURS)}
    module = SeriesGP(**(defaults | options))  # type: ignore[arg-type]
    for task in tasks:
        module.begin_task(*task)
        module.end_task()
    return module


def plain(module: SeriesGP, times: Tensor, series: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the GP itself, without the calibration of its spread."""
    y = module.gp.predict(times, series)
    return y.mean, y.variance / module.gp.spread(times)


def everything(tasks: list[Data]) -> Data:
    times, y, mask = zip(*tasks, strict=True)
    return torch.cat(times), torch.cat(y, 1), torch.cat(mask, 1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_with_enough_variables_it_is_the_exact_gp(missing: float, power: float) -> None:
    """After three tasks, at all times, with the kernel of the first task."""
    tasks = weather(missing)
    module = learnt(tasks, num_inducing=144, kernel="rbf", power=power)
    times, y, mask = everything(tasks)
    at = torch.linspace(0, HOURS - 1, 50, dtype=torch.float64)
    mean, var = plain(module, at, torch.arange(NUM_SERIES))
    kernel, noise = module.gp.kernel.requires_grad_(False), module.gp.noise.detach()
    kff, kfs = (covariance(kernel, times[:, None], x[:, None]) for x in (times, at))
    for series in range(NUM_SERIES):
        for v in range(NUM_VARIABLES):
            seen = mask[series, :, v]
            K = kff[v][seen][:, seen] + noise[v] * torch.eye(int(seen.sum()), dtype=torch.float64)
            weights = torch.linalg.solve(K, kfs[v][seen])
            expected = weights.mT @ y[series, seen, v].double()
            spread = covariance(kernel, at[:, None], at[:, None])[v].diagonal() - (weights * kfs[v][seen]).sum(0)
            torch.testing.assert_close(mean[series, :, v], expected, atol=2e-3, rtol=0)
            torch.testing.assert_close(var[series, :, v], spread + noise[v], atol=2e-3, rtol=0)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_each_variable_of_each_series_is_an_online_gp(power: float) -> None:
    """Within a horizon, with evenly spaced times in each interval."""
    tasks = weather()
    module = learnt(tasks, num_inducing=40, power=power)
    at = torch.linspace(0, HOURS - 1, 30, dtype=torch.float64)
    mean, var = plain(module, at, torch.arange(NUM_SERIES))
    for v in range(NUM_VARIABLES):
        kernel = WaveKernel("matern12", 1, [24.0])
        for name, parameter in kernel.named_parameters():
            parameter.data = module.gp.kernel.get_parameter(name).data[v : v + 1].clone()
        for series in range(NUM_SERIES):
            family = ChosenCosines(40, horizon=float(HOURS), periods=[24.0])
            gp = OnlineGP(
                family,
                copy.deepcopy(kernel),
                gaussian(float(module.gp.noise[v].detach())),
                mean=ZeroMean(),
                power=power,
            )
            for times, y, _ in tasks:
                gp.update(times[:, None], y[series, :, v].double()[None])
            expected = gp.predict(at[:, None])
            torch.testing.assert_close(mean[series, :, v], expected.mean[0], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(var[series, :, v], expected.variance[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_stream_that_outgrew_its_horizon_has_the_precisions_of_a_longer_one(missing: float) -> None:
    """Precisions follow from the observed times, however often the inducing variables have changed."""
    tasks = weather(missing)
    grown, planned = learnt(tasks, horizon=48.0), learnt(tasks, horizon=192.0)
    torch.testing.assert_close(grown.gp.posterior.G, planned.gp.posterior.G)
    torch.testing.assert_close(grown.gp.posterior.observed.nodes, planned.gp.posterior.observed.nodes)
    torch.testing.assert_close(grown.gp.site_of().G, planned.gp.site_of().G)


@torch.no_grad()
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_few_numbers_stand_for_precisions(missing: float) -> None:
    """With many times in each interval, and variances within a tenth."""
    tasks = weather(missing)
    module = learnt(tasks, num_inducing=12)
    times, _, mask = everything(tasks)
    frame, _ = module.gp.posterior.present_frame(module.gp.kernel)
    features = TimeFeatures.of(frame, times)
    precision = 1 / (module.gp.noise + module.gp.posterior.power * features.residual)
    G = features.weighted_outer_sum(mask.mT * precision)
    h = torch.zeros(NUM_SERIES, NUM_VARIABLES, 12, dtype=torch.float64)
    exact, ours = (Posterior.from_site(Site(h[..., 0], h, part)) for part in (G, module.gp.site_of().G))
    var, expected = features.marginals(ours)[1], features.marginals(exact)[1]
    torch.testing.assert_close(var.expand_as(expected), expected, rtol=0.1, atol=0)


def test_complete_series_share_one_precision_until_a_value_is_missing() -> None:
    tasks = weather()
    module = learnt(tasks[:2])
    assert len(module.gp.posterior.G) == 1
    assert len(module.gp.posterior.h) == NUM_SERIES
    times, y, mask = tasks[2]
    mask = mask.clone()
    mask[1, :5, 0] = False
    module.begin_task(times, y, mask)
    module.end_task()
    assert len(module.gp.posterior.G) == NUM_SERIES
    assert not torch.equal(module.gp.posterior.G[0], module.gp.posterior.G[1])
    torch.testing.assert_close(module.gp.posterior.G[0], module.gp.posterior.G[2])


def test_complete_data_give_the_same_whether_or_not_the_precision_is_shared() -> None:
    tasks = weather()
    shared, own = learnt(tasks[:1]), learnt(tasks[:1])
    own.gp.posterior.common.fill_(False)
    own.gp.posterior.G = own.gp.posterior.G.repeat(NUM_SERIES, NUM_VARIABLES, 1)
    for module in (shared, own):
        module.begin_task(*tasks[1])
        module.end_task()
    at = torch.linspace(0, 90, 20, dtype=torch.float64)
    for one, other in zip(plain(shared, at, torch.arange(3)), plain(own, at, torch.arange(3)), strict=True):
        torch.testing.assert_close(one.expand_as(other), other)


def test_within_its_horizon_a_stream_ends_as_if_learnt_at_once() -> None:
    """Sites add: there is no transport, and nothing is forgotten."""
    tasks = weather()
    in_tasks = learnt(tasks)
    at_once = learnt(tasks[:1])
    times, y, mask = everything(tasks[1:])
    at_once.begin_task(times, y, mask)
    at_once.end_task()
    torch.testing.assert_close(in_tasks.gp.posterior.h, at_once.gp.posterior.h)
    torch.testing.assert_close(in_tasks.gp.posterior.G, at_once.gp.posterior.G)


def test_a_stream_that_outgrows_its_horizon_doubles_it_and_says_so() -> None:
    tasks = weather()
    module = learnt(tasks[:1], horizon=60.0, num_inducing=12)
    with pytest.warns(UserWarning, match=r"longer than the 60 units of time planned for.*now stand for 120"):
        module.begin_task(*tasks[1])
    module.end_task()
    assert float(module.gp.spread.horizon) == 120
    kept = module.gp.spread.spans[1].sum()
    with pytest.warns(UserWarning, match="now stand for 240"):
        module.begin_task(*tasks[2])
    module.end_task()
    assert float(module.gp.spread.spans[1].sum()) == float(kept) + tasks[2][2].sum()


def test_the_spread_is_that_of_leaving_observations_out() -> None:
    """By hand: the GP without one observation, for some of them."""
    tasks = weather()
    module = learnt(tasks[:1], kernel="rbf", power=0.0, num_inducing=60)
    times, y, mask = tasks[0]
    squares = []
    for left_out in range(LENGTH):
        part = mask.clone()
        part[:, left_out] = False
        other = learnt([], kernel="rbf", power=0.0, num_inducing=60)
        other.load_state_dict(learnt_without_data(module), strict=False)
        other.begun = 1  # the kernel is fitted
        other.gp.posterior.begin(other.gp.kernel, times[:, None])
        other.attach_task(times, y, part)
        other.end_task()
        mean, var = plain(other, times[left_out : left_out + 1], torch.arange(NUM_SERIES))
        squares.append(((y[:, left_out].double() - mean[:, 0]) ** 2 / var[:, 0]).sum(0))
    by_hand = torch.stack(squares).sum(0)
    torch.testing.assert_close(module.gp.spread.phases[0].sum(-1), by_hand, rtol=1e-4, atol=1e-6)


def test_small_residuals_between_observations_do_not_narrow_forecasts() -> None:
    """Smooth series and a rough kernel: interpolation is better than the kernel says, forecasts are not."""
    times = torch.arange(96, dtype=torch.float64)
    y = torch.sin(times / 12)[None, :, None].expand(NUM_SERIES, -1, NUM_VARIABLES).float()
    data = times, y, torch.ones_like(y, dtype=torch.bool)
    module = learnt([data], kernel="matern12", periods=[], horizon=960.0, num_inducing=200)
    assert bool((module.gp.spread(times) < 0.5).all())
    ahead = times[-1] + torch.tensor([1.0, 24.0, 480.0], dtype=torch.float64)
    kernel = module.gp.kernel.requires_grad_(False)
    prior = covariance(kernel, ahead[-1:, None], ahead[-1:, None])[:, 0, 0]
    variance = module.gp.predict(ahead, torch.arange(NUM_SERIES)).variance
    assert bool((variance[:, -1] > 0.9 * prior).all())
    assert bool((variance.diff(dim=1) > 0).all())


def learnt_without_data(module: SeriesGP) -> dict[str, Tensor]:
    """Kernel and noise of a module."""
    return {
        name: value for name, value in module.state_dict().items() if name.startswith(("gp.kernel", "gp.likelihood"))
    }


@pytest.mark.parametrize("options", [{"num_eofs": 2}, {"num_eofs": 6, "latents": "field"}], ids=str)
def test_all_eofs_lose_nothing(options: dict[str, object]) -> None:
    """With as many EOFs as variables the map is invertible: observations are reproduced within their noise."""
    tasks = weather()
    module = learnt(tasks, **options)
    times, y, _ = everything(tasks)
    errors = (module.gp.predict(times, torch.arange(NUM_SERIES)).mean - y).square().mean().sqrt()
    assert float(errors) < 0.15  # the noise is 0.1


@pytest.mark.parametrize("options", [{"num_eofs": 2}, {"num_eofs": 3, "latents": "field"}], ids=str)
def test_eofs_take_missing_values(options: dict[str, object]) -> None:
    tasks = weather(missing=0.2)
    module = learnt(tasks, **options)
    predicted = module.gp.predict(tasks[0][0], torch.arange(NUM_SERIES))
    assert bool(torch.isfinite(predicted.stddev).all())
    full = torch.cat([y for _, y, _ in weather()], 1)[:, :LENGTH]
    assert float((predicted.mean - full).square().mean().sqrt()) < 0.5 * float(full.square().mean().sqrt())


def test_a_field_keeps_as_much_for_many_series_as_for_few() -> None:
    tasks = weather()
    module = learnt(tasks, latents="field", num_eofs=2)
    assert module.gp.posterior.h.shape == (1, 2, 60)
    doubled = [(times, torch.cat([y, y]), torch.cat([mask, mask])) for times, y, mask in tasks]
    assert learnt(doubled, latents="field", num_eofs=2).gp.posterior.h.shape == (1, 2, 60)


def test_a_saved_module_goes_on_as_if_nothing_had_happened() -> None:
    tasks = weather(missing=0.1)
    whole, begun = learnt(tasks), learnt(tasks[:2])
    loaded = learnt([])
    loaded.load_state_dict(copy.deepcopy(begun.state_dict()))
    loaded.begin_task(*tasks[2])
    loaded.end_task()
    for name, value in whole.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latents": "field"}, "num_eofs is not given: give the number of EOFs"),
        ({"num_eofs": 3}, "num_eofs is 3, but a series has 2 variables"),
        ({"latents": "fields"}, r"latents must be one of series, field; got 'fields' \(did you mean 'field'\?\)"),
        ({"horizon": -1.0}, "horizon must be positive"),
        ({"periods": [0.0]}, r"periods\[0\] must be positive"),
        ({"num_eofs": 50, "latents": "field"}, "50 EOFs cannot be found from 48 times of 6 variables: lower num_eofs"),
    ],
    ids=str,
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learnt(weather()[:1], **options)


def test_residuals_are_those_of_exact_precisions() -> None:
    """Nodes that stand for irregular times would claim to know some observations better than they are known."""
    rng = torch.Generator().manual_seed(0)
    times = (48 * torch.rand(48, generator=rng, dtype=torch.float64) ** 3).sort().values
    y = torch.sin(times / 5)[None, :, None].expand(NUM_SERIES, -1, NUM_VARIABLES).float()
    module = learnt([(times, y, torch.ones_like(y, dtype=torch.bool))], num_inducing=40, horizon=480.0, kernel="rbf")
    squares, counts = module.gp.spread.phases.sum(-1)
    assert bool((squares < 3 * counts).all())
