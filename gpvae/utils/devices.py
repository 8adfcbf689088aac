"""Devices without float64, such as Apple's, and what is moved between them and the host."""

import torch
from torch import Tensor, nn


def supports_float64(device: torch.device) -> bool:
    """Whether a device has float64; raise if there is no such device."""
    single = torch.zeros((), device=device)
    try:
        single.double()
    except (TypeError, RuntimeError):
        return False
    return True


def moved(tensor: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """A tensor on another device, in another type, which changes on the host if one of the devices may lack a type."""
    return tensor.to(device).to(dtype) if device.type == "cpu" else tensor.to(dtype).to(device)


def move_in_place(module: nn.Module, device: torch.device) -> None:
    """Move a module between training steps. Its parameters stay the same objects, so an optimiser keeps them."""
    for parameter in module.parameters():
        if parameter.device != device:
            parameter.grad = None
            there = nn.Parameter(parameter.detach().to(device), parameter.requires_grad)
            torch.utils.swap_tensors(parameter, there)
    module.to(device)  # buffers
