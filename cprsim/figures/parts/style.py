"""What all pictures share: colours, words and sizes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.font_manager import FontProperties
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

_NARROW_IN: Final = 5.0

#: Where matplotlib's own settings are at their defaults; sizes of text follow `font.size`.
_STYLE: Final[dict[str, Any]] = {
    "figure.figsize": (WIDTH_IN, mpl.rcParamsDefault["figure.figsize"][1]),
    "figure.titlesize": 10.5 / 8.5,  # see `styled`: times the size of text
    "figure.titleweight": "bold",
    "figure.labelsize": 7 / 8.5,
    "figure.labelweight": "normal",
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.06,
    "font.size": 8.5,
    "text.color": INK,
    "axes.edgecolor": FAINT_INK,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 1.0,
    "axes.titleweight": "bold",
    "axes.labelsize": 7 / 8.5,
    "axes.labelcolor": FAINT_INK,
    "xtick.labelsize": 7 / 8.5,
    "xtick.color": FAINT_INK,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7 / 8.5,
    "ytick.color": FAINT_INK,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 1.0,
    "legend.fontsize": 7 / 8.5,
    "legend.frameon": False,
    "savefig.dpi": 200.0,
    "svg.fonttype": "none",  # text that can be searched, selected and edited
    "svg.hashsalt": "cprsim",  # the same identifiers in every file
    "pdf.fonttype": 42,  # TrueType, embedded, as publishers ask for
}
_SIZES: Final = [key for key in _STYLE if key.endswith(("labelsize", "titlesize", "fontsize"))]
#: Whatever the user has set: a "$" or a "%" in a name or a label is itself.
_ALWAYS: Final[dict[str, Any]] = {"text.parse_math": False, "text.usetex": False}


@contextmanager
def styled() -> Iterator[None]:
    """Set the style of the pictures; what the user has set in matplotlib's rcParams wins."""
    default: Any = mpl.rcParamsDefault
    current: Any = mpl.rcParams
    given = {key: current[key] for key in _STYLE if current[key] != default[key]}
    if "figure.figsize" in given:
        width_in, height_in = given["figure.figsize"]
        theirs = width_in != default["figure.figsize"][0]
        given["figure.figsize"] = (width_in if theirs else WIDTH_IN, height_in)
    text_pt = given.get("font.size", _STYLE["font.size"])
    sizes = {key: text_pt * _STYLE[key] for key in _SIZES}
    settings: dict[Any, Any] = _STYLE | sizes | given | _ALWAYS
    with mpl.rc_context(settings):
        yield


def size_in() -> tuple[float, float | None]:
    """Return width and height of a figure, inches; None for a height that nobody has set."""
    width_in, height_in = mpl.rcParams["figure.figsize"]
    is_default = height_in == mpl.rcParamsDefault["figure.figsize"][1]
    return float(width_in), None if is_default else float(height_in)


def is_narrow() -> bool:
    """Return whether a figure is too narrow for panels side by side."""
    return size_in()[0] < _NARROW_IN


def small_pt() -> float:
    """Return the size of small text, points."""
    size = mpl.rcParams["legend.fontsize"]
    return float(FontProperties(size=size).get_size_in_points())


def system_colour(system: str) -> str:
    """Return the colour of a system; grey for those of other packages."""
    return _own_or_users(SYSTEM_COLOURS, system, LEARNING_COLOUR)


def cause_colour(cause: str) -> str:
    """Return the colour of a cause of lost time; ink for all of them together."""
    return _own_or_users(CAUSE_COLOURS, cause, INK)


def _own_or_users(colours: Mapping[str, str], name: str, other: str) -> str:
    """Return the colour of that name, or one of the user's cycle of colours where it is set."""
    cycle = mpl.rcParams["axes.prop_cycle"]
    if name not in colours or cycle == mpl.rcParamsDefault["axes.prop_cycle"]:
        return colours.get(name, other)
    theirs = cycle.by_key().get("color", [])
    return theirs[[*colours].index(name) % len(theirs)] if theirs else colours[name]


def policy_colours(systems: Mapping[str, str]) -> dict[str, str]:
    """The colour of each policy: its system's; paler for further ones of the same system.

    `systems`: of each policy. Those of other packages are grey.
    """
    seen: Counter[str] = Counter()
    colours = {}
    for name, system in systems.items():
        own = system_colour(system)
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
