"""What training, saves and recoveries take on this machine, measured in short real runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from cprsim.basics.owned import owned_folder
from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Plan
from cprsim.errors import RunError
from cprsim.failures.hit import Hit
from cprsim.job.costs import GATHERED
from cprsim.rows.trackers.contract import TrackerName
from cprsim.scenario import Scenario
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, carry_out
from cprsim.trainer.validation.appended import ReadingTime
from cprsim.trainer.validation.longness import USUAL, longness
from cprsim.trainer.validation.rehearsal import (
    ONE_SERVER,
    Rehearsal,
    rehearsal,
    rehearsal_of,
    strikes,
    struck,
    trains_beside,
)
from cprsim.trainer.validation.rehearsed import RehearsalTimes

#: What isn't of the block `[costs]`.
_OF_TRAINING = (
    *("step_s", "slow_s", "stretch_s", "resumed_s", "warm_s"),
    *("new_s", "long_s", "stall_s", "beside_s", "load_trainer_s"),
)
#: Of each rehearsal, and of each with saves of chosen rows.
_OF_ALL = (
    *_OF_TRAINING,
    *("save_s", "load_full_s", "load_partial_s", "reschedule_s", "detect_s"),
)
#: What has another name for people.
_TOLD = {
    "gather_s": "gather of a million rows",
    "row_s": "each row",
    "slow_s": "slow first steps",
    "new_s": "more for each new server",
    "long_s": "more after a longer stretch",
    "append_row_s": "each row that is read",
}
#: What isn't of the block `[costs]` either: it says the same by other words.
_OF_CHOSEN = ("chosen_s", "row_s", "merge_s", "appended_s", "append_s", "append_row_s")
_OF_ROWS = (*_OF_CHOSEN, "gather_s")


@dataclass(frozen=True)
class Calibration:
    """What was measured, s: medians over the repeats, and what each cause adds to them.

    `step_s`: of a step of training, late in a stretch. A stretch takes `stretch_s` longer, or
    `resumed_s` if it follows a recovery, and `warm_s` more if it is the first of all, and `slow_s`
    times its `longness`. Saves are of servers that aren't new, after `USUAL` steps; they take
    `long_s` longer for each 1 of `longness`, and `new_s` for each new server, a third as much in
    its next save, and so on (`Newness`). `stall_s`: of a save in the background. `beside_s`: of a
    load that training goes on beside, but for being pinned to steps. `load_trainer_s`: of a load
    by the trainer alone, of its dense part.

    `chosen_s`: of a save of chosen rows, `row_s` more for each row. `select_s`: what each tracker
    takes to choose rows. A load takes `appended_s` longer if it reads any file of chosen rows,
    `append_s` for each, and `append_row_s` for each of their rows. Where servers merge what was
    appended a save takes `merge_s` and what is read of such files longer, more where they are more
    than there are cores.

    The others are those of a scenario's `[costs]`: `gather_s` for a million rows.
    """

    step_s: float
    save_s: float
    load_full_s: float
    load_partial_s: float
    reschedule_s: float
    detect_s: float
    gather_s: float = 0.0
    appended_s: float = 0.0
    append_s: float = 0.0
    append_row_s: float = 0.0
    chosen_s: float = 0.0
    row_s: float = 0.0
    merge_s: float = 0.0
    slow_s: float = 0.0
    stretch_s: float = 0.0
    resumed_s: float = 0.0
    warm_s: float = 0.0
    new_s: float = 0.0
    long_s: float = 0.0
    stall_s: float = 0.0
    beside_s: float = 0.0
    load_trainer_s: float = 0.0
    select_s: dict[TrackerName, float] = field(default_factory=dict)

    def save_fixed_s(self, tracker: TrackerName, rows: float, share: float) -> float:
        """What a save of so many rows takes beside choosing and collecting them and their bytes.

        `share`: of all rows of a server, whose bytes are charged as those of a save of everything.
        """
        others_s = self.select_s[tracker] + self.gather_s * rows / GATHERED + self.save_s * share
        return max(self.chosen_s + self.row_s * rows - others_s, 0.0)

    @property
    def usual_step_s(self) -> float:
        """Of a step with its share of what a stretch of `USUAL` steps takes beside them."""
        beside_s = self.stretch_s + self.slow_s * longness(USUAL)
        return self.step_s + beside_s / USUAL

    @property
    def reading(self) -> ReadingTime:
        """What appended files take to be read."""
        return ReadingTime(self.appended_s, self.append_s, self.append_row_s)

    @property
    def costs(self) -> dict[str, str]:
        """The block `[costs]`."""
        return {
            name.removesuffix("_s"): format_exact(value, SECONDS)
            for name, value in vars(self).items()
            if name not in (*_OF_TRAINING, *_OF_CHOSEN, "select_s")
        }

    def told(self) -> dict[str, float]:
        """What was measured and takes any time, by name, without units."""
        told = {f"select {name}": value_s for name, value_s in self.select_s.items()}
        for name, value_s in vars(self).items():
            if name != "select_s":
                told[_TOLD.get(name, name.removesuffix("_s").replace("_", " "))] = value_s
        return {name: value_s for name, value_s in told.items() if value_s}


def rehearse(
    scenario: Scenario,
    section: TrainerSection,
    plan: Rehearsal,
    progress: Progress | None = None,
    hits: Sequence[Hit] = (ONE_SERVER,),
) -> Trained:
    """Carry out one of `rehearsals` once, on the scenario's model and servers.

    Its policies, failures and costs are not looked at, and the samples are those of seed 0: so what
    is `rehearsed_of` is the same in several scenarios. `progress`: as in `train`. `hits`: who fails
    at once in the job; each of their `kinds` is rehearsed.

    Raises
    ------
    RunError
        If members were lost that nobody had struck.
    """
    with owned_folder() as folder:
        log = folder / "strikes.csv"
        log.write_text(_strikes(plan, scenario.cluster.parameter_servers, hits))
        failures = {"trace": str(log), "while_waiting": False}
        rehearsed = Scenario(**rehearsed_of(scenario, section, plan), failures=failures)
        ran = carry_out(rehearsed, section, "rehearsal", plan, 0, progress)
    if silent := ran.replaced - ran.struck:
        raise RunError(
            f"{silent} members were silent for too long in the rehearsal, which "
            'spoils it; try again on a quieter machine, or give them longer, e.g. answer = "10 s" '
            "in [trainer]"
        )
    return ran


def rehearsals(plans: Mapping[str, Plan]) -> list[tuple[Rehearsal, list[str]]]:
    """What is rehearsed, and for whom: those that wait for saves share one if their trackers do."""
    waiting: dict[str | None, tuple[Rehearsal, list[str]]] = {}
    beside = []
    for name, plan in plans.items():
        if trains_beside(plan):
            beside.append((rehearsal_of(plan), [name]))
            continue
        tracker = None if plan.tracking is None else plan.tracking.tracker
        _, names = waiting.setdefault(tracker, (rehearsal(plan.tracking), []))
        names.append(name)
    return [*waiting.values(), *beside]


def measured(
    ran: Sequence[Trained], plan: Rehearsal, scenario: Scenario, hits: Sequence[Hit] = (ONE_SERVER,)
) -> Calibration:
    """What a rehearsal on the scenario's model and servers has measured.

    Recoveries are those of failures like the job's, in the mean.

    Parameters
    ----------
    ran
        All repeats of it.
    plan, scenario, hits
        As they were carried out.
    """
    servers, tracking = scenario.cluster.parameter_servers, plan.tracking
    found: dict[str, Any] = dict(RehearsalTimes(ran, plan, servers, hits).seconds())
    if tracking is not None:
        found["select_s"] = {tracking.tracker: found["select_s"]}
    return Calibration(**found)


def averaged(calibrations: Sequence[Calibration]) -> Calibration:
    """One for all: means of what each has measured, and what each tracker takes to choose rows."""
    of_rows = [each for each in calibrations if each.select_s]
    return Calibration(
        **{name: fmean(getattr(each, name) for each in calibrations) for name in _OF_ALL},
        **{name: fmean(getattr(each, name) for each in of_rows) for name in _OF_ROWS if of_rows},
        select_s={name: took_s for each in of_rows for name, took_s in each.select_s.items()},
    )


def rehearsed_of(scenario: Scenario, section: TrainerSection, plan: Rehearsal) -> dict[str, Any]:
    """All but the failures of a scenario of as many steps of a second as the script has."""
    mapping, steps = scenario.mapping(), plan.steps
    mapping["job"] |= {"useful_time": f"{steps} s", "samples": steps * section.batch}
    mapping["job"]["final_save"] = False
    for unused in ("failures", "accuracy", "prices"):
        mapping.pop(unused, None)
    return mapping | {
        "title": "rehearsal",
        "costs": {"save": "0 s", "load": "0 s"},
        "policies": {"full": {"system": "full", "interval": "1 s"}},
    }


def _strikes(plan: Rehearsal, servers: int, hits: Sequence[Hit]) -> str:
    """Its failures, as a log."""
    rows = [
        f"{strike.executed + 0.5},{node}"
        for number, strike in enumerate(strikes(plan.script))
        for node in struck(number, servers, hits).nodes(servers)
    ]
    return "\n".join(["time_s,node", *rows, ""])
