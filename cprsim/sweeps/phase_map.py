"""A map of which policy is best: its axes, and the points where all else is fixed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.errors import UsageError
from cprsim.sweeps.best import circumstances
from cprsim.sweeps.columns import brief, si_column, text_of, where
from cprsim.sweeps.played import StoredPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 5


def phase_map(
    definition: Mapping[str, Any],
    points: Sequence[StoredPoint],
    best: pd.DataFrame,
    at: Mapping[str, Any],
    bounds: str,
    systems: Mapping[str, str],
) -> "Figure":
    """The map of the `best` of a sweep, or of its part where what `at` names has these values.

    `systems`: of each policy.
    """
    from cprsim.figures.phase import phase  # noqa: PLC0415  (matplotlib is slow to import)

    varied, zipped = circumstances(definition["keys"]), definition["zipped"]
    shown, keys = cut(points, varied, at, zipped)
    to_do = sum(points[i].to_do for i in shown)
    values = points[shown[0]].values if shown else at
    fixed = ", ".join(f"{key} = {brief(values[key])}" for key in at)
    along = [key for key in zipped if key in varied and key not in (*keys, *at)]
    others = [f"{', '.join(along)} with {key}" for key in keys if along and key in zipped]
    title = "; ".join(filter(None, (definition["title"], fixed and f"at {fixed}", *others)))
    return phase(
        best[best["point"].isin(shown)].reset_index(drop=True),
        {key: si_column(key, [point.values[key] for point in points])[0] for key in keys},
        systems,
        title,
        bounds,
        to_do,
    )


def cut(
    points: Sequence[StoredPoint],
    keys: Sequence[str],
    at: Mapping[str, Any],
    zipped: Sequence[str] = (),
) -> tuple[list[int], list[str]]:
    """Numbers of the points where what `at` names has that value, and keys that still vary there.

    `zipped`: keys whose values go together. One of them stands for all that it tells.

    Raises
    ------
    UsageError
        If `at` names what is not varied or a value that there is not, or if no key is left to be an
        axis, or more than two.
    """
    if not keys:
        raise UsageError("figure phase: only choices of policies are varied; a map needs more")
    shown = list(points)
    for key, value in at.items():
        there = _fixed(points, keys, key, value)
        shown = [point for point in shown if point.number in there]
    axes = [key for key in keys if _count(shown, key) > 1]
    first, *others = [key for key in axes if key in zipped] or [""]
    axes = [key for key in axes if key not in others or not _in_step(shown, first, key)]
    if len(axes) > 2:
        example = f'{axes[-1]}="{text_of(shown[0].values[axes[-1]])}"'
        raise UsageError(
            f"figure phase: {len(axes)} keys are varied ({', '.join(axes)}), a map has two axes; "
            f"fix {len(axes) - 2}: cprsim sweep DIR --map FILE --at {example}"
        )
    return [point.number for point in shown], axes or [keys[0]]


def _count(points: Sequence[StoredPoint], *keys: str) -> int:
    """How many values of the keys together there are."""
    return len({tuple(text_of(point.values[key]) for key in keys) for point in points})


def _in_step(points: Sequence[StoredPoint], one: str, other: str) -> bool:
    """Whether each value of one key is there with one of the other."""
    return _count(points, one) == _count(points, other) == _count(points, one, other)


def _fixed(points: Sequence[StoredPoint], keys: Sequence[str], key: str, value: Any) -> set[int]:
    """Numbers of the points where a key has that value."""
    if key not in keys:
        raise UsageError(f"figure phase: at {key}: is not varied; varied: {', '.join(keys)}")
    values = [point.values[key] for point in points]
    there = zip(points, where(values, value), strict=True)
    found = {point.number for point, is_there in there if is_there}
    if not found:
        known = list(dict.fromkeys(map(text_of, values)))
        more = ", ..." if len(known) > _SHOWN else ""
        raise UsageError(
            f"figure phase: at {key} = {text_of(value)}: the sweep has "
            f"{', '.join(known[:_SHOWN])}{more}"
        )
    return found
