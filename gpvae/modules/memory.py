"""Counts of the numbers that a module keeps, by purpose."""

import re
from collections import defaultdict

from torch import nn

from gpvae.vae.precision_by_time import PosteriorByTime

#: Parts of a state that follow from others (factors of kernel matrices, quadrature, copies of the present variables),
#: or that the next task replaces.
DERIVED = re.compile(r"^learner\.|\.posterior(s\.\d+)?\.(L$|past\.|kernel_parameters$)|\.(Phi|positions|chosen_by)$")
#: What parts of a state are for, by their names; the first that fits.
PURPOSES = {
    "protection": re.compile(r"^(ewc|replay)\."),
    "precisions": re.compile(r"\.posterior(s\.\d+)?\.(G|moments)$"),
    "means": re.compile(r"\.posterior(s\.\d+)?\.[hc]$"),
    "networks": re.compile(r"\.(encoder|decoder)\."),
}


def numbers_kept(module: nn.Module) -> dict[str, int]:
    """How many numbers the state of a module holds, by purpose; of a symmetric precision, its triangle.

    Args:
        module: A module of `gpvae.modules`.
    """
    counts: dict[str, int] = defaultdict(int)
    weights = {f"{name}.G" for name, part in module.named_modules() if isinstance(part, PosteriorByTime)}
    for name, value in module.state_dict().items():
        if DERIVED.search(name):
            continue
        size = value.numel()
        if name.endswith(".G") and name not in weights and size:
            size = size // value.shape[-1] * (value.shape[-1] + 1) // 2
        purpose = next((purpose for purpose, names in PURPOSES.items() if names.search(name)), "other")
        counts[purpose] += size
    return dict(counts)
