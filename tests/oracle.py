"""An independent oracle in plain NumPy and SciPy: every quantity from its definition, without imports from gpvae.

Notation: x inputs `[N, D]`, k a covariance function of two sets of inputs, u inducing variables, M of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss
from scipy.special import eval_laguerre, eval_legendre

Array = np.ndarray
Covariance = Callable[[Array, Array], Array]


# --- kernels ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """v·κ(|x - x'| / lengthscale): a Matérn kernel of smoothness ν, or RBF where ν is infinite."""

    nu: float
    variance: float
    lengthscale: tuple[float, ...]

    def __call__(self, x: Array, y: Array) -> Array:
        d = np.sqrt((((x[:, None] - y[None]) / np.array(self.lengthscale)) ** 2).sum(-1))
        if math.isinf(self.nu):
            return self.variance * np.exp(-(d**2) / 2)
        a = math.sqrt(2 * self.nu) * d
        polynomial = {0.5: np.ones_like(a), 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[self.nu]
        return self.variance * polynomial * np.exp(-a)


def covariance(terms: Sequence[Term]) -> Covariance:
    """The sum of the terms."""
    return lambda x, y: sum(term(x, y) for term in terms)


# --- quadrature ------------------------------------------------------------------------------------------------


def quadrature(edges: Iterable[float], num: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss-Legendre rules of `num` nodes, one on each panel between neighbouring edges."""
    edges = np.unique(np.asarray(list(edges), dtype=float))
    z, w = leggauss(num)
    left, width = edges[:-1, None], np.diff(edges)[:, None]
    return (left + width * (z + 1) / 2).ravel(), (width * w / 2).ravel()


# --- HiPPO measures and bases, as functions of time ---------------------------------------------------------------


def support(name: str, start: float, end: float, window: float = math.nan) -> tuple[float, float]:
    """The interval that carries all of the measure but e^-80."""
    if name in ("LegS", "CosS"):
        return start, end
    return end - (80 * window if name == "LagT" else window), end


def basis(name: str, size: int, x: Array, start: float, end: float, window: float = math.nan) -> Array:
    """g_m(x), `[N, M]`."""
    m = np.arange(size)
    x = x[:, None]
    if name == "LegS":
        return np.sqrt(2 * m + 1) * eval_legendre(m, 2 * (x - start) / (end - start) - 1)
    if name == "CosS":
        return np.where(m == 0, 1, math.sqrt(2) * np.cos(math.pi * m * (x - start) / (end - start)))
    age = (end - x) / window
    if name == "LegT":
        return np.sqrt(2 * m + 1) * eval_legendre(m, 1 - 2 * age)
    if name == "LagT":
        return eval_laguerre(m, age)
    if name == "FouT":
        angle = 2 * math.pi * ((m + 1) // 2) * age
        return np.where(m == 0, 1, math.sqrt(2) * np.where(m % 2 == 1, np.cos(angle), np.sin(angle)))
    raise KeyError(name)


def density(name: str, x: Array, start: float, end: float, window: float = math.nan) -> Array:
    """ω(x), `[N]`."""
    if name == "LagT":
        return np.exp(-(end - x) / window) / window
    low, high = support(name, start, end, window)
    return np.full_like(x, 1 / (high - low))


# --- inducing variables ----------------------------------------------------------------------------------------


class Variables(ABC):
    """Linear functionals u of a function."""

    #: Where cov(u, f(x)) is not smooth in x.
    breaks: tuple[float, ...] = ()

    @abstractmethod
    def kuf(self, k: Covariance, x: Array) -> Array:
        """cov(u, f(x)), `[M, N]`."""

    @abstractmethod
    def kuv(self, k: Covariance, old: "Variables") -> Array:
        """cov(u, v), `[M, M_old]`."""

    def kuu(self, k: Covariance) -> Array:
        """cov(u, u), `[M, M]`."""
        return self.kuv(k, self)


@dataclass
class Values(Variables):
    """u = Wᵀ f(nodes)."""

    nodes: Array
    W: Array

    def kuf(self, k: Covariance, x: Array) -> Array:
        return self.W.T @ k(self.nodes, x)

    def kuv(self, k: Covariance, old: Variables) -> Array:
        return self.W.T @ old.kuf(k, self.nodes).T


@dataclass
class Concatenated(Variables):
    """The variables of several, one after the other."""

    parts: list[Variables]

    def __post_init__(self) -> None:
        self.breaks = tuple(b for part in self.parts for b in part.breaks)

    def kuf(self, k: Covariance, x: Array) -> Array:
        return np.concatenate([part.kuf(k, x) for part in self.parts])

    def kuv(self, k: Covariance, old: Variables) -> Array:
        return np.concatenate([part.kuv(k, old) for part in self.parts])


@dataclass
class Projection(Variables):
    """u_m = ∫ f(x) g_m(x) ω(x) dx over time, panel by panel.

    The kernel may have a kink where its two inputs meet, so panels also end there.
    """

    name: str
    size: int
    start: float
    end: float
    window: float = math.nan

    def __post_init__(self) -> None:
        low, high = support(self.name, self.start, self.end, self.window)
        self.edges = np.linspace(low, high, 5)
        if self.name == "LagT":  # g ω decays like exp(-age/2), so old panels may be coarse
            self.edges = high - self.window * np.concatenate([np.linspace(80, 20, 11), np.linspace(18, 0, 10)])
        self.breaks = (low, high)

    def apply(self, h: Callable[[Array], Array], breaks: Iterable[float] = ()) -> Array:
        """∫ h g ω for h: `[Q, 1]` to `[Q, ...]`; returns `[M, ...]`."""
        inside = [b for b in breaks if self.edges[0] < b < self.edges[-1]]
        x, w = quadrature([*self.edges, *inside], 18)
        measure = (self.name, self.size, x, self.start, self.end, self.window)
        Phi = basis(*measure) * (w * density(self.name, x, self.start, self.end, self.window))[:, None]
        return np.tensordot(Phi, h(x[:, None]), (0, 0))

    def kuf(self, k: Covariance, x: Array) -> Array:
        columns = [self.apply(lambda y, at=at: k(y, at[None])[:, 0], breaks=at) for at in x]
        return np.stack(columns, 1)

    def kuv(self, k: Covariance, old: Variables) -> Array:
        return self.apply(lambda y: old.kuf(k, y).T, breaks=old.breaks)


@dataclass
class Modulated(Projection):
    """CosS, the first 16 of them also times √2 cos and √2 sin of a period; of all these, the chosen ones."""

    period: float = math.nan
    chosen: tuple[int, ...] = ()

    def apply(self, h: Callable[[Array], Array], breaks: Iterable[float] = ()) -> Array:
        inside = [b for b in breaks if self.edges[0] < b < self.edges[-1]]
        x, w = quadrature([*np.linspace(self.edges[0], self.edges[-1], 13), *inside], 18)
        plain = basis(self.name, self.size, x, self.start, self.end)
        phase = 2 * math.pi * x[:, None] / self.period
        waves = [math.sqrt(2) * wave(phase) * plain[:, :16] for wave in (np.cos, np.sin)]
        Phi = np.concatenate([plain, *waves], 1)[:, list(self.chosen)] * (w / (self.end - self.start))[:, None]
        return np.tensordot(Phi, h(x[:, None]), (0, 0))


def path(points: Array, size: int) -> Values:
    """LegS along a path that stays at point i during [i, i+1): each basis function integrated over each step."""
    W = np.zeros((len(points), size))
    for i in range(len(points)):
        s, w = quadrature([i, i + 1], size)
        W[i] = w @ basis("LegS", size, s, 0.0, len(points)) / len(points)
    return Values(points, W)


@dataclass
class Waves(Variables):
    """u_m = <f, φ_m> in the RKHS of a Matérn kernel on [a, b]: φ = 1, cos, sin, ... of whole waves.

    Each wave is scaled so that the integral in <φ_m, φ_m> is one, which leaves its boundary term.

    The inner products are those of Durrande et al. (2016) and Hensman et al. (2018, section 3), by quadrature.
    """

    size: int
    a: float
    b: float
    term: Term

    def __post_init__(self) -> None:
        self.breaks = (self.a, self.b)
        self.p = round(self.term.nu + 0.5)
        self.rate = math.sqrt(2 * self.term.nu) / self.term.lengthscale[0]

    def waves(self, x: Array) -> Array:
        """φ_m and its p derivatives, `[p + 1, N, M]`."""
        x_all, w = quadrature(list(np.linspace(self.a, self.b, 9)), 24)
        energy = self.quotient() * (w @ self.operator(self.plain_waves(x_all)) ** 2)
        return self.plain_waves(x) / np.sqrt(energy)

    def quotient(self) -> float:
        """One over the spectral density of the white noise that drives the process."""
        lam = self.rate
        return {1: 1 / (2 * lam), 2: 1 / (4 * lam**3), 3: 3 / (16 * lam**5)}[self.p] / self.term.variance

    def operator(self, d: Array) -> Array:
        """(λ + d/dx)^p of a function given with its p derivatives."""
        return sum(math.comb(self.p, j) * self.rate ** (self.p - j) * d[j] for j in range(self.p + 1))

    def plain_waves(self, x: Array) -> Array:
        """The waves before scaling."""
        m = np.arange(self.size)
        omega = 2 * math.pi * ((m + 1) // 2) / (self.b - self.a)
        phase = np.where((m == 0) | (m % 2 == 1), math.pi / 2, 0.0)
        angle = omega * (x[:, None] - self.a) + phase
        return np.stack([omega**j * np.sin(angle + j * math.pi / 2) for j in range(self.p + 1)])

    def section(self, x: Array, y: float, above: bool) -> Array:
        """k(·, y) and its p derivatives at x, `[p + 1, N, 1]`, on the side of y where x is above it or below."""
        lam, sign = self.rate, 1 if above else -1
        factor = {1: [1], 2: [1, lam], 3: [1, lam, lam**2 / 3]}[self.p]
        series = Polynomial(np.array(factor) * self.term.variance)
        rows = []
        for j in range(self.p + 1):
            lag = sign * (x - y)
            rows.append(sign**j * series(lag) * np.exp(-lam * lag))
            series = series.deriv() - lam * series
        return np.stack(rows)[..., None]

    def inner(self, g: Callable[[Array], Array], h: Callable[[Array], Array], breaks: Sequence[float] = ()) -> Array:
        """<g, h> for functions that return themselves and p derivatives: `[p + 1, N, G]`, `[p + 1, N, H]`."""
        lam, v, p = self.rate, self.term.variance, self.p
        x, w = quadrature([*np.linspace(self.a, self.b, 9), *breaks], 24)
        result = self.quotient() * (self.operator(g(x)).T * w) @ self.operator(h(x))
        end = np.array([self.a])
        G, H = g(end)[:, 0], h(end)[:, 0]
        if p < 3:
            return result + sum(np.outer(G[j], H[j]) / (v * lam ** (2 * j)) for j in range(p))
        result += 9 / (8 * v) * (np.outer(G[0], H[0]) + np.outer(G[2], H[2]) / lam**4)
        mixed = np.outer(G[2], H[0]) + np.outer(G[0], H[2])
        return result + 3 / (lam**2 * v) * (np.outer(G[1], H[1]) + mixed / 8)

    def kuf(self, k: Covariance, x: Array) -> Array:
        """<φ_m, k(·, x)>, which inside [a, b] must come out as φ_m(x)."""
        columns = []
        for y in x[:, 0]:

            def section(at: Array, y: float = y) -> Array:
                return np.where((at >= y)[:, None], self.section(at, y, True), self.section(at, y, False))

            columns.append(self.inner(self.waves, section, [y] if self.a < y < self.b else [])[:, 0])
        return np.stack(columns, 1)

    def kuv(self, k: Covariance, old: Variables) -> Array:
        if isinstance(old, Waves):
            return self.inner(self.waves, old.waves)
        return old.kuv(k, self).T
