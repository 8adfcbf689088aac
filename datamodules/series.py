"""Time series: x of shape (N, 1) on [0, 10], y of shape (N,) standardised, both in double precision."""

import numpy as np
import torch
from scipy.io import loadmat
from scipy.signal import hilbert
from torch import Tensor

from datamodules.files import fetch
from datamodules.scaling import rescale, standardise

AUDIO_SAMPLES = slice(8_000, 26_000)  # counted from 0
AUDIO_NOISE = 1 / 50  # standard deviation, on the scale of the file
AUDIO_SEED = 0


def solar() -> tuple[Tensor, Tensor]:
    """Solar irradiance, one value a year from 1610 to 2011 (Lean 2004).

    Returns:
        x: Years, scaled to [0, 10], of shape (402, 1).
        y: Irradiance, standardised, of shape (402,).
    """
    data = loadmat(fetch("solar.mat"))
    return _scaled(data["X"].ravel(), data["y"].ravel())


def audio() -> tuple[Tensor, Tensor]:
    """Part of a speech subband (Bui & Turner 2014), shifted down to frequency 0, with added noise.

    With n = 1, 2, ... counting the samples of the whole file, μ its centre frequency in cycles a sample
    and H y the analytic signal (y + i · Hilbert transform of y, over the whole file),

        y_n ← Re((H y)_n exp(-2πi μ n)) + ε_n,    ε_n ~ N(0, 1/50²),

    of which 18,000 samples are kept. The noise is added before y is standardised (the kept samples have
    standard deviation 1.2, so it ends at 1/60) and drawn by `numpy.random.default_rng(0)`, the same at
    each call.

    Returns:
        x: Time, scaled to [0, 10], of shape (18000, 1).
        y: The demodulated signal, standardised, of shape (18000,).
    """
    data = loadmat(fetch("audio_subband.mat"))
    signal, frequency = data["y"].ravel(), data["mu"].item()
    n = np.arange(1, signal.size + 1)
    demodulated = np.real(hilbert(signal) * np.exp(-2j * np.pi * frequency * n))[AUDIO_SAMPLES]
    noise = np.random.default_rng(AUDIO_SEED).normal(0.0, AUDIO_NOISE, demodulated.size)
    return _scaled(n[AUDIO_SAMPLES].astype(np.float64), demodulated + noise)


def _scaled(times: np.ndarray, values: np.ndarray) -> tuple[Tensor, Tensor]:
    x, y = torch.from_numpy(times)[:, None], torch.from_numpy(values)
    return rescale(x, 0.0, 10.0), standardise(y)
