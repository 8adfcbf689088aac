"""Families of inducing variables that a model compares."""

from collections.abc import Sequence

from gpvae.inducing.base import InducingVariables
from gpvae.inducing.pivoted import PivotedPoints
from gpvae.inducing.time import CosS, LegS

#: Stands for several families, of which the one with the highest bound predicts.
AUTO = "auto"
AUTO_FAMILIES = (LegS, CosS)
#: Number of variables where neither family nor number is given.
DEFAULT_NUM_INDUCING = 100


def as_families(
    inducing: InducingVariables | Sequence[InducingVariables] | str | None,
    num_inducing: int | None = None,
    input_dim: int = 1,
) -> list[InducingVariables]:
    """A list of families: those given, or those that `"auto"` stands for.

    Args:
        inducing: One family, a sequence of them, or `"auto"` for LegS and CosS; CosS for one input and PivotedPoints
            for several if not given.
        num_inducing: Number of variables of families that are not given.
        input_dim: Number of inputs.
    """
    if inducing is None:
        return [(CosS if input_dim == 1 else PivotedPoints)(num_inducing or DEFAULT_NUM_INDUCING)]
    if isinstance(inducing, str) and inducing == AUTO:
        if num_inducing is None:
            raise ValueError('inducing="auto" requires num_inducing, the number of variables for LegS and CosS')
        return [family(num_inducing) for family in AUTO_FAMILIES]
    given = inducing if isinstance(inducing, Sequence) else [inducing]
    found = [family for family in given if isinstance(family, InducingVariables)]
    if not found or len(found) < len(given):
        error = ValueError if isinstance(inducing, str) else TypeError
        raise error(f'inducing must be a family such as gpvae.inducing.LegS(150), or "auto"; got {inducing!r}')
    return found
