"""The look of a figure for a paper: width, font and style, as settings of matplotlib."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.style import library

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError

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
