"""Covariances are differentiable in the hyperparameters and in the trainable parameters of the family."""

from copy import deepcopy

import pytest
import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn
from torch.func import functional_call

from gpvae.inducing import InducingVariables
from tests.contracts.families import CASES, Case, queries, stream

#: Kernel formulas are tested by gpytorch: a smooth kernel, a rough one and a sum suffice.
SOME = [
    case
    for case in CASES
    if case.family.remembers_kernel == "all"
    or (case.kernel.name in ("scaled_rbf", "ard_sum") and case.batch)
    or (case.kernel.name == "matern32" and not case.batch)
]
cases = pytest.mark.parametrize("case", SOME, ids=str)


class Answers(nn.Module):
    """All covariances of a family, as a function of its parameters."""

    def __init__(self, kernel: Kernel, family: InducingVariables, old: InducingVariables | None, dim: int) -> None:
        super().__init__()
        self.kernel, self.family, self.old = kernel, family, old
        self.dim = dim

    def forward(self) -> tuple[Tensor, ...]:
        x = queries(self.dim)[:5]
        answers = [self.family.kuu(self.kernel), self.family.kuf(self.kernel, x), self.family.kff(self.kernel, x)]
        if self.old is not None:
            answers.append(self.family.kuv(self.kernel, self.old))
        return tuple(answers)

    def check(self, *skip: str) -> None:
        parameters = {name: p for name, p in self.named_parameters() if not any(word in name for word in skip)}
        assert parameters

        def answer(*values: Tensor) -> tuple[Tensor, ...]:
            return functional_call(self, dict(zip(parameters, values, strict=True)))

        values = tuple(p.detach().clone().requires_grad_() for p in parameters.values())
        for name in skip:
            for key, p in self.named_parameters():
                p.requires_grad_(name not in key and p.requires_grad)
        assert torch.autograd.gradcheck(answer, values, atol=1e-6, fast_mode=True)


@cases
def test_answers_of_the_first_task_differentiate(case: Case) -> None:
    """During the first task the kernel can be trained: kuu, kuf, kff and kuv with another family."""
    family, _ = case.build(1)
    kernel = case.kernel.build(case.batch)
    old = None if case.family.remembers_kernel == "all" else deepcopy(family)
    Answers(kernel, family, old, case.kernel.dim).check()


@pytest.mark.parametrize("case", [case for case in SOME if case.family.remembers_kernel != "all"], ids=str)
def test_answers_of_later_tasks_differentiate(case: Case) -> None:
    """Later the kernel can still be trained if the family does not depend on its lengthscale."""
    old, frozen = case.build(1)
    family = deepcopy(old).advance(frozen, stream(case.kernel.dim)[1])
    kernel = case.kernel.build(case.batch)
    skip = ["lengthscale"] if case.family.remembers_kernel else []
    Answers(kernel, family, old, case.kernel.dim).check(*skip)


@pytest.mark.parametrize("case", [case for case in SOME if case.family.remembers_kernel], ids=str)
def test_hyperparameters_that_are_remembered_refuse_to_change(case: Case) -> None:
    """A family whose variables depend on the kernel raises an error, rather than mixing two kernels."""
    old, kernel = case.build(1)
    old.adapt_to_kernel(kernel)
    family = deepcopy(old).advance(kernel, stream(case.kernel.dim)[1])
    for module in kernel.modules():
        if "raw_lengthscale" in module._parameters:
            module.lengthscale = 2 * module.lengthscale
    with pytest.raises(ValueError, match="freeze the kernel"):
        family.kuv(kernel, old)
