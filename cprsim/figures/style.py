"""What all pictures share: colours, words, sizes, and text that is measured before it is placed."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

#: The field's word for each cause of overhead, in the order in which bars stack them.
CAUSE_LABELS: Final = {
    "save": "saving",
    "load": "loading",
    "lost": "lost computation",
    "reschedule": "rescheduling",
    "detect": "detection",
    "slowdown": "slowdown",
    "stall": "snapshot stall",
}
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
#: Lost learning is no time, and so has a colour beside those of the causes.
LEARNING_COLOUR: Final = "#4D4D4D"
INK: Final = "#1A1A1A"
FAINT_INK: Final = "#595959"  # 7:1 on white
RULE: Final = "#D9D9D9"

WIDTH_IN: Final = 7.0  # two columns of a printed page
TITLE_PT: Final = 10.5
TEXT_PT: Final = 8.5
SMALL_PT: Final = 7.0  # the least that print can bear
LINE: Final = 1.25  # of the font size, from one line to the next

_STYLE: Final = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": TEXT_PT,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in a name is a dollar
    "axes.edgecolor": FAINT_INK,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL_PT,
    "xtick.color": FAINT_INK,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL_PT,
    "savefig.dpi": 200.0,
    "svg.hashsalt": "cprsim",  # identifiers that are the same in every file
    "pdf.fonttype": 42,  # TrueType, as publishers ask for
}


@contextmanager
def styled() -> Iterator[None]:
    """Within it, matplotlib's own defaults and the style; what the user set comes back after."""
    defaults = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")}
    with mpl.rc_context({**defaults, **_STYLE}):
        yield


def text_width_in(text: str, size_pt: float, weight: str = "normal") -> float:
    """The width of one line of text in the style's font, inches."""
    font = FontProperties(family="DejaVu Sans", size=size_pt, weight=weight)
    width_pt, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width_pt) / 72


def wrap(text: str, width_in: float, size_pt: float, weight: str = "normal") -> list[str]:
    """Lines no wider than `width_in` inches; breaks after blanks and `-_./,`, else anywhere."""
    rest = " ".join(text.split())
    lines = []
    while rest:
        end = len(rest)
        while end > 1 and text_width_in(rest[:end].rstrip(), size_pt, weight) > width_in:
            end -= 1
        if end < len(rest):
            breaks = [i for i in range(1, end + 1) if rest[i - 1] in " -_./,"]
            end = breaks[-1] if breaks else end
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return lines


def percent(share: float, half_width: float = math.nan) -> str:
    """A share for people: `"8.38 % ± 0.10"`; the half width of its interval only if finite."""
    value = 100 * share
    places = _places(value)
    text = f"{value:.{places}f} %"
    if not math.isfinite(half_width):
        return text
    half = f"{100 * half_width:.{places}f}"
    if half_width > 0 and float(half) == 0:
        half = f"<{10.0**-places:.{places}f}"
    return f"{text} ± {half}"


def _places(value: float) -> int:
    """Decimal places for three significant digits; two below 1, as far as four places."""
    if value == 0:
        return 0
    magnitude = math.floor(math.log10(abs(value)))
    return min(max(2 - max(magnitude, 0), 1 - magnitude, 0), 4) if magnitude < 2 else 0


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on `colour` (relative luminance of WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "white"
