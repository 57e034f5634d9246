"""Colours, markers and sizes of all pictures, and the look that a user asks for."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.colors import to_hex, to_rgb
from matplotlib.style import library
from matplotlib.typing import ColorType

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError

#: Settings of a part of a picture, as matplotlib's functions take them.
Look = dict[str, Any]
#: Where matplotlib's own settings are at their defaults.
_STYLE: Final[dict[Any, Any]] = dict(
    mpl.rc_params_from_file(Path(__file__).with_name("cprsim.mplstyle"), use_default_template=False)
)
#: Whatever the user has set: a "$" or a "%" in a name or a label is itself.
_ALWAYS: Final[dict[Any, Any]] = {"text.parse_math": False, "text.usetex": False}

INK: Final = "#1A1A1A"
WHITE_INK: Final = "#FEFEFE"  # on colours
FAINT_INK: Final = "#595959"  # contrast 7:1 on white
RULE: Final = "#D9D9D9"
#: Lost learning is no time: a grey, unlike the causes.
LEARNING_COLOUR: Final = "#8C8C8C"
#: Training that counts: the ground of overhead.
TRAINING_COLOUR: Final = "#DCE3E8"
#: Safe for the colour-blind: Okabe and Ito, "Color Universal Design" (2008); the dark ones lie
#: far from these and from those of systems, for eyes that lack red or green, too.
CAUSE_COLOURS: Final = {
    "save": "#0072B2",  # blue
    "load": "#56B4E9",  # sky blue
    "lost": "#D55E00",  # vermillion
    "reschedule": "#E69F00",  # orange
    "detect": "#F0E442",  # yellow
    "slowdown": "#009E73",  # bluish green
    "stall": "#CC79A7",  # reddish purple
    "verify": "#00008C",  # navy
    "start": "#601800",  # dark red
    "shutdown": "#001860",  # dark blue
}
#: Laws of durations, from the same palette, and dashes, which differ in grey too.
LAW_COLOURS: Final = {
    "exponential": "#E69F00",  # orange
    "gamma": "#0072B2",  # blue
    "weibull": "#D55E00",  # vermillion
    "lognormal": "#009E73",  # bluish green
}
LAW_DASHES: Final[dict[str, Any]] = {
    "exponential": ":",
    "gamma": "-.",
    "weibull": "--",
    "lognormal": (0, (9.0, 2.0)),  # on, off, in line widths
}
#: Colour and marker of systems, the same in every picture. Colours are as far apart from each other
#: and from causes as a search over sRGB found, for eyes that see all colours and for those that
#: lack red or green (Machado et al., IEEE TVCG 15(6), 2009), with a contrast of 2.6:1 on white and
#: on the dark ground of pages.
_SYSTEMS: Final = {
    "full": ("#1A1A1A", "o"),  # ink, which turns light on dark pages
    "partial": ("#845400", "s"),  # brown
    "cpr-vanilla": ("#249000", "D"),  # green
    "cpr-mfu": ("#183CFC", "^"),  # strong blue
    "cpr-ssu": ("#FF5082", "v"),  # coral
    "cpr-scar": ("#8484CC", "P"),  # lavender
    "ecrm": ("#C018A8", "h"),  # magenta
    "async": ("#7830CC", "<"),  # violet
    "check-n-run": ("#3C6C48", ">"),  # forest
    "delta": ("#FC724E", "$d$"),  # salmon
    "tiered": ("#605484", "p"),  # slate
    "partial-experts": ("#9C6084", "d"),  # mauve
    "accepted-loss": ("#B43C48", "X"),  # crimson
    "replication": ("#B478FC", "*"),  # lilac
    "peer-memory": ("#486CFC", "H"),  # cornflower
    "hot-swap": ("#9C54CC", "8"),  # orchid
    "autopilot": ("#E553CF", "$+$"),  # pink
    "elastic": ("#A22172", "$e$"),  # plum
    "twin-groups": ("#A09B46", "$2$"),  # olive
}
SYSTEM_COLOURS: Final = {name: colour for name, (colour, _) in _SYSTEMS.items()}
SYSTEM_MARKERS: Final = {name: marker for name, (_, marker) in _SYSTEMS.items()}
#: White in the colour of a system's second policy, third ... on a map.
_PALER: Final = (0.0, 0.35, 0.6, 0.2, 0.5)
#: What ink and ground are where the reader's scheme is dark; other colours stay as they are.
DARK: Final = {
    INK: "#E8E8E8",
    FAINT_INK: "#A9B0B6",
    RULE: "#3A4147",
    TRAINING_COLOUR: "#39434B",
    "#FFFFFF": "#15181B",
}
WIDTH_IN: Final = 7.0  # two columns of a printed page
_NARROW_IN: Final = 5.0
_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
#: Beyond these no text has room, or no page has.
_LEAST_IN: Final = 2.0
_MOST_IN: Final = 40.0
_RANGES: Final = {
    "figure.figsize": (_LEAST_IN, _MOST_IN, " inches"),
    "figure.dpi": (30.0, 1200.0, ""),
    "savefig.dpi": (30.0, 1200.0, ""),
}
_GENERIC: Final = ("serif", "sans-serif", "monospace", "cursive", "fantasy")


@contextmanager
def styled() -> Iterator[None]:
    """Set the style of the pictures; what the user has set in matplotlib's rcParams wins."""
    default: Any = mpl.rcParamsDefault
    current: Any = mpl.rcParams
    ours = {key: value for key, value in _STYLE.items() if current[key] == default[key]}
    with mpl.rc_context(ours | _ALWAYS):
        yield


def size_in() -> tuple[float, float | None]:
    """Return width and height of a figure, inches; None for a height that nobody has set."""
    width_in, height_in = map(float, mpl.rcParams["figure.figsize"])
    usual_in = mpl.rcParamsDefault["figure.figsize"]
    width_in = WIDTH_IN if width_in == usual_in[0] else width_in
    return width_in, None if height_in == usual_in[1] else height_in


def is_narrow() -> bool:
    """Return whether a figure is too narrow for panels side by side."""
    return size_in()[0] < _NARROW_IN


def small_pt() -> float:
    """Return the size of small text, points."""
    return float(font_manager.FontProperties(size="small").get_size_in_points())


def system_colour(system: str) -> str:
    """Return the colour of a system; grey for those of other packages."""
    return _own_or_users(SYSTEM_COLOURS, system, LEARNING_COLOUR)


def cause_colour(cause: str) -> str:
    """Return the colour of a cause of lost time; ink for all of them together."""
    return _own_or_users(CAUSE_COLOURS, cause, INK)


def _own_or_users(colours: Mapping[str, str], name: str, other: str) -> str:
    """Return the colour of that name, or one of the user's cycle of colours where it is set."""
    cycle = mpl.rcParams["axes.prop_cycle"]
    theirs = cycle.by_key().get("color")
    if name not in colours or cycle == mpl.rcParamsDefault["axes.prop_cycle"] or not theirs:
        return colours.get(name, other)
    return str(theirs[[*colours].index(name) % len(theirs)])


def policy_colours(systems: Mapping[str, str]) -> dict[str, str]:
    """Return the colour of each policy: its system's; paler for further ones of the same system.

    `systems`: of each policy. Those of other packages are grey.
    """
    seen: Counter[str] = Counter()
    colours = {}
    for name, system in systems.items():
        white = _PALER[seen[system] % len(_PALER)]
        colours[name] = to_hex(paler(system_colour(system), white)).upper()
        seen[system] += 1
    return colours


def paler(colour: ColorType, white: float) -> tuple[float, float, float]:
    """Return a colour mixed with this share of white."""
    red, green, blue = (white + (1 - white) * part for part in to_rgb(colour))
    return red, green, blue


def ink_on(colour: ColorType) -> str:
    """Return black or white, whichever contrasts more with `colour` (contrast ratio of WCAG 2).

    The white is not quite that of the ground, which turns dark on dark pages where this stays.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else WHITE_INK


def with_dark(svg: bytes) -> bytes:
    """Return the SVG that matplotlib wrote, with a style for dark pages: other ink and ground."""
    rules = "".join(
        f'[style*="{name}: {light.lower()}"]{{{name}:{dark.lower()} !important}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    head, end, rest = svg.partition(b"<defs>")
    return head + style.encode() + end + rest


@contextmanager
def look(
    width: str | None = None,
    height: str | None = None,
    font: str | None = None,
    style: str | Path | None = None,
) -> Iterator[None]:
    """Set the look of figures that are drawn and saved within.

    `width`, `height`: of a figure, e.g. `"3.3in"`, `"84mm"`; the height follows from the panels by
    default. `font`: the name of an installed font, or one of serif, sans-serif and monospace.
    `style`: a style file of matplotlib, or the name of a style that it ships.

    Raises
    ------
    UsageError
        If a width or height is no length, a font is not found, or a style can't be read.

    Examples
    --------
    >>> from cprsim.figures import look
    >>> with look(width="3.3in", font="serif"):
    ...     print(mpl.rcParams["figure.figsize"][0])
    3.3
    """
    sizes: list[Any] = [*mpl.rcParamsDefault["figure.figsize"]]
    settings: dict[Any, Any] = {} if style is None else _style(style)
    if font is not None:
        settings["font.family"] = [_font(font)]
    for i, (name, length) in enumerate((("width", width), ("height", height))):
        if length is not None:
            sizes[i] = _inches(length, name)
            settings["figure.figsize"] = sizes
    with mpl.rc_context(settings):
        yield


def _inches(text: str, what: str) -> float:
    """Return the inches of a length."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(in|cm|mm|pt)\s*", text)
    if found is None:
        raise UsageError(f"{what} {text!r} is no length: write e.g. 3.3in, 8.4cm, 84mm or 240pt")
    inches = float(found[1]) * _INCHES[found[2]]
    if not _LEAST_IN <= inches <= _MOST_IN:
        raise UsageError(f"{what} {text!r} is not between {_LEAST_IN:g}in and {_MOST_IN:g}in")
    # A size that equals matplotlib's default means none (`style.size_in`).
    is_default = inches in mpl.rcParamsDefault["figure.figsize"]
    return math.nextafter(inches, math.inf) if is_default else inches


def _font(name: str) -> str:
    """Return the name of a font that is there."""
    try:
        if name not in _GENERIC:
            font_manager.findfont(name, fallback_to_default=False)
    except ValueError:
        hint = nearest(name, {*_GENERIC, *font_manager.get_font_names()})
        if hint.startswith("known"):
            hint = f"give one of {', '.join(_GENERIC[:3])}, or an installed font"
        raise UsageError(f"font {name!r} is not found; {hint}") from None
    return name


def _style(style: str | Path) -> dict[Any, Any]:
    """Return the settings of a style file, or of a style that matplotlib ships."""
    if str(style) in library:
        return dict(library[str(style)])
    path, where = Path(style), f"style {str(style)!r}"
    if not path.is_file():
        raise UsageError(
            f"{where}: no such file, and matplotlib has no style of that name (it has "
            "e.g. ggplot, grayscale, seaborn-v0_8-paper)"
        )
    try:
        keys = [line.partition(":")[0].strip() for line in path.read_text("utf-8").splitlines()]
        unknown = [key for key in keys if key and key[0] != "#" and key not in mpl.rcParams]
        if unknown:
            raise UsageError(f"{where} can't be read: matplotlib has no setting {unknown[0]!r}")
        read: Any = mpl.rc_params_from_file(path, fail_on_error=True, use_default_template=False)
    except (OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{where} can't be read: {said}") from None
    for key, (least, most, unit) in _RANGES.items():
        for number in np.atleast_1d(read.get(key, [])):
            if number != "figure" and not least <= number <= most:
                raise UsageError(
                    f"{where}: {key} {number:g} is not between {least:g} and {most:g}{unit}"
                )
    return dict(read)
