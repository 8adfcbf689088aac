"""`gpvae report`: runs as one self-contained HTML page.

`arrange` puts runs that can be compared into `groups` and labels them by `names` and `palette`; `tables`, `heat_maps`,
`charts` and `thumbnails` show them in the `sections` of a `page`, which `templates` lay out.
"""

from gpvae.utils.extras import require

require("lightning", "train", "gpvae.report describes trained models", ImportError)
