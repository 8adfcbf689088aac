"""Threads share a model: what one predicts while another updates is what was known before or after an update."""

import copy
import pickle
import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.distributions import Distribution

from gpvae import Bank, OnlineGP
from gpvae.bank.mixture import mixture
from gpvae.inducing import CosS, PivotedPoints
from gpvae.inducing.base import InducingVariables
from gpvae.utils.threads import lock_of
from tests.toys import gaussian, rbf, wave

X = torch.linspace(0, 6, 240, dtype=torch.float64)
AT = torch.linspace(0, 6, 7, dtype=torch.float64)


def predicted(gp: OnlineGP) -> Tensor:
    y = gp.predict(AT)
    return torch.cat([y.mean, y.variance])


def model(family: InducingVariables) -> OnlineGP:
    return OnlineGP(copy.deepcopy(family), rbf(0.5, 1.0), gaussian(0.01))


def in_threads(*runs: Callable[[], None]) -> None:
    """Run functions at the same time; an error in any of them is raised."""
    errors: list[BaseException] = []

    def guarded(run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("family", [CosS(25), PivotedPoints(30)], ids=lambda family: type(family).__name__)
def test_predictions_are_those_of_before_or_after_an_update(family: InducingVariables) -> None:
    batches = [(x, torch.sin(3 * x)) for x in X.split(20)]
    alone = model(family)
    known = [predicted(alone)]
    for batch in batches:
        known.append(predicted(alone.update(*batch)))
    shared, seen, done = model(family), [], threading.Event()

    def learn() -> None:
        try:
            for batch in batches:
                shared.update(*batch)
        finally:
            done.set()

    def ask() -> None:
        while not done.is_set():
            seen.append(predicted(shared))

    in_threads(learn, ask, ask)
    assert len(seen) > 3
    assert all(any(torch.equal(found, value) for value in known) for found in seen)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_a_bank_learns_only_after_a_prediction_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members and weights of one prediction are those of the same moment."""
    bank = Bank(CosS(20), rbf(0.5, 1.0), gaussian(0.01), size=4).update(*wave(20))
    known = predicted(bank)
    learner = threading.Thread(target=bank.update, args=(X[-20:], torch.sin(9 * X[-20:])))

    def interrupted(*parts: Tensor) -> Distribution:
        learner.start()
        learner.join(0.3)
        return mixture(*parts)

    monkeypatch.setattr("gpvae.bank.predictive_bank.mixture", interrupted)
    seen = predicted(bank)
    learner.join()
    assert torch.equal(seen, known)


def test_points_that_wait_are_consolidated_once() -> None:
    """Even if three threads do it at the same time."""
    gp = model(CosS(20))
    for x in X[:5]:
        gp.update(x[None], x[None])
    alone = copy.deepcopy(gp).consolidate()
    with lock_of(gp):
        others = [threading.Thread(target=gp.consolidate) for _ in range(2)]
        for other in others:
            other.start()
            other.join(0.1)
        gp.consolidate()
    for other in others:
        other.join()
    assert torch.equal(predicted(gp), predicted(alone))


def test_two_threads_learn_all_there_is() -> None:
    gp = model(PivotedPoints(20))
    batches = [(x, torch.sin(3 * x)) for x in X.split(12)]

    def learn(some: list[tuple[Tensor, Tensor]]) -> Callable[[], None]:
        return lambda: [gp.update(*batch) for batch in some] and None

    in_threads(learn(batches[::2]), learn(batches[1::2]))
    assert int(gp.inputs.num_points) == len(X)


def test_locks_are_not_part_of_the_model() -> None:
    gp = model(CosS(30)).update(X[:10], X[:10])
    for other in (copy.deepcopy(gp), pickle.loads(pickle.dumps(gp))):
        assert torch.equal(predicted(other), predicted(gp))
        other.update(X[10:], X[10:])
