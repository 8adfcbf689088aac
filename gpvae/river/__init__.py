"""`OnlineGP` for river: models with `learn_one` and `predict_one`, for pipelines and progressive validation."""

from gpvae.utils.extras import require

require("river", "river", "gpvae.river is an interface for river", ImportError)

from gpvae.river.classifier import OnlineGPClassifier  # noqa: E402
from gpvae.river.regressor import OnlineGPRegressor  # noqa: E402

__all__ = ["OnlineGPClassifier", "OnlineGPRegressor"]
