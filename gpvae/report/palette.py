"""How methods are drawn: a colour, a marker and a kind of line, the same all over the page."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpvae.plotting.canvas import BLUE, DARK_ORANGE, VERMILLION

GREEN, PURPLE, STEEL = "#009E73", "#C068A0", "#7D7D85"
#: Told apart by colour-blind readers, and with a contrast of 3 to 1 against the light page and the dark one.
COLOURS = (BLUE, VERMILLION, GREEN, DARK_ORANGE, PURPLE, STEEL)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class Identity:
    """What stays the same of a method all over the page, whatever it is compared with.

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
        line: Kind of line, in matplotlib's terms.
    """

    colour: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]


Styles = dict[Identity, Style]


def styles_of(groups: Iterable[Sequence[Identity]]) -> Styles:
    """A style for each method, the same in all groups.

    Ways to run a method share its colour; methods that meet in a group have different colours if they can. What meets
    there has different markers and lines if it can, and always where colours are the same.

    Args:
        groups: The methods of each group.
    """
    groups = list(groups)
    colours = _spread([[identity.method for identity in group] for group in groups], len(COLOURS))

    def same_colour(one: Identity, other: Identity) -> bool:
        return colours[one.method] == colours[other.method]

    markers = _spread(groups, len(MARKERS), same_colour)
    lines = _spread(groups, len(LINES), same_colour)
    return {
        identity: Style(COLOURS[colours[identity.method]], MARKERS[markers[identity]], LINES[lines[identity]])
        for identity in markers
    }


Named = TypeVar("Named", bound=Hashable)


def _spread(
    groups: Iterable[Sequence[Named]], count: int, above_all: Callable[[Named, Named], bool] = lambda *_: False
) -> dict[Named, int]:
    """Numbers below `count` that differ for names that meet, as far as there are enough; first for those that often do.

    Args:
        groups: Names that meet.
        count: How many numbers there are.
        above_all: Of which two names it matters most.
    """
    places: Counter[Named] = Counter()
    meetings: defaultdict[Named, Counter[Named]] = defaultdict(Counter)
    for group in groups:
        names = dict.fromkeys(group)
        places.update(names.keys())
        for name in names:
            meetings[name].update(other for other in names if other != name)
    chosen: dict[Named, int] = {}
    for name, _ in places.most_common():  # in the order of their first place, where they have as many
        clashes: Counter[int] = Counter()
        grave: Counter[int] = Counter()
        for other, times in meetings[name].items():
            if other in chosen:
                clashes[chosen[other]] += times
                grave[chosen[other]] += times * above_all(name, other)
        uses = Counter(chosen.values())
        chosen[name] = min(range(count), key=lambda number: (grave[number], clashes[number], uses[number], number))
    return chosen
