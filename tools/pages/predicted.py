"""Write docs/predicted.md: real runs, predicted and measured on this machine.

Run `python -m tools.pages.predicted` on a quiet machine (some minutes). Costs are calibrated on the
model and servers of scenarios/train-quick.toml, and each configuration is trained, in turns and
several times, since a machine's speed drifts. Medians of what was measured stand beside what is
predicted at median costs.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

import pandas as pd

from cprsim.basics.files import write_all
from cprsim.contract import Tracking
from cprsim.figures import save_bytes
from cprsim.figures.predicted import SECONDS, SHARE
from cprsim.gallery.predicted import PICTURE as GALLERY
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.members import forking
from cprsim.trainer.section import TrainerSection, trainer_section
from cprsim.trainer.training import Trained, train
from cprsim.trainer.validation.calibration import Calibration, calibrate
from cprsim.trainer.validation.predicted import Compared, predict
from cprsim.trainer.validation.rehearsal import rehearsal, strikes
from tools.paths import DOCS, FIGURES, SCENARIOS

PAGE = DOCS / "predicted.md"
PICTURE = FIGURES / "predicted-measured.svg"
CONFIG = SCENARIOS / "train-quick.toml"
#: What the picture is drawn of.
TABLE = CONFIG.with_name("train-quick-predicted.csv")
_REPEATS = 3
CAUSES = ("save", "load", "lost", "reschedule", "detect")
OVERHEAD, UPDATES = "overhead", "updates_lost"
#: What is beyond is rounding.
_DIGITS = 12
_EXACT = ("pls", "failures", "lost_steps")
#: What the sum, and updates lost, may be off by.
_FEW = 0.05


class Configuration(NamedTuple):
    """Policies of the scenario, with values set as by `--set`."""

    policies: Sequence[str]
    overrides: Sequence[str] = ()
    seed: int = 0


CONFIGURATIONS = {
    "as shipped": Configuration(
        ("full", "partial", "cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar")
    ),
    "intervals of half the length": Configuration(
        ("full", "cpr-mfu"),
        ('policies.full.interval="0.1 s"', 'policies.cpr-mfu.interval="0.1 s"'),
    ),
    "a quarter of the rows": Configuration(("cpr-mfu",), ("policies.cpr-mfu.fraction=0.25",)),
    "two tracked tables": Configuration(("cpr-mfu", "cpr-ssu"), ("model.tracked_tables=2",), 1),
    "8 failures": Configuration(("full", "partial"), ("failures.exactly=8",), 1),
    "both servers at once": Configuration(
        ("full", "partial"), ("failures.hits={parameter_servers=2}",), 2
    ),
}

_INTRO = """\
# Predicted against measured

`python -m tools.pages.predicted` trains {runs} times for real on this machine, kills servers, and
puts what that took beside what a simulation predicted. `cprsim validate CONFIG` does it for any
scenario with a block `[trainer]`; [trainer.md](trainer.md) says how it goes about it. The figures
below are of one machine and one day: {cores} cores, other load {load:.1f} when it began and
{load_after:.1f} at its end.

## What is an input, what is calibrated, what is a prediction

- **Inputs**: the scenario (rows, samples, servers, intervals), the steps at which failures
  strike, and how the updates of the first samples spread over the servers.
- **Calibrated**, in short runs of their own (`cprsim/trainer/validation/rehearsal.py`: {whole}
  saves of everything, {portions} of chosen rows by MFU, {kills} kills), as medians: {costs}.
- **Predicted**: everything else. Configurations differ from the rehearsal in their policy, their
  interval, how many rows a save takes, and in how many failures strike, when, and how many
  servers.

A cause is within bounds if it is off by at most 10 % or 50 ms, the sum (*overhead*) by at most
5 %, and so are updates lost. Measured seconds are medians of {repeats} runs. PLS, failures and lost
steps are counted, and have to agree exactly.

![Predicted seconds against measured ones](figures/predicted-measured.svg)

{within} of {all} causes are within bounds, {sums} of {configurations} sums, and {updates} of
{lossy} counts of updates lost; of PLS, failures and lost steps {exact} of {counted} agree.

## What the cost model lacked

What came out of the first comparisons, and is in the simulator since:

- **A store that appends.** A save of chosen rows is a file on top of the last whole one. A load
  reads all of them (`costs.append` for each), and every so many saves they are merged, which
  reads and writes everything: `merge_after` of CPR's policies. Before, loads of CPR's policies
  were as short as others, and merging cost nothing.
- **Shards that are not alike.** A few hot rows make one server's updates many times another's
  (`cluster.updates`), so a failure of that one loses as much more. `updates_lost` of whole saves
  follows.
- **Whole steps.** A save is due at a step, so an interval is rounded up to whole steps. The
  policies of the calibrated scenario have intervals that are.

## What falls short

- **SCAR** saves the rows that moved most. The row model takes every update to move its row alike,
  and with Adagrad the first updates of a row move it most: it chooses rarer rows than MFU does.
- **Rows that nobody used** are in no save of chosen rows, however many it may take. It is charged
  for all that it may take, and `save_fixed`, which is most of it here, is measured with MFU at
  1/8: other fractions are off.
- **A tracker of its own.** Choosing rows is measured with MFU, and charged alike for SSU and
  SCAR.
- **SSU's lists** are of a share of a table's rows, and are filled a batch at a time. The row model
  follows them sample by sample; where one batch brings more rows than a list holds, real lists
  lose more. Where only large tables are tracked, the two agree.
- **Failures of several members** are charged like one: how long their replacements take to start
  depends on how many start at once, and on the cores there are.

"""
_HEADS = ("configuration", "policy", "what", "predicted", "measured", "distance", "within")


class Row(NamedTuple):
    """One quantity of one run. `bound`: what it may be off by; 0 if it has to agree."""

    configuration: str
    policy: str
    what: str
    predicted: float
    measured: float
    bound: float

    @property
    def within(self) -> bool:
        """Whether it is off by no more; counts may differ by rounding."""
        return abs(self.predicted - self.measured) <= self.bound + 1e-9 * abs(self.measured)


def rows_of(name: str, policy: str, runs: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """What is compared of a policy's runs; each is a document."""
    first = runs[0]
    for cause in CAUSES:
        predicted = first["predicted"][cause]
        measured = median(run["measured"][cause] for run in runs)
        if predicted or measured:
            yield Row(name, policy, cause, predicted, measured, max(SHARE * measured, SECONDS))
    measured = median(run["overhead_s"]["measured"] for run in runs)
    yield Row(name, policy, OVERHEAD, first["overhead_s"]["predicted"], measured, _FEW * measured)
    for count in (UPDATES, *_EXACT):
        predicted, measured = first[count]["predicted"], first[count]["measured"]
        if predicted or measured:
            bound = _FEW * measured if count == UPDATES else 0.0
            yield Row(name, policy, count, predicted, measured, bound)


def table(rows: Sequence[Row]) -> str:
    """All rows."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|{' --- |' * len(_HEADS)}"]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(row: Row) -> str:
    off = round(row.predicted - row.measured, _DIGITS)
    if row.what in (*CAUSES, OVERHEAD):
        values = [f"{1e3 * row.predicted:,.0f} ms", f"{1e3 * row.measured:,.0f} ms"]
        values.append(f"{1e3 * off:+,.0f} ms")
    else:
        values = [f"{row.predicted:.4g}", f"{row.measured:.4g}", f"{off:+.2g}"]
    if row.measured:
        values[-1] += f" ({100 * off / row.measured:+.1f} %)"
    verdict = "yes" if row.within else "**no**"
    return f"| {row.configuration} | {row.policy} | {row.what} | {' | '.join(values)} | {verdict} |"


def page(rows: Sequence[Row], calibration: Calibration, load: tuple[float, float]) -> str:
    """The whole page."""

    def met(whats: Sequence[str]) -> tuple[int, int]:
        chosen = [row for row in rows if row.what in whats]
        return sum(row.within for row in chosen), len(chosen)

    (within, every), (sums, configurations) = met(CAUSES), met([OVERHEAD])
    (updates, lossy), (exact, counted) = met([UPDATES]), met(_EXACT)
    script = rehearsal(Tracking("mfu", 0.125)).script
    portions = sum(each.save.portion < 1 for each in script)
    text = _INTRO.format(
        runs=_REPEATS * sum(len(each.policies) for each in CONFIGURATIONS.values()),
        cores=os.cpu_count(),
        load=load[0],
        load_after=load[1],
        whole=len(script) - portions,
        portions=portions,
        kills=len(strikes(script)),
        costs=", ".join(f"{name} {value_s * 1e3:.2f} ms" for name, value_s in _costs(calibration)),
        repeats=_REPEATS,
        within=within,
        all=every,
        sums=sums,
        configurations=configurations,
        updates=updates,
        lossy=lossy,
        exact=exact,
        counted=counted,
    )
    return text + "## All of it\n\n" + table(rows)


def _costs(calibration: Calibration) -> Iterator[tuple[str, float]]:
    for name, value_s in vars(calibration).items():
        yield f"`{name.removesuffix('_s')}`", value_s


def measure() -> tuple[list[Row], Calibration]:
    """Calibrate and do all runs, again and again; then predict them at median costs."""
    calibrations = []
    runs: dict[tuple[str, str], list[Trained]] = {}
    for turn in range(_REPEATS):
        scenario, section = _scenario()
        tracking = scenario.plan("cpr-mfu").tracking
        calibrations.append(calibrate(scenario, section, tracking, turn))
        sys.stderr.write(f"{turn + 1} of {_REPEATS}: {calibrations[-1]}\n")
        for name, each in CONFIGURATIONS.items():
            scenario, section = _scenario(each.overrides)
            for policy in each.policies:
                trained = train(scenario, section, policy, each.seed)
                runs.setdefault((name, policy), []).append(trained)
    calibration = pooled(calibrations)
    rows: list[Row] = []
    for name, each in CONFIGURATIONS.items():
        found = predict(*_scenario(each.overrides), each.policies, calibration, each.seed)
        for policy, prediction in found.of.items():
            compared = [Compared(policy, prediction, one) for one in runs[name, policy]]
            rows += rows_of(name, policy, [one.document() for one in compared])
    return rows, calibration


def pooled(calibrations: Sequence[Calibration]) -> Calibration:
    """The median of each number."""
    names = vars(calibrations[0])
    return Calibration(
        **{name: median(getattr(each, name) for each in calibrations) for name in names}
    )


def _scenario(overrides: Sequence[str] = ()) -> tuple[Scenario, TrainerSection]:
    mapping = load_mapping(CONFIG, overrides)
    return Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])


def main() -> None:
    """Measure, and write the table, its picture and the page."""
    forking.context()
    before = os.getloadavg()[0]
    rows, calibration = measure()
    seconds = [row for row in rows if row.what in (*CAUSES, OVERHEAD)]
    shown = pd.DataFrame(
        [row[:5] for row in seconds],
        columns=["configuration", "policy", "cause", "predicted", "measured"],
    )
    text = page(rows, calibration, (before, os.getloadavg()[0]))
    write_all(TABLE.parent, {TABLE.name: shown.to_csv(index=False, float_format="%.6g").encode()})
    write_all(PICTURE.parent, {PICTURE.name: save_bytes(GALLERY.figure(TABLE), "svg")})
    write_all(PAGE.parent, {PAGE.name: text.encode()})


if __name__ == "__main__":
    main()
