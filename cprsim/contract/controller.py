"""The controller of plans that are data: it asks the schedule functions of the machine."""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Values
from typing import Any

from cprsim.contract import actions
from cprsim.contract.pattern_rows import PatternRows, PatternTables
from cprsim.contract.plan import Differences, Schedule, every
from cprsim.job.severity import SEVERITIES
from cprsim.machine import differences, rules, schedules
from cprsim.machine.codes import DIFFERENCES, NONE, SAVING
from cprsim.machine.differences import ASKED, STORED, UNDER_WAY
from cprsim.machine.plan_rows import PlanRow
from cprsim.machine.rows import put
from cprsim.machine.run_rows import FlowRow, LinkRow, RunRow, TierRow


class ScheduledController:
    """Saves by schedules and their sequence, and answers losses by a rule.

    Every plan that is data has this controller. Its state is the rows that the machine has of a
    run, so the trainer and the simulator decide by the same functions.

    `on_notice`: the answer to notices of failures, if any. `own`: a controller of another package
    that decides everything but that answer.
    """

    __slots__ = ("_drained", "_job", "_loss", "_own", "_recover")

    def __init__(
        self,
        schedules: Values[Schedule],
        recover: Callable[[actions.Loss], actions.Recover],
        sequence: object = None,
        on_notice: actions.EmergencySave | actions.Draining | None = None,
        own: actions.Controller | None = None,
    ) -> None:
        self._recover, self._own = recover, own
        self._loss: actions.Loss | None = None
        self._drained: actions.Loss | None = None  # nodes that are to be
        self._job: Any = _started(_Job(schedules, sequence, on_notice))

    def tell(self, event: actions.Event) -> None:
        """Move the schedules on."""
        job = self._job
        job.run.now, job.run.progress_s = event.now
        match event:
            case actions.Saved():
                _saved(job, event.save, event.stored)
            case actions.Stored():
                schedules.landed(job, job.rows.tiers[event.save.tier], NONE)
                if job.plan.sequence == DIFFERENCES:
                    differences.count_written(job, event.save.writes, event.save.reads)
            case actions.Void():
                schedules.skip(job, job.rows.number_of_save(event.save))
            case actions.Failed():
                self._loss = event.loss
                job.run.failures += 1
                job.run.answered_down = len(event.loss.servers)
            case actions.Unusable():
                back = actions.Recover("all", source=event.tier)
                answer = job.rows.number_of_answer(back) if event.corrupt else NONE
                schedules.unusable(job, job.rows.tiers.get(event.tier, NONE), answer)
                if event.corrupt:
                    job.run.depth = rules.ALL
            case actions.Resumed():
                _resumed(job, event.pending, event.source)
            case actions.Notice():
                nodes, before_s = event.nodes, job.run.drain_by_s
                severity = SEVERITIES.index(nodes.severity)
                schedules.notice(job, event.deadline_s, nodes.nodes, event.ready, severity)
                if job.run.drain_by_s != before_s:
                    self._drained = nodes
        if self._own is not None and not isinstance(event, actions.Notice):
            self._own.tell(event)

    def ask(self, now: actions.Clock) -> actions.Action:
        """Answer notices; else recover after a failure, save when a save is due, or train."""
        job = self._job
        job.run.now, job.run.progress_s = now
        nodes, self._drained = self._drained, None
        deadline_s, saves = job.run.drain_by_s, schedules.saves_in_time(job)
        schedules.forget_notices(job)
        if nodes is not None:
            return actions.Drain(nodes, deadline_s, job.plan.drain_s)
        if saves:
            save: actions.Save = job.rows.saves[job.plan.emergency]
            return save
        action = self._next() if self._own is None else self._own.ask(now)
        if isinstance(action, actions.Recover):
            job.run.answered = job.rows.number_of_answer(action)
            job.run.source = job.answers[job.run.answered].source
            if action.rollback == "all":
                job.run.depth = rules.ALL
        return action

    def _next(self) -> actions.Action:
        job, loss = self._job, self._loss
        if loss is not None:
            self._loss, chosen = None, job.run.chosen
            return self._recover(loss) if chosen == NONE else job.rows.answers[chosen]
        number = schedules.ask(job)
        if number == NONE:
            return actions.Train(job.run.train_to_s)
        return _difference(job) if job.plan.sequence == DIFFERENCES else job.rows.saves[number]


def saves_of(sequence: Differences, at_s: Iterable[float]) -> Iterator[actions.Save]:
    """Yield the saves at these progresses of a run without failures, in useful seconds."""
    job: Any = _Job(every(sequence.interval_s), sequence)
    for progress_s in at_s:
        job.run.progress_s = progress_s
        differences.ask_link(job)
        put(job.links, STORED, job.links[ASKED])
        yield _difference(job)


class _Job(PatternTables):
    """The rows that schedule functions read of a run, as in `cprsim.machine.rows.Running`."""

    def __init__(
        self,
        saved_by: Values[Schedule],
        sequence: object,
        on_notice: actions.EmergencySave | actions.Draining | None = None,
    ) -> None:
        super().__init__()
        self.rows, self.sequence = PatternRows(self, saved_by, sequence), sequence
        columns = self.rows.columns() | self.rows.notice_columns(on_notice)
        self.plan, self.run = PlanRow(**columns), RunRow()
        self.tiers = [TierRow() for _ in range(max(len(saved_by), 1))]
        self.links = [LinkRow() for _ in range(3)]
        self.flows: list[FlowRow] = []


def _started(job: Any) -> Any:
    schedules.start(job)
    schedules.forget_notices(job)
    job.run.answered = job.rows.number_of_answer(actions.Recover("all"))
    return job


def _difference(job: Any) -> actions.Save:
    """Return the save of link `ASKED`."""
    sequence, link = job.sequence, job.links[ASKED]
    return actions.Save(
        job.rows.saves[job.schedules[0].save].tier,
        blocking=False,
        writes=link.writes,
        reads=link.reads,
        since=sequence.since if link.diffs else None,
        bits=sequence.bits,
    )


def _saved(job: Any, save: actions.Save, stored: bool) -> None:
    link = job.links[ASKED]
    if link.has_link and link.taken_s == job.run.progress_s and save == _difference(job):
        schedules.saved(job, job.schedules[0].save, stored)
    else:
        schedules.saved(job, job.rows.number_of_save(save), stored)
        job.links[STORED if stored else UNDER_WAY].writes = save.writes


def _resumed(job: Any, pending: Iterable[actions.Save], source: str | None) -> None:
    numbers = map(job.rows.number_of_save, pending)
    job.flows = [FlowRow(kind=SAVING, save=number) for number in numbers]
    job.run.flows = len(job.flows)
    if source is None:
        schedules.resume(job, job.run.depth == rules.ALL)
    else:
        schedules.handed_over(job, job.rows.tiers.get(source, NONE))
    job.run.depth = rules.NO_ROLLBACK
    stored = job.links[STORED]
    # A trainer may return the job further than the last save, which differences build on.
    if job.run.progress_s < stored.taken_s * (1 - rules.ROUNDING):
        stored.has_link = False
