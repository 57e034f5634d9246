"""The store and the network core, which the flows of all jobs share max-min fairly (rule 27).

The rates are found by the machine's own filling (`cprsim.machine.fabric.fill`), over the flows of
all jobs at once: on the shared links, and on the own links of jobs that have several flows.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from cprsim.clusters.spec import ClusterSpec
from cprsim.job.platform import SERVER_OUT, STORE_READ, STORE_WRITE, TRAINER_OUT
from cprsim.machine import fabric, turn
from cprsim.machine.codes import SAVING
from cprsim.machine.phases import BLOCKING_SAVE, SNAPSHOT, TRAINING, VERIFYING
from cprsim.machine.plan_rows import LINKS

#: Links that all jobs share.
NAMES: Final = ("core", "write", "read")
CORE, WRITE, READ = range(3)
_SHARED: Final = range(3)
_AT_STORE: Final = (LINKS.index(STORE_WRITE), LINKS.index(STORE_READ))
_SERVER_OUT, _TRAINER_OUT = LINKS.index(SERVER_OUT), LINKS.index(TRAINER_OUT)
_OWN: Final = [place for place in range(len(LINKS)) if place not in _AT_STORE]
#: Length of the steps in which the use of links is counted, s.
STEP_S: Final = 600.0


@dataclass(eq=False)
class SharingJob:
    """A job on the links.

    `name`: what it is called. `job`: its run. `start_s`: when it started; its own time counts from
    there. `weight`: of its loads. `crossing`: share of what its nodes exchange that leaves a rack.
    `wake`: called where its next event has moved. `writing_s`: seconds in which it wrote to the
    store; `alone_s`: those that the same would have taken at its own limit.
    """

    name: str
    job: Any
    links: "SharedLinks"
    start_s: float
    weight: float
    crossing: float
    wake: Callable[[], None]
    writing_s: float = 0.0
    alone_s: float = 0.0

    def now(self, now_s: float) -> float:
        """Return the job's own time at an instant of the cluster, s."""
        return max(now_s - self.start_s, float(self.job.run.now))

    def changed(self) -> None:
        """Note that flows of the job have begun or ended."""
        self.links.changed(self)

    def must_wait(self, save: Any) -> bool:
        """Return whether a save has to wait until fewer jobs save; the job is notified then."""
        return self.links.must_wait(self, save)

    @property
    def saves(self) -> bool:
        """Return whether it saves now."""
        flows = self.job.flows[: self.job.run.flows]
        holds = self.job.run.phase in (BLOCKING_SAVE, SNAPSHOT, VERIFYING)
        return holds or any(flow.kind == SAVING for flow in flows)

    def flows(self) -> Iterator[tuple[Any, tuple[float, float, float]]]:
        """Yield its flows on links, each with what it draws on the core and the store."""
        plan = self.job.plan
        for flow in self.job.flows[: self.job.run.flows]:
            if flow.linked:
                written, read = (flow.uses[link] for link in _AT_STORE)
                leaves = plan.servers * flow.uses[_SERVER_OUT]
                leaves += (plan.nodes - plan.servers) * flow.uses[_TRAINER_OUT]
                yield flow, (written + read or self.crossing * leaves, written, read)


@dataclass
class Crowd:
    """A time in which flows wanted more of a link than it has.

    `saves`, `loads`: names of the jobs that saved and that loaded meanwhile, each with when that
    began, s. `cost_s`: seconds that their transfers took longer, all together.
    """

    link: str
    from_s: float
    to_s: float = math.inf
    saves: dict[str, float] = field(default_factory=dict)
    loads: dict[str, float] = field(default_factory=dict)
    cost_s: float = 0.0

    @property
    def together(self) -> bool:
        """Return whether saves began at the same instant."""
        return len(self.saves) > len({round(each) for each in self.saves.values()})


class SharedLinks:
    """Flows of all jobs on the links of a cluster.

    `crowds`: times in which a link was crowded. `moved`: units that each link has moved, in steps
    of `STEP_S`.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        store = spec.store
        self.capacity = [
            math.inf if rate is None else rate
            for rate in (spec.cluster.core, store.write, store.read)
        ]
        self._most_saves = store.saves_at_once
        self.crowds: list[Crowd] = []
        self.moved: list[list[float]] = [[] for _ in NAMES]
        # Dicts for sets whose order doesn't depend on where objects lie in memory.
        self._active: dict[SharingJob, None] = {}
        self._changed: dict[SharingJob, None] = {}
        self._since_s = 0.0
        self._drawn, self._waiting = [0.0] * 3, [0.0] * 3  # of each link, since then
        self._writing: list[tuple[SharingJob, float]] = []  # and the share of its limit that it has
        self._crowded: dict[int, Crowd] = {}
        self._saving: dict[SharingJob, None] = {}
        self._turns: dict[SharingJob, None] = {}

    def changed(self, member: SharingJob) -> None:
        """Note that flows of a job have begun or ended."""
        self._changed[member] = None

    def leave(self, member: SharingJob, now_s: float) -> None:
        """Take a job that has ended off the links."""
        member.job.run.flows = 0
        for each in (self._saving, self._turns):
            each.pop(member, None)
        self.changed(member)
        self.settle(now_s)

    # --- Turns of saves ---------------------------------------------------------------------------

    def must_wait(self, member: SharingJob, save: Any) -> bool:
        """Return whether a save has to wait until fewer jobs save; the job is notified then."""
        if self._most_saves is None or not save.stored:
            return False
        if member in self._saving or len(self._saving) < self._most_saves:
            self._saving[member] = None
            self._turns.pop(member, None)
            return False
        self._turns[member] = None
        return True

    def _pass_turns(self, now_s: float) -> None:
        """Let the next jobs save in place of those whose saves have ended."""
        if self._most_saves is None:
            return
        self._saving = {member: None for member in self._saving if member.saves}
        room = self._most_saves - len(self._saving)
        training = [each for each in self._turns if each.job.run.phase == TRAINING]
        for member in training[:room]:
            del self._turns[member]  # if its save is still due it asks at once
            turn.ask_again(member.job, member.now(now_s))
            member.wake()

    # --- Rates ------------------------------------------------------------------------------------

    def settle(self, now_s: float) -> None:
        """Share the links again, if flows have changed."""
        self._pass_turns(now_s)
        if not self._changed:
            return
        self._account(now_s)
        self._active |= self._changed
        self._changed = {}
        flows = [(member, *each) for member in self._active for each in member.flows()]
        self._active = dict.fromkeys(member for member, _, _ in flows)
        wanted = [sum(uses[link] * flow.limit for _, flow, uses in flows) for link in _SHARED]
        crowded = [link for link in _SHARED if wanted[link] > self.capacity[link]]
        if crowded or len(self._active) < len(flows):
            self._fill(flows, crowded)
        else:
            for _, flow, _ in flows:
                flow.taken_rate = flow.limit
        self._mark(flows, crowded)
        for member in dict.fromkeys(m for m, flow, _ in flows if flow.taken_rate != flow.rate):
            fabric.take_rates(member.job, member.now(now_s))
            member.wake()
        self._drawn = [sum(uses[link] * flow.rate for _, flow, uses in flows) for link in _SHARED]
        self._writing = [(m, flow.rate / flow.limit) for m, flow, uses in flows if uses[WRITE]]
        self._waiting = [0.0] * len(_SHARED)
        tightest = sorted(crowded, key=lambda link: self.capacity[link] / wanted[link])
        for _, flow, uses in flows:
            link = next((each for each in tightest if uses[each]), CORE)
            self._waiting[link] += 1 - flow.rate / flow.limit

    def _fill(self, flows: list[Any], crowded: list[int]) -> None:
        """Find the rates of flows where links are crowded, or a job's own may be."""
        count = dict[SharingJob, int]()
        for member, _, _ in flows:
            count[member] = count.get(member, 0) + 1
        several = [m for m, n in count.items() if n > 1 and m.job.plan.tight]
        first = {member: len(_SHARED) + i * len(_OWN) for i, member in enumerate(several)}
        capacity = [*self.capacity]
        for member in several:
            capacity += [member.job.plan.capacity[link] for link in _OWN]
        rows = []
        for member, flow, uses in flows:
            drawn = [*uses, *[0.0] * (len(capacity) - len(_SHARED))]
            if member in first:
                drawn[first[member] : first[member] + len(_OWN)] = [flow.uses[i] for i in _OWN]
            share = flow.share * (member.weight if uses[READ] else 1.0)
            rows.append(_Flow(flow.limit, share, drawn))
        run = SimpleNamespace(flows=len(rows), full_at=[0.0] * len(capacity))
        everyone: Any = SimpleNamespace(
            flows=rows, run=run, plan=SimpleNamespace(capacity=capacity)
        )
        links = [*crowded, *range(len(_SHARED), len(capacity))]
        fabric.fill(everyone, sum(1 << link for link in links))
        for (_, flow, _), row in zip(flows, rows, strict=True):
            flow.taken_rate = flow.limit if math.isnan(row.taken_rate) else row.taken_rate

    # --- Reports --------------------------------------------------------------------------------

    def _account(self, now_s: float) -> None:
        """Add what flows have moved since the last change."""
        for link in _SHARED:
            if self._drawn[link]:
                _add(self.moved[link], self._since_s, now_s, self._drawn[link])
        for member, share in self._writing:
            member.writing_s += now_s - self._since_s
            member.alone_s += share * (now_s - self._since_s)
        for link, crowd in self._crowded.items():
            crowd.cost_s += self._waiting[link] * (now_s - self._since_s)
        self._since_s = now_s

    def _mark(self, flows: list[Any], crowded: list[int]) -> None:
        """Note which links are crowded from now on, and by whom."""
        for link in [each for each in self._crowded if each not in crowded]:
            over = self._crowded.pop(link)
            over.to_s = self._since_s
            self.crowds.append(over)
        for link in crowded:
            crowd = self._crowded.setdefault(link, Crowd(NAMES[link], self._since_s))
            for member, flow, uses in flows:
                if uses[link]:
                    by = crowd.saves if uses[WRITE] else crowd.loads
                    by.setdefault(member.name, member.start_s + flow.opened_s)

    def end(self, now_s: float) -> None:
        """Close what is open, at the end of the simulation."""
        self._account(now_s)
        self._mark([], [])


@dataclass(slots=True)
class _Flow:
    """A flow as the machine's filling takes it."""

    limit: float
    share: float
    uses: list[float]
    linked: bool = True
    rises: bool = False
    taken_rate: float = math.nan


def _add(steps: list[float], from_s: float, to_s: float, rate: float) -> None:
    """Add what a rate moves from one instant to another to the steps of time that they lie in."""
    first, last = int(from_s // STEP_S), int(to_s // STEP_S)
    steps += [0.0] * (last + 1 - len(steps))
    for step in range(first, last + 1):
        begin_s, end_s = max(from_s, step * STEP_S), min(to_s, (step + 1) * STEP_S)
        steps[step] += rate * max(end_s - begin_s, 0.0)
