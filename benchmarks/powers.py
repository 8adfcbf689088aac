"""The power by which a cost grows with a size."""

import math
from collections.abc import Sequence


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """p in cost ∝ sizeᵖ, by least squares on logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    centre, middle = sum(x) / len(x), sum(y) / len(y)
    products = ((a - centre) * (b - middle) for a, b in zip(x, y, strict=True))
    return sum(products) / sum((a - centre) ** 2 for a in x)
