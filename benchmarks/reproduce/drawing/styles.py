"""Names and styles of methods, the same in all figures."""

from dataclasses import dataclass

#: Colours that colour-blind readers can tell apart (after Okabe and Ito 2008).
BLUE, GREEN, VERMILLION, PURPLE, ORANGE, SKY = "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9"
INK, GREY, PALE = "#222222", "#8A8A8A", "#F0F0F0"
DASHED = (0, (3, 1.5))


@dataclass(frozen=True)
class Style:
    """How a method is drawn.

    Attributes:
        label: Its name in the legend.
        colour: Its colour.
        line: Kind of line, in matplotlib's terms.
    """

    label: str
    colour: str
    line: str | tuple[float, tuple[float, ...]] = "-"


SERIES = {
    "ohsgpr": Style("OHSGPR", BLUE),
    "coss": Style("CosS (ours)", GREEN),
    "ovc": Style("OVC", VERMILLION),
    "ovff": Style("OVFF", PURPLE),
    "osgpr": Style("OSGPR", ORANGE),
    "recurrence": Style("OHSGPR, recurrence", SKY),
}
TRAINED = {
    "ohsgpr": Style("OHSGPR, kernel of task 1", BLUE),
    "osgpr": Style("OSGPR, kernel of task 1", ORANGE),
    "ohsgpr_trained": Style("OHSGPR, kernel trained on", BLUE, DASHED),
    "osgpr_trained": Style("OSGPR, kernel trained on", ORANGE, (2.25, (3, 1.5))),  # fills the gaps of the other
}
TABLES = {
    "ohsvgp_o": Style("OHSVGP-o", BLUE),
    "ohsvgp_k": Style("OHSVGP-k", SKY),
    "ovc": Style("OVC", VERMILLION),
    "osvgp": Style("OSVGP", ORANGE),
    "ohsgpr_o": Style("OHSGPR-o, closed form (ours)", BLUE, DASHED),
    "ovc_closed": Style("OVC, closed form (ours)", VERMILLION, DASHED),
}
COVID = {
    "ohsvgp": Style("OHSVGP", BLUE),
    "coss": Style("CosS (ours)", GREEN),
    "ovc": Style("OVC", VERMILLION),
    "osvgp": Style("OSVGP", ORANGE),
}
WEATHER = {
    "OHSVGP": Style("OHSVGP", BLUE),
    "OHSVGP-CosS": Style("CosS (ours)", GREEN),
    "OVC": Style("OVC", VERMILLION),
    "OVC-per-dim": Style("OVC-per-dim", PURPLE),
    "OSVGP": Style("OSVGP", ORANGE),
}
MEASURES = {
    "legs": Style("LegS", BLUE),
    "coss": Style("CosS (ours)", GREEN, DASHED),
    "legt": Style("LegT", VERMILLION),
    "lagt": Style("LagT", PURPLE),
    "fout": Style("FouT", ORANGE, DASHED),
}
