"""Lead times: how far ahead of the last time learnt a prediction is, in groups."""

import torch
from torch import Tensor

#: Upper ends of the groups, inclusive; the last group has none. Hours for ERA5, points for a stream of points.
EDGES = (6.0, 24.0, 72.0)
#: Names of the groups.
GROUPS = ("1-6", "6-24", "24-72", "72-")


def lead_group(lead: Tensor) -> Tensor:
    """The group of each lead time, from 0.

    Args:
        lead: Lead times, above 0.

    Example:
        >>> import torch
        >>> lead_group(torch.tensor([1.0, 6.0, 7.0, 24.0, 100.0])).tolist()
        [0, 0, 1, 1, 3]
    """
    return torch.bucketize(lead, torch.tensor(EDGES, dtype=lead.dtype, device=lead.device))
