"""Write docs/validation.md: simulated against exact results, every number computed here.

Run `python -m tools.pages.validation`, or `make validation`. The cases, and how they are measured
there and in the tests, are in tools/validation/cases.py.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from cprsim.contract.expected import expected
from cprsim.formulas.pls import expected_pls
from cprsim.scenario import Scenario
from tools.paths import DOCS
from tools.tables import markdown, write_csv
from tools.validation import published_section
from tools.validation.advice import section as advice_section
from tools.validation.advice.regret import read as read_regrets
from tools.validation.cases import (
    CASES,
    GOODPUT_PARAMETERS,
    SWEEP,
    Case,
    Measured,
    measure,
    measure_sweep,
    shipped,
    uniform_of,
)
from tools.validation.choices_section import section as choices_section
from tools.validation.exact import POINTS
from tools.validation.first_order import PREDICTED
from tools.validation.frailty_section import section as frailty_section
from tools.validation.replayed_section import sections as logs_sections

PAGE = DOCS / "validation.md"
#: CSV file of every case; the page links it.
TABLE = DOCS / "validation.csv"
#: CSV file of overheads in closed form; the page links it.
FIRST_ORDER = DOCS / "first-order.csv"
_HEADS = ("group", "case", "source", "exact", "simulated", "z", "replications")
_FIRST_ORDER = ("scenario", "policy", "source", "to reproduce", "computed")
_SUMMARY = ("group", "cases", "beyond 1", "beyond 2", "largest z")

_INTRO = """\
# Validation

`make validation` computes every number on this page; `make test-all` measures the runs again and
holds each mean to three standard errors of its exact value.

- **Inputs** are the numbers in the names of cases (in seconds, unless a unit is given) and in
  `scenarios/*.toml`. Those of the CPR paper (Maeng et al., MLSys 2021) are partly recalled and not
  checked against its text.
- **Calibrated** are the costs in `criteo-kaggle.toml`, `criteo-terabyte.toml` and
  `production.toml`: `save`, and the sum of `load` and `reschedule`, are solved from overheads that
  the paper reports ([reproduction.md](reproduction.md)). To get these back checks the arithmetic,
  not the model.
- **Predictions** are all other numbers, except naive partial recovery to first order, which is
  arithmetic on the same two numbers.

Agreement shows that the simulator plays the model of [semantics.md](semantics.md), not that a
cluster does.

## Simulated and exact means

[validation.csv](validation.csv) has each case: its exact value, the simulated mean with its
standard error, and z, their distance in standard errors. About one z in three should lie beyond 1,
one in twenty beyond 2. Rows of one simulation are not independent.
"""

_SYMBOLS = """\
T is useful time, τ the interval, δ a save, M the MTBF, R a load, D the downtime before it (in
partial recovery R is both), s the stall of a background save, P the time until it is stored, N the
number of servers.

"""

_GROUPS = {
    "Blocking saves, full recovery: wall time": """\
exponential failures. `(M + D) exp(R/M) (exp((τ + δ)/M) - 1)` for each segment, or
`(M + D + R) (exp((τ + δ)/M) - 1)` without failures in recovery.
""",
    "Blocking saves, partial recovery": """\
only the lost shard rolls back: `T (1 + δ/τ)(1 + R/M)`, and a PLS of `(τ/2 + δ)/(M N)`. No failure
in a recovery.
""",
    "Background saves, full recovery": """\
the first commit takes `(M + R + D)(exp((τ + s + P)/M) - 1)`, each further one a *cycle* of
`(M + R + D) exp(P/M) (exp((τ + s)/M) - 1)`.
""",
    "Goodput under any failure law": """\
τ = {tau:g}, s = {stall:g}, P = {persist:g}, R + D = {recovery:g}, mean {mean:g}. The long-run
goodput is `τ Σ S(i(τ + s) + P) / (M + R + D)`, S being the survival function. The excess of a
finite job is computed exactly and subtracted.
""",
    "Number of failures in a fixed time": """\
N times the renewal function of a node's life, or that of the job's law; time / mean from
stationary ages.
""",
    "Shipped scenarios: overhead in percent, and PLS": """\
2 failures (Criteo) or 5 (production), uniform over the useful time on the wall clock; exact
arithmetic on {points:,} evenly spread sets of failure instants. It differs from the first-order
values below because the number of saves is whole (CPR saves Kaggle once in {useful_h:g} h, not
{saves:g} times) and because a failure can strike a save (full recovery for Kaggle: {wall:.2f} %
instead of {training:.2f} %).
""",
}

_PREDICTED = """\
## Shipped scenarios in closed form

First-order overhead of each plan in percent of the useful time: CPR's (E1) and (E2) at the
intervals (E3) and (E6). Rows with *whole saves* count `ceil(T/τ) - 1` saves; their figures to
reproduce are a Monte Carlo of the same model. All {count} are within {off:.2g} points of the figure
to reproduce ([first-order.csv](first-order.csv)).
"""

_SWEEP = """\
## Where the best interval is

Full recovery, all intervals against the same failures: useful time {useful:g} s, save {save:g} s,
MTBF {mtbf:g} s, load {load:g} s, downtime {downtime:g} s. The closed form's best interval is
{optimum:.2f} s, with an exact overhead of {least:.3f} %. The best simulated interval is
{found:g} s; the exact wall time there is {above:.3f} % above the minimum.
"""

_PRODUCTION = """\
## Production run

The CPR paper's production-scale run: {trainers} trainers, {servers} servers, {useful_h:g} h,
{failures} failures of {hit:g} servers each, so T_fail = {mtbf_h:g} h and k = {hit:g}. The target
PLS is assumed; the costs are calibrated to the recalled 12.5 % of full recovery. To first order:

{rows}
A target PLS of 0.1 gives {at_tenth:.1f} % less overhead than full recovery, not the "over 91 %"
that is reported. That needs an interval of {interval_h:.2f} h, from `save/interval + (load +
reschedule)/T_fail = 0.09 x full`, and so a target PLS of {target:.3f} by (E5). Other costs, or
another account of k failing servers, could explain the difference as well.
"""


def row(case: Case, measured: Measured) -> tuple[str, ...]:
    """Return the cells of one case in `TABLE`."""
    return (
        case.group,
        case.name,
        case.source,
        f"{measured.exact:.7g}",
        simulated(measured),
        f"{measured.z:+.2f}",
        str(case.replications),
    )


def simulated(measured: Measured) -> str:
    """A mean with its standard error, both to the second digit of the latter."""
    if measured.standard_error == 0:
        return f"{measured.mean:.7g} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(measured.standard_error)))
    return f"{measured.mean:.{decimals}f} ± {measured.standard_error:.{decimals}f}"


def sweep_section(measured: Sequence[Measured]) -> str:
    """The measured optimum."""
    useful_s, save_s, mtbf_s, load_s, downtime_s = SWEEP.parameters
    least_s = SWEEP.makespan_s(SWEEP.optimum_s)
    best = min(range(len(measured)), key=lambda i: measured[i].mean)
    text = _SWEEP.format(
        useful=useful_s,
        save=save_s,
        mtbf=mtbf_s,
        load=load_s,
        downtime=downtime_s,
        optimum=SWEEP.optimum_s,
        least=100 * (least_s / useful_s - 1),
        found=SWEEP.intervals_s[best],
        above=100 * (measured[best].exact / least_s - 1),
    )
    lines = [
        (f"{tau_s:g} s", f"{each.exact:.7g}", simulated(each), f"{each.z:+.2f}")
        for tau_s, each in zip(SWEEP.intervals_s, measured, strict=True)
    ]
    heads = ("interval", "exact wall time", "simulated", "z")
    return _join(text, markdown(heads, lines), f"{SWEEP.replications:,} replications.\n")


class Production(NamedTuple):
    """First-order overheads of the production run as shares, and what CPR would need."""

    full: float
    cpr: float
    cpr_interval_s: float
    needed_interval_s: float
    needed_pls: float
    needed: float  # overhead at needed_pls, by the policy's own plan


def production(reduction: float = 0.91) -> Production:
    """Return CPR's gain in the production run, and the target PLS for a given reduction."""
    tables = shipped("production")
    scenario = Scenario(**tables)
    context, costs = scenario.context, scenario.costs
    full = expected(scenario.plan("full"), context).overhead
    plan = scenario.plan("cpr")
    failing = (costs.load_s + costs.reschedule) / context.mtbf_s
    interval_s = context.save_s / ((1 - reduction) * full - failing)
    pls = expected_pls(interval_s, context.mtbf_s, context.servers, context.servers_hit)
    tables["policies"]["cpr"]["target_pls"] = pls
    needed = Scenario(**tables)
    return Production(
        full=full,
        cpr=expected(plan, context).overhead,
        cpr_interval_s=plan.interval_s,
        needed_interval_s=interval_s,
        needed_pls=pls,
        needed=expected(needed.plan("cpr"), needed.context).overhead,
    )


def production_section() -> str:
    """The production run in closed form."""
    scenario, found = Scenario(**shipped("production")), production()
    context = scenario.context
    full_h = scenario.plan("full").interval_s / 3600
    rows = [("full", "", f"{full_h:.2f} h", f"{100 * found.full:.2f} %", "")]
    for policy_pls, interval_s, overhead in (
        (scenario.policies["cpr"].target_pls, found.cpr_interval_s, found.cpr),
        (found.needed_pls, found.needed_interval_s, found.needed),
    ):
        less = 100 * (1 - overhead / found.full)
        rows.append(
            (
                "cpr",
                f"{policy_pls:.3f}",
                f"{interval_s / 3600:.2f} h",
                f"{100 * overhead:.2f} %",
                f"{less:.1f} %",
            )
        )
    return _PRODUCTION.format(
        trainers=context.trainers,
        servers=context.servers,
        useful_h=context.useful_time_s / 3600,
        failures=scenario.failures.exactly,
        hit=context.servers_hit,
        mtbf_h=context.mtbf_s / 3600,
        rows=markdown(("policy", "target PLS", "interval", "overhead", "less than full"), rows),
        at_tenth=100 * (1 - found.cpr / found.full),
        interval_h=found.needed_interval_s / 3600,
        target=found.needed_pls,
    )


def page(rows: Sequence[Sequence[str]], sweep: str, *measured: str) -> str:
    """Return the whole page, given the rows of `TABLE` and the sections that are measured apart.

    `measured` are those at the end, in order: published figures, replayed logs, starts of jobs,
    nodes that differ, what `advise` picks, choices of the best.
    """
    figures = _figures()
    groups = [list(found) for _, found in groupby(rows, lambda cells: cells[0])]
    listed = "".join(_listed(name, text.format(**figures)) for name, text in _GROUPS.items())
    off = max(abs(each.computed - each.published) for each in PREDICTED)
    predicted = _PREDICTED.format(count=len(PREDICTED), off=off), production_section()
    compared = _join(_INTRO, markdown(_SUMMARY, map(_summary_row, groups)), _SYMBOLS + listed)
    return _join(compared, sweep, *predicted, *measured)


def _summary_row(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the cells of one group of cases."""
    z = [float(cells[_HEADS.index("z")]) for cells in rows]
    beyond = (str(sum(abs(each) > limit for each in z)) for limit in (1, 2))
    return rows[0][0], str(len(rows)), *beyond, f"{max(z, key=abs):+.2f}"


def _listed(group: str, text: str) -> str:
    """Return a group's exact form as an item of a list."""
    return f"- *{group}*:\n  " + text.strip().replace("\n", "\n  ") + "\n"


def write(path: Path = PAGE) -> None:
    """Measure everything and write the page, all of it or nothing."""
    committed = path.read_text(encoding="utf-8")
    logs = *logs_sections(committed), frailty_section()
    sweep, published = sweep_section(measure_sweep()), published_section.section()
    picked = advice_section.section(read_regrets())  # measuring that again takes an hour
    apart = published, *logs, picked, choices_section()
    rows = [row(case, measure(case)) for case in CASES]
    write_csv(TABLE, _HEADS, rows)
    write_csv(FIRST_ORDER, _FIRST_ORDER, predicted_rows())
    text = page(rows, sweep, *apart)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _figures() -> dict[str, float]:
    """Numbers in the texts between the tables."""
    names = ("tau", "stall", "persist", "recovery", "mean")
    kaggle = shipped("criteo-kaggle")
    full, cpr = uniform_of(kaggle, "full"), uniform_of(kaggle, "cpr")
    return {
        **dict(zip(names, GOODPUT_PARAMETERS, strict=True)),
        "points": POINTS,
        "useful_h": cpr.useful_time_s / 3600,
        "saves": cpr.useful_time_s / cpr.interval_s,
        "training": full.counted(on_wall_clock=False)[0],
        "wall": full.played()[0],
    }


def predicted_rows() -> list[tuple[str, ...]]:
    """Return the cells of `FIRST_ORDER`."""
    return [
        (each.name, each.policy, each.source, f"{each.published:.4g}", f"{each.computed:.4g}")
        for each in PREDICTED
    ]


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


if __name__ == "__main__":
    write()
