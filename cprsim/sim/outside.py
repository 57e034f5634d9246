"""Calls from the machine to observers, to a user's controller, and to errors."""

from typing import Any, NoReturn

from numpy.random import Generator

from cprsim.basics.units import counted, format_percent
from cprsim.contract import actions
from cprsim.contract.checks import answer_flaw, save_flaw
from cprsim.errors import NowhereError, RunError
from cprsim.failures.hits import Hit
from cprsim.job.severity import SEVERITIES
from cprsim.machine import attempts, codes, phases, save, turn
from cprsim.machine.node_lists import COUNT, FIRST, SEVERITY, STRUCK
from cprsim.machine.work import wait
from cprsim.sim.cursor import cursor_of
from cprsim.sim.observer import BackgroundTask, Observer
from cprsim.sim.run_draws import RunDraws
from cprsim.sim.tables import PlanRows

#: Kinds of background tasks for observers, by kind of flow.
_KINDS = {
    codes.SAVING: "save",
    codes.REPLACING: "reschedule",
    codes.FILLING: "load",
}
_WAYS_OUT = {
    codes.TOO_MANY: "make failures rarer or saves cheaper",
    codes.TOO_RARELY_SAVED: "save more often, or make failures rarer or saves cheaper",
    codes.TOO_OFTEN_SAVED: "save less often",
    codes.ONLY_SAVES: "it only saves; give a longer interval",
    codes.WASTED: "make saves and loads fail less often, or outages shorter or rarer",
    codes.CORRUPT: "verify more often, or make silent faults rarer",
    codes.DRAINED_FOR_NOTHING: "make false alarms rarer, or give a shorter costs.drain",
    codes.HELD_SHORTLY: "make failures rarer",
}
#: Requests in a row for almost no training, after which a job won't end. A schedule may have ten
#: million saves in a job: its steps are a hundred times longer than `_TINY`.
MOST_TINY_STEPS = 100_000
_TINY = 1e-9


class Outside:
    """Passes events of one run to its observer, and raises its errors."""

    def __init__(self, rows: PlanRows) -> None:
        self._rows = rows
        self.job: Any = None
        self.observer: Observer | None = None
        self.member: Any = None  # of a cluster (`cprsim.clusters.links`), for a job in one

    def begin(self, draws: RunDraws, observer: Observer | None) -> None:
        """Begin another run."""
        self.draws, self.observer = draws, observer

    # --- Other jobs ------------------------------------------------------------------------------

    def share_out(self) -> None:
        """Report that flows of the job have begun or ended, on links that other jobs share."""
        self.member.changed()

    def must_wait(self, number: int) -> bool:
        """Return whether a save has to wait for those of other jobs."""
        return bool(self.member.must_wait(self.job.saves[number]))

    # --- Observers -------------------------------------------------------------------------------

    def span(self, cause: int, start_s: float, end_s: float) -> None:
        """Report seconds charged to a cause."""
        if self.observer is not None:
            self.observer.span(codes.CAUSE_NAMES[cause], start_s, end_s)

    def slowed(self, by_s: float) -> None:
        """Report by how many seconds the training of the last span was slowed down."""
        if self.observer is not None:
            self.observer.slowed(by_s)

    def failure(self) -> None:
        """Report a failure at this instant."""
        if self.observer is not None:
            self.observer.failure(self.job.run.now, self._hit(STRUCK))
            cause = self.draws.cause(self.job.run.last_struck)
            self.observer.struck(cause, self.job.run.updates_lost)

    def answered(self, answer: int) -> None:
        """Report the answer to the last failure, or to a silent fault."""
        if self.observer is not None:
            run = self.job.run
            self.observer.answered(self._rows.answers[answer], run.progress_s, run.slowdown_s)

    def ended(self, flow: Any, completed: bool) -> None:
        """Report a flow that ends or is abandoned."""
        if self.observer is None or flow.kind not in _KINDS:
            return
        kind: Any = _KINDS[flow.kind]
        if flow.kind == codes.SAVING:
            task = BackgroundTask(kind, self._rows.saves[flow.save].tier)
        else:
            down = self._loss(flow.down)
            source = self._rows.answers[flow.answer].source
            task = BackgroundTask(kind, source, down.servers, down.trainers)
        self.observer.background(task, flow.opened_s, self.job.run.now, completed)

    # --- Errors ----------------------------------------------------------------------------------

    def given_up(self, why: int) -> NoReturn:
        """Raise the error of a run that makes no progress, or that needs a missing cost or tier."""
        if why == codes.NO_TIER:
            self._check_tier(self._rows.plan.last_save)
        if why == codes.NO_LOAD:
            for answer in self._rows.answers:
                self._rows.load(answer, self._rows.servers)
        if why == codes.HELD_SHORTLY and self.job.plan.allocated:
            raise self._nowhere(f"give a longer job.allocation, or {_WAYS_OUT[why]}")
        raise self._nowhere(_WAYS_OUT[why])

    def _check_tier(self, asked: actions.Save) -> None:
        if asked.tier not in self._rows.tiers:
            raise RunError(
                f"policy {self._rows.policy!r}: {asked} is to a tier that its plan has no schedule "
                "for"
            )

    def _nowhere(self, way_out: str) -> NowhereError:
        run, policy = self.job.run, self._rows.policy
        useful_s = self.job.plan.useful_s
        done = format_percent(round(run.progress_s / useful_s, 3))
        return NowhereError(
            f"policy {policy!r}: the job gets nowhere: {run.now / useful_s:.3g} times its useful "
            f"time is over, with {run.failures:,} failures, and {done} of it done; {way_out}",
            policy,
        )

    # --- Nodes -----------------------------------------------------------------------------------

    def _hit(self, number: int) -> Hit:
        row = self.job.lists[number]
        hit = Hit.of(row[FIRST : FIRST + row[COUNT]], self._rows.servers)
        return hit._replace(severity=SEVERITIES[row[SEVERITY]])

    def _loss(self, number: int) -> actions.Loss:
        hit = self._hit(number)
        return actions.Loss(frozenset(hit.servers), frozenset(hit.trainers), hit.severity)

    # --- Timelines of other kinds ----------------------------------------------------------------

    def begin_failures(self) -> None:
        """Start a timeline of another kind, with the job running."""
        self._cursor = cursor_of(self.draws.timeline)
        self._follow()

    def look_ahead(self) -> None:
        """List the nodes that the next failure will hit."""
        self._list(self._cursor.ahead())

    def strike(self) -> None:
        """List the nodes hit by the failure at this instant."""
        self._list(self._cursor.strike())
        # Which of its failures this was; a cursor of a user's own has no causes to look up.
        self.job.run.last_struck = getattr(self._cursor, "struck", 0)
        self._follow()

    def replace(self, number: int) -> None:
        """Place new nodes in the places of a list."""
        self._cursor.replace(self._hit(number), self.job.run.now)
        self._follow()

    def resume(self) -> None:
        """Let failures strike again."""
        self._cursor.resume(self.job.run.now)
        self._follow()

    def pause(self) -> None:
        """Stop failures, as the job has no nodes."""
        self._cursor.pause(self.job.run.now)
        self._follow()

    def go_on(self) -> None:
        """Let failures strike again after a pause."""
        self._cursor.go_on(self.job.run.now)
        self._follow()

    def _follow(self) -> None:
        self.job.run.next_s = self._cursor.next_s
        self.job.run.absorbed = self._cursor.absorbed

    def _list(self, hit: Hit) -> None:
        """List the nodes of a hit in `STRUCK`."""
        struck, nodes = self.job.lists[STRUCK], hit.nodes(self._rows.servers)
        struck[COUNT], struck[SEVERITY] = len(nodes), SEVERITIES.index(hit.severity)
        struck[FIRST : FIRST + len(nodes)] = nodes


class OwnController(Outside):
    """Also passes events to a user's controller, rule for losses or sequence of saves."""

    def begin(self, draws: RunDraws, observer: Observer | None) -> None:
        """Begin another run, with a new controller."""
        super().begin(draws, observer)
        self._controller = self._rows.plan.start()
        self._tiny_steps = 0
        self._answer, self._is_by_rule = 0, True
        self._alarm_rng: Generator | None = None
        self._alarm_nodes: list[int] = []

    def now(self) -> actions.Clock:
        """Return the wall clock and progress, in seconds."""
        return actions.Clock(self.job.run.now, self.job.run.progress_s)

    def decide(self) -> None:
        """Ask the controller for its next action, and begin it."""
        action = self._controller.ask(self.now())
        if type(action) is actions.Train:
            self._train(action.until_s)
        elif type(action) is actions.Save:
            flaw = save_flaw(action, self._rows.plan)
            if flaw:
                raise RunError(
                    f"policy {self._rows.policy!r}: its controller requested a save {flaw}"
                )
            self._check_tier(action)
            self.job.make_room()  # it may begin many saves at one instant
            save.save(self.job, self._rows.number_of_save(action))
        elif type(action) is actions.Drain:
            self._drain(action)
        else:
            raise RunError(
                f"policy {self._rows.policy!r}: nothing has failed, but its controller "
                f"answered {action}"
            )

    def _train(self, until_s: float) -> None:
        run, plan = self.job.run, self.job.plan
        if until_s - run.progress_s > _TINY * plan.useful_s:
            self._tiny_steps = 0
        else:
            self._tiny_steps += 1
            if self._tiny_steps > MOST_TINY_STEPS:
                raise self._nowhere(
                    f"its controller asked {self._tiny_steps:,} times for less than a billionth "
                    "of it; ask for longer training"
                )
        if not (until_s >= plan.nearly_done_s or until_s > run.progress_s):
            raise RunError(f"the controller asked to train until {until_s} s, which is not ahead")
        turn.train(self.job, until_s)

    def _drain(self, drain: actions.Drain) -> None:
        run, nodes = self.job.run, drain.nodes
        ready = attempts.spares_ready(self.job)
        if not nodes.drains_to(ready):
            spares = counted(ready, "spare machine")
            raise RunError(f"{counted(nodes.nodes, 'node')} can't be drained to {spares}")
        attempts.count_wasted(self.job, codes.DRAINED_FOR_NOTHING)
        run.drain_by_s, run.drained_nodes = drain.deadline_s, nodes.nodes
        wait(self.job, phases.DRAINING, drain.takes_s)

    def answer(self, down: int) -> int:
        """Ask the controller for its answer to a failure; return the number of the answer."""
        loss = self._loss(down)
        self._controller.tell(actions.Failed(self.now(), loss))
        answer: Any = self._controller.ask(self.now())
        flaw = answer_flaw(answer, loss, self._rows.plan)
        if flaw:
            raise RunError(
                f"policy {self._rows.policy!r}: its controller answered a failure {flaw}"
            )
        if answer.keep_training:
            self._is_by_rule = answer.degraded == self._rows.plan.recover(loss).degraded
        self._answer = self._rows.number_of_answer(answer)
        return self._answer

    def by_rule(self, down: int) -> int:
        """Return the answer of the plan's rule, or the controller's where it differs."""
        if not self._is_by_rule:
            return self._answer
        return self._rows.number_of_answer(self._rows.plan.recover(self._loss(down)))

    def saved(self, number: int, stored: bool) -> None:
        """Report to the controller that training resumes after a save."""
        self._controller.tell(actions.Saved(self.now(), self._rows.saves[number], stored))

    def landed(self, number: int) -> None:
        """Report to the controller that a background save is stored."""
        self._controller.tell(actions.Stored(self.now(), self._rows.saves[number]))

    def skipped(self, number: int) -> None:
        """Report to the controller that a save has failed."""
        self._controller.tell(actions.Void(self.now(), self._rows.saves[number]))

    def unusable(self, tier: int, corrupt: bool) -> None:
        """Report to the controller that a tier's last checkpoint can't be returned to."""
        names = [each.save.tier for each in self._rows.plan.schedules]
        name = names[tier] if tier != codes.NONE else self._rows.plan.tiers[-1].name
        self._controller.tell(actions.Unusable(self.now(), name, corrupt))

    def resumed(self, tier: int, anew: bool) -> None:
        """Report to the controller that training resumes.

        `anew`: in another allocation, from the save in `tier`.
        """
        flows, count = self.job.flows, self.job.run.flows
        pending = [self._rows.saves[f.save] for f in flows[:count] if f.kind == codes.SAVING]
        source = self._rows.plan.schedules[tier].save.tier if anew and tier >= 0 else None
        self._controller.tell(actions.Resumed(self.now(), () if anew else tuple(pending), source))

    def noticed(self, deadline_s: float, alarm: int) -> None:
        """Report a notice: of the failure in `STRUCK`, or of false alarm number `alarm`."""
        if alarm == codes.NONE:
            loss = self._loss(STRUCK)
        else:
            rng = self._alarm_rng = self._alarm_rng or self.draws.alarm_rng()
            while alarm >= len(self._alarm_nodes):
                self._alarm_nodes.append(int(rng.integers(self._rows.nodes)))
            hit = Hit.of([self._alarm_nodes[alarm]], self._rows.servers)
            loss = actions.Loss(frozenset(hit.servers), frozenset(hit.trainers))
        ready = attempts.spares_ready(self.job)
        self._controller.tell(actions.Notice(self.now(), deadline_s, loss, ready))
