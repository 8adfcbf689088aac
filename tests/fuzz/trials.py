"""Passes inputs to a program one by one, and counts the outcomes."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis.strategies import SearchStrategy

from tests.fuzz.outcomes import Outcome, Tally, tried
from tests.fuzz.worker import Worker

Record = Callable[[str, object], None]


def try_inputs(
    name: str,
    program: Callable[[str], Outcome],
    inputs: SearchStrategy[bytes],
    count: int,
    next_path: Callable[[], Path],
    record: Record,
    whole: Path | None = None,
) -> None:
    """Try a number of inputs; none of them may be a crash or a silent NaN.

    Args:
        name: What the inputs are.
        program: Returns the outcome of an input, from its path.
        inputs: The inputs.
        count: Number of inputs in CI; GPVAE_FUZZ multiplies it.
        next_path: Returns the path to write the next input to.
        record: Records the counts.
        whole: An undamaged file, which must be taken.
    """
    tally, read = Tally(name), Worker(program)
    if whole is not None:
        outcome = read(str(whole))
        assert outcome.kind == "taken", outcome.detail

    @tried(count)
    @given(inputs)
    def try_one(content: bytes) -> None:
        path = next_path()
        path.write_bytes(content)
        outcome = read(str(path))
        tally.add(outcome._replace(detail=f"{path.name}: {outcome.detail}"))

    try_one()
    read.close()
    record("fuzz", tally.row)
    assert not tally.faults, tally.report
