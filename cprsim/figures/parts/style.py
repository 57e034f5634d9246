"""What all pictures share: colours, words and sizes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.typing import ColorType

#: Safe for the colour-blind: Okabe and Ito, "Color Universal Design" (2008); the two dark ones lie
#: far from these and from those of systems, for eyes that lack red or green, too.
CAUSE_COLOURS: Final = {
    "save": "#0072B2",  # blue
    "load": "#56B4E9",  # sky blue
    "lost": "#D55E00",  # vermillion
    "reschedule": "#E69F00",  # orange
    "detect": "#F0E442",  # yellow
    "slowdown": "#009E73",  # bluish green
    "stall": "#CC79A7",  # reddish purple
    "verify": "#00008C",  # navy, the farthest from all others
    "start": "#601800",  # dark red
    "shutdown": "#001860",  # dark blue
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
#: Systems, the same in every picture, and none of them a cause's: as far apart from each other and
#: from causes as a search over sRGB found, for eyes that see all colours and for those that lack
#: red or green (Machado et al., IEEE TVCG 15(6), 2009), with a contrast of 2.6:1 on white and on
#: the dark ground of pages. Markers tell lines and points apart besides.
SYSTEM_COLOURS: Final = {
    "full": "#1A1A1A",  # ink, which turns light on dark pages
    "partial": "#845400",  # brown
    "cpr-vanilla": "#249000",  # green
    "cpr-mfu": "#183CFC",  # strong blue
    "cpr-ssu": "#FF5082",  # coral
    "cpr-scar": "#8484CC",  # lavender
    "ecrm": "#C018A8",  # magenta
    "async": "#7830CC",  # violet
    "check-n-run": "#3C6C48",  # forest
    "tiered": "#605484",  # slate
    "partial-experts": "#9C6084",  # mauve
    "accepted-loss": "#B43C48",  # crimson
    "replication": "#B478FC",  # lilac
    "peer-memory": "#486CFC",  # cornflower
    "hot-swap": "#9C54CC",  # orchid
    "autopilot": "#E553CF",  # pink
    "elastic": "#A22172",  # plum
    "twin-groups": "#A09B46",  # olive
}
#: Markers of the same; a circle for all others.
SYSTEM_MARKERS: Final = {
    "full": "o",
    "partial": "s",
    "cpr-vanilla": "D",
    "cpr-mfu": "^",
    "cpr-ssu": "v",
    "cpr-scar": "P",
    "ecrm": "h",
    "async": "<",
    "check-n-run": ">",
    "tiered": "p",
    "partial-experts": "d",
    "accepted-loss": "X",
    "replication": "*",
    "peer-memory": "H",
    "hot-swap": "8",
    "autopilot": "$+$",
    "elastic": "$e$",
    "twin-groups": "$2$",
}
#: White in the colour of a system's second policy, third ... on a map.
_PALER: Final = (0.0, 0.35, 0.6, 0.2, 0.5)
#: Lost learning is no time: a grey beside the colours of the causes.
LEARNING_COLOUR: Final = "#8C8C8C"
INK: Final = "#1A1A1A"
WHITE_INK: Final = "#FEFEFE"  # on colours
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


def policy_colours(systems: Mapping[str, str]) -> dict[str, str]:
    """The colour of each policy: its system's; paler for further ones of the same system.

    `systems`: of each policy. Those of other packages are grey.
    """
    seen: Counter[str] = Counter()
    colours = {}
    for name, system in systems.items():
        own = SYSTEM_COLOURS.get(system, LEARNING_COLOUR)
        colours[name] = to_hex(paler(own, _PALER[seen[system] % len(_PALER)])).upper()
        seen[system] += 1
    return colours


def paler(colour: ColorType, white: float) -> tuple[float, float, float]:
    """A colour mixed with this share of white."""
    red, green, blue = (white + (1 - white) * part for part in to_rgb(colour))
    return red, green, blue


def ink_on(colour: ColorType) -> str:
    """Black or white, whichever stands out more on `colour` (contrast ratio of WCAG 2).

    The white is not quite that of the ground, which turns dark on dark pages where this stays.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else WHITE_INK
