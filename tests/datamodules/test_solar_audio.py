"""The time series, as the real files give them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import loadmat
from torch import Tensor

from datamodules import Audio, MeasuredStream, Solar
from datamodules.solar_audio import audio, solar
from datamodules.splits import split_tasks
from tests.datamodules.streams import assert_same_tasks

RealData = Callable[[str], Path]


def assert_regular_and_standardised(x: Tensor, y: Tensor, num: int) -> None:
    """A regular grid from 0 to 10, with targets of mean 0 and variance 1."""
    assert x.shape == (num, 1)
    assert y.shape == (num,)
    assert y.dtype == torch.float64
    torch.testing.assert_close(x[:, 0], torch.linspace(0, 10, num, dtype=torch.float64))
    torch.testing.assert_close(y.mean().item(), 0.0, atol=1e-9, rtol=0)  # Solar starts from values near 1361
    torch.testing.assert_close(y.square().mean().item(), 1.0)


def test_solar(real_data: RealData) -> None:
    raw = loadmat(real_data("solar.mat"))["y"].ravel()
    x, y = solar()
    assert_regular_and_standardised(x, y, 402)
    assert np.corrcoef(raw, y)[0, 1] > 1 - 1e-12


def test_audio(real_data: RealData) -> None:
    """With θ = 2πμn, y is an affine image of y cos θ + H(y) sin θ, but for noise of deviation 1/50."""
    raw = loadmat(real_data("audio_subband.mat"))
    x, y = audio()
    assert_regular_and_standardised(x, y, 18_000)
    signal = raw["y"].ravel()
    half_turn = -1j * np.sign(np.fft.fftfreq(signal.size))  # the Hilbert transform, in frequencies
    quadrature = np.fft.ifft(half_turn * np.fft.fft(signal)).real
    n = np.arange(8_001, 26_001)
    angle = 2 * np.pi * raw["mu"].item() * n
    clean = signal[n - 1] * np.cos(angle) + quadrature[n - 1] * np.sin(angle)
    slope, intercept = np.polyfit(clean, y.numpy(), deg=1)
    noise = (y.numpy() - intercept) / slope - clean
    np.testing.assert_allclose(noise.std(), 1 / 50, rtol=0.02)


def test_audio_is_the_same_at_each_call(real_data: RealData) -> None:
    real_data("audio_subband.mat")
    assert torch.equal(audio()[1], audio()[1])


@pytest.mark.parametrize(
    ("stream", "load", "num_test"), [(Solar, solar, 102), (Audio, audio, 9000)], ids=["solar", "audio"]
)
@pytest.mark.parametrize("seed", [0, 7])
def test_global_statistics_are_those_of_the_paper_bit_for_bit(
    stream: type[MeasuredStream],
    load: Callable[[], tuple[Tensor, Tensor]],
    num_test: int,
    seed: int,
    real_data: RealData,
) -> None:
    real_data(stream.files[0])
    data = stream(statistics="global", seed=seed)
    data.prepare_data()
    data.setup()
    assert_same_tasks(data.tasks, split_tasks(*load(), num_tasks=10, num_test=num_test, seed=seed))


def test_first_task_of_solar_fills_the_first_tenth(real_data: RealData) -> None:
    real_data("solar.mat")
    data = Solar()
    data.setup()
    x, y = data.task_data(0)
    assert (x.min(), x.max()) == (0.0, 1.0)
    torch.testing.assert_close(y.mean().item(), 0.0, atol=1e-9, rtol=0)
    torch.testing.assert_close(y.square().mean().item(), 1.0)
    assert 9 < float(data.task_data(9)[0].max()) < 11
