"""What training, saves and recoveries take on this machine, measured in short real runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from cprsim.basics.owned import owned_folder
from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Tracking
from cprsim.errors import RunError
from cprsim.rows.trackers.contract import TrackerName
from cprsim.scenario import Scenario
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, carry_out
from cprsim.trainer.validation.rehearsal import Rehearsal, first_struck, rehearsal, strikes
from cprsim.trainer.validation.rehearsed import RehearsalTimes

#: What isn't of the block `[costs]`.
_OF_TRAINING = ("step_s", "stretch_s", "struck_s", "resumed_s", "stall_s", "beside_s")
#: Of each rehearsal, and of each with saves of chosen rows.
_OF_ALL = (
    *_OF_TRAINING,
    *("save_s", "load_full_s", "load_partial_s", "reschedule_s", "detect_s"),
)
_OF_ROWS = ("gather_s", "save_fixed_s", "append_s")


@dataclass(frozen=True)
class Calibration:
    """Medians, or lower quantiles, of what was measured, s.

    `step_s`: of a step of training. A stretch of steps takes `stretch_s` longer, `struck_s` more if
    it ends in a failure, `resumed_s` more if it follows a recovery. `stall_s`: of a save in the
    background. `beside_s`: of a load that training goes on beside, but for being pinned to steps.
    `select_s`: what each tracker takes to choose rows.

    The others are those of a scenario's `[costs]`: `gather_s` for a million rows, `save_fixed_s`
    what saves of chosen rows take besides, `append_s` what each of them adds to a load.
    """

    step_s: float
    save_s: float
    load_full_s: float
    load_partial_s: float
    reschedule_s: float
    detect_s: float
    gather_s: float = 0.0
    save_fixed_s: float = 0.0
    append_s: float = 0.0
    stretch_s: float = 0.0
    struck_s: float = 0.0
    resumed_s: float = 0.0
    stall_s: float = 0.0
    beside_s: float = 0.0
    select_s: dict[TrackerName, float] = field(default_factory=dict)

    @property
    def costs(self) -> dict[str, str]:
        """The block `[costs]`."""
        return {
            name.removesuffix("_s"): format_exact(value, SECONDS)
            for name, value in vars(self).items()
            if name not in (*_OF_TRAINING, "select_s")
        }

    def told(self) -> dict[str, float]:
        """What was measured, by name, without units."""
        of_trackers = {f"select {name}": value_s for name, value_s in self.select_s.items()}
        others = {name: value_s for name, value_s in vars(self).items() if name != "select_s"}
        return {
            name.removesuffix("_s").replace("_", " "): value_s for name, value_s in others.items()
        } | of_trackers


def calibrate(
    scenario: Scenario,
    section: TrainerSection,
    plans: Sequence[Rehearsal],
    seed: int = 0,
    progress: Progress | None = None,
    level: float = 0.5,
    hit: int = 1,
) -> Calibration:
    """Rehearse on the scenario's model, servers and samples, and measure.

    Parameters
    ----------
    scenario, section
        Their policies, failures and costs are not looked at.
    plans
        Those of `rehearsals`, or one of `rehearsal_of`.
    seed, progress
        As in `train`; steps are those of all rehearsals.
    level
        The quantile of all that takes the same each time; the median by default.
    hit
        Servers that fail at once.
    """
    total, done, ran = sum(plan.steps for plan in plans), 0, []
    for plan in plans:
        with owned_folder() as folder:
            rehearsed = Scenario(**_mapping(scenario, section, plan, folder, hit))
            part = progress_part(progress, done, total)
            ran.append(carry_out(rehearsed, section, "rehearsal", plan, seed, part))
        done += plan.steps
    return measured(list(zip(ran, plans, strict=True)), scenario, level)


def rehearsals(trackings: Sequence[Tracking]) -> list[Rehearsal]:
    """One for each tracker, or one without."""
    return [rehearsal(each) for each in trackings] or [rehearsal(None)]


def progress_part(progress: Progress | None, before: int, total: int) -> Progress:
    """Tells of the steps of one run as of `total`, of which others have done `before`."""

    def tell(done: int, _steps: int) -> None:
        if progress is not None:
            progress(before + done, total)

    return tell


def measured(
    rehearsed: Sequence[tuple[Trained, Rehearsal]], scenario: Scenario, level: float = 0.5
) -> Calibration:
    """What rehearsals on the scenario's model and servers have measured; `level` as before.

    Raises
    ------
    RunError
        If members were lost that nobody had struck.
    """
    silent = sum(ran.replaced - ran.struck for ran, _ in rehearsed)
    if silent > 0:
        raise RunError(
            f"{silent} members were silent for too long in the rehearsal, which "
            'spoils it; try again on a quieter machine, or give them longer, e.g. answer = "10 s" '
            "in [trainer]"
        )
    servers = scenario.cluster.parameter_servers
    found = [RehearsalTimes(ran, plan, level, servers) for ran, plan in rehearsed]
    causes = {name: fmean(getattr(each, name) for each in found) for name in _OF_ALL}
    of_rows = [each for each in found if each.tracking is not None]
    chosen = {name: fmean(getattr(each, name) for each in of_rows) for name in _OF_ROWS if of_rows}
    select = {each.tracking.tracker: each.select_s for each in of_rows if each.tracking}
    return Calibration(**causes, **chosen, select_s=select)


def _mapping(
    scenario: Scenario, section: TrainerSection, plan: Rehearsal, folder: Path, hit: int
) -> dict[str, Any]:
    """A scenario of as many steps of a second as the script has, and of its failures."""
    steps, servers = plan.steps, scenario.cluster.parameter_servers
    log = folder / "strikes.csv"
    rows = [
        f"{strike.executed + 0.5},{(first_struck(number, servers) + other) % servers}"
        for number, strike in enumerate(strikes(plan.script))
        for other in range(min(hit, servers))
    ]
    log.write_text("\n".join(["time_s,node", *rows, ""]))
    mapping = scenario.mapping()
    mapping["job"] |= {"useful_time": f"{steps} s", "samples": steps * section.batch}
    mapping["job"]["final_save"] = False
    return mapping | {
        "costs": {"save": "0 s", "load": "0 s"},
        "failures": {"trace": str(log), "while_waiting": False},
        "policies": {"full": {"system": "full", "interval": "1 s"}},
    }
