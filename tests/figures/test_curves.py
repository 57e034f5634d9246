"""Oracles: the tables that are drawn, and the boxes that the renderer gives each text."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cprsim.figures.curves import (
    LOSSES,
    ecrm_overhead,
    ecrm_recovery,
    estimates,
    interval,
    tradeoff,
)
from cprsim.figures.style import SYSTEM_COLOURS
from cprsim.figures.ticks import log_limits
from tests.figures.reading import Drawn, key, notes, words
from tests.figures.tables import grid, with_ends

POLICIES = {"full": ("full", 0.08), "partial": ("partial", 0.04), "cpr": ("cpr-vanilla", 0.005)}
HOUR = 3600.0


def estimated(table: pd.DataFrame, times: pd.Series) -> pd.DataFrame:
    """With overheads of its policies, so many times theirs."""
    system, overhead = (table["policy"].map(lambda name, i=i: POLICIES[name][i]) for i in (0, 1))
    overhead *= times
    table = table.assign(system=system, first_order=0.95 * overhead, overhead=overhead)
    return with_ends(table, "overhead", high=1.15)


def by_servers(sizes: tuple[int, ...] = (8, 16, 32, 64, 128)) -> pd.DataFrame:
    table = grid(varied=("linear", "independent"), value=sizes, policy=POLICIES)
    return estimated(table, np.sqrt(table["value"]))


def by_failures() -> pd.DataFrame:
    points = {"failures": (1, 2, 4, 40), "share": (0.125, 0.25, 0.5)}
    some = [grid(varied=[name], value=each, policy=POLICIES) for name, each in points.items()]
    table = pd.concat(some, ignore_index=True)
    return estimated(table, 1 + table["value"])


def by_interval() -> pd.DataFrame:
    table = grid(system=("full", "cpr-vanilla"), hours=2.0 ** np.arange(-2, 6))
    is_full, hours = table["system"] == "full", table["hours"]
    closed = 0.08 / hours + np.where(is_full, 0.02 * hours, 0.001)
    table = table.assign(
        interval_s=hours * HOUR,
        closed_form=closed,
        overhead=1.02 * closed.where(hours.isin([0.5, 2.0, 32.0])),
        chosen=hours == np.where(is_full, 2.0, 32.0),
        best=is_full & (hours == 4.0),
    )
    return with_ends(table, "overhead")


def by_loss() -> pd.DataFrame:
    table = grid(policy=("full", "cpr", "a"), pls=(0.01, 0.05, 0.1))
    share = table["policy"].map({"full": 0.0, "cpr": 1.0, "a": 0.2})
    table = table.assign(
        system=table["policy"].map({"full": "full", "cpr": "cpr-vanilla", "a": "x"}),
        overhead=0.0005 / table["pls"] + 0.002,
        updates_lost=share * table["pls"],
        pls=table["pls"].where(share > 0, 0.0),
    )
    return with_ends(table, "overhead", "pls", "updates_lost")


def by_size() -> pd.DataFrame:
    times = {"Ckpt-60": 1.0, "Ckpt-30": 2.0, "k = 4": 0.5, "k = 2": 0.5}
    table = grid(policy=times, size_gb=(220, 440, 880, 1760))
    s = table["policy"].map(times) * table["size_gb"]
    here = {"overhead": s / 3000, "best_s": s, "recovery_s": 2 * s, "worst_s": 3 * s}
    published = {
        "published": s / 3100,
        "published_best_s": 1.1 * s,
        "published_s": 2.1 * s,
        "published_worst_s": 3.1 * s,
    }
    system = np.where(table["policy"].str.startswith("Ckpt"), "full", "ecrm")
    return table.assign(system=system, **here, **published)


LONG = "A title that takes more than one line, " * 5
DRAWN: dict[str, tuple[Callable[..., Figure], pd.DataFrame, str]] = {
    "scaling": (estimates, by_servers(), "Servers"),
    "scaling, large": (estimates, by_servers((1000, 2000, 4000, 8000, 16000)), LONG),
    "scaling, one size": (estimates, by_servers((8,)), ""),
    "sensitivity": (estimates, by_failures(), "Failures"),
    "interval": (interval, by_interval(), "Intervals"),
    "tradeoff": (tradeoff, by_loss(), "$x_1$ and $y$"),
    "ecrm-overhead": (ecrm_overhead, by_size(), "Sizes"),
    "ecrm-recovery": (ecrm_recovery, by_size(), "Sizes"),
}


drawn = Drawn(lambda draw, *case: draw(*case), DRAWN)


def lines(axes: Axes, system: str, marker: str | None = None) -> list[Line2D]:
    """Those of a system: curves, or points if a marker is asked for."""
    colour = SYSTEM_COLOURS[system].lower()
    return [
        line
        for line in axes.lines
        if to_hex(line.get_color()) == colour
        and (line.get_marker() == "None" if marker is None else line.get_marker() == marker)
    ]


def same(line: Line2D, x: pd.Series, y: pd.Series) -> None:
    np.testing.assert_array_equal(line.get_xdata(), x)
    np.testing.assert_array_equal(line.get_ydata(), y)


@pytest.mark.parametrize("case", ["scaling", "sensitivity"])
def test_every_policy_is_in_the_key(case: str) -> None:
    assert key(drawn(case)) == [*POLICIES]


def test_policies_of_one_curve_are_named_together() -> None:
    assert "k = 4 and k = 2" in words(drawn("ecrm-overhead"))


@pytest.mark.parametrize("case", ["scaling", "sensitivity"])
def test_lines_are_estimates_and_points_are_simulated(case: str) -> None:
    table = DRAWN[case][1]
    for axes, name in zip(drawn(case).axes, table["varied"].unique(), strict=True):
        there = table[table["varied"] == name]
        for system, marker in (("full", "o"), ("partial", "s"), ("cpr-vanilla", "D")):
            rows = there[there["system"] == system]
            (curve,), (seen,) = lines(axes, system), lines(axes, system, marker)
            same(curve, rows["value"], rows["first_order"])
            same(seen, rows["value"], rows["overhead"])
        whiskers = [segment for c in axes.collections for segment in c.get_segments()]
        found = sorted((float(low[0]), float(low[1]), float(high[1])) for low, high in whiskers)
        wanted = there[["value", "overhead_low", "overhead_high"]].itertuples(index=False)
        np.testing.assert_allclose(found, sorted(map(tuple, wanted)))


def test_intervals_stand_on_their_closed_form_and_the_chosen_are_ringed() -> None:
    (axes,), table = drawn("interval").axes, by_interval()
    for system, marker in (("full", "o"), ("cpr-vanilla", "D")):
        rows = table[table["system"] == system]
        (curve,) = lines(axes, system)
        same(curve, rows["interval_s"], rows["closed_form"])
        markers = [line for line in lines(axes, system, marker) if line.get_markersize() < 5]
        seen = rows[rows["overhead"].notna()]
        same(markers[0], seen["interval_s"], seen["overhead"])
        rings = [line for line in lines(axes, system, "o") if line.get_markersize() > 5]
        chosen = rows[rows["chosen"]]
        same(rings[0], chosen["interval_s"], chosen["closed_form"])
    (star,) = lines(axes, "full", "*")
    best = table[table["best"]]
    same(star, best["interval_s"], best["closed_form"])
    said = " ".join(key(drawn("interval")))
    assert "closed form: 4 h" in said
    assert "MTBF): 2 h" in said
    assert "target PLS: 32 h" in said


def test_a_policy_that_loses_nothing_is_a_level_at_its_least_overhead() -> None:
    table = by_loss()
    for axes, loss in zip(drawn("tradeoff").axes, LOSSES, strict=True):
        (level,) = lines(axes, "full")
        least = table.loc[table["policy"] == "full", "overhead"].min()
        assert list(level.get_ydata()) == [least, least]
        assert list(level.get_xdata()) == [0, 1]  # of the axes, all across
        rows = table[table["policy"] == "cpr"].sort_values(loss)
        same(lines(axes, "cpr-vanilla", "D")[0], rows[loss], rows["overhead"])
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def under(counts: Iterable[int]) -> pd.DataFrame:
    """What `by_loss` has, under circumstances of which each takes so many times the overhead."""
    return pd.concat(
        [
            by_loss().assign(
                overhead=lambda t, n=n: n * t["overhead"], circumstances=f"{n} h", varied="m"
            )
            for n in counts
        ],
        ignore_index=True,
    )


def test_each_of_the_circumstances_has_panels_of_its_own() -> None:
    table = under((1, 2, 4))
    figure = tradeoff(table, "")
    assert len(figure.axes) == 3 * len(LOSSES)
    for i, axes in enumerate(figure.axes):
        rows = table[table["circumstances"] == ("1 h", "2 h", "4 h")[i // len(LOSSES)]]
        loss = [*LOSSES][i % len(LOSSES)]
        own = rows[rows["policy"] == "cpr"].sort_values(loss)
        same(lines(axes, "cpr-vanilla", "D")[0], own[loss], own["overhead"])
        (level,) = lines(axes, "full")
        assert level.get_ydata()[0] == rows.loc[rows["policy"] == "full", "overhead"].min()
        assert axes.get_ylim() == figure.axes[0].get_ylim()
        assert axes.get_xlim() == figure.axes[0].get_xlim()
    said = [axes.get_title(loc="left").split("\n")[1] for axes in figure.axes[:: len(LOSSES)]]
    assert said == ["m = 1 h", "m = 2 h", "m = 4 h"]


def test_of_many_circumstances_six_are_shown_and_that_is_said() -> None:
    figure = tradeoff(under(range(1, 12)), "A sweep")
    shown = [axes.get_title(loc="left").split("\n")[1] for axes in figure.axes[:: len(LOSSES)]]
    assert shown == [f"m = {n} h" for n in (1, 3, 5, 7, 9, 11)]
    assert notes(figure).startswith("A sweep. 6 of 11 circumstances shown")


def test_overheads_of_erasure_coding_are_lines_and_the_papers_are_hollow() -> None:
    (axes,), table = drawn("ecrm-overhead").axes, by_size()
    for system, marker in (("full", "o"), ("ecrm", "h")):
        names = table.loc[table["system"] == system, "policy"].unique()
        for policy, curve, seen in zip(
            names, lines(axes, system), lines(axes, system, marker), strict=True
        ):
            rows = table[table["policy"] == policy]
            same(curve, rows["size_gb"], rows["overhead"])
            same(seen, rows["size_gb"], rows["published"])
            assert seen.get_markerfacecolor() == "white"


def test_recoveries_are_bands_between_best_and_worst() -> None:
    table = by_size()
    for axes, policy in zip(drawn("ecrm-recovery").axes, ("Ckpt-60", "Ckpt-30"), strict=True):
        rows = table[table["policy"] == policy]
        (curve,) = lines(axes, "full")
        same(curve, rows["size_gb"], rows["recovery_s"])
        low, high = axes.collections[0].get_paths()[0].get_extents().intervaly
        assert (low, high) == (rows["best_s"].min(), rows["worst_s"].max())
        markers = lines(axes, "full", "o")
        for seen, column in zip(
            markers, ("published_best_s", "published_s", "published_worst_s"), strict=True
        ):
            same(seen, rows["size_gb"], rows[column])
        assert len(lines(axes, "ecrm")) == 2


def test_log_limits_hold_all_values_and_span_enough() -> None:
    assert log_limits(np.array([1.0, 100.0]), 2) == pytest.approx((0.8, 125))
    low, high = log_limits(np.array([4.0, math.nan, 0.0]), 9)
    assert high / low == pytest.approx(9)
    assert low * high == pytest.approx(16)
