"""`OnlineGP` as a model of BoTorch: Bayesian optimisation whose memory and time do not grow with the observations."""

from gpvae.utils.extras import require

require("botorch", "botorch", "gpvae.botorch is an interface for BoTorch", ImportError)

from gpvae.botorch.model import OnlineGPModel  # noqa: E402

__all__ = ["OnlineGPModel"]
