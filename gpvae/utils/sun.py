"""The position of the sun."""

import numpy as np
from numpy.typing import NDArray

STEPS = (np.arange(6) + 0.5) / 6  # of the hour


def sun_path(times: NDArray[np.datetime64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Declination of the sun, and its hour angle at Greenwich in turns, at each step of the hours that end at `[T]`.

    Declination and equation of time are Spencer's (1971) in their leading terms: good to some minutes.

    Args:
        times: UTC `[T]`.

    Returns:
        Both as `[steps, T]`.
    """
    declinations, turns = [], []
    for step in STEPS:
        days = (times - times.astype("datetime64[Y]")) / np.timedelta64(1, "h") / 24 + (step - 1) / 24
        angle = 2 * np.pi * days / 365.25
        declination = 0.0069 - 0.3999 * np.cos(angle) + 0.0703 * np.sin(angle) - 0.0068 * np.cos(2 * angle)
        minutes = 229.18 * (0.0019 * np.cos(angle) - 0.0321 * np.sin(angle) - 0.0146 * np.cos(2 * angle))
        minutes = minutes - 229.18 * 0.0408 * np.sin(2 * angle)
        declinations.append(declination)
        turns.append(days % 1 - 0.5 + minutes / 1440)
    return np.stack(declinations), np.stack(turns)


def mean_cos_zenith(
    times: NDArray[np.datetime64], latitude: NDArray[np.float64], longitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The cosine of the sun's zenith angle, 0 at night, as a mean over the hour that ends at each time `[T, C]`.

    Args:
        times: UTC `[T]`.
        latitude: Degrees north `[C]`.
        longitude: Degrees east `[C]`.
    """
    total = np.zeros((len(times), len(latitude)))
    for declination, turn in zip(*sun_path(times), strict=True):
        turned = 2 * np.pi * (turn[:, None] + longitude / 360)
        phi, delta = np.radians(latitude), declination[:, None]
        cosine = np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(turned)
        total += np.maximum(cosine, 0)
    return total / len(STEPS)
