"""Hands inputs to a program one by one, and counts what becomes of them."""

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
    """Try so many inputs in CI, more if asked; none of them may be a crash or a silent NaN.

    Args:
        name: What the inputs are.
        program: Takes the path of one.
        inputs: The inputs.
        count: How many.
        next_path: Where to write the next.
        record: What takes down the counts.
        whole: A file that is in order, and must be taken.
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
