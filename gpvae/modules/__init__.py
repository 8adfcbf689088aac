"""LightningModules that learn a stream of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "gpvae.modules defines LightningModules", ImportError)

from gpvae.modules.base import ContinualModule
from gpvae.modules.configuration import check_same_configuration
from gpvae.modules.series_gp import SeriesGP
from gpvae.modules.series_module import SeriesModule
from gpvae.modules.streaming_gp import StreamingGP
from gpvae.modules.svgpvae import SVGPVAE

__all__ = ["SVGPVAE", "ContinualModule", "SeriesGP", "SeriesModule", "StreamingGP", "check_same_configuration"]
