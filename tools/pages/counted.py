"""Write docs/counted.md: updates lost by chosen rows, predicted and counted, without processes.

Run `python -m tools.pages.counted` (some minutes). What is counted is the trainer's own play in one
process (`tools.counted`), so nothing depends on the machine.
"""

import sys
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

import torch

from cprsim.basics.files import write_all
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play_against
from cprsim.sim.observer import Observer
from cprsim.trainer.section import TrainerSection, trainer_section
from cprsim.trainer.validation.calibration import Calibration
from cprsim.trainer.validation.predicted import Predicted, pinned, predict
from tools.counted import counted
from tools.pages.predicted import BASE, CONFIG, of_interval
from tools.paths import DOCS
from tools.tables import csv_line, markdown, write_csv

#: Of a run's own count.
_BOUND = 0.05
#: Seeds of further initial models and rows.
MODELS = range(101, 111)
#: Failures are pinned to steps, so that no cost changes a count.
CALIBRATION = Calibration(0.01, 0.01, 0.01, 0.01, 0.01)
_SCAR, _SSU, _MFU = POLICIES = "cpr-scar", "cpr-ssu", "cpr-mfu"


class Asked(NamedTuple):
    """A policy of the scenario, with values set as by `--set`."""

    title: str
    policy: str
    overrides: Sequence[str] = ()
    seed: int = 0


def _fraction(policy: str, share: float) -> list[str]:
    return [f"policies.{policy}.fraction={share}"]


CONFIGURATIONS = (
    Asked("base", _SCAR),
    Asked("another seed", _SCAR, seed=1),
    Asked("a third seed", _SCAR, seed=2),
    Asked("half the interval", _SCAR, of_interval("0.1 s", _SCAR), 3),
    Asked("2.5 times the interval", _SCAR, of_interval("0.5 s", _SCAR), 5),
    Asked("a 32nd, 2.5 times", _SCAR, _fraction(_SCAR, 1 / 32) + of_interval("0.5 s", _SCAR), 4),
    Asked("a quarter of the rows", _SCAR, _fraction(_SCAR, 0.25), 3),
    Asked("half of the rows", _SCAR, _fraction(_SCAR, 0.5), 6),
    Asked("24 failures", _SCAR, ["failures.exactly=24"], 13),
    Asked("one tracked table", _SCAR, ["model.tracked_tables=1"], 1),
    Asked("smaller batches", _SCAR, ["trainer.batch=256"], 10),
    Asked("3 servers", _SCAR, ["cluster.parameter_servers=3"], 2),
    Asked("base", _SSU),
    Asked("2.5 times the interval", _SSU, of_interval("0.5 s", _SSU), 5),
    Asked("a quarter of the rows", _SSU, _fraction(_SSU, 0.25), 3),
    Asked("SSU of every batch", _SSU, ["policies.cpr-ssu.subsample=1"], 7),
    Asked("SSU of every fourth batch", _SSU, ["policies.cpr-ssu.subsample=4"], 2),
    Asked("one tracked table", _SSU, ["model.tracked_tables=1"], 1),
    Asked("24 failures", _SSU, ["failures.exactly=24"], 13),
    Asked("3 servers", _SSU, ["cluster.parameter_servers=3"], 2),
    Asked("5 servers", _SSU, ["cluster.parameter_servers=5"], 2),
    Asked("base", _MFU),
    Asked("2.5 times the interval", _MFU, of_interval("0.5 s", _MFU), 5),
    Asked("a quarter of the rows", _MFU, _fraction(_MFU, 0.25), 3),
    Asked("24 failures", _MFU, ["failures.exactly=24"], 13),
    Asked("3 servers", _MFU, ["cluster.parameter_servers=3"], 2),
)


#: CSV file of every run; the page links it.
TABLE = DOCS / "counted.csv"
_HEADS = (
    *("configuration", "policy", "overrides", "seed", "counted"),
    *("all alike", "predicted", "from the mean", "spread"),
)


class Found(NamedTuple):
    """Shares of all updates that a run loses.

    `alike`: predicted if all updates move a row alike and batches are single samples. `counted`: by
    the run's own initial model, then by others.
    """

    asked: Asked
    alike: float
    predicted: float
    counted: list[float]

    @property
    def distance(self) -> float:
        """Distance of the prediction from the run's own count."""
        return self.predicted / self.counted[0] - 1

    @property
    def from_mean(self) -> float:
        """Distance of the prediction from the mean over initial models."""
        return self.predicted / fmean(self.counted) - 1

    @property
    def spread(self) -> float:
        """Standard deviation over initial models, as a share of the mean."""
        return stdev(self.counted) / fmean(self.counted)

    @property
    def within_by_chance(self) -> float:
        """Probability that a run is as near to the mean as it should be, were they normal."""
        return 2 * NormalDist(sigma=max(self.spread, 1e-9)).cdf(_BOUND) - 1


def read(asked: Asked) -> tuple[Scenario, TrainerSection]:
    """Read the scenario of a run and its `[trainer]`."""
    mapping = load_mapping(CONFIG, [*BASE, *asked.overrides])
    return Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])


def found(asked: Asked, models: Sequence[int] = ()) -> Found:
    """Predict, then play; with other initial models, too."""
    scenario, section = read(asked)
    name, seed = asked.policy, asked.seed
    predicted = predict(scenario, section, [name], {name: CALIBRATION}, seed)
    of, plan = predicted.of[name], scenario.plan(name)
    runs = [counted(scenario, section, plan, of, seed, each) for each in (None, *models)]
    return Found(asked, _alike(scenario, predicted, name), of.quantities["updates_lost"], runs)


def _alike(scenario: Scenario, predicted: Predicted, name: str) -> float:
    """Predict the same run with a row model that knows no batches and gradients."""
    mapping = predicted.scenario.mapping()
    for key in ("optimizer_rule", "gradient_directions", "batch"):
        mapping["model"].pop(key, None)
    for table in mapping["model"]["tables"]:
        table.pop("updates", None)
    plain, step_s = Scenario(**mapping), CALIBRATION.step_s
    nominal_s = scenario.job.useful_time_s / round(plain.job.useful_time_s / step_s)
    cursor = cursor_of(scenario.failure_model.timeline(predicted.seed, 0))
    _, timeline = pinned(plain, name, step_s, cursor, nominal_s)
    return play_against(plain, name, timeline, Observer()).updates_lost


_PAGE = """\
# Updates lost by chosen rows, counted

Predictions of `cprsim validate` for SCAR, SSU and MFU against counts of real runs, for
`scenarios/train-quick.toml` with {base} set. `python -m tools.pages.counted` writes this page. The
trainer's own model, rows and trackers play the runs in one process.

*All alike* is the row model's prediction without gradients and batches. *Predicted* knows `batch`,
`gradient_directions` and `updates` of each table ([rows.md](rows.md#gradients-and-batches)), which
`validate` measures before training; nothing is fitted to a count. Choices of SCAR and SSU are
partly chance: the *spread* is one standard deviation over {models} seeds of model and lists, and
*from the mean* the distance from the mean of these runs. The table has how many predictions are
within 5 % of the run's own count, how many the mean itself is expected to be, and the largest
distances. [counted.csv](counted.csv) has every run.

{summary}"""


def _within(distances: Sequence[float]) -> str:
    return f"{sum(each <= _BOUND for each in distances)} of {len(distances)}"


def _summary(all_found: Sequence[Found]) -> str:
    """Return a table: the predictions within 5 % and the largest distance, by policy."""
    heads = (
        *("policy", "all alike", "predicted", "the mean itself", "from the mean"),
        *("largest, alike", "largest"),
    )
    rows = []
    for policy in POLICIES:
        of = [each for each in all_found if each.asked.policy == policy]
        alike = [abs(each.alike / each.counted[0] - 1) for each in of]
        predicted = [abs(each.distance) for each in of]
        repeated = [each for each in of if len(each.counted) > 1]
        best = f"{sum(each.within_by_chance for each in repeated):.1f}" if repeated else ""
        mean = _within([abs(each.from_mean) for each in repeated]) if repeated else ""
        largest = [f"{100 * max(each):.1f} %" for each in (alike, predicted)]
        rows.append((policy, _within(alike), _within(predicted), best, mean, *largest))
    return markdown(heads, rows)


def page(all_found: Sequence[Found]) -> str:
    """The page."""
    return _PAGE.format(
        base=", ".join(f"`{override}`" for override in BASE),
        models=1 + len(MODELS),
        summary=_summary(all_found),
    )


def row(each: Found) -> tuple[str, ...]:
    """Return the cells of a run in `TABLE`."""
    asked, (own, *others) = each.asked, each.counted
    return (
        *(asked.title, asked.policy, " ".join(asked.overrides), str(asked.seed), f"{own:.4f}"),
        *(f"{it:.4f} ({100 * (it / own - 1):+.1f} %)" for it in (each.alike, each.predicted)),
        f"{100 * each.from_mean:+.1f} %" if others else "",
        f"{100 * each.spread:.1f} %" if others else "",
    )


def main() -> None:
    """Predict, play, and write the page."""
    torch.set_num_threads(1)  # as members have
    all_found = []
    for asked in CONFIGURATIONS:
        all_found.append(found(asked, () if asked.policy == _MFU else MODELS))
        sys.stderr.write(f"{csv_line(row(all_found[-1]))}\n")
        sys.stderr.flush()
    write_csv(TABLE, _HEADS, map(row, all_found))
    write_all(DOCS, {"counted.md": page(all_found).encode()})


if __name__ == "__main__":
    main()
