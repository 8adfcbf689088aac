"""A bank of kernels that all learn a stream, weighted by how well they predicted it."""

from gpvae.bank.online_bank import Bank

__all__ = ["Bank"]
