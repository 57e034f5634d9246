"""The suite of tests that every policy passes."""

import math
import pickle
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple
from unittest import mock

from cprsim.basics.streams import COHORT
from cprsim.contract import (
    Action,
    Context,
    Controller,
    Drain,
    Event,
    Failed,
    Loss,
    Notice,
    Plan,
    Save,
    Schedule,
    Train,
)
from cprsim.contract import Clock as Now
from cprsim.contract.checks import STUCK, answer_flaw, stuck
from cprsim.contract.ledger import Ledger
from cprsim.runs.engines import Engine, chosen, prepare, simulate
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.testing.accounts import Recording, assert_time_adds_up, differences, require
from cprsim.testing.futures import change_future


class Step(NamedTuple):
    """An event that a controller got, or a call of `ask`, and its answer."""

    now: Now
    event: Event | None = None
    action: Action | None = None


Transcript = list[Step]


class _WatchedController:
    def __init__(self, controller: Controller, transcript: Transcript) -> None:
        self._controller, self._transcript = controller, transcript
        self._saves = 0

    def tell(self, event: Event) -> None:
        self._transcript.append(Step(event.now, event))
        self._controller.tell(event)

    def ask(self, now: Now) -> Action:
        action = self._controller.ask(now)
        self._transcript.append(Step(now, action=action))
        self._saves = self._saves + 1 if isinstance(action, Save) else 0
        require(self._saves < STUCK, stuck(now))
        return action


@dataclass(frozen=True, slots=True)
class _WatchedPlan(Plan):
    """A plan that does what another one does, and writes down every word of it."""

    watched: Plan | None = None
    transcript: Transcript = field(default_factory=list)

    def start(self) -> Controller:
        assert self.watched is not None
        self.transcript.clear()
        return _WatchedController(self.watched.start(), self.transcript)


class _Watch(NamedTuple):
    """One watched replication."""

    ledger: Ledger
    seen: Recording
    transcript: Transcript


_JOB: dict[str, Any] = {"useful_time": "40 h", "samples": 10**10}
_MODEL: dict[str, Any] = {  # 800 GB, half of it optimizer state
    "tables": [{"rows": 781_250_000, "dim": 128, "optimizer_slots": 1, "skew": {"zipf": 1.0}}],
    "dense": "100 MB",
}
_LOADS = {"load_full": "4 min", "load_partial": "90 s"}
_MEASURED: dict[str, Any] = {
    "job": _JOB,
    "model": _MODEL,
    "cluster": {"parameter_servers": 8, "trainers": 4},
    "costs": {"save": "5 min", "reschedule": "3 min", "detect": "20 s"} | _LOADS,
}
_DERIVED: dict[str, Any] = {
    "job": _JOB | {"network": "9 GB/s"},
    "model": _MODEL,
    "cluster": {"parameter_servers": 8, "trainers": 8, "nic": "10 Gbit/s"},
    "storage": {"write": "2 GB/s", "read": "3 GB/s"},
    "costs": {"reschedule": {"distribution": "lognormal", "mean": "5 min", "cv": 1.5}},
}


def _costs(save: str, others: str) -> dict[str, Any]:
    return {"costs": {"save": save, "load": others, "reschedule": others}}


def _law(distribution: str, **keys: Any) -> dict[str, Any]:
    return {"failures": {"distribution": distribution} | keys}


#: Useful time of the longest of the shipped conditions, s.
_LONGEST_S = 40 * 3600.0


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
    test says in its name what it demands; a controller is watched under the simulator, and the
    same events and questions are given to a fresh one. Numbers are held in every engine that `auto`
    would take.

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
        "exponential": _MEASURED | _law("exponential", mean="12 h"),
        "none while loading": _MEASURED
        | {"job": _JOB | {"final_save": True}}
        | _law("gamma", mean="15 h", shape=0.675, during_recovery=False),
        "slow recovery": _MEASURED | _costs("5 min", "2 h") | _law("uniform", mean="20 h"),
        # Failures on the hour, where saves may end and recoveries be over.
        "on the hour": _MEASURED
        | _costs("15 min", "30 min")
        | _law("empirical", durations=["1 h", "7 h", "60 h"]),
        "many at once": _MEASURED
        | {"cluster": {"parameter_servers": 8, "trainers": 4, "spares": 2}}
        | {"failures": {"exactly": 5, "hits": {"parameter_servers": "50%", "trainers": 1}}},
        "trainers": _MEASURED
        | _law(
            "exponential", mean="10 h", hits={"weights": {"parameter_servers": 1, "trainers": 2}}
        ),
        "shared links": _DERIVED | _law("exponential", mean="15 h"),
        "allocations": _MEASURED
        | {"job": _JOB | {"allocation": "9 h"}}
        | _costs("5 min", "4 min")
        | _law("exponential", mean="10 h"),
        "announced failures": _MEASURED
        | {"cluster": _MEASURED["cluster"] | {"spares": 1}}
        | {"costs": _MEASURED["costs"] | {"drain": "2 min"}}
        | _law(
            "exponential",
            mean="10 h",
            notice={"lead": "10 min", "recall": 0.8, "false_alarms": "1 / 30 h"},
        ),
        "torn checkpoints and silent faults": _MEASURED
        | {"storage": {"torn": 0.3}}
        | _law("exponential", mean="10 h", silent={"mean": "60 h"}),
        "verification and starts": _MEASURED
        | {"costs": _MEASURED["costs"] | {"verify": "2 min", "start": {"compile": "5 min"}}}
        | _law("exponential", mean="10 h", silent={"mean": "30 h"})
        | {"policies": {"it": {"verify_every": 2}}},
        "nodes": _DERIVED
        | {"job": _JOB | {"network": "5 GB/s", "final_save": True}}
        | _law("weibull", shape=0.7, mean="320 h", per="node"),
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
            plan = self._scenario(tables).plan("it")  # refuses nearly all that is not
            for schedule in plan.schedules:
                require(
                    _leaves_what_it_skips(schedule),
                    f"{where}: unsaved_s of {schedule} must be given with a portion, which leaves "
                    "updates unsaved",
                )

    def test_plan_answers_every_loss(self) -> None:
        """There is a `Recover` for whatever may be lost, nodes and neighbours and all."""
        for where, tables in self._all():
            scenario = self._scenario(tables)
            plan = scenario.plan("it")
            for loss in _losses(scenario.context):
                _check_answer(where, plan.recover(loss), loss, plan)

    def test_table_survives_a_file(self) -> None:
        """Check that a scenario written by a run gives the same policy back."""
        for where, tables in self._all():
            scenario = self._scenario(tables)
            text = scenario.to_toml()
            again = Scenario(**tomllib.loads(text))
            require(again == scenario, f"{where}: not what was written:\n{text}")

    # --- The controller ---

    def test_controller_answers_failures_with_recover_and_trains_ahead(self) -> None:
        """`Recover` after `Failed`, else `Save`, `Drain`, or `Train` to a progress ahead."""
        for where, scenario, watch in self._watched():
            plan, told = scenario.plan("it"), set[float]()
            for before, step in pairwise([Step(Now(0.0, 0.0)), *watch.transcript]):
                if isinstance(step.event, Notice):
                    told.add(step.event.deadline_s)
                if step.event is not None:
                    continue
                require(
                    not isinstance(step.action, Drain) or step.action.deadline_s in told,
                    f"{where}: nothing is announced for then, but the controller answered {step}",
                )
                if isinstance(before.event, Failed):
                    _check_answer(where, step.action, before.event.loss, plan)
                    continue
                require(
                    isinstance(step.action, Train | Save | Drain),
                    f"{where}: nothing has failed, but the controller answered {step}",
                )
                require(
                    not isinstance(step.action, Train) or step.action.until_s > step.now.progress_s,
                    f"{where}: {step} is not ahead",
                )

    def test_controller_takes_time_from_its_caller_alone(self) -> None:
        """Check that a controller answers the same to the same events, without any clock."""
        for where, scenario, watch in self._watched():
            controller = scenario.plan("it").start()
            with _no_clock():
                answers = [_replay(controller, step) for step in watch.transcript]
            require(
                answers == watch.transcript,
                f"{where}: a fresh controller answers the same events and questions otherwise: "
                + _first_difference(watch.transcript, answers),
            )

    def test_controller_never_sees_the_future(self) -> None:
        """Up to any second, failures after it change nothing, but by notices of them."""
        for where, scenario, watch in self._watched(replications=1):
            notices = scenario.failures.notice
            for share in (0.2, 0.5, 0.9):
                after_s = share * watch.ledger.wall
                until_s = after_s - (0.0 if notices is None else notices.lead_s)
                now = [step for step in watch.transcript if step.now.wall_s <= until_s]
                for pace in (0.0, 0.5):
                    other = self._watch(change_future(scenario, after_s, pace), 0)
                    then = [step for step in other.transcript if step.now.wall_s <= until_s]
                    require(
                        now == then and watch.seen.until(until_s) == other.seen.until(until_s),
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
            stops = [step.action for step in watch.transcript if isinstance(step.action, Save)]
            if "network" in tables["job"] and not all(save.blocking for save in stops):
                continue  # training and saves share links: how long that takes is the fabric's
            second = costs.seconds(costs.training(plan.slowdown, plan.peer_bytes_per_s))
            planned_s = second * scenario.job.useful_time_s + math.fsum(
                costs.seconds(plan.transfer(save, costs))
                if save.blocking
                else plan.tier(save.tier).snapshot_s
                for save in stops
            )
            require(
                math.isclose(watch.ledger.wall, planned_s, rel_tol=1e-12),
                f"{where}: took {watch.ledger.wall} s, but training and {len(stops)} saves were "
                f"planned to take {planned_s} s",
            )

    def test_engines_agree(self) -> None:
        """Ledgers are those of the simulator, run by run, in any engine that `auto` takes."""
        for where, tables in self._all():
            scenario, numbers = self._scenario(tables), (0, 1, COHORT - 1, COHORT)
            played = []
            for engines in self._engines(scenario):
                prepare(engines.values(), "batch")  # else the simulator plays until it is compiled
                played.append(simulate(scenario, {"it": engines["it"]}, numbers, 5)[:, 0])
            for number, found, expected in zip(numbers, played[-1], played[0], strict=True):
                differ = differences(found, expected)
                require(
                    not differ,
                    f"{where}, replication {number}: engine 'batch' and then 'sim' say {differ}",
                )

    def test_who_ignores_notices_is_unchanged(self) -> None:
        """Check bit for bit that notices move no failure where a policy has no answer."""
        for where, tables in self.conditions.items():
            scenario = self._scenario(tables)
            if scenario.failures.notice is None or scenario.plan("it").on_notice is not None:
                continue
            silent = {key: value for key, value in tables["failures"].items() if key != "notice"}
            without = self._scenario({**tables, "failures": silent})
            engine: dict[str, Engine] = {"it": "sim"}
            one, two = (simulate(each, engine, [0, 1], 7) for each in (scenario, without))
            same = one.tobytes() == two.tobytes()
            require(same, f"{where}: {one.tolist()}, and without notices {two.tolist()}")

    def test_same_seed_gives_the_same_numbers(self) -> None:
        """Bit for bit in any engine, whatever was run before with the same plan."""
        for where, tables in self.conditions.items():
            once, again = (self._scenario(tables) for _ in range(2))
            for engines in self._engines(once):
                it = {"it": engines["it"]}
                one = simulate(once, it, [0, 1], 7)
                # In another order: a run must leave nothing behind in the plan for the next.
                two = simulate(again, it, [1, 0], 7)[::-1]
                same = one.tobytes() == two.tobytes()
                require(same, f"{where}: {one.tolist()}, then {two.tolist()}")

    def test_leaves_other_policies_alone(self) -> None:
        """Bit for bit in any engine: others' numbers don't depend on its running too."""
        for where, tables in self.conditions.items():
            beside = self._scenario(tables)
            for engines in self._engines(beside):
                names = [name for name in engines if name != "it"]
                between = simulate(beside, engines, [0, 1], 3)
                alone = simulate(beside, {name: engines[name] for name in names}, [0, 1], 3)
                require(
                    between[:, [0, *range(2, len(names) + 1)]].tobytes() == alone.tobytes(),
                    f"{where}: the numbers of {names} change where the policy runs as well",
                )

    # --- Helpers ---

    def _all(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        yield from self.quiet.items()
        yield from self.conditions.items()

    def _scenario(self, tables: Mapping[str, Any]) -> Scenario:
        """`tables` with the policy as `it`, which they may give more keys, and two others."""
        more = tables.get("policies", {}).get("it", {})
        others = {
            "full": {"system": "full", "interval": "2 h"},
            "async": {"system": "async", "snapshot": "10 s", "interval": "1 h"},
        }
        return Scenario(**{**tables, "policies": {"it": {**self.policy, **more}, **others}})

    @staticmethod
    def _engines(scenario: Scenario) -> list[dict[str, Engine]]:
        """The simulator for all policies, and what `auto` takes; the policy between the others."""
        names = ["full", "it", "async"]
        found = [chosen(scenario, names, engine) for engine in ("sim", "auto")]
        return found if found[1]["it"] != "sim" else found[:1]

    def _watched(self, replications: int = 3) -> Iterator[tuple[str, Scenario, _Watch]]:
        for where, tables in self.conditions.items():
            scenario = self._scenario(tables)
            for replication in range(replications):
                watch = self._watch(scenario, replication)
                yield f"{where}, replication {replication}", scenario, watch

    @staticmethod
    def _watch(scenario: Scenario, replication: int) -> _Watch:
        plan, seen = scenario.plan("it"), Recording()
        numbers = {each.name: getattr(plan, each.name) for each in fields(Plan)}
        watched = _WatchedPlan(**numbers, watched=plan)
        watching = scenario.with_policies(scenario.policies)
        watching.plans["it"] = watched
        ledger = play(watching, "it", 0, replication, seen)
        return _Watch(ledger, seen, watched.transcript)

    @staticmethod
    def _check_same_plan(where: str, plan: Plan, other: Plan, context: Context) -> None:
        for name in (each.name for each in fields(Plan) if each.name != "recover"):
            one, two = getattr(plan, name), getattr(other, name)
            require(one == two, f"{where}: {name} of the plan is {one}, and then {two}")
        for loss in _losses(context):
            one, two = plan.recover(loss), other.recover(loss)
            require(one == two, f"{where}: the answer to {loss} is {one}, and then {two}")


def _leaves_what_it_skips(schedule: Schedule) -> bool:
    save = schedule.save
    return save.portion == 1 or save.unsaved_s != (0.0,) or schedule.period_s > _LONGEST_S


def _check_answer(where: str, answer: object, loss: Loss, plan: Plan) -> None:
    flaw = answer_flaw(answer, loss, plan)
    require(not flaw, f"{where}: {loss} is answered {flaw}")


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
    """Report each use of a clock of Python's in this thread."""
    here = threading.get_ident()

    def guarded(clock: Callable[[], Any]) -> Callable[[], Any]:
        def look() -> Any:
            require(
                threading.get_ident() != here,
                "the controller looked at a clock; it must take the time from its caller",
            )
            return clock()

        return look

    clocks = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
    fakes: dict[str, Any] = {name: guarded(getattr(time, name)) for name in clocks}
    with mock.patch.multiple(time, **fakes):
        yield


def _replay(controller: Controller, step: Step) -> Step:
    if step.event is None:
        return Step(step.now, action=controller.ask(step.now))
    controller.tell(step.event)
    return step


def _first_difference(first: Sequence[object], second: Sequence[object]) -> str:
    for one, two in zip(first, second, strict=False):
        if one != two:
            return f"{one}, and then {two}"
    return f"{len(first)} steps, and then {len(second)}"
