"""The memory of a path in closed form: blocks compose, and equal the projection and the ODE."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from torch import Tensor

from gpvae.hippo import (
    Measure,
    ScaledCosine,
    ScaledLegendre,
    TranslatedFourier,
    TranslatedLaguerre,
    TranslatedLegendre,
    absorb_path,
    path_weights,
    rescale,
)
from tests import oracle

DT, WINDOW = torch.tensor(0.3, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
ratios = st.floats(0.0, 1.0)


def signal(steps: int = 23, width: int = 3) -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(steps, width)))


def in_blocks(measure: Measure, f: Tensor, blocks: int) -> Tensor:
    memory, t = torch.zeros(measure.size, f.shape[-1]).double(), torch.zeros(()).double()
    for block in f.tensor_split(blocks):
        memory = absorb_path(measure, memory, t, block, DT, WINDOW)
        t = t + DT * len(block)
    return memory


@pytest.mark.parametrize(
    "measure",
    [ScaledLegendre(40), TranslatedLegendre(9), TranslatedLaguerre(9), TranslatedFourier(9)],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("blocks", [2, 7, 23])
def test_blocks_equal_one_block(measure: Measure, blocks: int) -> None:
    torch.testing.assert_close(
        in_blocks(measure, signal(), blocks), in_blocks(measure, signal(), 1), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("size", [1, 2, 10, 60])
def test_legs_blocks_equal_the_projection(size: int) -> None:
    """The memory after 1, 2 and 7 blocks is ∫ f φ over the whole path, step by step."""
    f = signal()
    expected = torch.from_numpy(oracle.path(f.numpy(), size).W.T @ f.numpy())
    for blocks in (1, 2, 7):
        torch.testing.assert_close(in_blocks(ScaledLegendre(size), f, blocks), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "measure", [TranslatedLegendre(5), TranslatedLaguerre(5), TranslatedFourier(5)], ids=lambda m: type(m).__name__
)
def test_sliding_memories_integrate_their_ode(measure: Measure) -> None:
    f = signal(6, 1)
    A, B = (tensor.numpy() / float(WINDOW) for tensor in measure.ode(DT))
    c = np.zeros(measure.size)
    for value in f[:, 0].numpy():
        c = solve_ivp(lambda _, c, v=value: A @ c + B * v, (0, float(DT)), c, rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(in_blocks(measure, f, 1)[:, 0], c, atol=1e-8)


def test_cosines_explain_that_a_path_needs_an_ode() -> None:
    with pytest.raises(NotImplementedError, match="no closed-form update"):
        in_blocks(ScaledCosine(4), signal(), 1)


@given(ratios, ratios, st.integers(1, 40))
def test_rescaling_twice_is_rescaling_once(first: float, second: float, size: int) -> None:
    """r G(r) composes: stretching [0, t1] to [0, t2] to [0, t3]."""
    a, b = torch.tensor(first, dtype=torch.float64), torch.tensor(second, dtype=torch.float64)
    torch.testing.assert_close(rescale(size, b) @ rescale(size, a), rescale(size, a * b), rtol=0, atol=1e-10)


@given(st.integers(1, 40))
def test_rescaling_by_one_changes_nothing(size: int) -> None:
    one = torch.ones(()).double()
    torch.testing.assert_close(rescale(size, one), torch.eye(size).double(), rtol=0, atol=1e-12)


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(1, 40))
def test_weights_of_all_steps_add_up_to_the_memory_of_a_constant(inner: list[float], size: int) -> None:
    """Σ_i W[i, m] = ∫ g_m = δ_m0, however [0, 1] is cut into steps."""
    W = path_weights(size, torch.tensor([0.0, *sorted(inner), 1.0], dtype=torch.float64))
    assert W.shape == (len(inner) + 1, size)
    torch.testing.assert_close(W.sum(0), torch.eye(size)[0].double(), rtol=0, atol=1e-12)


@given(st.floats(0, 1), st.integers(1, 20))
def test_a_path_that_stays_zero_only_rescales(ratio: float, size: int) -> None:
    """Rescaling is what remains of the memory when zeros follow."""
    f = torch.ones(1, 1).double()
    W = path_weights(size, torch.tensor([0.0, ratio], dtype=torch.float64))
    torch.testing.assert_close(
        W.mT @ f, rescale(size, torch.tensor(ratio, dtype=torch.float64))[:, :1], rtol=0, atol=1e-11
    )
