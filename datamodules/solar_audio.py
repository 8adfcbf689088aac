"""Time series with real values: Solar irradiance and a speech signal."""

from typing import Any

import numpy as np
import torch
from scipy.io import loadmat
from scipy.signal import hilbert
from torch import Tensor

from datamodules.public_files import fetch
from datamodules.scaled_stream import MeasuredStream
from datamodules.scaling import minmax_scale, standardise

INTERVAL = (0.0, 10.0)
AUDIO_SAMPLES = slice(8_000, 26_000)  # counted from 0
AUDIO_NOISE = 1 / 50  # standard deviation, on the scale of the file
AUDIO_SEED = 0


def read_solar() -> tuple[Tensor, Tensor]:
    """Solar irradiance, one value a year from 1610 to 2011 (Lean 2004).

    Returns:
        x: Years, of shape (402, 1).
        y: Irradiance, of shape (402,).
    """
    data = loadmat(fetch("solar.mat"))
    return _tensors(data["X"].ravel(), data["y"].ravel())


def read_audio() -> tuple[Tensor, Tensor]:
    """Part of a speech subband (Bui & Turner 2014), shifted down to frequency 0, with added noise.

    With n = 1, 2, ... counting the samples of the whole file, μ its centre frequency in cycles a sample
    and H y the analytic signal (y + i · Hilbert transform of y, over the whole file),

        y_n ← Re((H y)_n exp(-2πi μ n)) + ε_n,    ε_n ~ N(0, 1/50²),

    of which 18,000 samples are kept. The noise is added on the scale of the file (the kept samples have
    standard deviation 1.2, so standardised it is 1/60) and drawn by `numpy.random.default_rng(0)`, the same at
    each call.

    Returns:
        x: The numbers n of the samples, of shape (18000, 1).
        y: The demodulated signal, of shape (18000,).
    """
    data = loadmat(fetch("audio_subband.mat"))
    signal, frequency = data["y"].ravel(), data["mu"].item()
    n = np.arange(1, signal.size + 1)
    demodulated = np.real(hilbert(signal) * np.exp(-2j * np.pi * frequency * n))[AUDIO_SAMPLES]
    noise = np.random.default_rng(AUDIO_SEED).normal(0.0, AUDIO_NOISE, demodulated.size)
    return _tensors(n[AUDIO_SAMPLES].astype(np.float64), demodulated + noise)


def solar() -> tuple[Tensor, Tensor]:
    """`read_solar` with x scaled to [0, 10] and y standardised."""
    return _scaled(*read_solar())


def audio() -> tuple[Tensor, Tensor]:
    """`read_audio` with x scaled to [0, 10] and y standardised."""
    return _scaled(*read_audio())


class Solar(MeasuredStream):
    """Solar irradiance, one value a year from 1610 to 2011 (Lean 2004), with time scaled to [0, 10].

    Args:
        num_test: The number of test points (int), or their fraction of all points (float below 1).
            102 leaves 300 of the 402 for training.
        options: See `MeasuredStream`.
    """

    input_dim = 1
    likelihood = "gaussian"
    files = ("solar.mat",)
    interval = INTERVAL

    def __init__(self, num_test: int | float = 102, **options: Any) -> None:
        super().__init__(num_test=num_test, **options)

    def read(self) -> tuple[Tensor, Tensor]:
        """Years `[402, 1]` and irradiance `[402]`."""
        return read_solar()


class Audio(MeasuredStream):
    """A demodulated subband of speech (Bui & Turner 2014) with a little noise, with time scaled to [0, 10].

    Args:
        num_test: The number of test points (int), or their fraction of all points (float below 1).
            9000 is half of the points.
        options: See `MeasuredStream`.
    """

    input_dim = 1
    likelihood = "gaussian"
    files = ("audio_subband.mat",)
    interval = INTERVAL

    def __init__(self, num_test: int | float = 9000, **options: Any) -> None:
        super().__init__(num_test=num_test, **options)

    def read(self) -> tuple[Tensor, Tensor]:
        """Numbers of samples `[18000, 1]` and the signal `[18000]`."""
        return read_audio()


def _tensors(times: np.ndarray, values: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(times)[:, None], torch.from_numpy(values)


def _scaled(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return minmax_scale(x, *INTERVAL), standardise(y)
