"""Predictive marginals as a table of pandas, labelled like the inputs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.distributions import Distribution

from gpvae.utils.extras import require
from gpvae.utils.quantiles import quantile

if TYPE_CHECKING:
    import pandas as pd


def table(x: Any, y: Distribution, quantiles: Sequence[float], *, by_column: bool = False) -> "pd.DataFrame":  # noqa: ANN401
    """Mean, standard deviation and quantiles, a row for each input.

    Args:
        x: The inputs. Those of pandas label rows by their index, one-dimensional ones by their values.
        y: Predictive marginals `[N]`, or `[K, N]` of K outputs, which become the first level of the columns.
        quantiles: Probabilities.
        by_column: Whether several outputs are `[N, K]` instead.
    """
    require("pandas", "report", "predict_table returns a table", ImportError)
    import pandas as pd

    values = {"mean": y.mean, "std": y.variance.sqrt(), **{f"q{p:g}": quantile(y, p) for p in quantiles}}
    values = {name: value.mT for name, value in values.items()} if by_column else values
    columns = {name: value.detach().cpu().numpy() for name, value in values.items()}
    index = labels(x)
    if y.mean.ndim == 1:
        return pd.DataFrame(columns, index)
    if y.mean.ndim > 2:
        raise ValueError(f"predictions of shape {tuple(y.mean.shape)} make no table: give inputs [N] or [N, D]")
    num = len(columns["mean"])
    frames = [pd.DataFrame({name: value[k] for name, value in columns.items()}, index) for k in range(num)]
    return pd.concat(frames, axis=1, keys=range(len(frames)), names=["output", None])


def labels(x: Any) -> "pd.Index":  # noqa: ANN401
    """The labels of inputs `[N]` or `[N, D]`: their index, their values, or their numbers."""
    import pandas as pd

    if isinstance(x, pd.Index):
        return x
    if isinstance(x, pd.DataFrame) or (isinstance(x, pd.Series) and not isinstance(x.index, pd.RangeIndex)):
        return x.index
    name = getattr(x, "name", None)
    values = x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    return pd.Index(values, name=name) if values.ndim == 1 else pd.RangeIndex(len(values))
