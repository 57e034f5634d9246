"""The history of a job as a scenario: the same interruptions under other policies."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple

from cprsim.basics.units import SECONDS, format_exact
from cprsim.errors import LogError
from cprsim.fitting.job_events import JobEvents, Progress

#: The file of interruptions beside a scenario.
LOG: Final = "interruptions.csv"
#: The policy that stands for what was: full recovery at the interval of the log.
AS_LOGGED: Final = "as-logged"
#: Tables of a scenario that a log says nothing of.
_BESIDE: Final = ("model", "storage", "prices", "accuracy")


class Interruption(NamedTuple):
    """When training was interrupted, and how long after that the job was started again, s."""

    at_s: float
    down_s: float


def interruptions(events: JobEvents) -> list[Interruption]:
    """Return the interruptions of a job; starts that reach nothing prolong the one before.

    Where no event says when training stopped, it is taken to have stopped in the middle of what a
    further save would have taken, or of the time until the next start, if that is shorter.
    """
    period_s = _period_s(events)
    found: list[Interruption] = []
    for attempt, after in zip(events.attempts, events.attempts[1:], strict=False):
        if not attempt.points:
            if found:
                last = found[-1]
                found[-1] = last._replace(down_s=after.started_s - last.at_s)
            continue
        at_s = attempt.stopped_s
        if at_s is None:
            at_s = attempt.last_s + min(period_s, attempt.until_s - attempt.last_s) / 2
        found.append(Interruption(at_s, after.started_s - at_s))
    return found


def tables_of(events: JobEvents, log: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a scenario of that job; `log`: where its interruptions are written.

    What `given` says, the tables of a scenario, stands beside it; costs that it gives win, and
    failures are those of the log. Each node of the log holds a shard, where `given` has no cluster.

    Raises
    ------
    LogError
        If the job was never interrupted.
    """
    found = interruptions(events)
    if not found:
        raise LogError(f"{events.path}: the job was never interrupted, so there is nothing to play")
    interval_s = _interval_s(events)
    waits = [format_exact(each.down_s, SECONDS) for each in found]
    costs = {
        "save": _time(max(_beyond_s(events), 0.0)),
        "load": _time(_load_s(events)),
        "reschedule": {"distribution": "empirical", "durations": waits},
        "detect": "0 s",  # what it took is in the waits
    }
    cluster = given.get("cluster") or {"parameter_servers": events.nodes}
    logged = {"system": "full", "interval": _time(interval_s)}
    return {
        "title": given.get("title") or f"The job of {Path(events.path).name}",
        **{name: given[name] for name in _BESIDE if name in given},
        "job": {**given.get("job", {}), "useful_time": _time(events.useful_s)},
        "cluster": cluster,
        "costs": {**costs, **given.get("costs", {})},
        "failures": {"trace": str(log), "reader": "csv"},
        "policies": {AS_LOGGED: logged, **given.get("policies", {})},
    }


def write_log(events: JobEvents, log: Path, servers: object) -> None:
    """Write the interruptions as a CSV log; no event says which node failed: all do in turn.

    `servers`: how many there are, as a scenario file says it; what is no number is its own fault.
    """
    nodes = servers if isinstance(servers, int) and servers > 0 else 1
    rows = [f"{each.at_s:.3f},{place % nodes}" for place, each in enumerate(interruptions(events))]
    log.write_text("\n".join(["time_s,node", *rows, ""]), encoding="utf-8")


def _time(seconds: float) -> str:
    return format_exact(seconds, SECONDS)


def _period_s(events: JobEvents) -> float:
    """Time from save to save, s, in the median."""
    return median(after.at_s - before.at_s for before, after in _saves(events))


def _interval_s(events: JobEvents) -> float:
    """Training from save to save, s, in the median."""
    return events.step_s * median(after.step - before.step for before, after in _saves(events))


def _beyond_s(events: JobEvents) -> float:
    """Time that a save takes, s: what comes from save to save beyond training, in the median."""
    return median(
        after.at_s - before.at_s - (after.step - before.step) * events.step_s
        for before, after in _saves(events)
    )


def _saves(events: JobEvents) -> Iterator[tuple[Progress, Progress]]:
    for each in events.attempts:
        yield from zip(each.saves[:-1], each.saves[1:], strict=True)


def _load_s(events: JobEvents) -> float:
    """Time from a start to training at full speed, s: to the load in the mean, and the warm-up.

    The warm-up, what the first save comes later than its training, is the median of those seen.
    """
    loads = [(each, each.loaded) for each in events.attempts if each.loaded is not None]
    warm_ups_s = [
        each.saves[0].at_s - loaded.at_s - (each.saves[0].step - loaded.step) * events.step_s
        for each, loaded in loads
        if each.saves
    ]
    if not loads:
        return 0.0
    started_s = fmean(loaded.at_s - each.started_s for each, loaded in loads)
    return started_s + max(median(warm_ups_s or [0.0]), 0.0)
