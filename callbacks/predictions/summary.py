"""Samples of a prediction summarised, and the words that describe it: the same in files and in Python."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from lightning import LightningModule
from numpy.typing import NDArray

from callbacks.predictions.cf_file import Floats
from datamodules.era5 import SeriesDescription, Variable
from datamodules.era5.synthetic.sample import NOTE
from gpvae import __version__

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def summarise_samples(samples: NDArray[np.float64], quantiles: Sequence[float] = QUANTILES) -> Floats:
    """Return mean, standard deviation and quantiles of samples `[N, B, T, V]`, as `[V, 2 + Q, B, T]`.

    Args:
        samples: The samples.
        quantiles: Probabilities of the quantiles `[Q]`.
    """
    # A new value is below the Weibull estimate with exactly that probability, for any number of samples.
    below = np.quantile(samples, quantiles, axis=0, method="weibull")
    parts = np.concatenate([samples.mean(0)[None], samples.std(0)[None], below])
    return np.ascontiguousarray(np.moveaxis(parts, -1, 0), dtype=np.float32)


def check_finite(variable: Variable, values: Floats) -> None:
    """Raise if a prediction is not a number.

    Args:
        variable: The variable that is predicted.
        values: Its predictions.
    """
    if not np.isfinite(values).all():
        raise FloatingPointError(
            f"predictions of {variable.short_name} ({variable.name}) are not finite: train the model with a lower lr."
        )


def file_attributes(
    module: LightningModule, stream: SeriesDescription, *, sizes: tuple[int, int] | None = None
) -> dict[str, str]:
    """Return the global attributes of predictions.

    Args:
        module: The module that predicts.
        stream: The stream that is predicted.
        sizes: The numbers of variables and locations predicted, if not all.
    """
    num_variables, num_series = sizes or (stream.num_variables, stream.num_series)
    names = [name for name in ("method", "num_inducing", "num_samples") if name in module.hparams]
    options = ", ".join(f"{name}={module.hparams[name]}" for name in names)
    learned = int(getattr(module, "learned", 0))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    attributes = {
        "title": f"Predictions of {num_variables} variables at {num_series} locations",
        "source": f"{type(module).__name__}({options}) after {learned} of {stream.num_tasks} tasks of {stream.name}",
        "history": f"{now} gpvae {__version__}: predict",
    }
    if stream.synthetic:
        attributes |= {"title": f"{attributes['title']} of SYNTHETIC weather", "synthetic": NOTE}
    return attributes
