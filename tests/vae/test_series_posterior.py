"""Sites of many series: computed in chunks, stored in files, with a shared precision; all agree with the plain form."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.vae import series_posterior
from gpvae.vae.shared_precision import common_shape
from tests.vae.learning import Data, learn, predictions

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
NUM_SERIES, HOURS = 5, 12


def task(number: int, masked: float = 0.2) -> Data:
    rng = torch.Generator().manual_seed(number)
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    y = torch.randn(NUM_SERIES, HOURS, 3, generator=rng)
    return times, y, torch.rand(NUM_SERIES, HOURS, 3, generator=rng) >= masked


def learnt(num_tasks: int = 3, masked: float = 0.2, method: str = "CosS", **options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 6, "num_variables": 3, "latent_dim": 2, "hidden_dim": 8, "num_samples": 5}
    module = SVGPVAE(method, consolidation="both", **sizes, **options)  # type: ignore[arg-type]
    for number in range(num_tasks):
        learn(module, task(number, masked))
    return module


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("method", ["CosS", "OSVGP"])
def test_some_series_at_a_time_come_to_the_same(shared: bool, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together = learnt(shared_precision=shared, method=method)
    monkeypatch.setattr(series_posterior, "MAX_ELEMENTS", 2 * 2 * 6**2)  # two series
    assert together.vae.posterior.chunk_size == 2
    apart = learnt(shared_precision=shared, method=method)
    torch.testing.assert_close(predictions(apart), predictions(together), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shared", [False, True])
def test_files_hold_what_memory_would(shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_posterior, "MAX_ELEMENTS", 2 * 2 * 6**2)
    memory = learnt(shared_precision=shared)
    files = learnt(shared_precision=shared, sites_folder=str(tmp_path))
    for ours, theirs in zip(predictions(files), predictions(memory), strict=True):
        assert torch.equal(ours, theirs)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["replay", "task", "task_02", "task_03"]  # the last two tasks
    rows = {"c", "h"} if shared else {"c", "h", "G"}
    assert {path.name for path in (tmp_path / "task_03").iterdir()} == {f"{name}.0_of_1" for name in rows}
    names = {f"vae.posterior.{name}" for name in rows}
    assert names <= memory.state_dict().keys()
    assert not names & files.state_dict().keys()


@pytest.mark.parametrize("shared", [False, True])
def test_a_state_finds_its_files(shared: bool, tmp_path: Path) -> None:
    options = {"shared_precision": shared, "sites_folder": str(tmp_path)}
    files = learnt(**options)
    again = learnt(num_tasks=0, **options)
    again.load_state_dict(files.state_dict())
    for ours, theirs in zip(predictions(again), predictions(files), strict=True):
        assert torch.equal(ours, theirs)
    for module in (files, again):
        learn(module, task(3))
    for ours, theirs in zip(predictions(again), predictions(files), strict=True):
        assert torch.equal(ours, theirs)

    state = again.state_dict()
    (tmp_path / "task_04" / "h.0_of_1").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"task_04/h.0_of_1 is missing or does not have \d+ bytes, but the checkpoint"
    ):
        learnt(num_tasks=0, **options).load_state_dict(state)


def test_files_of_another_run_are_refused(tmp_path: Path) -> None:
    options = {"sites_folder": str(tmp_path)}
    state = {name: value.clone() for name, value in learnt(**options).state_dict().items()}
    learnt(seed=5, **options)  # with files of the same names and sizes
    with pytest.raises(ValueError, match=r"the sites in .* do not belong to .* give each run its own sites_folder"):
        learnt(num_tasks=0, **options).load_state_dict(state)


def test_files_of_three_processes_serve_one(tmp_path: Path) -> None:
    whole = learnt(sites_folder=str(tmp_path / "one"))
    folder = tmp_path / "three" / "task_03"
    folder.mkdir(parents=True)
    for name in ("c", "h", "G"):
        for process in range(3):
            getattr(whole.vae.posterior, name)[process::3].numpy().tofile(folder / f"{name}.{process}_of_3")
    module = learnt(num_tasks=0, sites_folder=str(tmp_path / "three"))
    state = whole.state_dict()
    state["vae.posterior.num_files"] = torch.tensor(3)
    module.load_state_dict(state)
    for ours, theirs in zip(predictions(module), predictions(whole), strict=True):
        assert torch.equal(ours, theirs)


def test_what_is_in_files_stays_there_when_a_module_moves(tmp_path: Path) -> None:
    module = learnt(sites_folder=str(tmp_path))
    before = module.vae.posterior.h.data_ptr()
    module.to("meta")
    assert module.vae.posterior.L.is_meta
    assert module.vae.posterior.h.data_ptr() == before


def test_one_precision_leaves_means_and_evidence_as_they_are() -> None:
    rng = torch.Generator().manual_seed(0)
    root = torch.randn(4, 3, 6, 6, generator=rng, dtype=torch.float64)
    h, c = torch.randn(4, 3, 6, generator=rng, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    site = Site(c, h, root @ root.mT)
    shared = site.with_precision(site.G.mean(0, keepdim=True))
    assert shared.G.shape == (1, 3, 6, 6)
    torch.testing.assert_close(Posterior.from_site(shared).mean, Posterior.from_site(site).mean)
    torch.testing.assert_close(shared.log_evidence(), site.log_evidence())


def test_one_precision_is_that_of_each_where_series_are_seen_alike() -> None:
    """Without gaps, and with an encoder whose precisions do not depend on the series, nothing is lost."""
    plain, shared = (learnt(num_tasks=0, masked=0.0, shared_precision=shared) for shared in (False, True))
    for module in (plain, shared):
        with torch.no_grad():
            last = [layer for layer in module.vae.encoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
            last.weight[2:] = 0.0  # so that precisions do not depend on y
        for number in range(3):
            times, y, mask = task(number, masked=0.0)
            module.begin_task(times, y, mask)
            module.end_task()
    torch.testing.assert_close(predictions(shared), predictions(plain), rtol=1e-6, atol=1e-8)
    assert shared.vae.posterior.G.shape[0] == 1


def test_a_task_that_is_interrupted_while_it_ends_can_be_learnt_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_posterior, "MAX_ELEMENTS", 2 * 2 * 6**2)
    whole = learnt(sites_folder=str(tmp_path / "whole"))
    module = learnt(num_tasks=2, sites_folder=str(tmp_path / "cut"))
    before = {name: value.clone() for name, value in module.state_dict().items()}

    encode, calls = module.vae.encode, []

    def cut_short(*data: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(data)
        if len(calls) == 3 + 2:  # three parts of the Fisher information, the second of three sites
            raise KeyboardInterrupt
        return encode(*data)

    monkeypatch.setattr(module.vae, "encode", cut_short)
    with pytest.raises(KeyboardInterrupt):
        learn(module, task(2))
    assert (tmp_path / "cut" / "task_03").exists()
    again = learnt(num_tasks=0, sites_folder=str(tmp_path / "cut"))
    again.load_state_dict(before)
    learn(again, task(2))
    for ours, theirs in zip(predictions(again), predictions(whole), strict=True):
        assert torch.equal(ours, theirs)


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_learnt(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot keep sites in .*file/sites \(Not a directory\): choose a folder"):
        learnt(num_tasks=1, sites_folder=str(tmp_path / "file" / "sites"))


@pytest.mark.parametrize("folder", [False, True])
def test_one_precision_is_shared_until_series_are_observed_differently(folder: bool, tmp_path: Path) -> None:
    options = {"shared_precision": None, "sites_folder": str(tmp_path) if folder else None}
    module = learnt(2, masked=0.0, **options)
    posterior = module.vae.posterior
    assert posterior.shares
    assert posterior.G.shape[0] == 1
    times, y, mask = task(2, masked=0.0)
    mask[0, 3:] = False
    learn(module, (times, y, mask))
    assert not posterior.shares
    assert posterior.G.shape[0] == NUM_SERIES
    assert float((posterior.G[0] - posterior.G[1]).abs().max()) > 0
    again = learnt(0, **options)
    again.load_state_dict(module.state_dict())
    assert not again.vae.posterior.shares
    assert all(map(torch.equal, predictions(again), predictions(module)))
    learn(again, task(3, masked=0.0))
    assert again.vae.posterior.G.shape[0] == NUM_SERIES


def test_complete_series_share_one_precision_as_if_asked_to() -> None:
    chosen, asked = (learnt(masked=0.0, shared_precision=shared) for shared in (None, True))
    assert all(map(torch.equal, predictions(chosen), predictions(asked)))


def test_latents_of_one_lengthscale_share_a_precision_up_to_a_factor() -> None:
    module = learnt(masked=0.0, shared_precision=None, hyperparameters="fixed")
    posterior = module.vae.posterior
    assert posterior.G.shape == (1, 1, 6, 6)
    assert posterior.site.G.shape == (1, 2, 6, 6)
    again = learnt(0, shared_precision=None, hyperparameters="fixed")
    again.load_state_dict(module.state_dict())
    assert all(map(torch.equal, predictions(again), predictions(module)))


def test_a_common_shape_keeps_precisions_that_differ_by_a_factor() -> None:
    shape = torch.randn(6, 6, dtype=torch.float64)
    G = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64)[None, :, None, None] * (shape @ shape.T)
    L = torch.eye(6, dtype=torch.float64).expand(3, -1, -1)
    found, scale = common_shape(G, L)
    assert found.shape == (1, 1, 6, 6)
    torch.testing.assert_close(scale * found, G)
    other = L * torch.tensor([1.0, 1.0, 2.0])[:, None, None]
    assert common_shape(G, other)[0] is G
