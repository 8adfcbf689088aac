"""`OnlineGP` as a BoTorch model, whose memory and time do not grow with the number of observations."""

from gpvae.utils.extras import require

require("botorch", "botorch", "gpvae.botorch is an interface for BoTorch", ImportError)

from gpvae.botorch.model import OnlineGPModel  # noqa: E402

__all__ = ["OnlineGPModel"]
