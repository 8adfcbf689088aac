"""Results of runs: files are found, read, averaged over seeds, and shown in a terminal."""

from gpvae.utils.extras import require

require("rich", "report", "gpvae.results reads runs", ImportError)
