"""`OnlineGP` for scikit-learn: estimators with `partial_fit`, for pipelines and cross-validation."""

from gpvae.utils.extras import require

require("sklearn", "sklearn", "gpvae.sklearn is an interface for scikit-learn", ImportError)

from gpvae.sklearn.classifier import OnlineGPClassifier  # noqa: E402
from gpvae.sklearn.regressor import OnlineGPRegressor  # noqa: E402

__all__ = ["OnlineGPClassifier", "OnlineGPRegressor"]
