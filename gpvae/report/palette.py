"""How methods are drawn: a colour, a marker and a line style, the same on the whole page."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpvae.plotting.canvas import BLUE, DARK_ORANGE, VERMILLION

GREEN, PURPLE, STEEL = "#009E73", "#C068A0", "#7D7D85"
#: Colours that colour-blind readers can distinguish, with a contrast of 3 to 1 on the light and the dark page.
COLOURS = (BLUE, VERMILLION, GREEN, DARK_ORANGE, PURPLE, STEEL)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class Identity:
    """What determines the style of a method, whatever it is compared with.

    Args:
        method: Its name.
        variant: How it was run.
    """

    method: str = ""
    variant: str = ""


@dataclass(frozen=True)
class Style:
    """How a method is drawn.

    Args:
        colour: Colour of line, markers and band.
        marker: Marker, in matplotlib's terms.
        line: Line style, in matplotlib's terms.
    """

    colour: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]


Styles = dict[Identity, Style]


def assign_styles(groups: Iterable[Sequence[Identity]]) -> Styles:
    """A style for each method, the same in all groups.

    Variants of a method share its colour. Within a group, methods have different colours as far as possible; markers
    and lines differ as far as possible too, first of all where colours are the same.

    Args:
        groups: The methods of each group.
    """
    groups = list(groups)
    colours = _assign([[identity.method for identity in group] for group in groups], len(COLOURS))

    def same_colour(one: Identity, other: Identity) -> bool:
        return colours[one.method] == colours[other.method]

    markers = _assign(groups, len(MARKERS), same_colour)
    lines = _assign(groups, len(LINES), same_colour)
    return {
        identity: Style(COLOURS[colours[identity.method]], MARKERS[markers[identity]], LINES[lines[identity]])
        for identity in markers
    }


Item = TypeVar("Item", bound=Hashable)


def _assign(
    groups: Iterable[Sequence[Item]], count: int, must_differ: Callable[[Item, Item], bool] = lambda *_: False
) -> dict[Item, int]:
    """Assign each item a number below `count`, as far as possible another one than those of items in the same groups.

    Args:
        groups: Items that should differ.
        count: How many numbers there are.
        must_differ: Whether it is most important that two items differ.
    """
    frequencies: Counter[Item] = Counter()
    neighbours: defaultdict[Item, Counter[Item]] = defaultdict(Counter)
    for group in groups:
        items = dict.fromkeys(group)
        frequencies.update(items.keys())
        for item in items:
            neighbours[item].update(other for other in items if other != item)
    assigned: dict[Item, int] = {}
    for item, _ in frequencies.most_common():  # equally frequent ones in order of appearance
        conflicts: Counter[int] = Counter()
        severe: Counter[int] = Counter()
        for other, times in neighbours[item].items():
            if other in assigned:
                conflicts[assigned[other]] += times
                severe[assigned[other]] += times * must_differ(item, other)
        uses = Counter(assigned.values())
        assigned[item] = min(range(count), key=lambda n: (severe[n], conflicts[n], uses[n], n))
    return assigned
