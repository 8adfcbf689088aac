"""A bank of kernels that all learn a stream, weighted by how well they predicted it."""

from gpvae.bank.online_bank import DEFAULT_SIZE, Bank

__all__ = ["DEFAULT_SIZE", "Bank"]
