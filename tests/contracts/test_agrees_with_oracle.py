"""Covariances agree with their definition, integrated by the oracle."""

import numpy as np
import pytest
from torch import Tensor

from gpvae.inducing import InducingVariables
from tests.contracts.families import CASES, Case, queries, stream

cases = pytest.mark.parametrize("case", CASES, ids=str)


def error(case: Case, got: Tensor, expected: np.ndarray) -> float:
    """The maximum error of one latent dimension, relative to the largest entry."""
    got = got[case.latent] if case.batch else got
    return float(np.abs(got.detach().numpy() - expected).max() / np.abs(expected).max())


@cases
def test_kuu_and_kuf_are_those_of_the_definition(case: Case) -> None:
    family, kernel = case.build()
    judge, k = case.judge(family)
    x = queries(case.kernel.dim)
    bound = case.family.errors[case.kernel.smoothness]
    assert error(case, family.kuu(kernel), judge.kuu(k)) < bound
    assert error(case, family.kuf(kernel, x), judge.kuf(k, x.numpy())) < bound


@cases
def test_kuv_is_that_of_the_definition(case: Case) -> None:
    old, kernel = case.build(1)
    new, _ = case.build(3)
    (judge, k), (old_judge, _) = case.judge(new), case.judge(old, num_tasks=1)
    got = new.kuv(kernel, old)
    assert error(case, got, judge.kuv(k, old_judge)) < case.family.errors[case.kernel.smoothness]


@pytest.mark.parametrize("case", [case for case in CASES if case.family.closer and not case.batch], ids=str)
def test_more_frequencies_and_smaller_steps_come_closer(case: Case) -> None:
    """Monte-Carlo error falls like R^-1/2, so 16 times as many frequencies leave less than half of it."""
    kernel = case.kernel.build(case.batch).requires_grad_(False)
    x = queries(case.kernel.dim)

    def distance(family: InducingVariables) -> float:
        for task in stream(case.kernel.dim):
            family.advance(kernel, task)
        judge, k = case.judge(family)
        return error(case, family.kuf(kernel, x), judge.kuf(k, x.numpy()))

    assert distance(case.family.closer()) < distance(case.family.make()) / 2
