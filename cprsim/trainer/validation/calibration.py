"""The times of training, saves and recoveries on this machine, measured in short real runs.

A policy is rehearsed on the scenario's model, servers and samples, with saves at its own intervals,
and processes that are really killed as often as medians need.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Loss, Plan
from cprsim.errors import RunError
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.hooks.running_job import steps_to
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, train

#: What a recovery takes.
RECOVERY = ("detect", "reschedule", "load")
#: What fails where nothing else is said.
ONE_SERVER = Hit((0,), ())
#: Failures of a rehearsal, each after two saves, or after so many steps if that is longer.
_STRIKES, _MOST_BETWEEN = 12, 60
#: Steps between failures at least, and saves in a rehearsal at least.
_FEWEST_BETWEEN, _SAVES = 10, 4


@dataclass(frozen=True)
class Calibration:
    """The measurements of one policy's rehearsals, s: medians, of several rehearsals those of all.

    `step_s`: of a step of training. `save_s`: the delay of training by a save, in the background
    as well. Of saves of chosen rows it is a mean, since stores merge such saves now and then;
    `rows` is how many the fullest server saves. `load_s`: of failures of servers; `load_trainer_s`:
    of the trainer alone. `reschedule_s` and `detect_s`: of all. Failures weigh as in the job.
    """

    step_s: float
    save_s: float
    load_s: float
    reschedule_s: float
    detect_s: float
    load_trainer_s: float = 0.0
    rows: float | None = None


def kinds(hits: Iterable[Hit]) -> list[int]:
    """Return the numbers of servers that fail at once, each once; 0 if only the trainer does."""
    return sorted({len(hit.servers) for hit in hits})


def lost(servers: int) -> Loss:
    """The first of them are."""
    return Loss(frozenset(range(servers)), frozenset())


def period_of(plan: Plan, step_s: float) -> int | None:
    """Steps from one save to the next, as the trainer has it; None if there are no saves."""
    period_s = plan.schedules[0].period_s
    return None if period_s == float("inf") else steps_to(period_s, step_s)


def at_interval(policy: Mapping[str, Any], plan: Plan, period_s: float) -> dict[str, Any]:
    """The policy with a save every `period_s`, as its plan has them elsewhere."""
    interval = format_exact(period_s / plan.schedules[0].save.portion, SECONDS)
    if plan.recovery == "full" and plan.schedules[0].save.blocking:
        return {"system": "full", "interval": interval}  # what CPR decides where partial won't pay
    return {**policy, "interval": interval}


class Rehearsal:
    """A short job of one policy, saving as often as its plan, with failures of all kinds of a job.

    `hits`: the job's failures. `steps`: of the rehearsal. `ran`: what came of each repeat.
    """

    def __init__(
        self,
        scenario: Scenario,
        section: TrainerSection,
        policy: str,
        plan: Plan,
        hits: Sequence[Hit],
    ) -> None:
        self._section, self._policy, self.plan, self._hits = section, policy, plan, hits
        self._servers = scenario.cluster.parameter_servers
        self._step_s = scenario.job.useful_time_s / section.data(scenario, seed=0).steps
        period = period_of(plan, self._step_s) or 0
        self._between = max(min(2 * period + 1, _MOST_BETWEEN), _FEWEST_BETWEEN)
        self.steps = max(_STRIKES * self._between, _SAVES * period) + 1
        self.ran: list[Trained] = []
        mapping = scenario.mapping()
        mapping["job"] |= {
            "useful_time": f"{self.steps * self._step_s!r} s",
            "samples": self.steps * section.batch,
            "final_save": False,
        }
        period_s = (period or self.steps + 1) * self._step_s
        mapping["policies"] = {policy: at_interval(mapping["policies"][policy], plan, period_s)}
        self._scenario = Scenario(**mapping)

    @property
    def _struck(self) -> list[Hit]:
        """Each kind of failure in turn, then with the next server."""
        found, each = [], kinds(self._hits)
        for number in range(_STRIKES):
            first, kind = divmod(number, len(each))
            at_once = range(first, first + min(each[kind], self._servers))
            servers = tuple(server % self._servers for server in at_once)
            found.append(Hit(servers, () if servers else (0,)))
        return found

    def carry_out(self, progress: Progress | None = None) -> None:
        """Carry it out once more, on the samples of seed 0. `progress`: as in `train`.

        Raises
        ------
        RunError
            If processes were lost that no failure had struck.
        """
        times_s = [((each + 1) * self._between + 0.5) * self._step_s for each in range(_STRIKES)]
        timeline = AbsoluteTimeline(times_s, self._struck)
        ran = train(self._scenario, self._section, self._policy, 0, progress, timeline)
        if silent := ran.replaced - ran.struck:
            raise RunError(
                f"{silent} members were silent for too long in the rehearsal, which "
                "spoils it; try again on a quieter machine, or give them longer, e.g. "
                'answer = "10 s" in [trainer]'
            )
        self.ran.append(ran)

    def measured(self) -> Calibration:
        """Return the measurements of all repeats."""
        steps_s = [(run.seconds["train"] + run.seconds["lost"]) / run.executed for run in self.ran]
        rows = None
        if self.plan.tracking is not None:  # of the server that saves most of them
            rows = max(map(fmean, self.ran[0].saved_rows.values()), default=0.0)
        return Calibration(
            step_s=median(steps_s),
            save_s=median(self._save_s(run) for run in self.ran),
            load_s=self._of_failures("load", [hit for hit in self._hits if hit.servers]),
            reschedule_s=self._of_failures("reschedule", self._hits),
            detect_s=self._of_failures("detect", self._hits),
            load_trainer_s=self._of_failures(
                "load", [hit for hit in self._hits if not hit.servers]
            ),
            rows=rows,
        )

    def _save_s(self, run: Trained) -> float:
        cause = "save" if self.plan.schedules[0].save.blocking else "stall"
        took_s = [span.lasted_s for span in run.spans if span.cause == cause]
        if not took_s:
            return 0.0
        return fmean(took_s) if self.plan.tracking is not None else median(took_s)

    def _of_failures(self, cause: str, hits: Sequence[Hit]) -> float:
        """The mean over failures like these, of each kind the median."""
        took_s: dict[int, list[float]] = {}
        for run in self.ran:
            for hit, seconds in zip(self._struck, _recoveries(run), strict=False):
                took_s.setdefault(len(hit.servers), []).append(seconds[cause])
        each_s = {kind: median(of_kind) for kind, of_kind in took_s.items()}
        found = [each_s[min(len(hit.servers), self._servers)] for hit in hits]
        return fmean(found) if found else 0.0


def _recoveries(run: Trained) -> list[Counter[str]]:
    """Return the seconds of each failure, by cause."""
    found: list[Counter[str]] = []
    recovering = False
    for span in run.spans:
        if span.cause == "detect" and not recovering:
            found.append(Counter())
            recovering = True
        if recovering and span.cause in RECOVERY:
            found[-1][span.cause] += span.lasted_s  # type: ignore[assignment]
        recovering &= span.cause != "train"
    return found


def of_job(scenario: Scenario, seed: int) -> list[Hit]:
    """Return the failures of a job that only trains; that of a server if it has none."""
    cursor, found = cursor_of(scenario.failure_model.timeline(seed, 0)), []
    while cursor.next_s < scenario.job.useful_time_s:
        now_s, hit = cursor.next_s, cursor.strike()
        found.append(hit)
        cursor.replace(hit, now_s)
        cursor.resume(now_s)
    return found or [ONE_SERVER]
