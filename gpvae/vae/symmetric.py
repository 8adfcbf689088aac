"""Symmetric matrices and their upper triangles."""

import torch
from torch import Tensor


class Triangle:
    """The elements i <= j of symmetric matrices.

    Args:
        size: Number of rows M.
        device: The device of the matrices.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self.rows, self.columns = torch.triu_indices(size, size, device=device)
        self.position = torch.empty(size, size, dtype=torch.int64, device=device)
        number = torch.arange(len(self.rows), device=device)
        self.position[self.rows, self.columns] = self.position[self.columns, self.rows] = number
        self.counts = torch.where(self.rows == self.columns, 1.0, 2.0)

    def matrix(self, elements: Tensor) -> Tensor:
        """The matrices `[..., M, M]` with these elements, `[..., M (M + 1) / 2]`."""
        return elements[..., self.position]

    def elements(self, matrix: Tensor, dtype: torch.dtype) -> Tensor:
        """The elements of matrices in a type, each times how often it is in its matrix: the adjoint of `matrix`."""
        elements = matrix[..., self.rows, self.columns]
        return torch.mul(elements, self.counts, out=elements.new_empty(elements.shape, dtype=dtype))
