"""The GP-VAE at its limits: finite results, or an error that says what is wrong; never silent NaN."""

import gc

import pytest
import torch
from torch import Tensor, nn

from gpvae.modules import SVGPVAE
from gpvae.vae.keyed_noise import Draws
from tests.vae.learning import Data, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")

METHODS = ["OHSVGP", "CosS", "OSVGP", "OVC", "OVC-per-dim"]


def small(method: str = "CosS", **options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 6, "num_variables": 3, "latent_dim": 2, "hidden_dim": 8, "num_samples": 5}
    return SVGPVAE(method=method, **(sizes | {"consolidation": "both"} | options))


def task(number: int, hours: int = 10, scale: float = 1.0, gap: float = 0.0) -> Data:
    rng = torch.Generator().manual_seed(number)
    times = number * (hours + gap) + torch.arange(hours, dtype=torch.float64)
    return times, scale * torch.randn(3, hours, 3, generator=rng), torch.ones(3, hours, 3, dtype=torch.bool)


def assert_finite(module: SVGPVAE, times: Tensor) -> None:
    state = {name: value for name, value in module.state_dict().items() if "constraint" not in name}
    assert not [name for name, value in state.items() if not bool(value.isfinite().all())]
    f = module.vae.latent(times)
    assert bool(f.mean.isfinite().all())
    assert bool((f.variance >= 0).all())
    mean, scale = module.vae.decode_samples(times, torch.arange(3), 5, Draws(0))
    assert bool(mean.isfinite().all())
    assert bool((scale > 0).all())


def check(module: SVGPVAE, tasks: list[Data]) -> None:
    """Learn tasks; after each, predictions of all tasks so far are finite."""
    for number, data in enumerate(tasks, start=1):
        learn(module, data)
        assert_finite(module, torch.cat([times for times, _, _ in tasks[:number]]))


def masked(data: Data, series: slice, variables: slice) -> Data:
    times, y, mask = data
    mask = mask.clone()
    mask[series, :, variables] = False
    return times, y.where(mask, torch.nan), mask


@pytest.mark.parametrize("method", METHODS)
def test_gaps_and_masks(method: str) -> None:
    everything = slice(None)
    check(
        small(method),
        [
            masked(task(0), slice(1), everything),  # a series that starts later
            masked(task(1), everything, slice(2)),  # variables that are missing in a task
            task(2, gap=30.0),
            masked(task(3), slice(2), slice(1)),
        ],
    )


@pytest.mark.parametrize("method", METHODS)
def test_nothing_observed_at_all_leaves_the_prior(method: str) -> None:
    module = small(method)
    nothing = masked(task(0), slice(None), slice(None))
    with pytest.raises(ValueError, match="there are no observations at the training times of the task from 0 to 9"):
        learn(module, nothing)
    learn(module, task(0))
    with pytest.raises(ValueError, match="there are no observations at the training times of the task from 10 to 19"):
        module.begin_task(*masked(task(1), slice(None), slice(None)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [0.0, 1e-8, 1e4, 1e8])
def test_targets_of_any_size(method: str, scale: float) -> None:
    check(small(method), [task(number, scale=scale) for number in range(3)])


@pytest.mark.parametrize("method", METHODS)
def test_single_hours(method: str) -> None:
    check(small(method), [task(number, hours=1) for number in range(4)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gap", [1e3, 1e7])
def test_huge_gaps_in_time(method: str, gap: float) -> None:
    check(small(method), [task(number, gap=gap) for number in range(3)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lengthscales", [(1e-4, 1e-3), (1e-3, 1e5), (1e5, 1e7)])
def test_lengthscales_at_extremes(method: str, lengthscales: tuple[float, float]) -> None:
    shortest, longest = lengthscales
    check(small(method, shortest=shortest, longest=longest), [task(number) for number in range(3)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("log_scale", [-18.0, 18.0])
def test_noise_at_extremes(method: str, log_scale: float) -> None:
    module = small(method)
    with torch.no_grad():
        module.vae.decoder.log_scale.fill_(log_scale)
    check(module, [task(number) for number in range(3)])


def test_a_loss_that_is_not_finite_stops_with_what_to_do() -> None:
    times, y, mask = task(0)
    with pytest.raises(FloatingPointError, match=r"the loss became inf in task 1, step 0; .*largest value is 1e\+25"):
        learn(small(networks="mlp", noise="variable"), (times, torch.full_like(y, 1e25), mask))


@pytest.mark.parametrize("part", ["encoder", "decoder"])
@pytest.mark.parametrize("consolidation", ["ewc", "replay", "none"])
def test_networks_that_are_not_finite_stop_with_what_to_do(part: str, consolidation: str) -> None:
    """The error comes in the next step, or, after the last step, before anything is consolidated."""
    module, data = small(consolidation=consolidation), task(1)
    learn(module, task(0))
    before = module.vae.posterior.G.clone()
    module.begin_task(*data)
    with torch.no_grad():
        next(getattr(module.vae, part).parameters()).fill_(torch.nan)
    with pytest.raises(
        FloatingPointError, match=r"the loss became (NaN|nan) in task 2, step 7; lower lr \(now 0.005\)"
    ):
        module.training_step((torch.arange(3), *data), 7)
    with pytest.raises(FloatingPointError, match="a parameter became NaN or infinite in task 2"):
        module.end_task()
    assert torch.equal(module.vae.posterior.G, before)


@pytest.mark.parametrize("logarithm", [-1e4, 1e4])
def test_a_lengthscale_that_a_step_threw_out_of_bounds_stops_with_what_to_do(logarithm: float) -> None:
    """The lengthscale is zero or infinite, although its logarithm, which is learnt, is finite."""
    module, data = small(), task(0)
    module.begin_task(*data)
    with torch.no_grad():
        module.vae.kernel.raw_lengthscale.fill_(logarithm)
    with pytest.raises(FloatingPointError, match="a parameter became NaN or infinite in task 1"):
        module.end_task()


@pytest.mark.parametrize("name", ["lr", "latent_dim", "hidden_dim", "num_samples", "longest", "replay_strength"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_options_that_make_no_sense(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive and finite, got {value}"):
        small(**{name: value})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["CosS", "OVC"])
def test_hundreds_of_tasks_take_no_more_memory_than_a_hundred(method: str) -> None:
    module = small(method)
    sizes = {}
    for number in range(200):
        learn(module, task(number, hours=3), steps=1)
        if number in (99, 199):
            sizes[number] = alive()
    (count, numbers), (later_count, later_numbers) = sizes.values()
    assert later_count <= count
    assert later_numbers <= 1.5 * numbers  # nodes grow with the stream, up to a limit
    assert_finite(module, torch.linspace(0, 600, 50, dtype=torch.float64))


def alive() -> tuple[int, int]:
    """The number of tensors in this process, and the total number of elements."""
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if type(thing) in (Tensor, nn.Parameter)]
    return len(tensors), sum(tensor.numel() for tensor in tensors)
