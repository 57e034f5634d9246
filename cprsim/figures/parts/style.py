"""What all pictures share: colours, words and sizes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.typing import ColorType

#: Safe for the colour-blind: Okabe and Ito, "Color Universal Design" (2008).
CAUSE_COLOURS: Final = {
    "save": "#0072B2",  # blue
    "load": "#56B4E9",  # sky blue
    "lost": "#D55E00",  # vermillion
    "reschedule": "#E69F00",  # orange
    "detect": "#F0E442",  # yellow
    "slowdown": "#009E73",  # bluish green
    "stall": "#CC79A7",  # reddish purple
}
#: Training that counts: what a run is for is the ground on which overhead stands out.
TRAINING_COLOUR: Final = "#DCE3E8"
#: Laws of durations, from the same palette, and dashes that tell them apart in grey too.
LAW_COLOURS: Final = {
    "exponential": "#E69F00",  # orange
    "gamma": "#0072B2",  # blue
    "weibull": "#D55E00",  # vermillion
    "lognormal": "#009E73",  # bluish green
}
LAW_DASHES: Final[dict[str, tuple[float, ...]]] = {  # on, off, in line widths
    "exponential": (1.5, 1.5),
    "gamma": (8.0, 2.0, 1.5, 2.0),
    "weibull": (5.0, 2.0),
    "lognormal": (9.0, 2.0),
}
#: Systems, the same in every picture: those of the CPR and ECRM papers of the same palette, the
#: others of Tol's "muted" one (2021). Pictures name lines and areas beside their colour, too.
SYSTEM_COLOURS: Final = {
    "full": "#1A1A1A",  # black
    "partial": "#E69F00",  # orange
    "cpr-vanilla": "#009E73",  # bluish green
    "cpr-mfu": "#0072B2",  # blue
    "cpr-ssu": "#D55E00",  # vermillion
    "cpr-scar": "#56B4E9",  # sky blue
    "ecrm": "#CC79A7",  # reddish purple
    "async": "#332288",  # indigo
    "check-n-run": "#44AA99",  # teal
    "tiered": "#999933",  # olive
    "partial-experts": "#DDCC77",  # sand
    "accepted-loss": "#CC6677",  # rose
    "replication": "#882255",  # wine
    "peer-memory": "#117733",  # green
    "hot-swap": "#AA4499",  # purple
}
#: Markers that tell systems apart in grey too; a circle for all others.
SYSTEM_MARKERS: Final = {
    "full": "o",
    "partial": "s",
    "cpr-vanilla": "D",
    "cpr-mfu": "^",
    "cpr-ssu": "v",
    "cpr-scar": "P",
    "ecrm": "h",
}
#: Policies of a map, of which several may be of one system, in order: of the same palette, then
#: darker ones of it.
POLICY_COLOURS: Final = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#56B4E9",  # sky blue
    "#D55E00",  # vermillion
    "#F0E442",  # yellow
    "#003F62",
    "#7F5700",
    "#00573F",
    "#70435C",
    "#2F6380",
    "#753400",
    "#847D24",
)
#: Lost learning is no time: a grey beside the colours of the causes.
LEARNING_COLOUR: Final = "#8C8C8C"
INK: Final = "#1A1A1A"
FAINT_INK: Final = "#595959"  # contrast 7:1 on white
RULE: Final = "#D9D9D9"

WIDTH_IN: Final = 7.0  # two columns of a printed page
TITLE_PT: Final = 10.5
TEXT_PT: Final = 8.5
SMALL_PT: Final = 7.0  # the least that print can bear
FONT: Final = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine

_STYLE: Final[dict[Any, Any]] = {
    "font.family": FONT,
    "font.size": TEXT_PT,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in a name is a dollar
    "axes.edgecolor": FAINT_INK,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": SMALL_PT,
    "xtick.color": FAINT_INK,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.labelsize": SMALL_PT,
    "ytick.color": FAINT_INK,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "axes.labelsize": SMALL_PT,
    "axes.labelcolor": FAINT_INK,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL_PT,
    "legend.frameon": False,
    "savefig.dpi": 200.0,
    "svg.hashsalt": "cprsim",  # the same identifiers in every file
    "pdf.fonttype": 42,  # TrueType, as publishers ask for
}


@contextmanager
def styled() -> Iterator[None]:
    """Within it, matplotlib's own defaults and the style; what the user set comes back after."""
    defaults = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")}
    with mpl.rc_context(defaults | _STYLE):
        yield


def paler(colour: ColorType, white: float) -> tuple[float, float, float]:
    """A colour mixed with this share of white."""
    red, green, blue = (white + (1 - white) * part for part in to_rgb(colour))
    return red, green, blue


def ink_on(colour: ColorType) -> str:
    """Black or white, whichever stands out more on `colour` (contrast ratio of WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "white"
