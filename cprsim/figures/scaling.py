"""How overhead grows with the number of servers, if the MTBF falls with it."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures import curves, style
from cprsim.figures.curves import Entry, Panel

#: The MTBF models of a table, in the order of the panels, and what each assumes.
MODELS: Final = {
    "linear": Panel("MTBF falls as 1 / servers", "overhead, % of useful time", "servers"),
    "independent": Panel("Servers fail independently", "hourly, with chance p each", "servers"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.35


def scaling(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the number of servers under two MTBF models, a curve a policy.

    Parameters
    ----------
    table
        A row a model, number of servers and policy: `model`, one of `MODELS`; `servers`; `policy`
        and its `system`; `first_order`, the overhead in closed form; `overhead` as simulated, with
        its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the useful
        time.
    title
        Stands above, wrapped; none if empty.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each model: servers over overhead as a share, both log.
    """
    with style.styled():
        frame = curves.frame(title, list(MODELS.values()), _RIGHT_IN, _HEIGHT_IN)
        measured = ["first_order", "overhead", "overhead_low", "overhead_high"]
        curves.log_shares(frame, table[measured].to_numpy(dtype=np.float64).ravel())
        sizes = sorted(table["servers"].unique())
        for model, axes in zip(MODELS, frame.axes, strict=True):
            axes.set_xscale("log", base=2)
            axes.set_xlim(*curves.log_limits(np.asarray(sizes, dtype=np.float64), 2))
            curves.named_ticks(axes, {size: f"{size:,}" for size in sizes})
            for (_, system), rows in table[table["model"] == model].groupby(
                ["policy", "system"], sort=False
            ):
                axes.plot(rows["servers"], rows["first_order"], **curves.line(system))
                curves.with_whiskers(axes, rows, "servers", "overhead", curves.points(system))
        curves.write_key(frame, policy_entries(table))
    return frame.figure


def policy_entries(table: pd.DataFrame) -> list[Entry]:
    """A key of policies whose lines are closed forms and whose points are simulated."""
    systems = dict(zip(table["policy"], table["system"], strict=True))
    entries = [
        Entry([curves.line(system), curves.points(system)], name)
        for name, system in systems.items()
    ]
    ink = {"color": style.FAINT_INK}
    entries.append(Entry([curves.line("") | ink], "line", "closed form, to first order"))
    return [*entries, Entry([curves.points("") | ink], "point", "simulated, 95 % interval")]
