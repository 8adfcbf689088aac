"""Covariances are symmetric and positive semi-definite, also jointly with function values and older variables."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from tests.contracts.families import CASES, Case, queries, stream

cases = pytest.mark.parametrize("case", CASES, ids=str)


def joint(kuu: Tensor, kuv: Tensor, kvv: Tensor) -> Tensor:
    return torch.cat([torch.cat([kuu, kuv], -1), torch.cat([kuv.mT, kvv], -1)], -2)


def assert_psd(K: Tensor, relative: float = 1e-10) -> None:
    torch.testing.assert_close(K, K.mT, rtol=1e-10, atol=1e-12)
    eigenvalues = torch.linalg.eigvalsh(K.detach())
    worst = (eigenvalues[..., 0] / eigenvalues[..., -1]).min()
    assert worst >= -relative, f"smallest eigenvalue {float(worst):.1e} of the largest"


@cases
def test_kuu_is_symmetric_and_positive_semi_definite(case: Case) -> None:
    family, kernel = case.build()
    assert_psd(family.kuu(kernel))


@cases
def test_kuv_with_itself_is_kuu(case: Case) -> None:
    family, kernel = case.build()
    torch.testing.assert_close(family.kuv(kernel, family), family.kuu(kernel), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(family.kuv(kernel, deepcopy(family)), family.kuu(kernel), rtol=1e-12, atol=1e-14)


@cases
def test_inducing_variables_explain_no_more_than_there_is(case: Case) -> None:
    """kff - qff >= 0 within, after and before the inputs: the joint covariance of u and f is positive."""
    family, kernel = case.build()
    x = queries(case.kernel.dim)
    assert_psd(joint(family.kuu(kernel), family.kuf(kernel, x), family.kff(kernel, x)))


@cases
def test_new_and_old_variables_have_a_joint_covariance(case: Case) -> None:
    """[kuu kuv; kvu kvv] >= 0 for v from one task and from two tasks ago."""
    old, kernel = case.build(1)
    family = deepcopy(old)
    for x in stream(case.kernel.dim)[1:]:
        family.advance(kernel, x)
        assert_psd(joint(family.kuu(kernel), family.kuv(kernel, old), old.kuu(kernel)))


@cases
def test_shapes_carry_the_batch_axis(case: Case) -> None:
    family, kernel = case.build()
    x = queries(case.kernel.dim)
    L, size, num = (3,) if case.batch else (), family.num_inducing, len(x)
    assert family.kuu(kernel).shape == (*L, size, size)
    assert family.kuf(kernel, x).shape == (*L, size, num)
    assert family.kff(kernel, x).shape == (*L, num, num)
    assert family.kuv(kernel, deepcopy(family)).shape == (*L, size, size)
