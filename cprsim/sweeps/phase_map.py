"""A map of which policy is best: its axes, and the points where all else is fixed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from cprsim.errors import UsageError
from cprsim.sweeps.best import circumstances
from cprsim.sweeps.points import Point
from cprsim.sweeps.values import brief, si_column, text_of, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cprsim.sweeps.stored import Sweep

_SHOWN = 5


def phase_map(sweep: "Sweep", best: pd.DataFrame, at: Mapping[str, Any], bounds: str) -> "Figure":
    """Draw the map of the `best` of a sweep within `bounds`, in words.

    Or of its part where what `at` names has these values.
    """
    from cprsim.figures.cells import phase  # noqa: PLC0415  (matplotlib is slow to import)

    definition, points = sweep.definition, sweep.points
    there = cut(points, circumstances(definition["keys"]), at, definition["zipped"])
    values = points[there.points[0]].values
    fixed = ", ".join(f"{key} = {brief(values[key])}" for key in at)
    along = [f"{', '.join(there.along)} with {there.whole}"] if there.along else []
    known = sweep.table.dropna(subset="system").set_index("policy")["system"].to_dict()
    return phase(
        best[best["point"].isin(there.points)].reset_index(drop=True),
        {key: si_column(key, [point.values[key] for point in points])[0] for key in there.axes},
        {name: known.get(name, "") for name in definition["policies"]},
        "; ".join(filter(None, (definition["title"], fixed and f"at {fixed}", *along))),
        bounds,
        sum(points[i].to_do for i in there.points),
    )


class Cut(NamedTuple):
    """Numbers of points, keys that are axes there, and those that go `along` with one, `whole`."""

    points: list[int]
    axes: list[str]
    along: list[str]
    whole: str


def cut(
    points: Sequence[Point],
    keys: Sequence[str],
    at: Mapping[str, Any],
    zipped: Sequence[str] = (),
) -> Cut:
    """Return the points where what `at` names has that value.

    `zipped`: keys whose values go together. One of them is the axis of all, if its values differ.

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
        if key not in keys:
            raise UsageError(f"figure phase: at {key}: is not varied; varied: {', '.join(keys)}")
        values = [point.values[key] for point in points]
        there = {p.number for p, is_so in zip(points, where(values, value), strict=True) if is_so}
        if not there:
            known = list(dict.fromkeys(map(text_of, values)))
            has = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
            raise UsageError(f"figure phase: at {key} = {text_of(value)}: the sweep has {has}")
        shown = [point for point in shown if point.number in there]
    if not shown:
        told = " and ".join(f"{key} = {text_of(value)}" for key, value in at.items())
        raise UsageError(f"figure phase: at {told}: the sweep has no such point")
    axes = [key for key in keys if key not in at and _count(shown, key) > 1]
    together = [key for key in axes if key in zipped]
    every = _count(shown, *together)
    whole = next((key for key in together if _count(shown, key) == every), "")
    along = [key for key in together if whole and key != whole]
    axes = [key for key in axes if key not in along]
    if len(axes) > 2:
        example = f'{axes[-1]}="{text_of(shown[0].values[axes[-1]])}"'
        raise UsageError(
            f"figure phase: {len(axes)} keys are varied ({', '.join(axes)}), a map has two axes; "
            f"fix {len(axes) - 2}: cprsim sweep DIR --map FILE --at {example}"
        )
    return Cut([point.number for point in shown], axes or [keys[0]], along, whole)


def _count(points: Sequence[Point], *keys: str) -> int:
    """Count the values of the keys together."""
    return len({tuple(text_of(point.values[key]) for key in keys) for point in points})
