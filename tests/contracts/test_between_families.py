"""A stream can change its family: variables of different families have a joint covariance, or raise an error."""

import pytest
import torch

from gpvae.inducing import Functionals
from tests.contracts.families import FAMILIES, Case, Family, queries
from tests.contracts.kernels import MATERN32, RBF
from tests.contracts.test_positive import assert_psd, joint

PAIRS = [(new, old) for new in FAMILIES for old in FAMILIES if new is not old]
#: Pairs whose covariance must be known (in one direction: the other is the transpose).
KNOWN = [
    ("Points", "LegS"),
    ("LegS", "CosS"),
    ("Points", "CosS"),
    ("FourierFeatures", "LegS"),
    ("PerDimPoints", "LegT"),
]


@pytest.mark.parametrize("batch", [False, True], ids=["", "batch"])
@pytest.mark.parametrize(("new", "old"), PAIRS, ids=lambda family: family.name)
def test_covariances_between_families_are_joint_covariances(new: Family, old: Family, batch: bool) -> None:
    kernel_case = RBF if RBF in new.kernels and RBF in old.kernels else MATERN32
    before, kernel = Case(old, kernel_case, batch).build(2)
    after, _ = Case(new, kernel_case, batch).build(3)
    try:
        kuv = after.kuv(kernel, before)
    except (TypeError, ValueError) as error:
        assert not isinstance(after, Functionals) and not isinstance(before, Functionals)  # noqa: PT018
        assert "not known" in str(error) or "different random frequencies" in str(error)  # noqa: PT017
        return
    torch.testing.assert_close(kuv, before.kuv(kernel, after).mT, rtol=1e-9, atol=1e-11)
    same = torch.allclose(after.kff(kernel, queries(1)), before.kff(kernel, queries(1)))
    # Random features and the exact kernel differ by a Monte-Carlo error, and so may their joint covariance.
    assert_psd(joint(after.kuu(kernel), kuv, before.kuu(kernel)), relative=1e-10 if same else 2e-2)


@pytest.mark.parametrize(("a", "b"), KNOWN)
def test_known_changes_of_family_are_exact_both_ways(a: str, b: str) -> None:
    families = {family.name: family for family in FAMILIES}
    first, kernel = Case(families[a], MATERN32, False).build()
    second, _ = Case(families[b], MATERN32, False).build()
    for new, old in ((first, second), (second, first)):
        assert_psd(joint(new.kuu(kernel), new.kuv(kernel, old), old.kuu(kernel)))
