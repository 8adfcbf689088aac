"""Textbook formulas, dense and unwhitened, for tests to compare with. Nothing here imports the package.

Letters as in the papers: f values at the data, u (or b) inducing variables, a older inducing variables, s test points.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Gaussian:
    """N(mean, cov), and the log evidence or bound that came with it."""

    mean: Tensor
    cov: Tensor
    bound: Tensor


def log_normal(y: Tensor, cov: Tensor) -> Tensor:
    """log N(y; 0, cov)."""
    return -0.5 * (y @ torch.linalg.solve(cov, y) + torch.logdet(cov) + len(y) * math.log(2 * math.pi))


def kl(m1: Tensor, S1: Tensor, m2: Tensor, S2: Tensor) -> Tensor:
    """KL(N(m1, S1) ‖ N(m2, S2))."""
    d = m2 - m1
    trace = torch.linalg.solve(S2, S1).trace()
    return 0.5 * (trace + d @ torch.linalg.solve(S2, d) - len(m1) + torch.logdet(S2) - torch.logdet(S1))


def exact(kff: Tensor, kfs: Tensor, kss: Tensor, noise: Tensor, y: Tensor) -> Gaussian:
    """GP regression: the posterior of f_s and log p(y)."""
    K = kff + noise * torch.eye(len(y), dtype=y.dtype)
    gain = torch.linalg.solve(K, kfs).mT
    return Gaussian(gain @ y, kss - gain @ kfs, log_normal(y, K))


def sgpr(kuu: Tensor, kuf: Tensor, kff_diag: Tensor, noise: Tensor, y: Tensor) -> Gaussian:
    """Titsias (2009): the optimal q(u) and the collapsed bound."""
    Sigma = torch.linalg.inv(kuu + kuf @ kuf.mT / noise)
    qff = kuf.mT @ torch.linalg.solve(kuu, kuf)
    bound = log_normal(y, qff + noise * torch.eye(len(y), dtype=y.dtype))
    bound = bound - 0.5 * (kff_diag - qff.diagonal()).sum() / noise
    return Gaussian(kuu @ Sigma @ kuf @ y / noise, kuu @ Sigma @ kuu, bound)


def fitc(kuu: Tensor, kuf: Tensor, kff_diag: Tensor, noise: Tensor, y: Tensor) -> Gaussian:
    """FITC (Snelson and Ghahramani 2006; Quiñonero-Candela and Rasmussen 2005): q(u) and its log evidence."""
    qff = kuf.mT @ torch.linalg.solve(kuu, kuf)
    Lambda = kff_diag - qff.diagonal() + noise
    Sigma = torch.linalg.inv(kuu + (kuf / Lambda) @ kuf.mT)
    return Gaussian(kuu @ Sigma @ kuf @ (y / Lambda), kuu @ Sigma @ kuu, log_normal(y, qff + torch.diag(Lambda)))


def predict(q: Gaussian, kuu: Tensor, kus: Tensor, kss: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance of f_s under q(u): equation 2 of the paper."""
    A = torch.linalg.solve(kuu, kus).mT
    return A @ q.mean, kss - A @ (kuu - q.cov) @ A.mT


def streaming_sgpr(
    old: Gaussian,
    kaa_old: Tensor,
    kaa: Tensor,
    kbb: Tensor,
    kab: Tensor,
    kbf: Tensor,
    kff_diag: Tensor,
    noise: Tensor,
    y: Tensor,
) -> Gaussian:
    """Bui et al. (2017), appendix: new data y and pseudo-data ŷ_a = D_a S_a⁻¹ m_a of noise D_a = (S_a⁻¹ - K_aa⁻¹)⁻¹.

    `kaa_old` is the prior of a when q(a) = `old` was made, `kaa` the one of the present hyperparameters.
    """
    Sa_inv = torch.linalg.inv(old.cov)
    Da = torch.linalg.inv(Sa_inv - torch.linalg.inv(kaa_old))
    Da = 0.5 * (Da + Da.mT)
    eta = Sa_inv @ old.mean
    y_hat = torch.cat([y, Da @ eta])
    k_hat = torch.cat([kbf.mT, kab])
    noise_hat = torch.block_diag(noise * torch.eye(len(y), dtype=y.dtype), Da)
    q_hat = k_hat @ torch.linalg.solve(kbb, k_hat.mT)
    gain = torch.linalg.solve(q_hat + noise_hat, k_hat).mT
    Qa = kaa - kab @ torch.linalg.solve(kbb, kab.mT)
    delta = (
        0.5 * (torch.logdet(kaa_old) - torch.logdet(old.cov) + torch.logdet(Da))
        + 0.5 * len(kaa) * math.log(2 * math.pi)
        + 0.5 * (eta @ Da @ eta - eta @ old.mean)
        - 0.5 * torch.linalg.solve(Da, Qa).trace()
        - 0.5 * (kff_diag - q_hat.diagonal()[: len(y)]).sum() / noise
    )
    bound = old.bound + log_normal(y_hat, q_hat + noise_hat) + delta
    return Gaussian(gain @ y_hat, kbb - gain @ k_hat, bound)


def online_elbo(
    q: tuple[Tensor, Tensor],
    old: tuple[Tensor, Tensor],
    kaa_old: Tensor,
    kaa: Tensor,
    kbb: Tensor,
    kab: Tensor,
    log_likelihood: Tensor,
) -> Tensor:
    """Equation 3 of the paper with its KLs, and q̃(a) = ∫ p(a|b) q(b) db, from q(b) = N(m, S)."""
    m, S = q
    A = torch.linalg.solve(kbb, kab.mT).mT
    tilde = A @ m, kaa - A @ (kbb - S) @ A.mT
    zero_a, zero_b = torch.zeros_like(old[0]), torch.zeros_like(m)
    return log_likelihood + kl(*tilde, zero_a, kaa_old) - kl(*tilde, *old) - kl(m, S, zero_b, kbb)


def gaussian_expected_log_likelihood(y: Tensor, mean: Tensor, var: Tensor, noise: Tensor) -> Tensor:
    """Σ E log N(y; f, noise) for f ~ N(mean, var)."""
    return -0.5 * (torch.log(2 * math.pi * noise) + ((y - mean) ** 2 + var) / noise).sum()
