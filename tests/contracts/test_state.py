"""State lives in buffers and parameters: it moves, saves, loads and copies with the module."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn

from gpvae.inducing import InducingVariables
from tests.contracts.families import CASES, Case, queries, stream

#: State does not depend on the formula of the kernel: one kernel for each input dimension suffices.
STATEFUL = [case for case in CASES if case.kernel.name in ("matern32", "ard_sum")]
cases = pytest.mark.parametrize("case", STATEFUL, ids=str)


def assert_equal(a: InducingVariables, b: InducingVariables, kernel: Kernel, dim: int) -> None:
    torch.testing.assert_close(a.kuu(kernel), b.kuu(kernel), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(a.kuf(kernel, queries(dim)), b.kuf(kernel, queries(dim)), rtol=1e-12, atol=1e-14)


def assert_same_state(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        torch.testing.assert_close(tensor, b[name], rtol=0, atol=0, equal_nan=True)


def loose_tensors(thing: Any) -> list[str]:  # noqa: ANN401
    """Tensors among the attributes of an object, and of the objects in them, that are not registered."""
    found = []
    for name, value in vars(thing).items():
        if name in ("_parameters", "_buffers", "_modules"):
            continue
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
        for item in values:
            if isinstance(item, torch.Tensor):
                found.append(name)
            elif hasattr(item, "__dict__") and not isinstance(item, type | nn.Module) and not callable(item):
                found += [f"{name}.{inner}" for inner in loose_tensors(item)]
    return found


@cases
def test_no_tensor_is_left_outside_buffers_and_parameters(case: Case) -> None:
    family, kernel = case.build()
    family.kuv(kernel, deepcopy(family))
    assert loose_tensors(family) == []


@cases
def test_meta_takes_all_of_it(case: Case) -> None:
    family, _ = case.build()
    family.to("meta")
    assert {tensor.device.type for tensor in (*family.buffers(), *family.parameters())} == {"meta"}


@cases
def test_float32_takes_all_of_it_and_changes_little(case: Case) -> None:
    family, kernel = case.build()
    kuu, kuf = family.kuu(kernel), family.kuf(kernel, queries(case.kernel.dim))
    family.to(torch.float32)
    kernel.to(torch.float32)
    floating = [tensor for tensor in (*family.buffers(), *family.parameters()) if tensor.is_floating_point()]
    assert {tensor.dtype for tensor in floating} == {torch.float32}
    got = family.kuu(kernel), family.kuf(kernel, queries(case.kernel.dim).float())
    assert {K.dtype for K in got} == {torch.float32}
    for single, double in zip(got, (kuu, kuf), strict=True):
        assert float((single - double).detach().abs().max() / double.detach().abs().max()) < 1e-3


@cases
def test_float32_from_the_start_advances(case: Case) -> None:
    family, kernel = case.family.make().to(torch.float32), case.kernel.build(case.batch).float().requires_grad_(False)
    for x in stream(case.kernel.dim):
        family.advance(kernel, x.float())
    assert family.kuu(kernel).dtype == family.kuf(kernel, queries(case.kernel.dim).float()).dtype == torch.float32


@cases
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(case: Case, tmp_path: Path) -> None:
    """`torch.load(weights_only=True)` into a new instance, then one more task."""
    family, kernel = case.build(2)
    torch.save(family.state_dict(), tmp_path / "state.pt")
    loaded = case.family.make()
    loaded.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert_equal(loaded, family, kernel, case.kernel.dim)
    last = stream(case.kernel.dim)[2]
    assert_equal(loaded.advance(kernel, last), family.advance(kernel, last), kernel, case.kernel.dim)
    assert loaded.num_advances == family.num_advances


@cases
def test_loading_copies(case: Case) -> None:
    """Changes of the loaded instance do not affect the one it was loaded from."""
    family, kernel = case.build(1)
    before = {name: tensor.clone() for name, tensor in family.state_dict().items()}
    loaded = case.family.make()
    loaded.load_state_dict(family.state_dict())
    loaded.advance(kernel, stream(case.kernel.dim)[1])
    assert_same_state(family.state_dict(), before)


@cases
def test_advance_leaves_a_copy_of_the_old_state_alone(case: Case) -> None:
    old, kernel = case.build(1)
    new = deepcopy(old)
    before = deepcopy(old.state_dict())
    new.advance(kernel, stream(case.kernel.dim)[1])
    new.kuv(kernel, old)
    assert_same_state(old.state_dict(), before)


@cases
def test_advance_records_no_gradient(case: Case) -> None:
    family, kernel = case.family.make(), case.kernel.build(case.batch)
    family.advance(kernel, stream(case.kernel.dim)[0])
    assert all(tensor.grad_fn is None for tensor in (*family.buffers(), *family.parameters()))
    assert not any(tensor.requires_grad for tensor in family.buffers())


@cases
def test_advance_returns_itself_and_counts(case: Case) -> None:
    family, kernel = case.family.make(), case.kernel.build(case.batch)
    assert not family.started
    assert family.advance(kernel, stream(case.kernel.dim)[0]) is family
    assert family.started
    assert family.num_advances == 1


@cases
def test_equal_histories_give_equal_states(case: Case) -> None:
    (a, kernel), (b, _) = case.build(), case.build()
    assert_equal(a, b, kernel, case.kernel.dim)
