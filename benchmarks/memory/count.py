"""All numbers that a module keeps, by what they are for."""

import re
from collections import defaultdict

from gpvae.modules import SeriesModule

#: Parts of a state that follow from others: factors of kernel matrices, quadrature, copies of the present variables.
DERIVED = re.compile(r"\.posterior\.(L$|past\.|kernel_parameters$)|\.(Phi|positions|chosen_by)$")
#: What parts of a state are for, by their names; the first that fits.
PURPOSES = {
    "protection": re.compile(r"^(ewc|replay)\."),
    "precisions": re.compile(r"\.posterior\.(G|moments)$"),
    "means": re.compile(r"\.posterior\.[hc]$"),
    "networks": re.compile(r"\.(encoder|decoder)\."),
}


def numbers_kept(module: SeriesModule) -> dict[str, int]:
    """How many numbers the state holds; of a symmetric precision, its triangle."""
    counts: dict[str, int] = defaultdict(int)
    for name, value in module.state_dict().items():
        if DERIVED.search(name):
            continue
        size = value.numel()
        if name.endswith(".G") and value.ndim > 3:
            size = size // value.shape[-1] * (value.shape[-1] + 1) // 2
        purpose = next((purpose for purpose, names in PURPOSES.items() if names.search(name)), "other")
        counts[purpose] += size
    return dict(counts)
