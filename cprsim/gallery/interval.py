"""`interval`: overhead against the checkpoint interval, simulated on the closed form."""

import math

import numpy as np
import pandas as pd

from cprsim.advice.decision import closed_form
from cprsim.errors import UsageError
from cprsim.formulas.intervals import young_interval_s
from cprsim.gallery.points import at_mtbf, measured, tidy
from cprsim.policies.cpr import CprVanilla
from cprsim.scenario import Scenario

#: Simulated intervals, as multiples of Young's.
_SIMULATED = (1 / 8, 1 / 4, 1 / 2, 1 / math.sqrt(2), math.sqrt(2), 2.0, 4.0, 8.0)
_MOST = 5.0  # overhead: jobs beyond it hardly end, and nobody asks for them
_POINTS = 500  # of a curve: it jumps wherever there is one save less
#: What saves at each interval: full recovery, and partial recovery as CPR does it.
_SYSTEMS = ("full", "cpr-vanilla")


def table(scenario: Scenario, replications: int = 200) -> pd.DataFrame:
    """A row an interval and system, as `cprsim.figures.interval.interval` takes it.

    Failures are exponential, with the scenario's MTBF.
    """
    context = scenario.context
    young_s = young_interval_s(context.save_s, context.mtbf_s)
    if not 0 < young_s < math.inf:
        raise UsageError("figure interval: saves or failures cost nothing, so no interval is best")
    cpr = next((p for p in scenario.policies.values() if isinstance(p, CprVanilla)), None)
    cpr_s = (cpr or CprVanilla(system="cpr-vanilla")).interval_s(context)
    chosen = dict(zip(_SYSTEMS, (young_s, min(cpr_s, context.useful_time_s)), strict=True))
    played = [young_s * times for times in _SIMULATED]
    played = [s for s in {*played, *chosen.values()} if s <= context.useful_time_s]
    curve = np.geomspace(min(played), context.useful_time_s, _POINTS)
    closed = pd.DataFrame(
        [
            (system, interval_s, closed_form(context, system, interval_s))
            for system in _SYSTEMS
            for interval_s in sorted({*curve.tolist(), *played})
        ],
        columns=["system", "interval_s", "closed_form"],
    )
    closed = closed[closed["closed_form"] <= _MOST]
    closed["chosen"] = closed["interval_s"] == closed["system"].map(chosen)
    # Without rollbacks the rarest saves cost the least: only full recovery has an optimum.
    of_full = closed.loc[closed["system"] == "full", "closed_form"]
    closed["best"] = closed.index == of_full.idxmin()
    simulated = _simulated(scenario, closed[closed["interval_s"].isin(played)], replications)
    return closed.merge(simulated, how="left", on=["system", "interval_s"])


def _simulated(scenario: Scenario, points: pd.DataFrame, replications: int) -> pd.DataFrame:
    policies = {
        f"{i}": {"system": system, "interval": f"{interval_s!r} s"}
        for i, (system, interval_s) in enumerate(
            zip(points["system"], points["interval_s"], strict=True)
        )
    }
    there = at_mtbf(scenario, scenario.context.mtbf_s, {"policies": policies})
    rows = tidy([measured(there, replications)])
    return rows[["system", "interval_s", "overhead", "overhead_low", "overhead_high"]]
