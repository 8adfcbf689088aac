"""Outcomes of inputs, and their counts."""

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hypothesis import HealthCheck, Phase, settings

#: Factor of the number of inputs in CI.
FACTOR = int(os.environ.get("GPVAE_FUZZ", "1"))


class Outcome(NamedTuple):
    """Outcome of one input.

    Args:
        kind: "refused": by a user error. "taken": with consistent values. "crash": any other exception, the end of the
            process, or a time-out. "silent NaN": values that are not finite or not in the input were accepted.
        detail: The message, or where it happened.
    """

    kind: Literal["refused", "taken", "crash", "silent NaN"]
    detail: str = ""


@dataclass
class Tally:
    """Counts the outcomes of inputs of one kind."""

    name: str
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("refused", "taken", "crash", "silent NaN"), 0)
    )
    faults: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.counts[outcome.kind] += 1
        if outcome.kind in ("crash", "silent NaN"):
            self.faults.append(f"{outcome.kind}: {outcome.detail}")

    @property
    def report(self) -> str:
        """List every kind of fault once, the most frequent first."""
        return "\n".join(f"{count} x {fault}" for fault, count in Counter(self.faults).most_common(20))

    @property
    def row(self) -> list[str]:
        return [self.name, str(sum(self.counts.values())), *map(str, self.counts.values())]


def tried(count: int) -> Any:  # noqa: ANN401
    """Settings for a number of inputs, the same each time; nothing is shrunk, so every input counts once."""
    return settings(
        max_examples=count * FACTOR,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
