"""What became of an input, and how often."""

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hypothesis import HealthCheck, Phase, settings

#: How many inputs to try for every one that is tried in CI.
LONGER = int(os.environ.get("GPVAE_FUZZ", "1"))


class Outcome(NamedTuple):
    """What became of one input.

    Args:
        kind: "refused": by an error for people. "taken": with values that hold together. "crash": any other exception,
            the end of the process, or no end within the time there is. "silent NaN": values that are not finite, or
            that nobody wrote, passed for values.
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
        """Every kind of fault once, the most frequent first."""
        return "\n".join(f"{count} x {fault}" for fault, count in Counter(self.faults).most_common(20))

    @property
    def row(self) -> list[str]:
        return [self.name, str(sum(self.counts.values())), *map(str, self.counts.values())]


def tried(count: int) -> Any:  # noqa: ANN401
    """Settings for so many inputs in CI, always the same ones; nothing is shrunk, so that every input counts once."""
    return settings(
        max_examples=count * LONGER,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
