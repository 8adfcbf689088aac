"""Loads the state of a model into a new one, or a saved model or run, predicts and learns on."""

import copy
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.distributions import Distribution

import gpvae
from gpvae import Bank, OnlineGP
from gpvae.cli.errors import is_user_error
from gpvae.saved.series_run import SavedSeriesRun
from tests.fuzz.outcomes import Outcome
from tests.toys import FAMILIES, gaussian, matern, model, snapshot, states_equal, wave

X, Y = wave(40)
AHEAD = torch.linspace(0, 4, 7, dtype=torch.float64)
#: Models by name, none of which has learnt anything.
MODELS: dict[str, Callable[[], OnlineGP]] = {
    **{name: lambda family=family: model(family(5), buffer_size=9) for name, family in FAMILIES.items()},
    "several": lambda: model([FAMILIES["LegS"](4), FAMILIES["CosS"](4)]),
    "bank": lambda: Bank(FAMILIES["CosS"](5), matern(), gaussian(), size=4),
}


@cache
def begun(name: str) -> OnlineGP:
    """A model that has learnt a batch."""
    return MODELS[name]().update(X[:10], Y[:10])


def learnt(name: str) -> OnlineGP:
    """A model that has learnt two batches, and holds a recent point where it can."""
    return MODELS[name]().update(X[:20], Y[:20]).update(X[20:38], Y[20:38]).update(X[38:39], Y[38:39])


def load_state(path: str) -> Outcome:
    """The outcome of a file with the name of a model and a state: it is loaded completely or not at all."""
    content = torch.load(path, weights_only=True)
    gp = copy.deepcopy(begun(content["model"]))
    before = snapshot(gp)
    try:
        gp.load_state_dict(content["state"])
    except Exception as error:
        if not states_equal(before, snapshot(gp)):
            return Outcome("silent NaN", f"{content['model']} has changed, although the state was refused: {error}")
        return _refused(error)
    return _going_on(gp)


def load_model(path: str) -> Outcome:
    """The outcome of a file that `OnlineGP.save` has written."""
    try:
        gp = OnlineGP.load(path)
    except Exception as error:
        return _refused(error)
    return _going_on(gp)


def load_run(path: str) -> Outcome:
    """The outcome of a checkpoint in a run folder."""
    try:
        run: Any = gpvae.load(path)
        predicted = run.predict() if isinstance(run, SavedSeriesRun) else run.predict(AHEAD)
    except Exception as error:
        return _refused(error)
    return _finite(predicted)


def _going_on(gp: OnlineGP) -> Outcome:
    """Predictions are finite; so are they after an update, unless it is refused."""
    try:
        before = gp.predict(AHEAD)
        gp.update(X[39:], Y[39:])
        after = gp.predict(AHEAD)
    except Exception as error:
        return _refused(error)
    return _finite(before, after)


def _finite(*predictions: Any) -> Outcome:
    for predicted in predictions:
        values = (
            [predicted.mean, predicted.variance]
            if isinstance(predicted, Distribution)
            else [torch.as_tensor(values.values) for values in predicted.data_vars.values()]
        )
        if not all(bool(v.isfinite().all()) for v in values):
            return Outcome("silent NaN", f"predictions of {type(predicted).__name__}")
    return Outcome("taken")


def _refused(error: Exception) -> Outcome:
    if is_user_error(error) or "Error(s) in loading state_dict" in str(error):  # the latter is torch's own
        return Outcome("refused", str(error))
    return Outcome("crash", "".join(traceback.format_exception(error, limit=-8)))
