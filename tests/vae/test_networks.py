"""Networks that start at principal components, and scales that are trained on the side."""

import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE
from gpvae.vae.networks import Clock
from gpvae.vae.principal_components import PrincipalComponents
from tests.vae.learning import Data, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
HOURS, VARIABLES = 60, 5


def correlated(missing: float = 0.0, rank: int = 2, level: float = 3.0) -> Data:
    """Series of five variables that follow two independent waves, around a level."""
    rng = torch.Generator().manual_seed(0)
    times = torch.arange(HOURS, dtype=torch.float64)
    waves = torch.stack([torch.sin(times / (3.0 + 4 * k) + k) for k in range(rank)], -1).float()
    y = waves @ torch.randn(rank, VARIABLES, generator=rng) + level
    y = y.expand(3, -1, -1) * torch.tensor([0.7, 1.0, 1.2])[:, None, None]
    return times, y.contiguous(), torch.rand(y.shape, generator=rng) >= missing


def started(data: Data, latent_dim: int = 2, **options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 20, "num_variables": VARIABLES, "latent_dim": latent_dim, "hidden_dim": 8}
    module = SVGPVAE("CosS", consolidation="replay", **(sizes | options))  # type: ignore[arg-type]
    module.begin_task(*data)
    return module


def reconstruction(module: SVGPVAE, data: Data) -> Tensor:
    """What the decoder makes of the encoder's pseudo-observations."""
    times, y, mask = data
    return module.vae.decode(times, module.vae.encode(times, y, mask)[0])[0].detach()


def test_networks_start_by_reconstructing_data_of_their_rank() -> None:
    data = correlated(level=0.0)
    module = started(data)
    torch.testing.assert_close(reconstruction(module, data), data[1], rtol=1e-3, atol=1e-3)
    latents = module.vae.encode(*data)[0].detach()
    torch.testing.assert_close(latents.square().mean((0, 2)), torch.ones(2, dtype=torch.float64), rtol=0.05, atol=0.05)
    assert float((latents[:, 0] * latents[:, 1]).mean()) == pytest.approx(0, abs=0.05)


def test_more_latents_than_components_do_not_disturb_the_start() -> None:
    data = correlated(level=0.0)
    torch.testing.assert_close(reconstruction(started(data, latent_dim=7), data), data[1], rtol=1e-3, atol=1e-3)


def test_components_of_complete_data_are_those_of_their_covariance() -> None:
    data = correlated(rank=4)
    module = started(data)
    assert module._task is not None
    found = PrincipalComponents.of(module._task, VARIABLES)
    rows = data[1].double().flatten(0, 1)
    torch.testing.assert_close(found.mean, rows.mean(0))
    covariance = (rows - rows.mean(0)).T @ (rows - rows.mean(0)) / len(rows)
    torch.testing.assert_close(found.loadings @ found.loadings.T, covariance, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.projection @ found.loadings, torch.eye(len(found.projection)).double())


def test_missing_values_hardly_move_the_components() -> None:
    complete, missing = (PrincipalComponents.of(started(correlated(share))._task, 2) for share in (0.0, 0.3))  # type: ignore[arg-type]
    close = missing.loadings @ missing.loadings.T - complete.loadings @ complete.loadings.T
    assert float(close.abs().max()) < 0.2 * float(complete.variance.max())


def gradients(noise: str) -> Tensor:
    """Gradients of the bound with respect to everything but a predicted scale."""
    module = started(correlated(rank=4), noise=noise)
    task, decoder = module._task, module.vae.decoder
    assert task is not None
    for parameter in module.vae.encoder.network.parameters():
        torch.nn.init.constant_(parameter, 0.1)
    features, past = task.features_and_past(task.times, task.series)
    rng = torch.Generator().manual_seed(0)
    draws = torch.randn(4, 3, *features.prior.shape, generator=rng, dtype=torch.float64).movedim(0, 2)
    draws = draws if noise == "predicted" else draws[:, :, :1]
    value = module.vae.step(features, past, task.y, task.mask, draws)[0].sum()
    trained = [*module.vae.encoder.parameters(), *decoder.network.parameters(), decoder.log_scale]
    return torch.cat([part.reshape(-1) for part in torch.autograd.grad(value, trained)])


def test_a_predicted_scale_trains_neither_latents_nor_mean() -> None:
    torch.testing.assert_close(gradients("predicted"), gradients("variable"))


def test_a_predicted_scale_learns_when_data_are_certain() -> None:
    """One variable is exact in every other block of twelve hours, and noise elsewhere; a clock tells which is which."""
    times = torch.arange(96, dtype=torch.float64)
    noisy = (times % 24 < 12)[:, None]
    y = torch.where(noisy, torch.randn(4, 96, 1, generator=torch.Generator().manual_seed(0)), 0.0)
    torch.manual_seed(0)
    module = SVGPVAE("CosS", 8, num_variables=1, hidden_dim=16, periods=[24.0], lr=0.02, consolidation="none")
    learn(module, (times, y, torch.ones_like(y, dtype=torch.bool)), steps=200)
    scale = module.vae.decode(times, module.vae.latent(times).mean)[1].detach().mean(0)
    assert float(scale[noisy].min()) > 3 * float(scale[~noisy].mean())


@pytest.mark.parametrize(
    ("options", "number"),
    [({}, 1 + 5), ({"noise": "predicted"}, 1 + 5), ({"noise": "variable"}, 5), ({"shared_noise": True}, 1)],
)
def test_kinds_of_noise(options: dict[str, object], number: int) -> None:
    decoder = started(correlated(), **options).vae.decoder
    assert len(decoder.log_scale) + (decoder.scale is not None) == number


def test_contradictory_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="noise is predicted, but shared_noise is true"):
        SVGPVAE(noise="predicted", shared_noise=True)


def test_latents_are_no_more_than_variables_by_default() -> None:
    assert SVGPVAE(num_variables=7).vae.kernel.batch_shape == (7,)
    assert SVGPVAE(num_variables=70).vae.kernel.batch_shape == (20,)


def test_a_clock_has_the_periods_of_a_state_that_is_loaded() -> None:
    times, clock, other = torch.arange(5.0), Clock([24.0]), Clock([12.0])
    assert not torch.equal(clock(times), other(times))
    clock.load_state_dict(other.state_dict())
    assert torch.equal(clock(times), other(times))
