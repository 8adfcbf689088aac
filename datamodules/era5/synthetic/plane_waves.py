"""Moving random fields: sums of plane waves with fixed random directions, speeds and phases."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import ndtri

Array = NDArray[np.float64]


def uniform(key: int, size: int) -> Array:
    """Numbers in (0, 1) that are the same on every machine and with every version of NumPy `[size]`.

    Args:
        key: Selects the sequence; a longer one begins with the shorter.
        size: The number of them.
    """
    raw = np.random.PCG64(key).random_raw(size)  # NumPy guarantees the bits of a generator, not its distributions
    bits = np.asarray(raw, dtype=np.uint64) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53 + 2.0**-54


@dataclass(frozen=True)
class PlaneWaves:
    """A field of mean 0 and variance 1, as a sum of K plane waves cos(kx·x + ky·y - ω·t + φ).

    Args:
        key: Selects directions, lengths, speeds and phases.
        number: K, the number of waves.
        lengths: The shortest and the longest wavelength, in km.
        speeds: The slowest and the fastest speed, in km/h; waves move east, within 60°.
    """

    key: int
    number: int
    lengths: tuple[float, float]
    speeds: tuple[float, float] = (20.0, 55.0)

    def at(self, hours: Array, x: Array, y: Array) -> Array:
        """The field at every time and grid cell `[T, C]`.

        Args:
            hours: Times, in hours `[T]`.
            x: Kilometres east `[C]`.
            y: Kilometres north `[C]`.
        """
        return self._sum(hours, x, y, np.ones(self.number), 0.0)

    def gradient(self, hours: Array, x: Array, y: Array) -> tuple[Array, Array]:
        """The slope of the field to the east and to the north, per km `[T, C]` each.

        Args:
            hours: Times, in hours `[T]`.
            x: Kilometres east `[C]`.
            y: Kilometres north `[C]`.
        """
        kx, ky, _, _ = self._waves()
        # The derivative of a cosine is a cosine shifted by π/2.
        return self._sum(hours, x, y, kx, np.pi / 2), self._sum(hours, x, y, ky, np.pi / 2)

    def _waves(self) -> tuple[Array, Array, Array, Array]:
        draws = uniform(self.key, 4 * self.number).reshape(4, self.number)
        length = self.lengths[0] * (self.lengths[1] / self.lengths[0]) ** draws[0]
        speed = self.speeds[0] + (self.speeds[1] - self.speeds[0]) * draws[1]
        direction = (2 * draws[2] - 1) * np.pi / 3
        wavenumber = 2 * np.pi / length
        return wavenumber * np.cos(direction), wavenumber * np.sin(direction), wavenumber * speed, 2 * np.pi * draws[3]

    def _sum(self, hours: Array, x: Array, y: Array, weights: Array, shift: float) -> Array:
        kx, ky, frequency, phase = self._waves()
        space = np.outer(kx, x) + np.outer(ky, y) + (phase + shift)[:, None]
        time = np.outer(hours, frequency)
        weights = weights * np.sqrt(2 / self.number)
        return (np.cos(time) * weights) @ np.cos(space) + (np.sin(time) * weights) @ np.sin(space)


def smooth(values: Array, hours: float) -> Array:
    """An exponential running mean over the past, along the first axis.

    Args:
        values: One value an hour `[T, ...]`.
        hours: The time constant, after which the weight has fallen to 1/e.
    """
    keep = np.exp(-1 / hours)
    return lfilter([1 - keep], [1, -keep], values, axis=0, zi=keep * values[:1])[0]


def noise(key: int, num_hours: int, num_cells: int, hours: float = 3.0) -> Array:
    """Noise of variance about 1, independent between grid cells and correlated in time `[T, C]`.

    Args:
        key: Selects the noise; a longer sequence begins with the shorter.
        num_hours: T.
        num_cells: C.
        hours: The correlation time.
    """
    white = ndtri(uniform(key, num_hours * num_cells)).reshape(num_hours, num_cells)
    keep = np.exp(-1 / hours)
    return smooth(white, hours) * np.sqrt((1 + keep) / (1 - keep))
