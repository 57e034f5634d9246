"""Event logs of jobs: where their time went, and the same interruptions as a scenario.

A line of JSON an event, as goodput libraries write them: `event_type` (or `event`), `timestamp`
(or `time`; a date or a number, as in logs of failures) and, of loads and saves, `step`; others are
named by what they hold: start, load or restore, save, fail or crash, end or terminate.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple

from cprsim.basics.tabular import LogPath, lines
from cprsim.basics.units import SECONDS, format_duration, format_exact
from cprsim.errors import LogError, ScenarioError, UsageError
from cprsim.failures.logs.clock import NUMBER, microseconds, unit_of
from cprsim.scenario import Scenario

#: The file of interruptions that goes with a scenario.
LOG: Final = "interruptions.csv"
#: The policy of the log itself: full recovery at the interval of the log.
AS_LOGGED: Final = "as-logged"
#: Tables of a scenario that a log says nothing of.
_BESIDE: Final = ("model", "storage", "prices", "accuracy")
#: Words of events, in the order in which they are looked for.
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "failed": ("fail", "crash", "interrupt", "error"),
    "loaded": ("load", "restor", "resume"),
    "saved": ("save", "checkpoint"),
    "ended": ("terminat", "end", "finish", "complete"),
    "started": ("start", "launch", "begin"),
}
#: A step takes no longer than so many times what it does from save to save.
_SLOWER: Final = 1.1
_KINDS: Final = ("event_type", "event", "type", "name")
_TIMES: Final = ("timestamp", "time", "time_s", "ts")


class _Event(NamedTuple):
    """An event: its kind (a key of `_WORDS`), when, the step of a load or a save, and the node."""

    at_s: float
    kind: str
    step: float
    node: str


class Progress(NamedTuple):
    """A step that was reached at an instant, s; or how far two of them are apart."""

    at_s: float
    step: float


def _apart(points: Sequence[Progress]) -> list[Progress]:
    """Return how far each point is from the one before it."""
    return [Progress(b.at_s - a.at_s, b.step - a.step) for a, b in pairwise(points)]


class Attempt(NamedTuple):
    """From one start of the job to the next, or to its end.

    `starts`: how often processes were started, by the node that was most often. `points`: the first
    load and the saves, in order; without a load the start, at the step that saves lead back to.
    `stopped_s`: the first event of a failure, or of the end, after which nothing was reached; None
    where there is none. `until_s`: the next start.
    """

    started_s: float
    starts: int
    is_loaded: bool
    points: tuple[Progress, ...]
    stopped_s: float | None
    until_s: float

    @property
    def saves(self) -> tuple[Progress, ...]:
        """Its saves, in order."""
        return self.points[1:]


@dataclass(frozen=True)
class JobEvents:
    """The history of one job.

    `nodes`: how many have an event of their own, 1 where no event names a node. `step_s`: what a
    step takes, from save to save in the median, or as given.
    """

    path: str
    nodes: int
    attempts: tuple[Attempt, ...]
    wall_s: float
    step_s: float

    @property
    def steps(self) -> float:
        """Steps that were trained and kept."""
        reached = [each.step for attempt in self.attempts for each in attempt.points]
        return max(reached) - reached[0]

    @property
    def useful_s(self) -> float:
        """Seconds of training that were kept."""
        return self.steps * self.step_s

    @property
    def goodput(self) -> float:
        """Share of the wall clock that trained and was kept."""
        return self.useful_s / self.wall_s

    @property
    def without_a_save(self) -> int:
        """Attempts that never got to a save."""
        return sum(not each.saves for each in self.attempts)

    def beyond_s(self, apart: Progress) -> float:
        """Return what it took beyond the training of its steps, s."""
        return apart.at_s - apart.step * self.step_s

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "nodes": self.nodes,
            "attempts": len(self.attempts),
            "starts": sum(each.starts for each in self.attempts),
            "recoveries": len(self.attempts) - self.without_a_save,
            "without_a_save": self.without_a_save,
            "wall_s": self.wall_s,
            "step_s": self.step_s,
            "steps": self.steps,
            "useful_s": self.useful_s,
            "goodput": self.goodput,
            "seconds": self.split(),
        }

    def split(self) -> dict[str, float]:
        """Seconds of the wall clock by what they went to; they add up to it.

        `train`: kept. `retrained`: saved, and trained again after a load of an older step. `start`:
        from a start to its load. `warm_up`: from a load to the first save, beyond the training of
        its steps. `save`: from save to save, beyond that. `unsaved`: from what was reached last to
        the next start, which is lost training, detection and waiting together. `no_save`: the whole
        of attempts that never got to a save.
        """
        found = dict.fromkeys(("start", "warm_up", "save", "unsaved", "no_save"), 0.0)
        trained_s = 0.0
        for each in self.attempts:
            if not each.saves:
                found["no_save"] += each.until_s - each.started_s
                continue
            found["unsaved"] += each.until_s - each.points[-1].at_s
            found["start"] += each.points[0].at_s - each.started_s
            for place, apart in enumerate(_apart(each.points)):
                trained_s += apart.step * self.step_s
                found["save" if place else "warm_up"] += self.beyond_s(apart)
        kept_s = self.useful_s
        return {"train": kept_s, "retrained": trained_s - kept_s, **found}

    def interruptions(self) -> list[tuple[float, float]]:
        """Return when training was interrupted, and how long after that it was started again, s.

        Starts that reach nothing prolong the one before. Where no event says when training stopped,
        it is taken to have stopped in the middle of what a further save would have taken, or of the
        time until the next start, if that is shorter.
        """
        period_s = median(each.at_s for each in save_to_save(self.attempts))
        found: list[tuple[float, float]] = []
        for attempt, after in pairwise(self.attempts):
            at_s = attempt.stopped_s
            if not attempt.points:
                if not found:
                    continue
                at_s, _ = found.pop()
            elif at_s is None:
                last_s = attempt.points[-1].at_s
                at_s = last_s + min(period_s, attempt.until_s - last_s) / 2
            found.append((at_s, after.started_s - at_s))
        return found


def save_to_save(attempts: Sequence[Attempt]) -> list[Progress]:
    """Return the time and the steps from each save to the next of its attempt."""
    return [apart for each in attempts for apart in _apart(each.saves)]


def read_events(path: LogPath, step_s: float | None = None) -> JobEvents:
    """Read the event log of one job: lines of JSON, gzipped or xz too.

    `step_s`: what a step takes, s; the median from save to save if not given. Raises `LogError` for
    a log that is no such, or that holds fewer than two saves.
    """
    name = os.fspath(path)
    events = _events(name)
    if not any(each.kind == "started" for each in events):
        raise LogError(f"{name}: has no event of a start (event_type = job_started)")
    nodes = len({each.node for each in events if each.node})
    attempts = tuple(_attempts(events))
    paces = [each.at_s / each.step for each in save_to_save(attempts) if each.step > 0]
    if not paces:
        raise LogError(f"{name}: has no two saves in a row, so what a step takes is not known")
    pace_s = median(paces) if step_s is None else step_s
    if not 0 < pace_s <= _SLOWER * median(paces):
        raise LogError(
            f"{name}: a step of {format_duration(pace_s)} does not fit the log, in which one takes "
            f"{format_duration(median(paces))} from save to save"
        )
    return JobEvents(name, max(nodes, 1), attempts, events[-1].at_s, pace_s)


def is_events(path: LogPath) -> bool:
    """Return whether a log looks like an event log of a job: its first line of text is an event."""
    first = next((line for line in lines(path) if line.strip()), "")
    return _named(_parsed(first) or {}, _KINDS) is not None


def _events(path: str) -> list[_Event]:
    """Return the events of a log in order, at seconds since the first."""
    found, first_told = list[_Event](), ""
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        event = _parsed(line)
        if event is None:
            raise LogError(f"{path}, line {number}: is no event in JSON")
        kind, at = _named(event, _KINDS), _named(event, _TIMES)
        if kind is None or at is None:
            raise LogError(f"{path}, line {number}: has no event_type, or no timestamp")
        said = str(kind).lower()
        known = next((name for name, words in _WORDS.items() if any(w in said for w in words)), "")
        if not known:
            continue
        try:
            when, told = _instant(at)
        except (ValueError, OverflowError):
            raise LogError(f"{path}, line {number}: {at!r} is no date and no number") from None
        first_told = first_told or told
        if told != first_told:
            raise LogError(
                f"{path}, line {number}: {at!r} is {told}, but the first time is {first_told}; "
                "write all alike"
            )
        node = event.get("node_rank", event.get("node", ""))
        found.append(_Event(when, known, _step(event), str(node)))
    return _from_the_first(path, sorted(found, key=lambda each: each.at_s), first_told == NUMBER)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _named(found: dict[str, Any], names: Sequence[str]) -> Any:
    return next((found[name] for name in names if name in found), None)


def _instant(at: Any) -> tuple[float, str]:
    """Return a number as it is, or whole microseconds since 1970 of a date; and which it is."""
    if isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at):
        return float(at), NUMBER
    return microseconds(str(at))


def _step(event: dict[str, Any]) -> float:
    try:
        return float(event.get("step", math.nan))
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _from_the_first(path: str, events: list[_Event], are_numbers: bool) -> list[_Event]:
    """Return events in seconds since the first; the size of numbers shows their unit."""
    a_second = 1e6
    if events and are_numbers:
        try:
            a_second = unit_of(events[0].at_s, events[-1].at_s).a_second
        except LogError as error:
            mixed, _, _ = str(error).partition(";")  # whose way out is an option of cprsim fit
            raise LogError(f"{path}: {mixed}; write all as seconds, or as dates") from None
    return [each._replace(at_s=(each.at_s - events[0].at_s) / a_second) for each in events]


def _attempts(events: Sequence[_Event]) -> Iterator[Attempt]:
    """Split events where processes start after anything else than starts."""
    places = [
        place
        for place, each in enumerate(events)
        if each.kind == "started" and (place == 0 or events[place - 1].kind != "started")
    ]
    for place, after in pairwise([*places, len(events)]):
        own = events[place:after]
        starts = Counter(each.node for each in own if each.kind == "started")
        saves, loads = (
            [Progress(e.at_s, e.step) for e in own if e.kind == kind and e.step >= 0]
            for kind in ("saved", "loaded")
        )
        # A save of many nodes, or with an event of its start, is done with its last event.
        saves = [last for _, (*_, last) in groupby(saves, key=lambda each: each.step)]
        started_s, until_s = own[0].at_s, events[min(after, len(events) - 1)].at_s
        reached_s = max([started_s, *(each.at_s for each in (*saves, *loads))])
        stops = [e.at_s for e in own if e.kind in ("failed", "ended") and e.at_s >= reached_s]
        first = loads[:1]
        if saves and not loads:
            every = saves[0].step - saves[1].step if saves[1:] else 0.0
            first = [Progress(started_s, max(saves[0].step + every, 0.0))]
        points, stopped_s = (*first, *saves), min(stops, default=None)
        yield Attempt(started_s, max(starts.values()), bool(loads), points, stopped_s, until_s)


def scenario_of(
    events: JobEvents, given: Mapping[str, Any], log: Path, knows_step: bool
) -> Scenario:
    """Return the job of an event log; its interruptions are written into the file `log`, a CSV.

    Tables of a scenario that are `given` are added; costs that it gives win, and failures are those
    of the log. No event says which node failed: all do in turn. Each node of the log holds a shard,
    where `given` has no cluster.

    Raises
    ------
    LogError
        If the job was never interrupted.
    UsageError
        If saves take no time in this log, and nothing else is known of them.
    """
    found = events.interruptions()
    if not found:
        raise LogError(f"{events.path}: the job was never interrupted, so there is nothing to play")
    saves = save_to_save(events.attempts)
    costs = {
        "save": _time(max(median(map(events.beyond_s, saves)), 0.0)),
        "load": _time(_load_s(events)),
        "reschedule": {"distribution": "empirical", "durations": [_time(s) for _, s in found]},
        "detect": "0 s",  # what it took is in the waits
    }
    cluster = given.get("cluster") or {"parameter_servers": events.nodes}
    interval = _time(events.step_s * median(each.step for each in saves))
    tables = {
        "title": given.get("title") or f"The job of {Path(events.path).name}",
        **{name: given[name] for name in _BESIDE if name in given},
        "job": {**given.get("job", {}), "useful_time": _time(events.useful_s)},
        "cluster": cluster,
        "costs": {**costs, **given.get("costs", {})},
        "failures": {"trace": str(log), "reader": "csv"},
        "policies": {
            AS_LOGGED: {"system": "full", "interval": interval},
            **given.get("policies", {}),
        },
    }
    # What is no number of servers is the scenario's own fault.
    servers = cluster.get("parameter_servers") if isinstance(cluster, dict) else None
    nodes = servers if isinstance(servers, int) and servers > 0 else 1
    rows = [f"{at_s:.3f},{place % nodes}" for place, (at_s, _) in enumerate(found)]
    log.write_text("\n".join(["time_s,node", *rows, ""]), encoding="utf-8")
    try:
        return Scenario(**tables)
    except ScenarioError as error:
        if knows_step or "save" not in str(error):
            raise
        raise UsageError(
            f"{error}; in this log saves take no time, since a step is taken to last as long as "
            "from save to save: give --step-time, or costs.save in --for"
        ) from None


def _time(seconds: float) -> str:
    return format_exact(seconds, SECONDS)


def _load_s(events: JobEvents) -> float:
    """Time from a start to training at full speed, s: to the load in the mean, and the warm-up.

    The warm-up, what the first save comes later than its training, is the median of those seen.
    """
    loaded = [each for each in events.attempts if each.is_loaded]
    if not loaded:
        return 0.0
    firsts = [apart for each in loaded for apart in _apart(each.points)[:1]]
    started_s = fmean(each.points[0].at_s - each.started_s for each in loaded)
    return started_s + max(median([*map(events.beyond_s, firsts)] or [0.0]), 0.0)
