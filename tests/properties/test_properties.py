"""What holds in every scenario, whatever its numbers."""

import contextlib
import math
import tomllib
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cprsim.basics import units
from cprsim.contract.ledger import CAUSES, Ledger
from cprsim.errors import RunError
from cprsim.failures.cohorts import InstantCohort
from cprsim.failures.hits import Hit
from cprsim.failures.model import FailureModel
from cprsim.failures.timeline import AbsoluteTimeline, Timeline
from cprsim.job.platform import Cluster
from cprsim.job.tiers import REMOTE
from cprsim.runs.measures import Basis
from cprsim.runs.summaries import tidy
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.testing import Recording, assert_time_adds_up, change_future
from tests.drawn import durations, scenarios
from tests.properties.one_run import learning_lost
from tests.tiers import examples

seeds = st.integers(0, 2**32)


def everything(scenario: Scenario, seed: int, replications: int = 2) -> np.ndarray[Any, Any]:
    """All columns of all policies."""
    return simulate(scenario, list(scenario.policies), range(replications), seed)


# --- The ledger ----------------------------------------------------------------------------------


@given(scenarios(), seeds)
def test_seconds_by_cause_add_up_to_the_wall_clock(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    for replication in everything(scenario, seed):
        for name, row in zip(scenario.policies, replication, strict=True):
            ledger = Ledger(**dict(zip(COLUMNS, row, strict=True)))
            assert_time_adds_up(ledger)
            assert ledger.train == scenario.job.useful_time_s
            assert 0 <= ledger.updates_lost <= 1 + 1e-12
            assert (ledger.learning_lost == 0) == (ledger.updates_lost == 0)
            if scenario.cluster.updates is None:  # a mean over shards of what is more than u
                assert ledger.learning_lost >= ledger.updates_lost * (1 - 1e-9)
            whole = all(each.save.portion == 1 for each in scenario.plan(name).schedules)
            # Neither what passes a shard by while it is down nor what experts lose is in (E4).
            if whole and scenario.policies[name].system not in ("accepted-loss", "partial-experts"):
                most = busiest(scenario.cluster)
                assert ledger.updates_lost <= most * ledger.pls * (1 + 1e-12)


@given(scenarios(), seeds)
def test_training_lost_updates_again_never_takes_less(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    policies = list(scenario.policies)
    bases = [Basis.of(scenario, policy) for policy in policies]
    for _, row in tidy(policies, everything(scenario, seed), COLUMNS, bases).iterrows():
        assert row["overhead_retrained"] >= row["overhead"]
        if row["updates_lost"] == 0:
            assert row["overhead_retrained"] == row["overhead"]
        if scenario.policies[row["policy"]].system == "full":
            assert row["updates_lost"] == 0


def busiest(cluster: Cluster) -> float:
    """How many times a mean shard's updates the busiest one gets.

    A failure of a shard adds the time since its checkpoint to both PLS and `updates_lost`, but for
    updates that it had lost before. (E4) counts the samples of that time, and those of all shards
    alike; the updates in it are the shard's own: its share of all times how many shards there are.
    So a job that only ever loses its busiest shard, each time after another save, loses just so
    many times its PLS.
    """
    shares = cluster.update_shares
    return 1.0 if shares is None else max(shares) * cluster.parameter_servers


@given(scenarios(), seeds)
def test_spans_tile_the_run_and_add_up_to_the_ledger(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    for name in scenario.policies:
        ledger = play(scenario, name, seed, 0, seen := Recording())
        ends = [0.0, *(span.end_s for span in seen.spans)]
        assert ends[:-1] == [span.start_s for span in seen.spans]
        assert ends == sorted(ends)
        assert ends[-1] == ledger.wall
        assert len(seen.failures) == ledger.failures
        spent = dict.fromkeys(CAUSES, 0.0)
        for span in seen.spans:
            spent[span.cause] += span.end_s - span.start_s
        # Training is seen as it is done, before it is known how much of it will count.
        in_ledger = {cause: getattr(ledger, cause) for cause in CAUSES}
        in_ledger["train"] += in_ledger.pop("lost") + in_ledger.pop("slowdown")
        for cause, seconds in in_ledger.items():
            assert spent[cause] == pytest.approx(seconds, rel=1e-9, abs=1e-9 * ledger.wall)


@given(scenarios())
def test_without_failures_saves_are_all_that_comes_on_top(tables: dict[str, Any]) -> None:
    # Beside training, background saves take a share of its links: that is the fabric's to test.
    tables["job"].pop("network", None)
    tables["job"].pop("allocation", None)  # which has a save of its own
    tables["failures"] = {"exactly": 0}
    for key in ("restart", "restart_fails"):
        tables.get("costs", {}).pop(key, None)
    for key in ("save_fails", "torn", "outages"):
        tables.get("storage", {}).pop(key, None)
    scenario = Scenario(**tables)
    job, costs = scenario.job, scenario.cost_model
    for name in scenario.policies:
        plan = scenario.plan(name)
        ledger = play(scenario, name, 0, 0, seen := Recording())
        training = costs.training(plan.slowdown, plan.peer_bytes_per_s)
        training_s = job.useful_time_s * costs.seconds(training)
        saves = sum(span.cause in ("save", "stall") for span in seen.spans)
        if plan.sequence is not None or len(plan.schedules) > 1:
            continue  # the conformance suite looks at what its controller asked for
        (schedule,) = plan.schedules
        tier, save = plan.tier(schedule.save.tier), schedule.save
        if save.blocking:
            save_s = costs.seconds(plan.transfer(save, costs))
            stops_s = ledger.saves * save_s
            if job.final_save:  # which is of everything
                stops_s += costs.seconds(plan.transfer(plan.last_save, costs)) - save_s
            assert saves == ledger.saves == saves_of(schedule.period_s, scenario)
        else:
            stalls = [span for span in seen.spans if span.cause == "stall"]
            # With nothing to wait for but the last save, to land.
            stops_s = len(stalls) * tier.snapshot_s + ledger.save
            assert job.final_save or ledger.save == 0
        stops_s += ledger.verify + ledger.start + ledger.shutdown
        assert ledger.wall == pytest.approx(training_s + stops_s, rel=1e-12)


def saves_of(interval_s: float, scenario: Scenario) -> int:
    """How often an interval fits before the end of the job, and the final save."""
    intervals = scenario.job.useful_time_s / interval_s
    assume(math.isinf(interval_s) or abs(intervals - round(intervals)) > 1e-9)
    return math.floor(intervals) + scenario.job.final_save


# --- Streams -------------------------------------------------------------------------------------


@given(scenarios(), seeds, st.randoms(use_true_random=False))
def test_other_policies_and_their_order_change_nothing(
    tables: dict[str, Any], seed: int, random: Any
) -> None:
    scenario = Scenario(**tables)
    together = everything(scenario, seed)
    names = list(scenario.policies)
    shuffled = random.sample(names, len(names))
    other_order = simulate(scenario, shuffled, range(2), seed)
    for i, name in enumerate(names):
        # Alone even in the scenario.
        lone = Scenario(**{**tables, "policies": {name: tables["policies"][name]}})
        one = np.ascontiguousarray(together[:, i]).tobytes()
        assert simulate(lone, [name], range(2), seed).tobytes() == one
        assert np.ascontiguousarray(other_order[:, shuffled.index(name)]).tobytes() == one


@given(scenarios(), seeds, st.integers(0, 3))
def test_the_same_seed_gives_the_same_bytes_whatever_else_is_played(
    tables: dict[str, Any], seed: int, number: int
) -> None:
    scenario = Scenario(**tables)
    names = list(scenario.policies)
    of_many = everything(scenario, seed, replications=5)[number : number + 1]
    for block in ([number], [number, 4], [4, 0, number]):
        # From scratch, so that nothing is left of earlier runs.
        again = simulate(Scenario(**tables), names, block, seed)
        place = block.index(number)
        assert again[place : place + 1].tobytes() == of_many.tobytes()


@given(scenarios(), seeds, st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 3.0]))
def test_no_policy_sees_the_future(
    tables: dict[str, Any], seed: int, share: float, pace: float
) -> None:
    scenario = Scenario(**tables)
    for name in scenario.policies:
        ledger = play(scenario, name, seed, 0, seen := Recording())
        after_s = share * ledger.wall
        then = Recording()
        # Failures that come faster may leave the job no chance, but that is not before they come.
        with contextlib.suppress(RunError):
            play(change_future(scenario, after_s, pace), name, seed, 0, then)
        assert then.until(after_s) == seen.until(after_s)


# --- Scenarios -----------------------------------------------------------------------------------


@given(scenarios(), seeds)
def test_a_scenario_survives_its_file(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    text = scenario.to_toml()
    again = Scenario(**tomllib.loads(text))
    assert again == scenario
    assert again.to_toml() == text
    assert everything(again, seed).tobytes() == everything(scenario, seed).tobytes()


# --- More and less -------------------------------------------------------------------------------


@st.composite
def derived(draw: st.DrawFn, systems: tuple[str, ...]) -> dict[str, Any]:
    """A job of 1,000 s whose saves and loads of seconds to a minute are derived."""
    size = 6e11
    write, read, nic = (size / draw(st.floats(0.5, 60.0)) for _ in range(3))
    delay = st.just({"distribution": "exponential", "mean": "20 s"}) | durations(0.0, 40.0)
    return {
        "job": {"useful_time": "1000 s", "final_save": draw(st.booleans())},
        "model": {"embedding": f"{size:g} B", "dense": "1 GB"},
        "cluster": {
            "parameter_servers": draw(st.integers(2, 6)),
            "trainers": draw(st.integers(0, 2)),
            "spares": draw(st.integers(0, 2)),
        }
        | draw(st.sampled_from([{}, {"nic": f"{nic!r} B/s"}])),
        "storage": {"write": f"{write!r} B/s", "read": f"{read!r} B/s"},
        "costs": {"reschedule": draw(delay), "detect": draw(durations(0.0, 10.0))},
        "failures": {"exactly": draw(st.integers(1, 6))},
        "policies": {
            "it": {
                "system": draw(st.sampled_from(systems)),
                "interval": draw(durations(5.0, 400.0)),
            }
        },
    }


@given(derived(("full", "partial")), seeds)
def test_a_faster_store_never_makes_a_job_longer(tables: dict[str, Any], seed: int) -> None:
    # Think of the job as a track: train to the next save, save, train. A faster store moves the
    # job on faster or as fast at each point, and what a failure does keeps the order of two jobs
    # on it: both return to their last checkpoint (or neither does), both are down as long, and the
    # one ahead loads no longer. That both are hit by the same failures takes `during_recovery`: a
    # long load that absorbs failures can be a blessing.
    slow = Scenario(**tables)
    rates = {
        key: units.parse(value, units.BYTES_PER_SECOND) * 2
        for key, value in tables["storage"].items()
    }
    fast = Scenario(**tables | {"storage": {key: f"{rate!r} B/s" for key, rate in rates.items()}})
    before, after = play(slow, "it", seed, 0), play(fast, "it", seed, 0)
    assert after.wall <= before.wall * (1 + 1e-12)


@given(derived(("full",)), seeds, st.integers(0, 5))
def test_one_failure_less_never_makes_a_job_longer(
    tables: dict[str, Any], seed: int, which: int
) -> None:
    # The same track. It takes downtimes that absorb nothing (a failure that one absorbs would have
    # struck without it) and are all alike, so no spares and no random delays.
    tables["cluster"]["spares"] = 0
    tables["costs"]["reschedule"] = "7 s"
    scenario = Scenario(**tables)
    cohort = scenario.failure_model.process.cohort(seed, 0)
    assert isinstance(cohort, InstantCohort)
    instants = cohort.times_s[0].tolist()
    left = [i for i in range(len(instants)) if i != which % len(instants)]
    more = play(scenario, "it", seed, 0)
    assume(more.absorbed == 0)
    hits = [cohort.victims.hit(0, i) for i in left]
    fewer = AbsoluteTimeline([instants[i] for i in left], hits)
    less = play(replay(scenario, fewer), "it", seed, 0)
    assert less.wall <= more.wall * (1 + 1e-12)


@dataclass(frozen=True)
class Fixed(FailureModel):
    """Always the same failures."""

    failures: Timeline

    def timeline(self, seed: int, replication: int) -> Timeline:
        return self.failures


def replay(scenario: Scenario, timeline: Timeline) -> Scenario:
    """The same scenario, the same plans, but these failures."""
    changed = change_future(scenario, math.inf)
    model = scenario.failure_model
    vars(changed)["failure_model"] = Fixed(model.spec, model.cluster, model.job, timeline)
    return changed


@given(derived(("full", "partial", "cpr-vanilla")), seeds, st.booleans())
def test_measured_costs_equal_to_the_derived_ones_change_nothing(
    tables: dict[str, Any], seed: int, during_recovery: bool
) -> None:
    # What a partial load takes depends on how many servers are down: only ever one here, unless
    # failures while loading add up, which full recovery alone doesn't mind.
    system = tables["policies"]["it"]["system"]
    tables["failures"]["during_recovery"] = during_recovery and system == "full"
    scenario = Scenario(**tables)
    costs = scenario.cost_model
    seconds = {
        "save": costs.seconds(costs.save(REMOTE)),
        "load_full": costs.seconds(costs.load(REMOTE, "all", 1)),
        "load_partial": costs.seconds(costs.load(REMOTE, "lost", 1)),
    }
    told = {key: f"{value!r} s" for key, value in seconds.items()}
    sections = {key: value for key, value in tables.items() if key not in ("model", "storage")}
    measured = Scenario(**sections | {"costs": tables["costs"] | told})
    one, two = everything(scenario, seed), everything(measured, seed)
    np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-9 * 1000)


# --- Second by second ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A job on four servers all of whose times are whole seconds, so that much coincides."""

    system: str
    useful: int
    interval: int
    save: int
    detect: int
    delay: int
    load: int
    snapshot: int
    in_flight: int
    final_save: bool
    during_recovery: bool

    def tables(self) -> dict[str, Any]:
        """The scenario, without failures."""
        policy = {"system": self.system, "interval": f"{self.interval} s"}
        if self.system == "async":
            policy |= {"snapshot": f"{self.snapshot} s", "in_flight": self.in_flight}
        if self.system == "replication":
            policy |= {"slowdown": 0, "takeover": "0 s"}
        costs = {
            "save": self.save,
            "load": self.load,
            "reschedule": self.delay,
            "detect": self.detect,
        }
        return {
            "job": {"useful_time": f"{self.useful} s", "final_save": self.final_save},
            "cluster": {"parameter_servers": 4},
            "costs": {key: f"{value} s" for key, value in costs.items()},
            "failures": {
                "exactly": 0,
                "during_recovery": self.during_recovery,
                "while_waiting": False,
            },
            "policies": {"it": policy},
        }


grids = st.builds(
    Grid,
    system=st.sampled_from(["full", "partial", "async", "replication"]),
    useful=st.integers(1, 40),
    interval=st.integers(1, 45),
    save=st.integers(0, 5),
    detect=st.integers(0, 2),
    delay=st.integers(0, 3),
    load=st.integers(0, 3),
    snapshot=st.integers(0, 2),
    in_flight=st.integers(1, 2),
    final_save=st.booleans(),
    during_recovery=st.booleans(),
)
hits_by_second = st.dictionaries(
    st.integers(0, 90), st.frozensets(st.integers(0, 3), min_size=1), max_size=8
)


class TickingClock:
    """docs/semantics.md once more, second by second: what ends, what fails, what starts.

    Counts of `Ledger`, `pls` and `updates_lost` in seconds of one shard.
    """

    def __init__(self, job: Grid, strikes: dict[int, frozenset[int]]) -> None:
        self.job, self.strikes = job, dict(strikes)
        self.counts = {each.name: 0 for each in fields(Ledger)} | {"train": job.useful}
        self.now = self.progress = self.saved = 0
        self.due = job.interval
        self.phase, self.left = "train", 0
        self.after = ("train", 0)  # what a recovery goes back to
        self.set_back = dict.fromkeys(range(4), 0)  # progress when a shard was last lost
        self.lacks = dict.fromkeys(range(4), 0)  # seconds that a shard has lost for good
        self.landing: list[tuple[int, int]] = []  # second, and progress of the checkpoint
        self.rebuilt: list[tuple[int, frozenset[int]]] = []  # second, and servers
        self.waiting: frozenset[int] = frozenset()  # servers
        self.trains_on = False

    def run(self) -> dict[str, int]:
        while True:
            self.end_what_ends()
            if self.trained and (self.saved == self.job.useful or not self.job.final_save):
                return self.counts | {"wall": self.now}
            # What takes no time ends and starts at once, so look again before the next second.
            if not self.fail() and not self.start_a_save():
                self.tick()

    @property
    def trained(self) -> bool:
        return self.phase == "train" and self.progress == self.job.useful

    def end_what_ends(self) -> None:
        job = self.job
        while self.phase != "train" and self.left == 0:
            if self.phase in ("save", "stall"):
                self.landing.append((self.now + job.save * (self.phase == "stall"), self.progress))
                self.phase, self.due = "train", self.progress + job.interval
            elif self.phase == "detect" and not self.trains_on:
                self.phase, self.left = "reschedule", job.delay
            elif self.phase == "reschedule":
                self.phase, self.left = "load", job.load
            else:
                if self.phase == "detect":
                    self.rebuilt.append((self.now + job.delay + job.load, self.waiting))
                self.waiting, (self.phase, self.left) = frozenset(), self.after
        for at, progress in self.landing:
            if at <= self.now:
                self.saved = progress
                self.counts["saves"] += 1
        self.landing = [each for each in self.landing if each[0] > self.now]
        self.rebuilt = [each for each in self.rebuilt if each[0] > self.now]

    def fail(self) -> bool:
        hit = self.strikes.pop(self.now, None)
        if hit is None:
            return False
        absorbing = ("detect", "reschedule") if self.job.during_recovery else RECOVERY
        if self.phase in absorbing:
            self.counts["absorbed"] += 1
            return True
        self.counts["failures"] += 1
        if self.phase != "load":
            self.after = (self.phase, self.left)
        down = self.waiting.union(*(servers for _, servers in self.rebuilt))
        self.lose(hit - down, down | hit)
        self.phase, self.left = "detect", self.job.detect
        return True

    def lose(self, new: frozenset[int], down: frozenset[int]) -> None:
        system = self.job.system
        self.waiting |= new
        # Two copies of each shard, on neighbours in a ring.
        gone = any({server, (server + 1) % 4} <= down for server in range(4))
        self.trains_on = system == "replication" and not gone
        if system == "partial":
            for server in new:
                since_save = self.progress - self.saved
                self.counts["pls"] += since_save
                lost = min(since_save, self.progress - self.set_back[server])
                self.counts["updates_lost"] += lost
                self.lacks[server] += lost
                self.set_back[server] = self.progress
        elif not self.trains_on:
            self.counts["lost"] += self.progress - self.saved
            self.progress, self.after = self.saved, ("train", 0)
            self.due = min(self.due, self.progress + self.job.interval)
            self.waiting, self.landing, self.rebuilt = down, [], []

    def start_a_save(self) -> bool:
        if self.phase != "train" or (self.progress < self.due and not self.trained):
            return False
        if self.job.system != "async":
            self.phase, self.left = "save", self.job.save
            return True
        last = any(progress == self.progress for _, progress in self.landing)
        if len(self.landing) == self.job.in_flight or (self.trained and last):
            return False
        self.phase, self.left = "stall", self.job.snapshot
        return True

    def tick(self) -> None:
        self.now += 1
        if self.trained:
            self.counts["save"] += 1  # the last one, in the background
        elif self.phase == "train":
            self.progress += 1
        else:
            self.counts[self.phase] += 1
            self.left -= 1


RECOVERY = ("detect", "reschedule", "load")


@examples(5)
@given(grids, hits_by_second)
def test_the_simulator_agrees_with_a_clock_that_ticks(
    job: Grid, strikes: dict[int, frozenset[int]]
) -> None:
    clock = TickingClock(job, strikes)
    expected: dict[str, float] = {**clock.run()}
    hits = [Hit(tuple(sorted(strikes[at_s])), ()) for at_s in sorted(strikes)]
    timeline = AbsoluteTimeline([float(at_s) for at_s in sorted(strikes)], hits)
    ledger = asdict(play(replay(Scenario(**job.tables()), timeline), "it", 0, 0))
    for loss in ("pls", "updates_lost"):
        ledger[loss] *= 4 * job.useful
    expected |= {"stored": expected["saves"], "sent": 0}  # all of them whole, to the store
    expected["learning_lost"] = learning_lost([*clock.lacks.values()], job.useful)
    # Whole numbers, but for the rounding of 1 / (4 * useful).
    assert ledger == pytest.approx(expected, rel=1e-12)
