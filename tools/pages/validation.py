"""Write docs/validation.md: simulated against exact results, every number computed here.

Run `python -m tools.pages.validation`, or `make validation`. The cases, and how they are measured
there and in the tests, are in tools/validation/cases.py.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from cprsim.analytic.expected import expected
from cprsim.closed_form.cpr import expected_pls
from cprsim.scenario import Scenario
from tools.paths import DOCS
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
from tools.validation.first_order import PREDICTED, Predicted
from tools.validation.frailty_section import section as frailty_section
from tools.validation.replayed_section import sections as logs_sections

PAGE = DOCS / "validation.md"

_INTRO = """\
# Validation

`make validation` computes every number on this page. `make test-all` measures the same runs again,
holds each mean to three standard errors of its exact value, and compares the rows with this page.
So the page can't be out of date. Random numbers have fixed seeds, one for each simulation, and no
tolerance was widened to make a row pass.

## What is an input, what was calibrated, what is a prediction

- **Inputs** are the numbers in the case names (in seconds, if no unit is given) and in
  `scenarios/*.toml`. From the CPR paper (Maeng et al., MLSys 2021) come the useful time, the
  MTBF, the number of servers and of failures, and the target PLS. Some of them are recalled and
  not checked against its text.
- **Calibrated** are the costs in `criteo-kaggle.toml`, `criteo-terabyte.toml` and
  `production.toml`: `save`, and the sum of `load` and `reschedule`, are solved from the overheads
  that the paper reports for full recovery and CPR; for the production run from full recovery
  alone, with the ratio that those costs have for Kaggle. That the closed forms return 8.5 %,
  0.53 %, 8.2 %, 0.68 % and 12.5 % therefore checks the arithmetic, and says nothing about how
  true the model is.
- **Predictions** are all the rest, except naive partial recovery to first order, which is
  arithmetic on the same two numbers: other numbers of servers, the production run under CPR, and
  every simulated mean. Simulated runs take nothing from closed
  forms but the intervals of the shipped scenarios, and have no parameter that could be fitted to
  them.

Plans that the batch engine can play are played in it, which gives the same ledgers as the
simulator, run by run (`tests/batch/`).

A mean that agrees with its exact value shows that the simulator plays the model as written in
[semantics.md](semantics.md). It doesn't show that a cluster behaves like the model.

## How to read the tables

*Simulated* is the mean over the replications and its standard error; *z* is its distance from the
exact value in standard errors. About one z in three should lie beyond 1, one in twenty beyond 2.
Rows of one simulation (a wall time and its PLS, or several policies against the same failures)
share their luck.

T is useful time, τ the interval, δ a save, M the MTBF, R a load, D the downtime before it, s the
stall of a background save, P the time until it is stored, N the number of servers. In the tables
of partial recovery R is load and downtime together.
"""

_GROUPS = {
    "Blocking saves, full recovery: wall time": """\
Exponential failures, a save at the end unless said otherwise. Failures strike the load too unless
said otherwise. The exact value sums `(M + D) exp(R/M) (exp((τ + δ)/M) - 1)` over the segments, or
`(M + D + R) (exp((τ + δ)/M) - 1)` without failures in recovery:
`closed_form.makespan.blocking_makespan_s`.
""",
    "Blocking saves, partial recovery": """\
Nothing is rolled back but the lost shard: `T (1 + δ/τ)(1 + R/M)`, and the PLS that counts each
loss from the last checkpoint, `(τ/2 + δ)/(M N)`. Both forms assume no failure in a recovery and a
save at the end.
""",
    "Background saves, full recovery": """\
n commits from a fresh start take `(M + R + D)(exp((τ + s + P)/M) - 1)` for the first and a
*cycle* of `(M + R + D) exp(P/M) (exp((τ + s)/M) - 1)` for each further one. A cycle row is the
wall time of the row above it, less the exact first commit, over n - 1. The job ends when its last
save is stored.
""",
    "Goodput under any failure law": """\
τ = {tau:g}, s = {stall:g}, P = {persist:g}, R + D = {recovery:g}, mean time between failures
{mean:g}. The exact value is the long-run goodput `τ Σ S(i(τ + s) + P) / (M + R + D)`, with S the
survival (renewal reward). A finite job is not the long run: it starts fresh and ends on a commit.
How much longer it takes than its share of the long run, its *edge*, is computed exactly, by a
recursion on the first failure (`fresh_makespan_s` in tools/validation/exact.py), and taken off
the simulated wall time before the ratio is formed. So no bias is left, however short the job.
""",
    "Number of failures in a fixed time": """\
A job in which saves, loads and replacements cost nothing lasts just its useful time. The mean
number of failures is then N times the renewal function of one node's life, or that of the job's
law. It holds only if a node that survives a failure keeps its age. From stationary ages it is
time / mean, however short the time.
""",
    "Shipped scenarios: overhead in percent, and PLS": """\
Exactly 2 failures (Criteo) or 5 (production), uniform over the useful time on the wall clock. The
exact value integrates over the failure instants: the wall time for given instants is arithmetic
(whole save cycles between failures, by division), done on {points:,} evenly spread sets of
instants; more of them would not move the first three digits. It differs from the first-order
values below for two reasons. The number of saves is whole: CPR saves Kaggle once in {useful_h:g}
h, not {saves:g} times. And a failure can strike a save, which loses the whole interval: that
takes full recovery for Kaggle from {training:.2f} % to {wall:.2f} %.
""",
}

_PREDICTED = """\
## Shipped scenarios in closed form

First-order overhead of each plan, CPR's (E1) and (E2) at the intervals (E3) and (E6), in percent
of the useful time. It must be within 0.01 points of the figure that it reproduces. For the rows
with *whole saves*, `ceil(T/τ) - 1` saves are counted and the checkpoint's age is averaged over
the segments that there are; their figures are a Monte Carlo of the same model in which failures
strike at instants of training, and the tolerance is its rounding.
"""

_SWEEP = """\
## Where the best interval is

Full recovery at several intervals, all against the same failures, useful time {useful:g} s, save
{save:g} s, MTBF {mtbf:g} s, load {load:g} s, downtime {downtime:g} s. The closed form's best
interval is {optimum:.2f} s, with an exact overhead of {least:.3f} %. The best of the simulated
intervals is {found:g} s, and there the exact wall time is {above:.3f} % above the least.
"""

_PRODUCTION = """\
## Production run

The CPR paper's production-scale run: {trainers} trainers, {servers} servers, {useful_h:g} h,
{failures} failures of {hit:g} servers each, so T_fail = {mtbf_h:g} h and k = {hit:g}. Assumed
besides: the costs, calibrated to the 12.5 % that is remembered of full recovery there, with save
over load + reschedule as in `criteo-kaggle.toml`; and the target PLS, which is not known. To
first order:

| policy | target PLS | interval | overhead | less than full |
| --- | --- | --- | --- | --- |
{rows}

A target PLS of 0.1 gives {at_tenth:.1f} % less overhead than full recovery, not the "over 91 %"
that is reported. That needs an interval of {interval_h:.2f} h, from `save/interval + (load +
reschedule)/T_fail = 0.09 x full`, and so a target PLS of {target:.3f} by (E5). The paper's run
may have had such a target, other costs, or another account of k failing servers: the model can't
tell. The simulated overheads are in the table of the shipped scenarios.
"""


def row(case: Case, measured: Measured) -> str:
    """The line of one case in its table."""
    return _line(
        case.name,
        case.source,
        f"{measured.exact:.7g}",
        simulated(measured),
        f"{measured.z:+.2f}",
        f"{case.replications:,}",
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
        _line(f"{tau_s:g} s", f"{each.exact:.7g}", simulated(each), f"{each.z:+.2f}")
        for tau_s, each in zip(SWEEP.intervals_s, measured, strict=True)
    ]
    heads = ("interval", "exact wall time", "simulated", "z")
    return _join(text, _table(heads, lines), f"{SWEEP.replications:,} replications.\n")


class Production(NamedTuple):
    """First-order overheads of the production run as shares, and what CPR would need."""

    full: float
    cpr: float
    cpr_interval_s: float
    needed_interval_s: float
    needed_pls: float
    needed: float  # overhead at needed_pls, by the policy's own plan


def production(reduction: float = 0.91) -> Production:
    """What CPR gains in the production run, and the target PLS for a given reduction."""
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
    rows = [_line("full", "", f"{full_h:.2f} h", f"{100 * found.full:.2f} %", "")]
    for policy_pls, interval_s, overhead in (
        (scenario.policies["cpr"].target_pls, found.cpr_interval_s, found.cpr),
        (found.needed_pls, found.needed_interval_s, found.needed),
    ):
        less = 100 * (1 - overhead / found.full)
        rows.append(
            _line(
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
        rows="\n".join(rows),
        at_tenth=100 * (1 - found.cpr / found.full),
        interval_h=found.needed_interval_s / 3600,
        target=found.needed_pls,
    )


def page(row_of: Callable[[Case], str], sweep: str, *measured: str) -> str:
    """The whole page, given the row of each case and the sections that are measured apart.

    `measured` are those at the end, in order: published figures, replayed logs, starts of jobs,
    what `advise` picks, choices of the best.
    """
    heads = ("case", "source", "exact", "simulated", "z", "replications")
    figures = _figures()
    groups = [
        _join(
            f"## {group}\n",
            _GROUPS[group].format(**figures),
            _table(heads, [row_of(case) for case in cases]),
            _notes(cases),
        )
        for group, cases in ((key, list(found)) for key, found in groupby(CASES, _group))
    ]
    forms = _table(
        ("scenario", "policy", "source", "to reproduce", "computed"),
        [_predicted_row(each) for each in PREDICTED],
    )
    predicted = _join(_PREDICTED, forms), production_section()
    return _join(_INTRO, *groups, sweep, *predicted, *measured)


def write(path: Path = PAGE) -> None:
    """Measure everything and write the page, all of it or nothing."""
    committed = path.read_text(encoding="utf-8")
    logs = *logs_sections(committed), frailty_section(committed)
    sweep, published = sweep_section(measure_sweep()), published_section.section()
    picked = advice_section.section(read_regrets())  # it takes an hour to measure that anew
    apart = published, *logs, picked, choices_section()
    text = page(lambda case: row(case, measure(case)), sweep, *apart)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _group(case: Case) -> str:
    return case.group


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


def _predicted_row(each: Predicted) -> str:
    figures = f"{each.published:.4g}", f"{each.computed:.4g}"
    return _line(each.name, each.policy, each.source, *figures)


def _notes(cases: Sequence[Case]) -> str:
    return "".join(f"- {case.name}: {case.note}.\n" for case in cases if case.note)


def _table(heads: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([_line(*heads), _line(*["---"] * len(heads)), *lines]) + "\n"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


if __name__ == "__main__":
    write()
