"""Effective training time as Meta publishes it, of two jobs for which there is no picture."""

import math
from functools import cache
from typing import Any, Final, NamedTuple

import cprsim
from cprsim.basics.units import SECONDS
from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from tools.reproduction.lines import Line, Measured

#: FT-HSDP (arXiv 2602.00277), 100,000 GPUs: minutes between failures; minutes that one stops
#: training for, and the effective training time in percent, before and after.
GAP_MIN: Final = 18.0
FT_HSDP: Final = (("before", 10.0, 44.0), ("FT-HSDP", 3.0, 80.0))
#: The PyTorch blog on effective training time of Meta's recommendation models, figure 7: a save's
#: stall in seconds, failures a day; the best interval in seconds, and what is wasted, in percent.
STALL_S: Final = 15.0
A_DAY: Final = 3.0
INTERVAL_S: Final = 929.5
WASTED: Final = 3.23

_ABSTRACT: Final = "FT-HSDP, stated"
_BLOG: Final = "PyTorch blog, figure 7, stated"


class Runs(NamedTuple):
    """Rows of summaries: by the stall and whether nodes can fail in it; and of the blog."""

    waiting: dict[tuple[str, bool], Any]
    blog: Any


@cache
def played(replications: int = 400) -> Runs:
    """Simulate both."""
    waiting = {
        (name, fails): _row(_stalled(stall_min, fails), replications)
        for name, stall_min, _ in FT_HSDP
        for fails in (False, True)
    }
    return Runs(waiting, _row(_saving(), replications))


def lines(found: Runs) -> list[Line]:
    """Return all published numbers with ours."""
    return [*_of_ft_hsdp(found), *_of_the_blog(found)]


def _of_ft_hsdp(found: Runs) -> list[Line]:
    """Effective training time under both rules, and by the arithmetic that gives 44."""
    rows = []
    for name, stall_min, published in FT_HSDP:
        words = f"effective, {name}, a stall of {stall_min:g} min"
        for fails, who in ((False, "no failures meanwhile"), (True, "nodes can fail meanwhile")):
            share = found.waiting[name, fails]
            mine = Measured(100 * share["ettr"], 100 * (share["ettr_high"] - share["ettr"]))
            exact = 100 * _exactly(stall_min, fails)
            note = f"{exact:.1f} exactly in the long run, if nothing else is lost"
            rows.append(
                Line(f"{words}, {who}", published, _ABSTRACT, "prediction", mine, "%", note)
            )
        each = Measured(100 * (1 - stall_min / GAP_MIN))
        note = "each failure stops training for a whole stall, one after the other"
        rows.append(
            Line(f"{words}, 1 - stall / gap", published, _ABSTRACT, "check", each, "%", note)
        )
    return rows


def _of_the_blog(found: Runs) -> list[Line]:
    scenario = _saving()
    plan, row = scenario.plan("it"), found.blog
    first = Measured(100 * expected(plan, scenario.context).overhead)
    mine = Measured(100 * row["overhead"], 100 * (row["overhead_high"] - row["overhead"]))
    late = "failures strike saves and what is trained again, which first order leaves out"
    words = f"stall {STALL_S:g} s, {A_DAY:g} failures a day"
    return [
        Line(
            f"best interval, {words}",
            INTERVAL_S,
            _BLOG,
            "check",
            Measured(plan.interval_s),
            "s",
            "Young's formula, as the blog's",
        ),
        Line(
            f"wasted, {words}, to first order", WASTED, _BLOG, "check", first, "%", "as the blog's"
        ),
        Line(f"wasted, {words}", WASTED, _BLOG, "prediction", mine, "%", late),
    ]


def _exactly(stall_min: float, fails: bool) -> float:
    """Return the share of time in which the job trains.

    Without failures meanwhile a gap and a stall alternate. If nodes can, stalls overlap, and no
    failure may have come within the last one: that of a queue of as many servers as customers.
    """
    ratio = stall_min / GAP_MIN
    return math.exp(-ratio) if fails else 1 / (1 + ratio)


def _stalled(stall_min: float, fails: bool) -> Scenario:
    """Return a job without rollback or lost state, which waits until a lost node is replaced."""
    return Scenario(
        job={"useful_time": "1 d"},
        cluster={"parameter_servers": 1000, "holds_nodes": fails},
        costs={"save": "0 s", "load": "0 s", "reschedule": f"{stall_min} min"},
        failures={
            "distribution": "exponential",
            "mean": f"{GAP_MIN} min",
            "while_waiting": fails,
            "ages": "new",
        },
        policies={"it": {"system": "partial", "interval": "2 d"}},
    )


def _saving() -> Scenario:
    """Return a job with no costs but saves and lost work."""
    return Scenario(
        job={"useful_time": "30 d"},
        cluster={"parameter_servers": 8},
        costs={"save": f"{STALL_S} s", "load": "0 s", "reschedule": "0 s"},
        failures={"distribution": "exponential", "mean": f"{SECONDS['d'] / A_DAY / 3600} h"},
        policies={"it": {"system": "full", "interval": "optimal"}},
    )


def _row(scenario: Scenario, replications: int) -> Any:
    return cprsim.run(scenario, replications=replications).summary.loc["it"]
