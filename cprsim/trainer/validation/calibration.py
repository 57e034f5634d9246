"""What training, saves and recoveries take on this machine, measured in a short real run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cprsim.basics.owned import owned_folder
from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Tracking
from cprsim.errors import RunError
from cprsim.job.costs import GATHERED, Rollback
from cprsim.scenario import Scenario
from cprsim.trainer.coordinator.accounts import ShardSave
from cprsim.trainer.members.store import MOST_DELTAS
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, carry_out
from cprsim.trainer.validation.quantile import quantile
from cprsim.trainer.validation.rehearsal import LONG, LONGS, Rehearsal, Strike, rehearsal, strikes


@dataclass(frozen=True)
class Calibration:
    """Medians, or lower quantiles, of what was measured, s.

    `step_s`: of a step of training. The others are those of a scenario's `[costs]`: `gather_s` for
    a million rows, `save_fixed_s` what saves of chosen rows take besides, `append_s` what each of
    them adds to a load.
    """

    step_s: float
    save_s: float
    load_full_s: float
    load_partial_s: float
    reschedule_s: float
    detect_s: float
    select_s: float = 0.0
    gather_s: float = 0.0
    save_fixed_s: float = 0.0
    append_s: float = 0.0

    @property
    def costs(self) -> dict[str, str]:
        """The block `[costs]`."""
        return {
            name.removesuffix("_s"): format_exact(value, SECONDS)
            for name, value in vars(self).items()
            if name != "step_s"
        }


def calibrate(
    scenario: Scenario,
    section: TrainerSection,
    tracking: Tracking | None,
    seed: int = 0,
    progress: Progress | None = None,
    level: float = 0.5,
) -> Calibration:
    """Rehearse on the scenario's model, servers and samples, and measure.

    Parameters
    ----------
    scenario, section
        Their policies, failures and costs are not looked at.
    tracking
        Who chooses the rows of saves of chosen rows; None if there are to be none.
    seed, progress
        As in `train`.
    level
        The quantile of all that takes the same each time; the median by default.
    """
    plan = rehearsal(tracking)
    with owned_folder() as folder:
        rehearsed = Scenario(**_mapping(scenario, section, plan, folder))
        ran = carry_out(rehearsed, section, "rehearsal", plan, seed, progress)
    return measured(ran, plan, scenario, level)


def measured(ran: Trained, plan: Rehearsal, scenario: Scenario, level: float = 0.5) -> Calibration:
    """What a rehearsal on the scenario's model and servers has measured; `level` as before.

    Raises
    ------
    RunError
        If members were lost that nobody had struck.
    """
    if ran.replaced > ran.struck:
        raise RunError(
            f"{ran.replaced - ran.struck} members were silent for too long in the rehearsal, which "
            'spoils it; try again on a quieter machine, or give them longer, e.g. answer = "10 s" '
            "in [trainer]"
        )
    found = _RehearsalTimes(ran, plan, level)
    save_s = found.save_s(whole=True)
    of_rows: dict[str, float] = {}
    if plan.tracking is not None:
        of_rows = _of_rows(found, scenario, plan.tracking, save_s)
    return Calibration(
        step_s=found.step_s,
        save_s=save_s,
        load_full_s=found.load_s("all"),
        load_partial_s=found.load_s("lost"),
        reschedule_s=found.typical(found.seconds_of("reschedule")),
        detect_s=found.typical(found.seconds_of("detect")),
        **of_rows,
    )


class _RehearsalTimes:
    """What a rehearsal took, s; quantiles at one level."""

    def __init__(self, ran: Trained, plan: Rehearsal, level: float) -> None:
        self._ran, self._plan, self._level = ran, plan, level
        self._strikes = strikes(plan.script)

    def seconds_of(self, cause: str) -> list[float]:
        """All times that went to one cause, in order."""
        return [span.lasted_s for span in self._ran.spans if span.cause == cause]

    def typical(self, values: Iterable[float]) -> float:
        """Their quantile."""
        return quantile(list(values), self._level)

    @property
    def step_s(self) -> float:
        """Of a step, in the long stretches but the first, which warms up."""
        return self.typical(self.seconds_of("train")[1:LONGS]) / LONG

    def save_s(self, *, whole: bool) -> float:
        """Of a save of everything, or of chosen rows."""
        saves = zip(self.seconds_of("save"), self._plan.script, strict=True)
        return self.typical(took_s for took_s, each in saves if (each.save.portion == 1) == whole)

    def load_s(self, returns: Rollback) -> float:
        """Of a load after failures that were so answered, with nothing appended."""
        return self.typical(
            took_s
            for took_s, each in self._loads()
            if each.returns == returns and not each.appended
        )

    @property
    def append_s(self) -> float:
        """What each save of chosen rows that was appended has added to loads."""
        lengths = self._chain_lengths()
        more = [
            (took_s - self.load_s(each.returns)) / lengths[each.appended]
            for took_s, each in self._loads()
            if lengths[each.appended]
        ]
        return self.typical(more) if more else 0.0

    def _chain_lengths(self) -> list[int]:
        """How many saves a load has to read beside a whole one, after none, 1, 2, ... of them."""
        lengths, appended, base = [0], 0, 0
        for part in self._ran.parts:
            if part.server != 0:
                continue
            if part.rows is None:
                base = part.size
                continue
            appended += part.size
            merged = appended > MOST_DELTAS * base
            appended = 0 if merged else appended
            lengths.append(0 if merged else lengths[-1] + 1)
        return lengths

    def _loads(self) -> Iterator[tuple[float, Strike]]:
        return zip(self.seconds_of("load"), self._strikes, strict=True)

    def part_s(self, stage: Callable[[ShardSave], float]) -> float:
        """Of the slowest server's part of a save of chosen rows."""
        slowest: dict[int, float] = {}
        for part in self._ran.parts:
            if part.rows is not None:
                slowest[part.step] = max(stage(part), slowest.get(part.step, 0.0))
        return self.typical(slowest.values())


def _of_rows(
    found: _RehearsalTimes, scenario: Scenario, tracking: Tracking, save_s: float
) -> dict[str, float]:
    """What saves of chosen rows take beyond their share of a save of everything."""
    assert scenario.model is not None
    select_s = found.part_s(lambda part: part.select_s)
    copied_s = found.part_s(lambda part: part.gather_s)
    rows = scenario.cost_model.collected_rows(tracking.fraction)
    by_bytes_s = save_s * scenario.model.saved_share(tracking.fraction)
    rest_s = found.save_s(whole=False) - by_bytes_s - select_s - copied_s
    return {
        "select_s": select_s,
        "gather_s": copied_s / rows * GATHERED,
        "save_fixed_s": max(rest_s, 0.0),
        "append_s": max(found.append_s, 0.0),
    }


def _mapping(
    scenario: Scenario, section: TrainerSection, plan: Rehearsal, folder: Path
) -> dict[str, Any]:
    """A scenario of as many steps of a second as the script has, and of its failures."""
    steps, servers = plan.steps, scenario.cluster.parameter_servers
    log = folder / "strikes.csv"
    rows = [
        f"{strike.executed + 0.5},{number % servers}"
        for number, strike in enumerate(strikes(plan.script))
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
