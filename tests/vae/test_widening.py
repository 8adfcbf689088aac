"""Forecasts become wider where earlier ones were too narrow; predictions of what is learnt stay as they are."""

import pytest
import torch

from gpvae.vae.widening import KNOTS, START, Widening

TIMES = torch.tensor([0.0, 9.0, 10.0, 11.0, 13.0, 25.0, 58.0, 130.0, 1e6], dtype=torch.float64)


def ended() -> Widening:
    widening = Widening()
    widening.end.fill_(10.0)
    return widening


def mixture() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, len(TIMES), 3, 50), 0.5 + torch.rand(2, len(TIMES), 3, 50)


def test_nothing_changes_up_to_the_last_time_learnt() -> None:
    mean, scale = mixture()
    wider = ended()(TIMES, mean, scale)
    assert torch.equal(wider[0][:, :3], mean[:, :3])
    assert torch.equal(wider[1][:, :3], scale[:, :3])
    assert (wider[1][:, 3:] > scale[:, 3:]).all()
    before_the_first_task = Widening()(TIMES, mean, scale)
    assert before_the_first_task[0] is mean
    assert before_the_first_task[1] is scale


def test_means_stay_and_deviations_grow_by_the_factor() -> None:
    widening, (mean, scale) = ended(), mixture()
    widening.learn(torch.tensor([[0.9, 0.5, 0.7], [0.8, 0.8, 0.8], [0.2, 0.2, 0.2], [1.0, 1.0, 1.0]]))
    wider, wider_scale = widening(TIMES, mean, scale)
    factor = widening.factors(TIMES)
    torch.testing.assert_close(wider.mean(-1), mean.mean(-1), atol=1e-5, rtol=1e-5)

    def deviation(mean: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return (mean.var(-1, correction=0) + (scale**2).mean(-1)).sqrt()

    torch.testing.assert_close(deviation(wider, wider_scale), deviation(mean, scale) * factor.float())


def test_factors_are_continuous_and_constant_at_the_end() -> None:
    widening = ended()
    widening.learn(torch.tensor([[0.8], [0.7], [0.4], [0.6]], dtype=torch.float64))
    at_knots = widening.factors(10.0 + torch.tensor(KNOTS, dtype=torch.float64)).log()
    torch.testing.assert_close(at_knots, torch.cat([torch.zeros(1, 1).double(), widening.log_factor]))
    fine = widening.factors(torch.linspace(5, 200, 10_000, dtype=torch.float64)).log()
    assert float((fine[1:] - fine[:-1]).abs().max()) < 0.01
    assert float(widening.factors(TIMES)[-1]) == float(widening.factors(TIMES)[-2])


def test_too_few_values_in_the_intervals_widen_and_too_many_narrow_but_never_below_one() -> None:
    widening = ended()
    widening.learn(torch.full((4, 2), 0.6))
    torch.testing.assert_close(widening.log_factor, torch.full((4, 2), START + 2.0 * 0.3).double())
    for _ in range(20):
        widening.learn(torch.full((4, 2), 1.0))
    assert (widening.log_factor == 0).all()
    widening.learn(torch.tensor([[0.5, torch.nan]] + [[torch.nan, torch.nan]] * 3))
    assert float(widening.log_factor[0, 0]) == pytest.approx(0.8)
    assert (widening.log_factor.flatten()[1:] == 0).all()


def test_intervals_of_a_model_that_is_too_sure_come_to_hold_what_they_promise() -> None:
    """Errors are three times as large as predicted: after some tasks nine in ten values are in the intervals."""
    torch.manual_seed(0)
    widening, held = ended(), []
    for _ in range(12):
        factor = widening.log_factor.exp().expand(4, 2)
        errors = 3 * torch.randn(4, 2, 300)
        held.append((errors.abs() <= 1.645 * factor[..., None]).double().mean(-1))
        widening.learn(held[-1])
    assert float(held[0].mean()) < 0.55
    torch.testing.assert_close(torch.stack(held[6:]).mean(0), torch.full((4, 2), 0.9).double(), atol=0.02, rtol=0)


def test_a_state_from_before_there_was_a_widening_is_loaded_and_one_with_variables_too() -> None:
    widening = ended()
    widening.learn(torch.full((4, 5), 0.6))
    loaded = Widening()
    loaded.load_state_dict(widening.state_dict())
    assert torch.equal(loaded.log_factor, widening.log_factor)
    fresh = Widening()
    fresh.load_state_dict({})
    assert not bool(fresh.end.isfinite())
    assert fresh.lead_time(TIMES, torch.ones(1, len(TIMES), 1, dtype=torch.bool)) is None
