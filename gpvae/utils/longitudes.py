"""Longitudes of regions across the date line."""

import numpy as np
from numpy.typing import NDArray


def contiguous(longitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Longitudes in degrees east, from 0 to 360 for a region across the date line, else as they are.

    Args:
        longitude: Degrees east, from -180 to 180.

    Example:
        >>> import numpy as np
        >>> contiguous(np.array([179.0, -178.0])).tolist(), contiguous(np.array([-8.0, 3.0])).tolist()
        ([179.0, 182.0], [-8.0, 3.0])
    """
    around = longitude % 360
    return around if np.ptp(around) <= 180 < np.ptp(longitude) else longitude
