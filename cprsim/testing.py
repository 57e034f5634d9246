"""For tests of scenarios and policies, in this project and in yours; needs pytest and Hypothesis.

`durations` and `scenarios` are Hypothesis strategies. `assert_time_adds_up` checks a run's ledger,
`Recording` observes a run, and `change_future` changes its failures from some second on.
`PolicyConformance` is a suite of tests that every policy passes, shipped or your own:

    # test_mine.py
    from cprsim.testing import PolicyConformance
    import mine  # registers its policy as system = "mine"

    class TestMine(PolicyConformance):
        policy = {"system": "mine", "patience": "10 min"}
"""

import math
import pickle
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple, get_args
from unittest import mock

from pydantic import InstanceOf, PrivateAttr

from cprsim import units
from cprsim.contract import (
    Action,
    Context,
    Controller,
    Event,
    Failed,
    Loss,
    Plan,
    Policy,
    Recover,
    Save,
    Train,
)
from cprsim.contract import Clock as Now
from cprsim.costs import CostModel, Costs, Rollback
from cprsim.failures.model import FailureModel
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.failures.victims import Hit
from cprsim.ledger import CAUSES, Ledger
from cprsim.platform import Cluster, Storage
from cprsim.results import Result
from cprsim.scenario import Scenario
from cprsim.sim.engine import play, simulate
from cprsim.workload import Job, Model

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "cprsim.testing needs pytest and Hypothesis: pip install pytest hypothesis", name=error.name
    ) from error

__all__ = [
    "SYSTEMS",
    "PolicyConformance",
    "Recording",
    "assert_time_adds_up",
    "change_future",
    "durations",
    "scenarios",
]

#: The systems that `scenarios` draws policies of.
SYSTEMS: Final = ("full", "partial", "cpr-vanilla", "async", "replication")

# --- Strategies ----------------------------------------------------------------------------------


def durations(min_s: float = 1e-3, max_s: float = 30 * 86400.0) -> st.SearchStrategy[str]:
    """Durations as scenario files write them, in any unit of time.

    Parameters
    ----------
    min_s, max_s
        Bounds in seconds; the text may be off by the rounding of its conversion.

    Returns
    -------
    SearchStrategy
        Of texts such as `"2.5 h"`.
    """
    return st.builds(_in_unit, st.floats(min_s, max_s), _UNITS)


@st.composite
def scenarios(draw: st.DrawFn, systems: Sequence[str] = SYSTEMS) -> dict[str, Any]:
    """Tables of a scenario, for `cprsim.Scenario(**tables)`: every key but those of traces.

    They can be run: failures are rare beside saves and loads, checkpoints frequent enough beside
    failures, and a job is some dozens of intervals at most, so that a replication takes
    milliseconds. To run a policy of your own in them, replace `tables["policies"]`.

    Parameters
    ----------
    systems
        Which systems its policies are of; one to three policies are drawn.

    Returns
    -------
    SearchStrategy
        Of mappings that may be changed; no two share a table.
    """
    tables: dict[str, Any] = draw(_PLATFORMS)
    costs, mtbf_s = _costs(draw, tables)
    if draw(_YES) or costs:
        tables["costs"] = costs
    exactly = draw(_EXACTLY)
    if exactly is None:
        useful_s = mtbf_s * draw(_LENGTHS)
        tables["failures"] = _law_of_failures(draw, mtbf_s, tables["cluster"])
    else:
        # As many failures, whenever they come, are no danger to any policy's progress.
        useful_s = mtbf_s * max(exactly, 1)
        tables["failures"] = {"exactly": exactly} | _hits(draw, tables["cluster"])
    tables["failures"] |= draw(_DURING_RECOVERY)
    tables["job"] = {"useful_time": _time(useful_s)} | draw(_JOBS)
    tables["job"] |= _network(draw, tables["cluster"])
    servers = tables["cluster"]["parameter_servers"]
    job = _JobSize(useful_s, servers, mtbf_s, sure_to_end=exactly is not None)
    tables["policies"] = {
        f"{system} {number}{draw(_NAMES)}": _policy(draw, system, job)
        for number in range(draw(_POLICY_COUNTS))
        for system in [draw(st.sampled_from(systems))]
    }
    return tables | draw(_TITLES)


# Strategies that don't depend on what was drawn before are built once: most of the time it takes to
# draw a scenario would go into building them.
_YES: Final = st.booleans()
_SHARES: Final = st.floats(0.0, 1.0)
_UNITS: Final = st.sampled_from(list(units.SECONDS))
_NAMES: Final = st.text(max_size=4)
_POLICY_COUNTS: Final = st.integers(1, 3)
_TITLES: Final = st.fixed_dictionaries({}, optional={"title": st.text(max_size=20)})
_EXACTLY: Final = st.sampled_from([*range(9), *[None] * 12])  # None: by a law
_LENGTHS: Final = st.floats(0.2, 8.0)  # of jobs, in mean times between failures
_DURING_RECOVERY: Final = st.fixed_dictionaries({}, optional={"during_recovery": _YES})
_JOBS: Final = st.fixed_dictionaries(
    {}, optional={"samples": st.integers(1, 10**12), "final_save": _YES}
)


def _rates(middle: float) -> st.SearchStrategy[float]:
    return st.floats(middle / 30, middle * 30)


def _storage(write: float, read_per_write: float) -> dict[str, str]:
    return {"write": f"{write!r} B/s", "read": f"{write * read_per_write!r} B/s"}


def _sizes(least: float, most: float) -> st.SearchStrategy[str]:
    return st.floats(least, most).map(lambda size: f"{size!r} B")


_TABLES: Final = st.fixed_dictionaries(
    {"rows": st.integers(10**4, 10**9), "dim": st.integers(1, 256)},
    optional={
        "name": st.text(max_size=8),
        "dtype": st.sampled_from(["float64", "float32", "float16", "bfloat16", "int8"]),
        "optimizer_slots": st.integers(0, 2),
    },
)
_DENSE: Final[dict[str, Any]] = {"dense": _sizes(0.0, 1e9)}
_OPTIMIZER: Final[dict[str, Any]] = {"optimizer": _sizes(0.0, 1e12)}
_MODELS: Final = st.one_of(
    st.fixed_dictionaries({"embedding": _sizes(1e6, 1e12)}, optional=_DENSE | _OPTIMIZER),
    st.fixed_dictionaries({"tables": st.lists(_TABLES, min_size=1, max_size=3)}, optional=_DENSE),
    st.fixed_dictionaries(
        {"preset": st.sampled_from(["criteo-kaggle", "criteo-terabyte"])},
        optional=_DENSE | _OPTIMIZER,
    ),
)
_PLATFORMS: Final = st.fixed_dictionaries(
    {
        "cluster": st.fixed_dictionaries(
            {"parameter_servers": st.integers(1, 8), "trainers": st.integers(0, 6)},
            optional={
                "nic": _rates(3.125e9).map(lambda rate: f"{rate!r} B/s"),  # 25 Gbit/s
                "spares": st.integers(0, 3),
            },
        )
    },
    optional={
        "storage": st.builds(_storage, _rates(2e9), st.floats(0.4, 2.5)),
        "model": _MODELS,
    },
)


def _time(seconds: float) -> str:
    return f"{seconds!r} s"


def _in_unit(seconds: float, unit: str) -> str:
    return f"{seconds / units.SECONDS[unit]!r} {unit}"


def _duration(draw: st.DrawFn, least_s: float, most_s: float) -> str:
    return _in_unit(least_s + (most_s - least_s) * draw(_SHARES), draw(_UNITS))


_SPREADS: Final[dict[str, dict[str, st.SearchStrategy[Any]]]] = {
    "exponential": {},
    "gamma": {"shape": st.floats(0.5, 4.0)},
    "weibull": {"shape": st.floats(0.6, 4.0)},
    "lognormal": {"cv": st.floats(0.1, 2.0)},
    "deterministic": {},
    "uniform": {},
    "empirical": {"durations": st.lists(st.floats(0.1, 1.9), min_size=1, max_size=5)},
}
_LAWS: Final = st.one_of(
    *(
        st.fixed_dictionaries({"distribution": st.just(name)} | spread)
        for name, spread in _SPREADS.items()
    )
)


def _law(draw: st.DrawFn, mean_s: float) -> dict[str, Any]:
    """The keys of a law of durations with this mean."""
    law: dict[str, Any] = draw(_LAWS)
    if "durations" not in law:
        return law | {"mean": _time(mean_s)}
    mean = sum(law["durations"]) / len(law["durations"])
    return law | {"durations": [_time(mean_s * value / mean) for value in law["durations"]]}


_MEASURED_KEYS: Final = st.sets(st.sampled_from(["save", "load", "load_full", "load_partial"]))
_BASES: Final = st.floats(60.0, 30 * 86400.0)
_RARITIES: Final = st.floats(30.0, 150.0)
_DELAYS: Final = st.sampled_from(["none", "at once", "fixed", "law"])


def _costs(draw: st.DrawFn, tables: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """`[costs]`, and a time between failures that is long beside what things cost, s."""
    measured = draw(_MEASURED_KEYS)
    if not ("model" in tables and "storage" in tables):
        measured.add("save")
        if not measured >= {"load_full", "load_partial"}:
            measured.add("load")
    loads = "load" in measured or measured >= {"load_full", "load_partial"}
    if "save" in measured and loads:
        mtbf_s = draw(_BASES)
    else:
        mtbf_s = _longest_derived_s(tables) * draw(_RARITIES)
    costs: dict[str, Any] = {}
    for key in sorted(measured):
        # A save that takes no time has no optimal interval.
        at_once = key != "save" and draw(_SHARES) < 0.1
        costs[key] = "0 s" if at_once else _duration(draw, mtbf_s / 300, mtbf_s / 30)
    for key in ("reschedule", "detect"):
        kind = draw(_DELAYS)
        if kind == "law" and key == "reschedule":
            costs[key] = _law(draw, mtbf_s / 20)
        elif kind != "none":
            costs[key] = "0 s" if kind == "at once" else _duration(draw, 0.0, mtbf_s / 20)
    return costs, mtbf_s


def _longest_derived_s(tables: Mapping[str, Any]) -> float:
    model = CostModel(
        Costs(),
        Job.model_validate({"useful_time": "1 h"}),
        Model.model_validate(tables["model"]),
        cluster := Cluster.model_validate(tables["cluster"]),
        Storage.model_validate(tables["storage"]),
    )
    partial = model.load_partial(cluster.parameter_servers)
    return max(model.seconds(each) for each in (model.save, model.load_full, partial))


def _law_of_failures(draw: st.DrawFn, mtbf_s: float, cluster: Mapping[str, Any]) -> dict[str, Any]:
    per = draw(_PERS)
    if per == {"per": "node"}:
        return per | _law(draw, mtbf_s * (cluster["parameter_servers"] + cluster["trainers"]))
    return per | _law(draw, mtbf_s) | _hits(draw, cluster)


_PERS: Final = st.sampled_from(["job", "node", None]).map(lambda per: {"per": per} if per else {})
_HITS: Final = st.sampled_from(["", "", "s", "t", "st", "w", "ws", "wt", "wst"])
_WEIGHTS: Final = st.fixed_dictionaries(
    {"parameter_servers": st.floats(0.0, 9.0), "trainers": st.floats(0.5, 9.0)}
)
_PERCENT: Final = st.integers(1, 100)


def _hits(draw: st.DrawFn, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """`hits` of `[failures]`, if any: counts or shares of servers, of trainers, and weights."""
    form = draw(_HITS)
    if not cluster["trainers"]:
        form = "s" if "s" in form else ""
    hits: dict[str, Any] = {}
    for kind, letter in (("parameter_servers", "s"), ("trainers", "t")):
        if letter in form:
            count = st.integers(1, cluster[kind])
            hits[kind] = draw(count) if draw(_YES) else f"{draw(_PERCENT)}%"
    if "w" in form:
        hits["weights"] = draw(_WEIGHTS)
    return {"hits": hits} if hits else {}


def _network(draw: st.DrawFn, cluster: Mapping[str, Any]) -> dict[str, str]:
    """`network` of `[job]`, if any: what the cards of servers and trainers can take."""
    if not cluster["trainers"] or "nic" not in cluster or draw(_YES):
        return {}
    cards = units.parse_rate(cluster["nic"]) * min(
        cluster["parameter_servers"], cluster["trainers"]
    )
    return {"network": f"{cards * (0.05 + 0.95 * draw(_SHARES))!r} B/s"}


class _JobSize(NamedTuple):
    """What the keys of a policy have to fit."""

    useful_s: float
    servers: int
    mtbf_s: float
    sure_to_end: bool

    def interval(self, draw: st.DrawFn, stretch: float = 1.0) -> str:
        """Some dozens of them in the job, and few failures in one, training being stretched."""
        longest_s = 0.4 * self.mtbf_s / stretch
        shortest_s = min(max(self.useful_s / 40, 0.03 * self.mtbf_s), longest_s / 2)
        return _duration(draw, shortest_s, longest_s)


_INTERVALS: Final = st.sampled_from(["optimal", "exact", "given", "default"])
_TARGETS: Final = st.fixed_dictionaries({}, optional={"target_pls": st.floats(0.02, 1.0)})
_IN_FLIGHT: Final = st.fixed_dictionaries({}, optional={"in_flight": st.integers(1, 3)})
_COPIES: Final = st.fixed_dictionaries(
    {}, optional={"copies": st.integers(1, 3), "slowdown": st.floats(0.0, 0.5)}
)


_NO_SNAPSHOT: Final = st.sampled_from([None, "0 s", "0 ms"]).map(
    lambda text: {"snapshot": text} if text else {}
)


def _policy(draw: st.DrawFn, system: str, job: _JobSize) -> dict[str, Any]:
    table: dict[str, Any] = {"system": system}
    rule = draw(_INTERVALS)
    stretch = 1.0
    if system == "cpr-vanilla":
        table |= draw(_TARGETS)
        rule = "given" if rule == "exact" else "default"
    elif system == "async":
        table |= draw(_IN_FLIGHT)
        if rule == "given" and draw(_YES):  # copy-on-write, which has no optimal interval
            table |= draw(_NO_SNAPSHOT)
        else:
            table["snapshot"] = _duration(draw, job.mtbf_s / 2000, job.mtbf_s / 300)
    elif system == "replication":
        table |= draw(_COPIES)
        table["copies"] = min(table.get("copies", 2), job.servers)
        # With its links full, training takes that many times as long.
        stretch = table["copies"] * (1 + table.get("slowdown", 0.0))
        if table["copies"] == 2 and draw(_YES):
            del table["copies"]
        # Without checkpoints the job starts over whenever all copies of a shard are gone.
        ends = job.sure_to_end or job.useful_s * stretch < job.mtbf_s / 2
        if (rule == "default" and not ends) or (rule != "default" and stretch > 2):
            rule = "given"
    if rule != "default":
        table["interval"] = job.interval(draw, stretch) if rule == "given" else rule
    return table


# --- What a run must keep ------------------------------------------------------------------------


def assert_time_adds_up(run: Result | Ledger) -> None:
    """Check that the seconds of every cause add up to the wall clock.

    Parameters
    ----------
    run
        A result, all of whose replications are checked, or the ledger of one run.

    Raises
    ------
    AssertionError
        A cause has a negative number of seconds, however small, or one that is no number; or all
        causes together are off the wall clock by more than 1e-9 of it. It names the cause.
    """
    if isinstance(run, Ledger):
        _check_seconds("the run", {cause: getattr(run, cause) for cause in CAUSES}, run.wall)
        return
    for row in run.replications.to_dict("records"):
        where = f"policy {row['policy']!r}, replication {row['replication']}"
        _check_seconds(where, {cause: row[f"{cause}_s"] for cause in CAUSES}, row["wall_s"])


def _check_seconds(where: str, seconds: Mapping[str, float], wall_s: float) -> None:
    for cause, value in seconds.items():
        _require(0 <= value < math.inf, f"{where}: {cause} took {value} s; it must be >= 0")
    total = math.fsum(seconds.values())
    _require(
        abs(total - wall_s) <= 1e-9 * wall_s,
        f"{where}: the causes add up to {total} s, but the wall clock says {wall_s} s: "
        + ", ".join(f"{cause} {value} s" for cause, value in seconds.items()),
    )


def _require(holds: bool, otherwise: str) -> None:
    """As `assert`, whose text pytest wouldn't see here, and Python not under `-O`."""
    if not holds:
        raise AssertionError(otherwise)


class Span(NamedTuple):
    """Wall-clock seconds of one cause."""

    cause: str
    start_s: float
    end_s: float


@dataclass
class Recording:
    """An observer that writes down what it sees: `play(..., observer=Recording())`.

    Attributes
    ----------
    spans
        Cause, start and end of every span of time, as they came.
    failures
        When a failure struck, and what it hit.
    """

    spans: list[Span] = field(default_factory=list)
    failures: list[tuple[float, Hit]] = field(default_factory=list)

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Time from `start_s` to `end_s` went to `cause`."""
        self.spans.append(Span(cause, start_s, end_s))

    def failure(self, at_s: float, hit: Hit) -> None:
        """A failure struck at `at_s`."""
        self.failures.append((at_s, hit))

    def until(self, wall_s: float) -> "Recording":
        """What was seen up to `wall_s`, the span that was open then cut off there."""
        return Recording(
            [Span(c, start, min(end, wall_s)) for c, start, end in self.spans if start <= wall_s],
            [failure for failure in self.failures if failure[0] <= wall_s],
        )


def change_future(scenario: Scenario, after_s: float, pace: float = 0.0) -> Scenario:
    """The same scenario, whose failures after some second of the wall clock come otherwise.

    Whoever acts differently before then has seen the future.

    Parameters
    ----------
    scenario
        Left as it is.
    after_s
        Failures up to this second, itself included, stay what they are.
    pace
        How fast the time after it passes: 2 brings the next failure in half the time that it would
        have taken from there, 0 never.
    """
    changed = Scenario(**{name: getattr(scenario, name) for name in Scenario.model_fields})
    failures = scenario.failure_model
    # Where `cached_property` would keep it; the timeline is no part of the contents of a scenario.
    vars(changed)["failure_model"] = _OtherFuture(
        failures.spec, failures.cluster, failures.job, after_s, pace
    )
    return changed


@dataclass(frozen=True)
class _OtherFuture(FailureModel):
    after_s: float = math.inf
    pace: float = 1.0

    def timeline(self, seed: int, replication: int) -> Timeline:
        return _OtherTimeline(super().timeline(seed, replication), self.after_s, self.pace)


class _OtherTimeline:
    def __init__(self, timeline: Timeline, after_s: float, pace: float) -> None:
        self._timeline, self._after_s, self._pace = timeline, after_s, pace

    def cursor(self) -> Cursor:
        return _OtherCursor(self._timeline.cursor(), self._after_s, self._pace)


class _OtherCursor:
    def __init__(self, cursor: Cursor, after_s: float, pace: float) -> None:
        self._cursor, self._after_s, self._pace = cursor, after_s, pace
        self._now_s = 0.0
        self._look()

    @property
    def absorbed(self) -> int:
        return self._cursor.absorbed

    @absorbed.setter
    def absorbed(self, count: int) -> None:
        self._cursor.absorbed = count

    def strike(self) -> Hit:
        self._now_s = self.next_s
        hit = self._cursor.strike()
        self._look()
        return hit

    def replace(self, hit: Hit, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.replace(hit, now_s)
        self._look()

    def resume(self, now_s: float) -> None:
        self._now_s = now_s
        self._cursor.resume(now_s)
        self._look()

    def _look(self) -> None:
        at_s = self._cursor.next_s
        if at_s > self._after_s:
            from_s = max(self._after_s, self._now_s)
            at_s = from_s + (at_s - from_s) / self._pace if self._pace else math.inf
            at_s = max(at_s, math.nextafter(self._after_s, math.inf))
        self.next_s = at_s


# --- The conformance suite -----------------------------------------------------------------------


class Told(NamedTuple):
    """What a controller was told."""

    event: Event

    @property
    def wall_s(self) -> float:
        """When, s."""
        return self.event.now.wall_s


class Asked(NamedTuple):
    """What a controller was asked, and its answer."""

    now: Now
    action: Action | Recover

    @property
    def wall_s(self) -> float:
        """When, s."""
        return self.now.wall_s


Transcript = list[Told | Asked]
#: Saves in a row, without training between them, after which a controller is taken to be stuck.
_STUCK = 100


class _WatchedController:
    def __init__(self, controller: Controller, transcript: Transcript) -> None:
        self._controller, self._transcript = controller, transcript
        self._saves = 0

    def tell(self, event: Event) -> None:
        self._transcript.append(Told(event))
        self._controller.tell(event)

    def ask(self, now: Now) -> Action:
        action = self._controller.ask(now)
        self._transcript.append(Asked(now, action))
        self._saves = self._saves + 1 if isinstance(action, Save) else 0
        _require(
            self._saves < _STUCK,
            f"the controller asks for save after save at progress {now.progress_s} s and never "
            "trains; after Saved it must answer Train",
        )
        return action


@dataclass(frozen=True, slots=True)
class _WatchedPlan(Plan):
    watched: Plan | None = None
    transcript: Transcript = field(default_factory=list)

    def start(self) -> Controller:
        assert self.watched is not None
        self.transcript.clear()
        return _WatchedController(self.watched.start(), self.transcript)


class _Watched(Policy):
    """A policy that does what another one does, and writes down every word of it."""

    system: str = "watched"
    policy: InstanceOf[Policy]
    _transcript: Transcript = PrivateAttr(default_factory=list)

    def plan(self, context: Context) -> Plan:
        plan = self.policy.plan(context)
        numbers = {each.name: getattr(plan, each.name) for each in fields(Plan)}
        return _WatchedPlan(**numbers, watched=plan, transcript=self._transcript)


class _Watch(NamedTuple):
    """One watched replication."""

    ledger: Ledger
    seen: Recording
    transcript: Transcript


_MEASURED: dict[str, Any] = {
    "job": {"useful_time": "40 h"},
    "cluster": {"parameter_servers": 8, "trainers": 4},
    "costs": {
        "save": "5 min",
        "load_full": "4 min",
        "load_partial": "90 s",
        "reschedule": "3 min",
        "detect": "20 s",
    },
}
_DERIVED: dict[str, Any] = {
    "job": {"useful_time": "40 h", "network": "9 GB/s"},
    "model": {"embedding": "400 GB", "optimizer": "400 GB", "dense": "100 MB"},
    "cluster": {"parameter_servers": 8, "trainers": 8, "nic": "10 Gbit/s"},
    "storage": {"write": "2 GB/s", "read": "3 GB/s"},
    "costs": {"reschedule": {"distribution": "lognormal", "mean": "5 min", "cv": 1.5}},
}


class PolicyConformance:
    """Tests that every policy passes; inherit from it and say which policy.

    Attributes
    ----------
    policy
        The table of a scenario, such as `{"system": "full", "interval": "30 min"}`.
    quiet
        Scenarios without failures, by name.
    conditions
        Scenarios with failures, by name, in which the policy is run; tables as in a file, without
        `policies`. Override either if the policy needs something that they don't have.

    Notes
    -----
    The job of the shipped conditions takes 40 h, on 8 parameter servers and some trainers, and is
    hit every few hours, so an `interval` of the policy should be between minutes and hours. Each
    test says in its name what it demands; a controller is watched under the simulator, and what it
    was told and asked is played to a fresh one again.

    Examples
    --------
    All the tests of a policy that your module `mine` registers:

        from cprsim.testing import PolicyConformance
        import mine

        class TestMine(PolicyConformance):
            policy = {"system": "mine", "patience": "10 min"}
    """

    policy: ClassVar[Mapping[str, Any]]
    quiet: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "measured costs": _MEASURED | {"failures": {"exactly": 0}},
        "shared links": _DERIVED | {"failures": {"exactly": 0}},
    }
    conditions: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "exponential": _MEASURED | {"failures": {"distribution": "exponential", "mean": "12 h"}},
        "none while loading": _MEASURED
        | {
            "job": {"useful_time": "40 h", "final_save": True},
            "failures": {
                "distribution": "gamma",
                "mean": "15 h",
                "shape": 0.675,
                "during_recovery": False,
            },
        },
        "slow recovery": _MEASURED
        | {
            "costs": {"save": "5 min", "load": "2 h", "reschedule": "2 h"},
            "failures": {"distribution": "uniform", "mean": "20 h"},
        },
        # Failures on the hour, where saves may end and recoveries be over.
        "on the hour": _MEASURED
        | {
            "costs": {"save": "15 min", "load": "30 min", "reschedule": "30 min"},
            "failures": {"distribution": "empirical", "durations": ["1 h", "7 h", "60 h"]},
        },
        "many at once": _MEASURED
        | {
            "cluster": {"parameter_servers": 8, "trainers": 4, "spares": 2},
            "failures": {"exactly": 5, "hits": {"parameter_servers": "50%", "trainers": 1}},
        },
        "trainers": _MEASURED
        | {
            "failures": {
                "distribution": "exponential",
                "mean": "10 h",
                "hits": {"weights": {"parameter_servers": 1, "trainers": 2}},
            }
        },
        "shared links": _DERIVED | {"failures": {"distribution": "exponential", "mean": "15 h"}},
        "nodes": _DERIVED
        | {
            "job": {"useful_time": "40 h", "network": "5 GB/s", "final_save": True},
            "failures": {
                "distribution": "weibull",
                "shape": 0.7,
                "mean": "320 h",
                "per": "node",
            },
        },
    }

    # --- The plan ---

    def test_plan_is_pure(self) -> None:
        """The same context gives the same plan."""
        for where, tables in self._all():
            first, again = (self._scenario(tables) for _ in range(2))
            plan = first.plan("it")
            for other in (first.plan("it"), again.plan("it")):
                self._check_same_plan(where, plan, other, first.context)

    def test_plan_pickles(self) -> None:
        """A plan can be sent to another process."""
        for where, tables in self._all():
            scenario = self._scenario(tables)
            plan = scenario.plan("it")
            self._check_same_plan(where, plan, pickle.loads(pickle.dumps(plan)), scenario.context)

    def test_plan_has_numbers_in_range(self) -> None:
        """No number of a plan is negative, infinite where it may not be, or none."""
        for where, tables in self._all():
            plan = self._scenario(tables).plan("it")
            for name, holds, demand in (
                ("recovery", plan.recovery in ("full", "partial", "replica"), "a known name"),
                ("interval_s", plan.interval_s > 0, "> 0"),
                ("save", isinstance(plan.save, Save), "a Save"),
                ("save.stall_s", 0 <= plan.save.stall_s < math.inf, "finite and >= 0"),
                ("max_pending", plan.max_pending >= 1, ">= 1"),
                ("slowdown", 0 <= plan.slowdown < math.inf, "finite and >= 0"),
                ("push_factor", 0 < plan.push_factor < math.inf, "finite and > 0"),
                ("memory_overhead", 0 <= plan.memory_overhead < math.inf, "finite and >= 0"),
            ):
                _require(holds, f"{where}: {name} of {plan} must be {demand}")

    def test_plan_answers_every_loss(self) -> None:
        """There is a `Recover` for whatever may be lost, nodes and neighbours and all."""
        for where, tables in self._all():
            scenario = self._scenario(tables)
            for loss in _losses(scenario.context):
                self._check_recover(f"{where}, {loss}", scenario.plan("it").recover(loss))

    def test_table_survives_a_file(self) -> None:
        """What a run writes down as its scenario gives the same policy back."""
        for where, tables in self._all():
            scenario = self._scenario(tables)
            text = scenario.to_toml()
            again = Scenario(**tomllib.loads(text))
            _require(again == scenario, f"{where}: not what was written:\n{text}")

    # --- The controller ---

    def test_controller_answers_failures_with_recover_and_trains_ahead(self) -> None:
        """`Recover` after `Failed`, else `Save`, or `Train` until a progress that is ahead."""
        for where, _, watch in self._watched():
            for before, step in pairwise([None, *watch.transcript]):
                if not isinstance(step, Asked):
                    continue
                if isinstance(before, Told) and isinstance(before.event, Failed):
                    self._check_recover(where, step.action)
                    continue
                _require(
                    isinstance(step.action, Train | Save),
                    f"{where}: nothing has failed, but the controller answered {step}",
                )
                _require(
                    not isinstance(step.action, Train) or step.action.until_s > step.now.progress_s,
                    f"{where}: {step} is not ahead",
                )

    def test_controller_takes_time_from_its_caller_alone(self) -> None:
        """Told and asked the same again, without any clock, a controller answers the same."""
        for where, scenario, watch in self._watched():
            controller = scenario.policies["it"].plan(scenario.context).start()
            with _no_clock():
                answers = [_replay(controller, step) for step in watch.transcript]
            _require(
                answers == watch.transcript,
                f"{where}: told and asked the same again, a fresh controller answers otherwise: "
                + _first_difference(watch.transcript, answers),
            )

    def test_controller_never_sees_the_future(self) -> None:
        """Up to any second, failures after it change nothing."""
        for where, scenario, watch in self._watched(replications=1):
            for share in (0.2, 0.5, 0.9):
                after_s = share * watch.ledger.wall
                now = [step for step in watch.transcript if step.wall_s <= after_s]
                for pace in (0.0, 0.5):
                    other = self._watch(change_future(scenario, after_s, pace), 0)
                    then = [step for step in other.transcript if step.wall_s <= after_s]
                    _require(
                        now == then and watch.seen.until(after_s) == other.seen.until(after_s),
                        f"{where}: failures after {after_s} s change what is done before: "
                        + _first_difference(now, then),
                    )

    # --- Runs ---

    def test_time_adds_up(self) -> None:
        """Seconds by cause add up to the wall clock, and none is negative."""
        for _, _, watch in self._watched():
            assert_time_adds_up(watch.ledger)

    def test_without_failures_it_takes_what_was_planned(self) -> None:
        """Training, slowed as planned, and the saves: nothing else takes time."""
        for where, tables in self.quiet.items():
            scenario = self._scenario(tables)
            costs, plan = scenario.cost_model, scenario.plan("it")
            watch = self._watch(scenario, 0)
            saves = [s.action for s in watch.transcript if isinstance(s, Asked)]
            stops = [action for action in saves if isinstance(action, Save)]
            if "network" in tables["job"] and not all(save.blocking for save in stops):
                continue  # training and saves share links: how long that takes is the fabric's
            second = costs.seconds(costs.training(plan.push_factor, plan.slowdown))
            planned_s = second * scenario.job.useful_time_s + math.fsum(
                costs.seconds(costs.save) if save.blocking else save.stall_s for save in stops
            )
            _require(
                math.isclose(watch.ledger.wall, planned_s, rel_tol=1e-12),
                f"{where}: took {watch.ledger.wall} s, but training and {len(stops)} saves were "
                f"planned to take {planned_s} s",
            )

    def test_same_seed_gives_the_same_numbers(self) -> None:
        """Bit for bit, whatever was run before with the same plan."""
        for where, tables in self.conditions.items():
            once, again = (self._scenario(tables) for _ in range(2))
            one = simulate(once, ["it"], [0, 1], 7)
            # In another order: a run must leave nothing behind in the plan for the next.
            two = simulate(again, ["it"], [1, 0], 7)[::-1]
            _require(
                one.tobytes() == two.tobytes(), f"{where}: {one.tolist()}, then {two.tolist()}"
            )

    def test_leaves_other_policies_alone(self) -> None:
        """Bit for bit: other policies' numbers don't depend on its running too."""
        for where, tables in self.conditions.items():
            beside = self._scenario(tables)
            names = [name for name in beside.policies if name != "it"]
            alone = simulate(beside, names, [0, 1], 3)
            between = simulate(beside, [names[0], "it", *names[1:]], [0, 1], 3)
            _require(
                between[:, [0, *range(2, len(names) + 1)]].tobytes() == alone.tobytes(),
                f"{where}: the numbers of {names} change where the policy runs beside them",
            )

    # --- Helpers ---

    def _all(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        yield from self.quiet.items()
        yield from self.conditions.items()

    def _scenario(self, tables: Mapping[str, Any]) -> Scenario:
        """`tables` with the policy as `it`, and two others."""
        others = {
            "full": {"system": "full", "interval": "2 h"},
            "async": {"system": "async", "snapshot": "10 s", "interval": "1 h"},
        }
        return Scenario(**tables, policies={"it": dict(self.policy), **others})

    def _watched(self, replications: int = 3) -> Iterator[tuple[str, Scenario, _Watch]]:
        for where, tables in self.conditions.items():
            scenario = self._scenario(tables)
            for replication in range(replications):
                watch = self._watch(scenario, replication)
                yield f"{where}, replication {replication}", scenario, watch

    @staticmethod
    def _watch(scenario: Scenario, replication: int) -> _Watch:
        watched = _Watched(policy=scenario.policies["it"])
        parts = {name: getattr(scenario, name) for name in Scenario.model_fields}
        watching = Scenario(**parts | {"policies": {"it": watched}})
        vars(watching)["failure_model"] = scenario.failure_model
        seen = Recording()
        ledger = play(watching, "it", 0, replication, seen)
        return _Watch(ledger, seen, watched._transcript)

    @staticmethod
    def _check_same_plan(where: str, plan: Plan, other: Plan, context: Context) -> None:
        for name in (each.name for each in fields(Plan) if each.name != "recover"):
            one, two = getattr(plan, name), getattr(other, name)
            _require(one == two, f"{where}: {name} of the plan is {one}, and then {two}")
        for loss in _losses(context):
            one, two = plan.recover(loss), other.recover(loss)
            _require(one == two, f"{where}: the answer to {loss} is {one}, and then {two}")

    @staticmethod
    def _check_recover(where: str, answer: object) -> None:
        _require(isinstance(answer, Recover), f"{where}: a failure was answered with {answer}")
        assert isinstance(answer, Recover)
        known = get_args(Rollback)
        _require(answer.rollback in known, f"{where}: rollback of {answer} is not one of {known}")
        _require(
            not (answer.keep_training and answer.rollback == "all"),
            f"{where}: {answer} lets a job train on that has lost all it had",
        )


def _losses(context: Context) -> Iterator[Loss]:
    """One of each kind: single nodes, neighbours, all of them."""
    servers, trainers = range(context.servers), range(context.trainers)
    nobody: frozenset[int] = frozenset()
    for server in servers:
        yield Loss(frozenset({server}), nobody)
        yield Loss(frozenset({server, (server + 1) % context.servers}), nobody)
    yield Loss(frozenset(servers), nobody)
    if trainers:
        yield Loss(nobody, frozenset({0}))
        yield Loss(frozenset({0}), frozenset({0}))
        yield Loss(frozenset(servers), frozenset(trainers))


@contextmanager
def _no_clock() -> Iterator[None]:
    """Whoever in this thread looks at a clock of Python's is told so."""
    here = threading.get_ident()

    def guarded(clock: Callable[[], Any]) -> Callable[[], Any]:
        def look() -> Any:
            _require(
                threading.get_ident() != here,
                "the controller looked at a clock; it must take the time from its caller",
            )
            return clock()

        return look

    clocks = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
    with ExitStack() as stack:
        for name in clocks:
            stack.enter_context(mock.patch.object(time, name, guarded(getattr(time, name))))
        yield


def _replay(controller: Controller, step: Told | Asked) -> Told | Asked:
    if isinstance(step, Told):
        controller.tell(step.event)
        return step
    return Asked(step.now, controller.ask(step.now))


def _first_difference(first: Sequence[object], second: Sequence[object]) -> str:
    for one, two in zip(first, second, strict=False):
        if one != two:
            return f"{one}, and then {two}"
    return f"{len(first)} steps, and then {len(second)}"
