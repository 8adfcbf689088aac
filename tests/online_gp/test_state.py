"""The state_dict contains everything that a stream knows, at any point of the stream."""

import copy
import pickle
from pathlib import Path

import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood
from torch import Tensor

from gpvae import OnlineGP
from gpvae.inducing import CosS, InducingVariables, LegS, Points
from tests.toys import FAMILIES, matern, model, snapshot, states_equal, tasks

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
S = torch.linspace(0, 3, 11, dtype=torch.float64)


def reload(gp: OnlineGP, fresh: OnlineGP, path: Path) -> OnlineGP:
    """Save a state to a file, and load it into a new model."""
    torch.save(gp.state_dict(), path / "state.pt")
    fresh.load_state_dict(torch.load(path / "state.pt", weights_only=True))
    return fresh


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_stream_goes_on_from_its_state(family: str, tmp_path: Path) -> None:
    """Saved after k tasks and loaded into a new model, later tasks give the same results bit for bit."""
    data = tasks(3, 45)
    gp = model(FAMILIES[family](7))
    for saved_after in range(3):
        copy = reload(gp, model(FAMILIES[family](7)), tmp_path)
        assert states_equal(snapshot(gp), snapshot(copy))
        for x, y in data[saved_after:]:
            copy.update(x, y)
        gp.update(*data[saved_after])
        if saved_after == 0:
            reference = copy
        assert torch.equal(copy.latent(S).mean, reference.latent(S).mean)
        assert torch.equal(copy.latent(S).variance, reference.latent(S).variance)
        assert torch.equal(copy.bound(), reference.bound())
        assert states_equal(snapshot(copy), snapshot(reference))


def test_trained_points_and_other_likelihoods_go_on_from_their_state(tmp_path: Path) -> None:
    """The optimiser starts anew at every task, so there is nothing more to save."""

    def fresh() -> OnlineGP:
        return OnlineGP(Points(5), matern(), BernoulliLikelihood())

    (x1, y1), (x2, y2) = tasks(2, 30)
    gp = fresh().update(x1, (y1 > 0).double(), steps=5)
    copy = reload(gp, fresh(), tmp_path)
    for model_ in (gp, copy):
        model_.update(x2, (y2 > 0).double(), steps=5, batch_size=7)
    assert states_equal(snapshot(gp), snapshot(copy))
    assert torch.equal(gp.latent(S).mean, copy.latent(S).mean)


def test_the_family_that_leads_is_part_of_the_state(tmp_path: Path) -> None:
    """Of several families, the loaded model predicts with the same one."""
    gp = model([Points(3, trainable=False), CosS(20), LegS(5)])
    for x, y in tasks(2, 40):
        gp.update(x, y)
    assert isinstance(gp.inducing, CosS)
    copy = reload(gp, model([Points(3, trainable=False), CosS(20), LegS(5)]), tmp_path)
    assert isinstance(copy.inducing, CosS)
    assert torch.equal(copy.latent(S).mean, gp.latent(S).mean)


def test_a_used_model_can_go_back_to_an_older_state() -> None:
    """Loading an earlier state into the same model undoes what came after, the empty state included."""
    gp = model(LegS(7))
    states: list[dict[str, Tensor]] = [snapshot(gp)]
    for x, y in tasks(2, 40):
        states.append(snapshot(gp.update(x, y)))
    for state in reversed(states):
        gp.load_state_dict(state)
        assert states_equal(snapshot(gp), state)
    assert gp.latent(S).mean.abs().max() == 0


def test_input_dim_is_remembered() -> None:
    """A loaded model refuses inputs of another dimension."""
    gp = model(Points(7, trainable=False)).update(*tasks(2, 40)[0])
    copy = model(Points(7, trainable=False))
    copy.load_state_dict(gp.state_dict())
    with pytest.raises(ValueError, match="2 input dimension"):
        copy.predict(torch.zeros(3, 2))


def test_state_is_constant_in_size() -> None:
    """The states of LegS, CosS and points do not grow with the stream (except nodes, with t / ℓ)."""
    for family in ("PivotedPoints", "Points", "LegSPath"):
        gp, sizes = model(FAMILIES[family](7)), []
        for x, y in tasks(5, 60):
            sizes.append(sum(v.numel() for v in gp.update(x, y).state_dict().values()))
        assert len(set(sizes)) == 1


@pytest.mark.parametrize("other", [LegS(30), CosS(60), Points(60, trainable=False)])
def test_a_state_of_another_family_or_size_is_refused(other: InducingVariables) -> None:
    """The basis of LegS(60) is not that of LegS(30) or CosS(60)."""
    gp = model(LegS(60)).update(*tasks(2, 40)[0])
    with pytest.raises((RuntimeError, ValueError)):
        model(other).load_state_dict(gp.state_dict())


def test_copies_are_independent() -> None:
    """copy.deepcopy and pickle make copies that continue independently."""
    gp = model(LegS(12)).update(*tasks(2, 40)[0])
    before = gp.latent(S).mean
    for branch in (copy.deepcopy(gp), pickle.loads(pickle.dumps(gp))):
        assert torch.equal(branch.latent(S).mean, before)
        branch.update(*tasks(2, 40)[1])
        assert torch.equal(gp.latent(S).mean, before)


def test_a_state_from_before_posteriors_were_renamed_loads() -> None:
    """`OnlineGP.posteriors` was called `streams`."""
    x = torch.linspace(0, 1, 20, dtype=torch.float64)
    gp = model(LegS(7)).update(x, x.sin())
    state = {name.replace("posteriors.", "streams."): value for name, value in gp.state_dict().items()}
    assert state.keys() != gp.state_dict().keys()
    again = model(LegS(7))
    again.load_state_dict(state)
    assert torch.equal(again.predict(x).mean, gp.predict(x).mean)
