"""`save` and `load`: the model in one call, from a file that can run no code; states that contradict themselves."""

import copy
from pathlib import Path

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel, SpectralMixtureKernel
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, NegativeBinomialLikelihood
from gpytorch.means import LinearMean, ZeroMean

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegS, PivotedPoints, Points
from tests.toys import FAMILIES, assert_refused, gaussian, model, rbf, snapshot, states_equal, tasks, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning", "ignore::gpvae.MisfitWarning")
S = torch.linspace(0, 3, 11, dtype=torch.float64)
X, Y = wave(40)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_loaded_model_goes_on_like_the_saved_one(family: str, tmp_path: Path) -> None:
    """Bit for bit, with points that wait in the buffer."""
    (x1, y1), (x2, y2) = tasks(2, 40)
    gp = model(FAMILIES[family](7), buffer_size=9).update(x1, y1).update(x2[:1], y2[:1])
    gp.save(tmp_path / "gp.pt")
    loaded = OnlineGP.load(tmp_path / "gp.pt")
    assert repr(loaded) == repr(gp)
    assert torch.equal(loaded.predict(S).mean, gp.predict(S).mean)
    for each in (gp, loaded):
        each.update(x2[1:], y2[1:])
    assert states_equal(snapshot(gp), snapshot(loaded))


@pytest.mark.parametrize(
    "kernel",
    [
        ScaleKernel(RBFKernel(ard_num_dims=2) + MaternKernel(nu=1.5, active_dims=(1,)) * PeriodicKernel()),
        ScaleKernel(RBFKernel(batch_shape=torch.Size([3])), batch_shape=torch.Size([3])),
        SpectralMixtureKernel(num_mixtures=3, ard_num_dims=2),
        ScaleKernel(RBFKernel(lengthscale_constraint=gpytorch.constraints.Interval(0.1, 9.0))),
    ],
    ids=["sum", "batch", "mixture", "constraint"],
)
def test_kernels_of_all_kinds_are_built_again(kernel: Kernel, tmp_path: Path) -> None:
    """With their values, constraints and frozen parameters."""
    next(iter(kernel.parameters())).requires_grad_(False)
    gp = OnlineGP(
        [Points(3, trainable=False), PivotedPoints(4)], kernel, GaussianLikelihood(), power=0.5, time_unit="D"
    )
    gp.save(tmp_path / "gp.pt")
    loaded = OnlineGP.load(tmp_path / "gp.pt")
    assert states_equal(snapshot(gp), snapshot(loaded))
    assert [p.requires_grad for p in loaded.kernel.parameters()] == [p.requires_grad for p in kernel.parameters()]
    assert repr(loaded) == repr(gp)
    x = torch.rand(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(loaded.latent(x).variance, gp.latent(x).variance)


@pytest.mark.parametrize("likelihood", [BernoulliLikelihood(), NegativeBinomialLikelihood(num_failures_param=True)])
def test_likelihoods_and_means_are_built_again(likelihood: gpytorch.likelihoods.Likelihood, tmp_path: Path) -> None:
    gp = OnlineGP(LegS(5), rbf(), likelihood, mean=LinearMean(1)).update(X, (Y > 0).double())
    gp.save(tmp_path / "gp.pt")
    assert torch.equal(OnlineGP.load(tmp_path / "gp.pt").predict(S).mean, gp.predict(S).mean)


class MyKernel(RBFKernel):
    pass


def test_classes_of_your_own_are_refused_in_both_directions(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"MyKernel cannot be saved by name; save state_dict\(\)"):
        OnlineGP(LegS(5), MyKernel(), gaussian()).save(tmp_path / "gp.pt")
    assert not (tmp_path / "gp.pt").exists()
    model(LegS(5)).save(tmp_path / "gp.pt")
    content = torch.load(tmp_path / "gp.pt", weights_only=True)
    content["model"]["kernel"]["class"] = "os.system"
    torch.save(content, tmp_path / "gp.pt")
    with pytest.raises(ValueError, match=r"names 'os.system'"):
        OnlineGP.load(tmp_path / "gp.pt")
    torch.save({"a": 1}, tmp_path / "gp.pt")
    with pytest.raises(ValueError, match=r"not written by OnlineGP.save"):
        OnlineGP.load(tmp_path / "gp.pt")


DAMAGE = {
    "NaN": ("posteriors.0.h", lambda v: v * torch.nan, "NaN or infinite"),
    "shape": ("posteriors.0.h", lambda v: v[:-1], "shapes"),
    "symmetry": ("posteriors.0.G", lambda v: v + torch.ones_like(v).triu(1) * v.abs().max(), "not symmetric"),
    "definite": ("posteriors.0.G", lambda v: v - 9 * v.abs().max() * torch.eye(len(v)), "not positive definite"),
    "triangle": ("posteriors.0.L", lambda v: v.mT, "Cholesky factor"),
    "other factor": ("posteriors.0.L", lambda v: 3 * v, "under its kernel"),
    "parameter": ("kernel.raw_outputscale", lambda v: v * torch.inf, "kernel.raw_outputscale"),
    "recent": ("recent.y", lambda v: v * torch.nan, "recent points"),
    "variables": ("posteriors.0.inducing.end", lambda v: v * torch.nan, "inducing variables"),
    "number": ("posteriors.0.h", lambda v: 3.0, "names and tensors only"),
    "complex": ("posteriors.0.h", lambda v: v + 1j, "dense numbers"),
    "huge": ("posteriors.0.h", lambda v: v[:1].expand(10**13), "GB of memory"),
    "leader": ("best", lambda v: v + 7, "family 7"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_state_that_contradicts_itself_is_refused(damage: str) -> None:
    """All or nothing: the model stays as it was."""
    name, change, message = DAMAGE[damage]
    gp = model(CosS(8)).update(X[:20], Y[:20]).update(X[20:21], Y[20:21])
    state = snapshot(gp)
    state[name] = change(state[name])
    fresh = model(CosS(8)).update(X[:9], Y[:9])
    assert_refused(fresh, lambda: fresh.load_state_dict(state), message)


def test_a_file_with_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    model(CosS(8)).update(X, Y).save(tmp_path / "gp.pt")
    content = bytearray((tmp_path / "gp.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "gp.pt").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as a model: it may be damaged"):
        OnlineGP.load(tmp_path / "gp.pt")


def test_a_state_with_a_kernel_that_has_changed_since_is_valid() -> None:
    gp = model(CosS(8)).update(X, Y)
    gp.kernel.base_kernel.lengthscale = 0.7
    copy.deepcopy(model(CosS(8))).load_state_dict(gp.state_dict())


def test_a_model_draws_itself() -> None:
    gp = model(CosS(20)).update(X, Y)
    (axes,) = gp.plot().axes
    assert len(gp.plot(torch.linspace(0, 3, 7, requires_grad=True)).axes[0].lines[0].get_xdata()) == 7
    low, high = axes.get_xlim()
    assert low <= 0.0 < 2.9 < high
    assert len(axes.lines) == 1
    times = np.datetime64("2020-01-01", "ns") + np.arange(30) * np.timedelta64(1, "h")
    over_time = OnlineGP(CosS(20), rbf(5.0), gaussian(), mean=ZeroMean()).update(times, Y[:30])
    assert "2020-01" in "".join(str(d) for d in over_time.plot().axes[0].lines[0].get_xdata()[:1])
    with pytest.raises(RuntimeError, match="nothing has been learnt"):
        model(CosS(5)).plot()


def test_a_model_draws_observations_over_the_range_shown() -> None:
    """Numbers, times with gaps, and several outputs; targets of another length are refused."""
    inside = (X[:, 0] >= 1) & (X[:, 0] <= 2)
    (dots,) = model(CosS(20)).update(X, Y).plot(torch.linspace(1, 2, 9), observed=(X, Y)).axes[0].lines[1:]
    assert dots.get_xdata().tolist() == X[inside, 0].tolist()
    assert dots.get_ydata().tolist() == Y[inside].tolist()
    times = np.datetime64("2020-01-01", "ns") + np.arange(40) * np.timedelta64(1, "h")
    y = torch.stack([Y, torch.where(Y > 0, Y, torch.nan)], -1)
    gp = OnlineGP(CosS(20), rbf(5.0), gaussian(), mean=ZeroMean(), num_outputs=2).update(times, y)
    dots = gp.plot(times[10:20], observed=(times, y)).axes[0].lines[2:]
    for k, line in enumerate(dots):
        np.testing.assert_array_equal(line.get_xdata(), times[10:20])
        np.testing.assert_array_equal(line.get_ydata(), y[10:20, k])
    with pytest.raises(ValueError, match="y has shape"):
        gp.plot(observed=(times, y[:5]))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "gp.pt", Path("/proc/gp.pt")):
        with pytest.raises(OSError, match=path.parent.name):
            model(CosS(8)).update(X, Y).save(path)
