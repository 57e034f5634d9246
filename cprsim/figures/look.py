"""The look of a figure for a paper: width, font and style, as settings of matplotlib."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.style import library

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError

_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
#: Beyond these no text has room, or no page has.
_LENGTHS_IN: Final = (2.0, 40.0)
_DPI: Final = (30.0, 1200.0)
_GENERIC: Final = ("serif", "sans-serif", "monospace", "cursive", "fantasy")


@contextmanager
def look(
    width: str | None = None,
    height: str | None = None,
    font: str | None = None,
    style: str | Path | None = None,
) -> Iterator[None]:
    """Set the look of figures that are drawn and saved within.

    Parameters
    ----------
    width, height
        Of a figure, e.g. `"3.3in"`, `"84mm"`; the height follows from the panels by default.
    font
        The name of an installed font, or one of serif, sans-serif and monospace.
    style
        A style file of matplotlib, or the name of a style that it ships.

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
    default_in = mpl.rcParamsDefault["figure.figsize"]
    settings: dict[Any, Any] = {} if style is None else _style(style)
    if font is not None:
        settings["font.family"] = [_font(font)]
    if width is not None or height is not None:
        sizes = zip(("width", "height"), (width, height), default_in, strict=True)
        settings["figure.figsize"] = tuple(
            usual if text is None else _inches(text, what) for what, text, usual in sizes
        )
    with mpl.rc_context(settings):
        yield


def _inches(text: str, what: str) -> float:
    """Return the inches of a length."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(in|cm|mm|pt)\s*", text)
    if found is None:
        raise UsageError(f"{what} {text!r} is no length: write e.g. 3.3in, 8.4cm, 84mm or 240pt")
    inches = float(found[1]) * _INCHES[found[2]]
    _check_within(inches, _LENGTHS_IN, f"{what} {text!r}", "{:g}in and {:g}in")
    # A size that equals matplotlib's default means none (`style.size_in`).
    is_default = inches in mpl.rcParamsDefault["figure.figsize"]
    return math.nextafter(inches, math.inf) if is_default else inches


def _font(name: str) -> str:
    """Return the name of a font that is there."""
    if name in _GENERIC:
        return name
    try:
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
        read = dict(mpl.rc_params_from_file(path, fail_on_error=True, use_default_template=False))
    except (OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{where} can't be read: {said}") from None
    for inches in read.get("figure.figsize", ()):
        what = f"{where}: figure.figsize {inches:g}"
        _check_within(inches, _LENGTHS_IN, what, "{:g} and {:g} inches")
    for key in ("figure.dpi", "savefig.dpi"):
        dots = read.get(key, "figure")
        if dots != "figure":
            _check_within(dots, _DPI, f"{where}: {key} {dots:g}", "{:g} and {:g}")
    return read


def _check_within(number: float, ends: tuple[float, float], what: str, between: str) -> None:
    """Raise `UsageError` for a number outside of its ends, which `between` writes."""
    if not ends[0] <= number <= ends[1]:
        raise UsageError(f"{what} is not between {between.format(*ends)}")
