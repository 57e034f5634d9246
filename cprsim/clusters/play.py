"""Play a cluster: its jobs as processes of one SimPy environment."""

import math
import zlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import simpy

from cprsim.clusters.domains import DomainFailure, DomainFailures, JobTimeline
from cprsim.clusters.job_run import ENDED, HOPELESS, RUNNING, WAITING, JobRun, JobWatch
from cprsim.clusters.jobs import ClusterJob, arrivals
from cprsim.clusters.links import STEP_S, Crowd, SharedLinks, SharingJob
from cprsim.clusters.scheduler import Nodes, Queue, SharedSpares
from cprsim.clusters.spec import ClusterSpec
from cprsim.errors import NowhereError
from cprsim.machine import allocations
from cprsim.machine.codes import AS_ALL_S, NONE
from cprsim.sim.draws import ScenarioDraws, away_s
from cprsim.sim.driver import Player
from cprsim.sim.run_draws import MANY, GrowingNumbers, RunDraws

_ARRIVES = attrgetter("arrives_s")
#: A process of SimPy.
Processing = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class PlayedCluster:
    """One replication of a cluster.

    `jobs`: what came of each. `ends_s`: when the simulation ended. `moved`: bytes on each shared
    link in steps of `STEP_S`. `spares`: spare machines ready at the beginning of each step.
    `crowds`: times in which a link was crowded. `shocks`: failures of racks and pods that struck,
    each with the jobs that had nodes there.
    """

    jobs: list[JobRun]
    ends_s: float
    moved: list[list[float]]
    spares: list[int]
    crowds: list[Crowd]
    shocks: list[tuple[DomainFailure, list[str]]]


def play(
    spec: ClusterSpec,
    jobs: Sequence[ClusterJob],
    seed: int,
    replication: int,
    *,
    alone: bool = True,
) -> PlayedCluster:
    """Play one replication; it depends on the seed and its number only.

    `jobs`: as of `jobs_of`. `alone`: whether each job is played once more with the cluster to
    itself, at the same place and time. The first replication keeps what each job did when.
    """
    return _Playing(spec, jobs, seed, replication).play(alone=alone)


class _Playing:
    def __init__(
        self, spec: ClusterSpec, jobs: Sequence[ClusterJob], seed: int, replication: int
    ) -> None:
        self.spec, self.seed, self.replication = spec, seed, replication
        at_s = arrivals(spec, jobs, seed, replication).tolist()
        self.runs = [
            JobRun(job, i, at_s[i], job.limit_s, None if replication else JobWatch())
            for i, job in enumerate(jobs)
        ]
        self.shocks = DomainFailures(spec, seed, replication)
        outages = spec.store.outages
        self._outages = (
            None
            if outages is None
            else GrowingNumbers(
                lambda count: away_s(outages, seed, replication, count)[np.newaxis], 16
            )
        )
        self._has_domains = bool(spec.failures.events or spec.failures.rack or spec.failures.pod)

    def play(self, *, alone: bool) -> PlayedCluster:
        env, spec = simpy.Environment(), self.spec
        nodes, links, pool = Nodes(spec), SharedLinks(spec), [0.0] * spec.cluster.spares
        left = [len(self.runs)]
        done = env.event()
        struck: list[tuple[DomainFailure, list[str]]] = []
        spares: list[int] = []

        def ended(run: JobRun) -> None:
            queue.leave(run)
            left[0] -= 1
            if not left[0]:
                done.succeed()
            else:
                queue.schedule()

        def start(run: JobRun) -> None:
            run.had.append([env.now, math.inf])
            run.state = RUNNING
            if run.process is None:
                run.first_racks = run.racks
                begin = self._process(env, run, links, pool, ended, queue)
                run.process = env.process(begin)
                return
            run.timeline.racks = run.racks
            run.member.crossing = _crossing(run.racks)
            allocations.grant(run.player.job, run.member.now(env.now))
            run.member.wake()

        def stop(run: JobRun) -> None:
            until_s = run.member.now(env.now) + spec.scheduler.notice_s
            allocations.take_back(run.player.job, until_s)
            run.member.wake()

        queue = Queue(spec.scheduler, nodes, lambda: env.now, start, stop)
        env.process(_arrive(env, self.runs, queue))
        env.process(_fail(env, self.shocks, nodes, queue, struck))
        if spec.cluster.spares:
            env.process(_count(env, pool, spares))
        until_s = spec.cluster.until_s
        env.run(until=done if until_s is None else env.any_of([done, env.timeout(until_s)]))
        links.end(env.now)
        for run in self.runs:
            if run.player is not None:
                _note(run)
            for had in run.had:
                had[1] = min(had[1], env.now)
        if alone:
            for run in self.runs:
                if run.state == ENDED:
                    run.alone = self._alone(run)
        for run in self.runs:
            run.clear()
        return PlayedCluster(self.runs, env.now, links.moved, spares, links.crowds, struck)

    def _process(
        self,
        env: simpy.Environment,
        run: JobRun,
        links: SharedLinks,
        pool: list[float],
        ended: Callable[[JobRun], None],
        queue: Queue | None,
    ) -> Processing:
        """Play a job from now on, in racks that it has got."""
        job, spec = run.job, self.spec
        number = self.replication * len(self.runs) + run.number
        player = Player(job.scenario, job.policy)
        own = job.scenario.failure_model.timeline(self.seed, number)
        timeline = JobTimeline(own, self.shocks, job.scenario.cluster.parameter_servers)
        timeline.start_s, timeline.racks = env.now, run.racks
        if run.watch is not None:
            run.watch.start_s = env.now
        played = timeline if self._has_domains else own
        draws = ScenarioDraws(job.scenario, self.seed).of_run(number, played)
        if self._has_domains:
            mean_s = job.scenario.cost_model.reschedule_mean_s
            _wait_for_domains(timeline, draws, mean_s, job.scenario.costs.detect_s)
        player.begin(draws, run.watch)
        if self._outages is not None:
            away, start_s = self._outages, env.now
            draws.row.outages = draws.numbers.add(lambda place: away(place) - start_s)
        member = SharingJob(
            name=job.name,
            job=player.job,
            links=links,
            start_s=env.now,
            weight=1.0 + job.priority if spec.store.loads == "by priority" else 1.0,
            crossing=_crossing(run.racks),
            wake=lambda: _wake(env, run),
        )
        player.join(member)
        run.player, run.member, run.timeline = player, member, timeline
        plan = player.job.plan
        if spec.store.stagger:
            plan.first_due = _first_due(job.name)
        if spec.cluster.core is not None:
            plan.unslowed = False  # what it exchanges with other racks is on the core

        def begun() -> None:
            if spec.cluster.spares and plan.spares:
                player.job.ready_s, plan.spares = SharedSpares(pool, env.now), spec.cluster.spares

        def stepped() -> None:
            links.settle(env.now)
            waits_now = allocations.waits_for_nodes(player.job)
            if run.watch is not None:
                run.watch.waits = waits_now
            if queue is not None and run.racks and waits_now:
                run.had[-1][1], run.state = env.now, WAITING
                run.left_s = job.limit_s * (1 - player.job.run.progress_s / run.useful_s)
                queue.leave(run)
                queue.arrive(run)

        try:
            yield from player.process_shared(env, begun, stepped)
            run.row, run.state = player.ledger(), ENDED
        except NowhereError:
            run.state = HOPELESS
        links.leave(member, env.now)
        run.had[-1][1] = env.now
        _note(run)
        run.clear()
        ended(run)

    def _alone(self, run: JobRun) -> list[float] | None:
        """Play a job with the cluster to itself; return the columns of its ledger."""
        env = simpy.Environment(initial_time=run.had[0][0])
        single = JobRun(run.job, run.number, run.arrives_s, 0.0, had=[[env.now, math.inf]])
        single.racks = run.first_racks
        links, pool = SharedLinks(self.spec), [0.0] * self.spec.cluster.spares
        single.process = env.process(
            self._process(env, single, links, pool, lambda _: None, queue=None)
        )
        env.run(until=single.process)
        return single.row


def _note(run: JobRun) -> None:
    """Keep how far a job has come, and how much longer its saves took than alone."""
    run.progress = run.player.job.run.progress_s / run.useful_s
    member = run.member
    run.stretch = member.writing_s / member.alone_s if member.alone_s else 1.0


def _arrive(env: simpy.Environment, runs: Sequence[JobRun], queue: Queue) -> Processing:
    for at_s, together in groupby(sorted(runs, key=_ARRIVES), key=_ARRIVES):
        if at_s > env.now:
            yield env.timeout(at_s - env.now)
        queue.arrive(*together)


def _fail(
    env: simpy.Environment, shocks: DomainFailures, nodes: Nodes, queue: Queue, struck: list[Any]
) -> Processing:
    """Keep nodes of racks that are down from jobs that wait; those that have them are struck."""
    index = 0
    while (shock := shocks[index]) is not None:
        yield env.timeout(max(shock.at_s - env.now, 0.0))
        there = [r.name for r in queue.running if not set(r.racks).isdisjoint(shock.racks)]
        struck.append((shock, there))
        nodes.fail(shock.racks, env.now + shock.lasts_s)
        env.process(_return(env, shock.lasts_s, queue))
        index += 1


def _return(env: simpy.Environment, lasts_s: float, queue: Queue) -> Processing:
    yield env.timeout(lasts_s)
    queue.schedule()


def _count(env: simpy.Environment, pool: list[float], spares: list[int]) -> Processing:
    while True:
        spares.append(sum(ready_s <= env.now for ready_s in pool))
        yield env.timeout(STEP_S)


def _wake(env: simpy.Environment, run: JobRun) -> None:
    process = run.process
    if process is not None and process.is_alive and process is not env.active_process:
        process.interrupt()


def _wait_for_domains(
    timeline: JobTimeline, draws: RunDraws, mean_s: float, detect_s: float
) -> None:
    """Let machines be away after the failure of a rack or pod until that is back.

    It is noticed after `detect_s`: it has none of the job's causes.
    """
    own, numbers = draws.row, draws.numbers
    delays, has_delays, repairs = own.delays, own.delay_count > 0, own.repairs
    detections = own.detections

    def delay_s(failure: int) -> float:
        if timeline.last is not None:
            return timeline.last.lasts_s
        found: float = numbers[delays + failure] if has_delays else mean_s
        return found

    def repair_s(failure: int) -> float:
        found: float = AS_ALL_S if timeline.last is not None else numbers[repairs + failure]
        return found

    def detection_s(failure: int) -> float:
        found: float = detect_s if timeline.last is not None else numbers[detections + failure]
        return found

    draws.put(delays=numbers.add(delay_s), delay_count=MANY)
    if detections != NONE:
        draws.put(detections=numbers.add(detection_s))
    if repairs != NONE:
        draws.put(repairs=numbers.add(repair_s))


def _crossing(racks: Sequence[int]) -> float:
    """Return the probability that two nodes of a job lie in different racks."""
    counts = np.bincount(np.asarray(racks, dtype=np.int64))
    return 1.0 - float(np.sum((counts / len(racks)) ** 2))


def _first_due(name: str) -> float:
    """Return the part of the first interval after which a job of that name saves first.

    Names in alphabetical order would lie close together; their checksums don't.
    """
    return (zlib.crc32(name.encode()) + 1) / 2**32
