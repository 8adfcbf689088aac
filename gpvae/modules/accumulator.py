"""A sum of sites over batches and processes."""

import torch
from torch import Tensor, nn

from gpvae.processes import over_processes
from gpvae.sites import Site


class SiteAccumulator(nn.Module):
    """Adds up the sites of a task's batches; the same on every process after each.

    Args:
        num_inducing: Number of inducing variables M.
    """

    c: Tensor
    h: Tensor
    G: Tensor
    seen: Tensor

    def __init__(self, num_inducing: int) -> None:
        super().__init__()
        for name, shape in (("c", ()), ("h", (num_inducing,)), ("G", (num_inducing, num_inducing))):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def reset(self) -> None:
        """Forget everything."""
        for buffer in (self.c, self.h, self.G, self.seen):
            buffer.zero_()

    def add(self, site: Site, num_points: int) -> None:
        """Add the sites of a batch, those of all processes.

        Args:
            site: The site of the batch of this process.
            num_points: Number of points in it.
        """
        for buffer, value in ((self.c, site.c), (self.h, site.h), (self.G, site.G)):
            buffer += over_processes(value)
        self.seen += over_processes(torch.full_like(self.seen, num_points))

    def total(self, num_data: int) -> Site:
        """The site of all points of the task, each counted once however often they have come.

        Args:
            num_data: Number of points of the task.
        """
        passes, rest = divmod(int(self.seen), num_data)
        if passes < 1 or rest:
            raise ValueError(
                f"{int(self.seen)} points were seen of a task of {num_data}: in closed form every point counts once, "
                "so an epoch is one pass; leave steps_per_epoch and limit_train_batches alone"
            )
        return Site(self.c / passes, self.h / passes, self.G / passes)
