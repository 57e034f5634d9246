"""Pictures of the page: bars of policies, overhead against the interval, and one run as lanes."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.advice.decision import closed_form
from cprsim.basics.units import format_duration, percent
from cprsim.contract.expected import expected
from cprsim.contract.ledger import OVERHEAD_CAUSES, overhead
from cprsim.errors import CprsimError, RunError
from cprsim.formulas.intervals import exact_interval_s, young_interval_s
from cprsim.report.means import money_between, share_between
from cprsim.runs.engines import attempt, chosen
from cprsim.runs.result import Result
from cprsim.runs.summaries import Mean, finite
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from cprsim.sim.history.phases import joined
from cprsim.sim.history.recorder import record

#: Measures of a bar: shares of the useful time, of samples and of updates, and money.
MEASURES: Final = ("overhead", "updates_lost", "pls", "cost")
#: Systems that save at each interval: full recovery, and partial recovery as CPR does it.
SYSTEMS: Final = {"full": "full recovery", "cpr-vanilla": "partial recovery"}
_POINTS = 120  # of a curve
_SIMULATED = 8  # intervals
_AROUND = 16.0  # either way of Young's interval, as a ratio
_MOST = 1.0  # overhead: beyond it a job takes more than twice its time
#: An interval in seconds, and the mean overhead, a share, with the ends of its 95 % interval.
Point = tuple[float, float, float, float]
REPLICATIONS: Final = 256  # at each interval: a cohort, whose draws are shared
#: Blocks of a bar: what is shorter than one of so many parts of it can't be seen.
_PARTS: Final = 700


def bars(result: Result) -> list[dict[str, Any]]:
    """A row a policy, of a run."""
    return [
        _bar(
            (str(name), row["system"], row["recovery"], row["interval_s"]),
            row.to_dict(),
            {m: Mean(row[m], row[f"{m}_low"], row[f"{m}_high"]) for m in MEASURES if m in row},
        )
        for name, row in result.summary.iterrows()
    ]


def expected_bars(scenario: Scenario) -> list[dict[str, Any]]:
    """The same to first order: nothing is simulated, and no interval is known."""
    rows = []
    for name, policy in scenario.policies.items():
        plan = scenario.plan(name)
        share = expected(plan, scenario.context)
        means = {m: Mean.around(getattr(share, m), math.nan) for m in MEASURES if m != "cost"}
        rows.append(
            _bar((name, policy.system, plan.recovery, plan.interval_s), asdict(share), means)
        )
    return rows


def _bar(
    policy: tuple[str, str, str, float], shares: Mapping[Any, float], means: Mapping[str, Mean]
) -> dict[str, Any]:
    """A row: a policy by name, system, recovery and interval; its shares by cause, its means."""
    name, system, recovery, interval_s = policy
    every = format_duration(interval_s)
    saves = "never saves" if every == "never" else f"saves every {every}"
    return {
        "policy": name,
        "system": system,
        "saves": f"{recovery} recovery, {saves}",
        "interval_s": finite(interval_s),
        "causes": {cause: finite(shares[cause]) for cause in OVERHEAD_CAUSES},
        "measures": {measure: _measure(mean, measure) for measure, mean in means.items()},
    }


def _measure(mean: Mean, name: str) -> dict[str, Any]:
    """The mean, the ends of its interval where that is known, and all of it in words."""
    if not math.isfinite(mean.mean):
        return {"mean": None, "low": None, "high": None, "text": "not known"}
    known = math.isfinite(mean.low)
    if name == "cost":
        text = money_between(mean) if known else f"{mean.mean:,.2f}"
    else:
        text = share_between(mean) if known and mean.mean else f"{percent(mean.mean)} %"
    return {"mean": mean.mean, "low": finite(mean.low), "high": finite(mean.high), "text": text}


def curve(scenario: Scenario) -> dict[str, Any] | None:
    """Closed forms under exponential failures, and where full recovery's is lowest.

    None where saves or failures cost nothing, or have no cost, so that no interval is best; and
    where full recovery takes more than twice the time at every interval.
    """
    with suppress(CprsimError, ValueError):
        span = _span(scenario)
        if span is not None:
            context, (least_s, most_s, young_s) = scenario.context, span
            exact_s = min(exact_interval_s(context.save_s, context.mtbf_s), most_s)
            intervals = [*np.geomspace(least_s, most_s, _POINTS).tolist(), young_s, exact_s]
            lines = {system: _within(scenario, system, sorted(intervals)) for system in SYSTEMS}
            if lines["full"]:
                best = min(lines["full"], key=lambda point: point[1])
                return {"names": SYSTEMS, "lines": lines, "best": [*best]}
    return None


def _within(
    scenario: Scenario, system: str, intervals: Iterable[float]
) -> list[tuple[float, float]]:
    """Intervals and overheads by the closed form, without those that are much too large."""
    overheads = ((each_s, closed_form(scenario.context, system, each_s)) for each_s in intervals)
    return [each for each in overheads if each[1] <= _MOST]


def points(scenario: Scenario, seed: int) -> Iterator[tuple[str, list[Point]]]:
    """Points of each system under the scenario's own failures, one system after the other.

    A point: an interval, and the mean overhead there with the ends of its 95 % interval. Intervals
    at which the job makes no progress are left out.
    """
    span = _span(scenario)
    if span is None:
        return
    least_s, most_s, _ = span
    for system in SYSTEMS:
        simulated = np.geomspace(least_s, most_s, _SIMULATED).tolist()
        intervals = [each_s for each_s, _ in _within(scenario, system, simulated)]
        policies = {
            f"{number}": {"system": system, "interval": f"{each_s!r} s"}
            for number, each_s in enumerate(intervals)
        }
        yield system, _played(scenario.with_values({"policies": policies}), intervals, seed)


def _span(scenario: Scenario) -> tuple[float, float, float] | None:
    """The least and the most interval, and Young's, s; None where none is best."""
    context = scenario.context
    young_s = young_interval_s(context.save_s, context.mtbf_s)
    expected(scenario.plan(next(iter(scenario.policies))), context)
    if not 0 < young_s < math.inf:
        return None
    most_s = min(young_s * _AROUND, context.useful_time_s)
    return min(young_s / _AROUND, most_s / 2), most_s, min(young_s, most_s)


def _played(scenario: Scenario, intervals: list[float], seed: int) -> list[Point]:
    if not intervals:
        return []
    engines = chosen(scenario, list(scenario.policies), "auto")
    values = attempt([(scenario, range(REPLICATIONS))], engines, seed)
    shares = overhead(values[:, :, COLUMNS.index("wall")], scenario.job.useful_time_s)
    means = [Mean.of(each) for each in shares.T]
    return [
        (each_s, *mean)
        for each_s, mean in zip(intervals, means, strict=True)
        if math.isfinite(mean.mean)
    ]


def lane(scenario: Scenario, policy: str, seed: int, replication: int) -> dict[str, Any]:
    """One run under a policy, as blocks that are no thinner than can be seen.

    Each block is its start and end in seconds of the wall clock, and the seconds of it by cause.
    """
    try:
        history = record(scenario, policy, seed, replication)
    except RunError as error:
        return {"policy": policy, "fault": str(error)}
    wall_s = history.ledger.wall
    blocks = [BarBlock(each.start_s, each.end_s, each.seconds()) for each in joined(history.phases)]
    return {
        "policy": policy,
        "wall_s": wall_s,
        "overhead": overhead(wall_s, scenario.job.useful_time_s),
        "blocks": merged(blocks, wall_s / _PARTS),
        "failures_s": [each.at_s for each in history.failures],
    }


class BarBlock(NamedTuple):
    """A stretch of a bar, and how much of it each kind of what is in it takes."""

    start: float
    end: float
    amounts: dict[str, float]


def merged(blocks: Iterable[BarBlock], least: float) -> list[BarBlock]:
    """Blocks in order, those of them made one that are shorter than `least` and follow each other.

    What is merged is no longer than `least` together, but for its last block; nothing that is as
    long by itself is, and no gap as long is bridged. So amounts stay where they are, to `least`.
    """
    found: list[BarBlock] = []
    growing = False  # whether the last block found may take in more
    for start, end, amounts in blocks:
        last = found[-1] if found else None
        short = end - start < least
        if last is not None and growing and short and start - last.end < least:
            kinds = {**last.amounts, **amounts}
            total = {kind: last.amounts.get(kind, 0.0) + amounts.get(kind, 0.0) for kind in kinds}
            found[-1] = BarBlock(last.start, end, total)
            growing = end - last.start < least
        else:
            found.append(BarBlock(start, end, dict(amounts)))
            growing = short
    return found
