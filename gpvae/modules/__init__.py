"""LightningModules that learn a stream of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "gpvae.modules has modules of Lightning", ImportError)

from gpvae.modules.base import ContinualModule  # noqa: E402
from gpvae.modules.configuration import check_same_configuration  # noqa: E402
from gpvae.modules.series_gp import SeriesGP  # noqa: E402
from gpvae.modules.series_module import SeriesModule  # noqa: E402
from gpvae.modules.streaming_gp import StreamingGP  # noqa: E402
from gpvae.modules.svgpvae import SVGPVAE  # noqa: E402

__all__ = ["SVGPVAE", "ContinualModule", "SeriesGP", "SeriesModule", "StreamingGP", "check_same_configuration"]
