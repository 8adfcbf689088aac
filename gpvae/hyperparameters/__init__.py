"""Hyperparameters of kernel and likelihood, fitted to one batch."""

from gpvae.hyperparameters.marginal_likelihood import HyperparameterWarning, fit

__all__ = ["HyperparameterWarning", "fit"]
