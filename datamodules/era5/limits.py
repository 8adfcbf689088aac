"""Limits beyond which values are impossible: physical or robust ones. Also the numbers that mark missing values."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from datamodules.era5.variables import KNOWN, Variable

#: Lower and upper limits in the units of ERA5, with room for errors of packing; for sums over up to a day.
LIMITS = {
    "t2m": (150.0, 350.0),
    "d2m": (100.0, 330.0),
    "skt": (130.0, 390.0),
    "sst": (230.0, 330.0),
    "u10": (-150.0, 150.0),
    "v10": (-150.0, 150.0),
    "i10fg": (-2.0, 200.0),
    "fg10": (-2.0, 200.0),
    "msl": (80_000.0, 115_000.0),
    "sp": (30_000.0, 110_000.0),
    "tp": (-1e-3, 2.0),
    "cp": (-1e-3, 2.0),
    "lsp": (-1e-3, 2.0),
    "sf": (-1e-3, 2.0),
    "tcc": (-0.01, 1.01),
    "lcc": (-0.01, 1.01),
    "tcwv": (-2.0, 150.0),
    "blh": (-100.0, 15_000.0),
    "cape": (-500.0, 20_000.0),
    "ssrd": (-1e5, 1e8),
    "strd": (-1e5, 1e8),
    "tisr": (-1e5, 1e8),
    "fdir": (-1e5, 1e8),
    "ssr": (-1e5, 1e8),
    "str": (-1e8, 1e8),
    "swvl1": (-0.1, 1.1),
    "zust": (-0.5, 20.0),
    "ie": (-0.1, 0.1),
    "ishf": (-10_000.0, 10_000.0),
    "avg_snlwrf": (-2_000.0, 2_000.0),
    "avg_sdlwrf": (-50.0, 2_000.0),
}
DAY = 24.0  # hours
#: Numbers that mark missing values, by convention of netCDF, GrADS, Ferret or people, and extremes of integers.
FILLS = np.array(
    [-999.0, -9999.0, -99999.0, 9999.0, 99999.0, -9.99e8, 9.999e20, 1e20, -1e20, -1e34, 9.969209968386869e36]
    + [float(value) for kind in (np.int16, np.int32) for value in (np.iinfo(kind).min, np.iinfo(kind).max)]
    + [-32767.0, -2147483647.0, 65535.0],
    dtype=np.float32,
)
ISOLATED = 1.25  # one of FILLS marks a gap if it is this many times as far from the median as all other values
GAP = 1e10  # any value this many times as far is impossible; smaller gaps occur between packing noise and rain
MAX_OUTLIERS = 0.01  # share of values


def limits_of(variable: Variable) -> tuple[float, float] | None:
    """The physical limits of a variable in its units; None if they are not known.

    Args:
        variable: The variable.
    """
    if variable.short_name not in LIMITS:
        return None
    known = KNOWN[variable.short_name]
    scale, offset = known.conversion(known.units, variable.units, variable.period)
    days = max(1.0, variable.period / DAY) if known.step_type == "accum" else 1.0
    low, high = sorted(days * scale * limit + offset for limit in LIMITS[variable.short_name])
    return low, high


def robust_limits(values: NDArray[np.float32], fills: NDArray[np.float32]) -> tuple[float, float]:
    """Limits for an unknown variable. Few values are beyond them, and these are far from all others.

    Args:
        values: The values, of any shape; NaN where they are missing.
        fills: Numbers that may mark missing values.
    """
    finite = values[np.isfinite(values)].astype(np.float64)
    others = finite[~are_among(finite, fills)]
    if not len(others):
        return -np.inf, np.inf
    centre = float(np.median(others))
    distances = np.abs(others - centre)
    count = int(np.ceil(MAX_OUTLIERS * len(distances)))
    largest = np.sort(np.partition(distances, -count - 1)[-count - 1 :] if len(distances) > count else distances)
    reach = float(distances.max())
    for near, far in pairwise(largest):
        if 0 < GAP * near < far:
            reach = float(near)
            break
    marks = np.abs(finite[are_among(finite, fills)] - centre)
    if reach < distances.max() or (reach > 0 and (marks > ISOLATED * reach).any()):
        return centre - ISOLATED * reach, centre + ISOLATED * reach
    return -np.inf, np.inf


def are_among(values: NDArray[np.floating], fills: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which values equal one of some numbers, up to rounding.

    Args:
        values: The values.
        fills: The numbers.
    """
    found = np.zeros(values.shape, bool)
    for fill in fills:
        found |= np.abs(values - fill) <= 1e-6 * abs(fill)
    return found
