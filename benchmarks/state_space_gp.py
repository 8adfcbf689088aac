"""Gaussian processes over time with a Matérn kernel as linear state-space models: exact, in linear time.

A Matérn process with ν = p - 1/2 and its first p - 1 derivatives are a Markov process (Hartikainen & Särkkä 2010). A
Kalman filter keeps its distribution at the last time and nothing else: it predicts what comes, not what was. A smoother
keeps all data, and predicts any time exactly as a dense Gaussian process does, here by the recursion of Bryson and
Frazier, which inverts no covariance.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor
from torch.distributions import Normal

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Matern:
    """A Matérn kernel, and noise.

    Attributes:
        nu: ν: 0.5, 1.5 or 2.5.
        lengthscale: The lengthscale.
        variance: The variance.
        noise: The variance of the noise.
    """

    nu: float
    lengthscale: float
    variance: float
    noise: float

    @property
    def order(self) -> int:
        """Size of the state p."""
        return round(self.nu + 0.5)

    @property
    def rate(self) -> float:
        """λ = sqrt(2ν) / lengthscale."""
        return math.sqrt(2 * self.nu) / self.lengthscale

    def stationary(self) -> Floats:
        """Covariance of f and its derivatives at one time, `[p, p]`."""
        lam = self.rate
        covariances = {
            1: [[1.0]],
            2: [[1.0, 0.0], [0.0, lam**2]],
            3: [[1.0, 0.0, -(lam**2) / 3], [0.0, lam**2 / 3, 0.0], [-(lam**2) / 3, 0.0, lam**4]],
        }
        return self.variance * np.array(covariances[self.order])

    def transitions(self, steps: Floats) -> tuple[Floats, Floats]:
        """exp(F Δ) and the noise of the state over steps Δ `[N]`, both `[N, p, p]`; F has the one eigenvalue -λ."""
        p, lam = self.order, self.rate
        nilpotent = np.eye(p, k=1) + lam * np.eye(p)
        nilpotent[-1] -= [math.comb(p, j) * lam ** (p - j) for j in range(p)]
        powers, term = np.zeros((len(steps), p, p)), np.eye(p)
        for k in range(p):
            powers += steps[:, None, None] ** k * term
            term = term @ nilpotent / (k + 1)
        A = np.exp(-lam * steps)[:, None, None] * powers
        P = self.stationary()
        return A, P - A @ P @ A.swapaxes(1, 2)


class MaternFilter:
    """A Kalman filter: constant memory, constant time a point, and no way back.

    Args:
        matern: Kernel and noise.
    """

    def __init__(self, matern: Matern) -> None:
        self.matern = matern
        self.mean = np.zeros(matern.order)
        self.P = matern.stationary()
        self.time = -math.inf
        self.log_evidence = 0.0

    @property
    def num_numbers(self) -> int:
        """Numbers that are kept of the past."""
        return self.mean.size + self.P.size + 1

    def update(self, x: Tensor, y: Tensor) -> None:
        """Learn points in order of time, `[N, 1]` and `[N]`."""
        for _ in self.steps(*_sorted(x, y)):
            pass

    def steps(self, x: Floats, y: Floats) -> Iterator[tuple[Floats, ...]]:
        """Filter points in order, with NaN where nothing is observed; mean, P, A, gain, S and residual after each."""
        if x[0] < self.time:
            raise ValueError(f"time goes back from {self.time:g} to {x[0]:g}; a filter takes points in order")
        first = x[0] if math.isinf(self.time) else self.time
        A, Q = self.matern.transitions(np.diff(x, prepend=first))
        noise, nothing = self.matern.noise, np.zeros(self.matern.order)
        for k in range(len(x)):
            self.mean, self.P = A[k] @ self.mean, A[k] @ self.P @ A[k].T + Q[k]
            gain, S, residual = nothing, math.inf, 0.0
            if not math.isnan(y[k]):
                S, residual = self.P[0, 0] + noise, y[k] - self.mean[0]
                gain = self.P[:, 0] / S
                self.mean, self.P = self.mean + gain * residual, self.P - np.outer(gain, self.P[0])
                self.log_evidence -= 0.5 * (residual**2 / S + math.log(2 * math.pi * S))
            self.time = x[k]
            yield self.mean, self.P, A[k], gain, S, residual

    def predict(self, x: Tensor) -> Normal:
        """y at times `[N, 1]` that are not before the last."""
        steps = x[:, 0].numpy() - (x[:, 0].numpy().min() if math.isinf(self.time) else self.time)
        if steps.min() < 0:
            raise ValueError(f"a filter forecasts, and knows nothing before its time {self.time:g}")
        A, Q = self.matern.transitions(steps)
        var = (A @ self.P @ A.swapaxes(1, 2) + Q)[:, 0, 0] + self.matern.noise
        return Normal(torch.from_numpy((A @ self.mean)[:, 0]), torch.from_numpy(np.sqrt(var)))


class MaternSmoother:
    """Filter and smoother: exact, and keeps all data.

    Args:
        matern: Kernel and noise.
    """

    def __init__(self, matern: Matern) -> None:
        self.matern = matern
        self.x, self.y = np.zeros(0), np.zeros(0)

    @property
    def num_numbers(self) -> int:
        """Numbers that are kept: all data."""
        return self.x.size + self.y.size

    def update(self, x: Tensor, y: Tensor) -> None:
        """Keep points, `[N, 1]` and `[N]`."""
        self.x, self.y = np.append(self.x, x[:, 0].numpy()), np.append(self.y, y.numpy())

    def predict(self, x: Tensor) -> Normal:
        """y at times `[N, 1]`."""
        times, values = np.append(self.x, x[:, 0].numpy()), np.append(self.y, np.full(len(x), np.nan))
        order = np.argsort(times, kind="stable")
        mean, var = smooth(self.matern, times[order], values[order])
        places = np.argsort(order)[len(self.x) :]
        return Normal(torch.from_numpy(mean[places]), torch.from_numpy(np.sqrt(var[places] + self.matern.noise)))


def smooth(matern: Matern, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of f at times in order, given all targets that are not NaN."""
    filtered = list(MaternFilter(matern).steps(x, y))
    p = matern.order
    adjoint, information = np.zeros(p), np.zeros((p, p))
    mean, var = np.empty(len(x)), np.empty(len(x))
    for k in range(len(x) - 1, -1, -1):
        m, P, A, gain, S, residual = filtered[k]
        mean[k] = m[0] - P[0] @ adjoint
        var[k] = P[0, 0] - P[0] @ information @ P[0]
        # Back through the observation, by I - gain eᵀ, and through the step, by A.
        adjoint = adjoint.copy()
        information = information - np.outer(information @ gain, np.eye(p)[0])
        information[0] -= gain @ information
        adjoint[0] -= gain @ adjoint + residual / S
        information[0, 0] += 1 / S
        adjoint, information = A.T @ adjoint, A.T @ information @ A
    return mean, np.maximum(var, 0.0)


def log_evidence(matern: Matern, x: Tensor, y: Tensor) -> float:
    """The log evidence of points `[N, 1]` and `[N]`."""
    model = MaternFilter(matern)
    model.update(x, y)
    return model.log_evidence


def fit(nu: float, x: Tensor, y: Tensor, starts: int = 4) -> Matern:
    """The lengthscale, variance and noise of the highest evidence, from several lengthscales by L-BFGS.

    Args:
        nu: ν.
        x: Times `[N, 1]`.
        y: Targets `[N]`.
        starts: Number of lengthscales to start from, between spacing and extent.
    """
    extent, power = float(x.max() - x.min()), float(y.square().mean())

    def made(logarithms: Floats) -> Matern:
        return Matern(nu, *np.exp(np.clip(logarithms, -30, 30)).tolist())

    best = None
    for share in np.geomspace(3 / len(x), 0.5, starts):
        start = np.log([share * extent, power, 0.1 * power])
        found = minimize(lambda v: -log_evidence(made(v), x, y) / len(x), start, method="L-BFGS-B")
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    return made(best.x)


def _sorted(x: Tensor, y: Tensor) -> tuple[Floats, Floats]:
    order = x[:, 0].argsort(stable=True)
    return x[order, 0].numpy(), y[order].numpy()
