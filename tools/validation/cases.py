"""Simulated runs whose expected result is known exactly: the cases, and how they are measured.

Plain data and functions. The tests hold every case to three standard errors, and docs/validation.md
shows the same measurements. A time without a unit in a case's name is in seconds.
"""

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.failures.spec import Ages
from cprsim.formulas.intervals import exact_interval_s
from cprsim.formulas.makespan import blocking_makespan_s
from cprsim.formulas.pls import mean_pls
from cprsim.runs.engines import chosen, simulate
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import apply_override
from cprsim.sim.engine import COLUMNS
from tools.paths import SCENARIOS
from tools.validation.exact import Uniform, fresh_makespan_s, renewal_count
from tools.validation.formulas import (
    async_cycle_s,
    async_makespan_s,
    partial_makespan_s,
    renewal_goodput,
)

Rows = NDArray[np.float64]  # shape (replications, len(COLUMNS)), or what a quantity makes of them
Quantity = Callable[[Rows], Rows]
Table = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """One quantity of one simulated job, and its exact mean.

    `exact` comes from `cprsim.formulas` or from exact.py, `source` says by whom the form is.
    `printed` is the figure of the reference that `exact` has to agree with, digit by digit.
    `quantity` makes one value of each replication's ledger columns.
    """

    group: str
    name: str
    source: str
    scenario: Table
    policy: str
    replications: int
    seed: int
    quantity: Quantity
    exact: float
    printed: str = ""


@dataclass(frozen=True)
class Measured:
    """The mean over the replications of a case; `z` is its distance from `exact` in errors."""

    mean: float
    standard_error: float
    exact: float
    z: float


def measure(case: Case) -> Measured:
    """Simulate a case; only the first time in a process."""
    table = json.dumps(case.scenario, sort_keys=True)
    rows = _play(table, (case.policy,), case.replications, case.seed)[:, 0, :]
    return _compare(case.quantity(rows), case.exact)


@cache
def _play(table: str, policies: tuple[str, ...], replications: int, seed: int) -> Rows:
    scenario = Scenario(**json.loads(table))
    engine = "auto" if replications >= 100 else "sim"  # a few long runs are no batch
    return simulate(scenario, chosen(scenario, policies, engine), range(replications), seed)


def _compare(values: Rows, exact: float) -> Measured:
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    if error > 1e-12 * abs(mean):
        return Measured(mean, error, exact, (mean - exact) / error)
    # Nothing is random in this case: it agrees to rounding or not at all.
    return Measured(mean, 0.0, exact, 0.0 if math.isclose(mean, exact, rel_tol=1e-9) else math.inf)


# --- Quantities ----------------------------------------------------------------------------------


def column(name: str) -> Quantity:
    """A column of the ledger."""
    index = COLUMNS.index(name)
    return lambda rows: rows[:, index]


def overhead_percent(useful_time_s: float) -> Quantity:
    """Wall time beyond the useful time, in percent of it."""
    wall = column("wall")
    return lambda rows: 100 * (wall(rows) / useful_time_s - 1)


def cycle_s(first_s: float, commits: int) -> Quantity:
    """Time between two commits of a run whose first commit takes `first_s` in the mean."""
    wall = column("wall")
    return lambda rows: (wall(rows) - first_s) / (commits - 1)


def long_run_goodput(useful_time_s: float, edge_s: float) -> Quantity:
    """Useful over wall time, the edge of a finite run taken off the wall time.

    A ratio of means, so every replication gives its linear contribution to that ratio: their mean
    is the ratio itself, their spread its standard error (delta method).
    """
    wall = column("wall")

    def contributions(rows: Rows) -> Rows:
        long_run_s = wall(rows) - edge_s
        goodput = useful_time_s / long_run_s.mean()
        return goodput + (useful_time_s - goodput * long_run_s) / long_run_s.mean()

    return contributions


# --- Scenarios -----------------------------------------------------------------------------------


def job(
    useful_time_s: float,
    costs: Table,
    failures: Table,
    policies: Table,
    *,
    servers: int = 8,
    final_save: bool = True,
) -> Table:
    """The tables of a scenario file."""
    return {
        "job": {"useful_time": f"{useful_time_s!r} s", "final_save": final_save},
        "cluster": {"parameter_servers": servers},
        "costs": costs,
        "failures": failures,
        "policies": policies,
    }


def costs(save_s: float, load_s: float, reschedule_s: float) -> Table:
    """Measured costs."""
    return {
        "save": f"{save_s!r} s",
        "load": f"{load_s!r} s",
        "reschedule": f"{reschedule_s!r} s",
    }


def exponential(mean_s: float, *, during_recovery: bool) -> Table:
    """Exponential failures of the job."""
    return {
        "distribution": "exponential",
        "mean": f"{mean_s!r} s",
        "during_recovery": during_recovery,
    }


def shipped(name: str, *overrides: str) -> Table:
    """A scenario file of the project."""
    tables = tomllib.loads((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))
    for override in overrides:
        apply_override(tables, override)
    return tables


# --- Cases ---------------------------------------------------------------------------------------


def _blocking(
    parameters: tuple[float, float, float, float, float, float],
    replications: int,
    seed: int,
    *,
    during_recovery: bool = True,
    final_save: bool = True,
    printed: str = "",
) -> Case:
    useful_s, tau_s, save_s, mtbf_s, load_s, downtime_s = parameters
    symbols = " ".join(
        f"{symbol}={value:g}"
        for symbol, value in zip(("T", "τ", "δ", "M", "R", "D"), parameters, strict=True)
    )
    extra = ("" if during_recovery else ", no failures in recovery") + (
        "" if final_save else ", no final save"
    )
    return Case(
        group="Blocking saves, full recovery: wall time",
        name=symbols + extra,
        source="Daly 2006; Bougeret et al. 2011",
        scenario=job(
            useful_s,
            costs(save_s, load_s, downtime_s),
            exponential(mtbf_s, during_recovery=during_recovery),
            {"full": {"system": "full", "interval": f"{tau_s!r} s"}},
            final_save=final_save,
        ),
        policy="full",
        replications=replications,
        seed=seed,
        quantity=column("wall"),
        exact=blocking_makespan_s(
            *parameters, during_recovery=during_recovery, final_save=final_save
        ),
        printed=printed,
    )


BLOCKING = [
    _blocking((1000, 50, 5, 100, 10, 3), 20_000, 1, printed="1669.3620"),
    _blocking((1000, 50, 5, 100, 10, 3), 20_000, 2, during_recovery=False, printed="1657.1518"),
    _blocking((1000, 20, 1, 500, 7, 2), 20_000, 3, printed="1091.8305"),
    _blocking((1000, 50, 5, 100, 10, 0), 2500, 4, printed="1620.7398"),
    _blocking((30_000, 117, 5, 1440, 10, 0), 500, 5, printed="32874.7"),
    _blocking((30_000, 9.1, 5, 15, 10, 0), 10, 6, printed="150253"),
    _blocking((1000, 50, 5, 100, 10, 3), 1500, 7, final_save=False),
    _blocking((1030, 50, 5, 100, 10, 3), 1500, 8, final_save=False),
    _blocking((1030, 50, 5, 100, 10, 3), 1500, 9, during_recovery=False),
]


def _partial(
    parameters: tuple[float, float, float, float, float, int],
    replications: int,
    seed: int,
    printed: tuple[str, str],
) -> list[Case]:
    useful_s, tau_s, save_s, mtbf_s, recovery_s, servers = parameters
    downtime_s = round(0.25 * recovery_s, 1)
    symbols = f"T={useful_s:g} τ={tau_s:g} δ={save_s:g} M={mtbf_s:g} R={recovery_s:g} N={servers}"
    tables = job(
        useful_s,
        costs(save_s, recovery_s - downtime_s, downtime_s),
        exponential(mtbf_s, during_recovery=False),
        {"partial": {"system": "partial", "interval": f"{tau_s!r} s"}},
        servers=servers,
    )
    forms = (
        ("wall time", "wall", "no work is repeated", partial_makespan_s(*parameters[:5])),
        ("PLS", "pls", "CPR (E4), exact mean", mean_pls(tau_s, save_s, mtbf_s, servers)),
    )
    return [
        Case(
            group="Blocking saves, partial recovery",
            name=f"{what}, {symbols}",
            source=source,
            scenario=tables,
            policy="partial",
            replications=replications,
            seed=seed,
            quantity=column(name),
            exact=exact,
            printed=figure,
        )
        for (what, name, source, exact), figure in zip(forms, printed, strict=True)
    ]


PARTIAL = [
    *_partial((1000, 50, 5, 100, 13, 18), 20_000, 11, ("1243.0", "0.0166667")),
    *_partial((1000, 10, 1, 28, 3, 8), 1000, 12, ("1217.857", "0.0267857")),
]


def _async(
    parameters: tuple[float, float, float, float, float],
    commits: int,
    in_flight: int,
    replications: int,
    seed: int,
    printed: str,
) -> list[Case]:
    tau_s, stall_s, persist_s, mtbf_s, recovery_s = parameters
    useful_s = commits * tau_s
    tables = job(
        useful_s,
        costs(persist_s, recovery_s - 2, 2),
        exponential(mtbf_s, during_recovery=False),
        {
            "async": {
                "system": "async",
                "interval": f"{tau_s!r} s",
                "snapshot": f"{stall_s!r} s",
                "in_flight": in_flight,
            }
        },
    )
    symbols = (
        f"τ={tau_s:g} s={stall_s:g} P={persist_s:g} M={mtbf_s:g} R+D={recovery_s:g}"
        f", {in_flight} in flight"
    )
    makespan_s = async_makespan_s(useful_s, *parameters)
    cycle = async_cycle_s(*parameters)
    first_s = makespan_s - (commits - 1) * cycle
    forms = (
        (f"wall time of {commits} commits", column("wall"), makespan_s, ""),
        ("cycle", cycle_s(first_s, commits), cycle, printed),
    )
    return [
        Case(
            group="Background saves, full recovery",
            name=f"{what}, {symbols}",
            source="Vaidya 1997",
            scenario=tables,
            policy="async",
            replications=replications,
            seed=seed,
            quantity=quantity,
            exact=exact,
            printed=figure,
        )
        for what, quantity, exact, figure in forms
    ]


ASYNC = [
    *_async((60, 1, 40, 300, 12), 10, 1, 3000, 21, "80.3841"),
    *_async((30, 2, 90, 300, 12), 10, 3, 2000, 22, "47.4067"),
    *_async((60, 0, 0, 300, 12), 10, 1, 3000, 23, "69.0777"),
]


GOODPUT_PARAMETERS = (60.0, 2.0, 30.0, 15.0, 600.0)  # interval, stall, persist, recovery, mean, s


def _goodput(law: Table, commits: int, replications: int, seed: int, printed: str) -> Case:
    tau_s, stall_s, persist_s, recovery_s, mean_s = GOODPUT_PARAMETERS
    spread = f", shape {law['shape']:g}" if "shape" in law else ""
    failures = {**law, "mean": f"{mean_s} s"}
    times = Distribution(**failures)
    exact = renewal_goodput(tau_s, stall_s, persist_s, recovery_s, mean_s, times.survival)
    fresh_s = fresh_makespan_s(commits, tau_s, stall_s, persist_s, recovery_s, times)
    return Case(
        group="Goodput under any failure law",
        name=f"{law['distribution']}{spread}",
        source="renewal reward",
        scenario=job(
            commits * tau_s,
            costs(persist_s, recovery_s - 5.0, 5.0),
            {**failures, "ages": "new", "during_recovery": False},
            {
                "async": {
                    "system": "async",
                    "interval": f"{tau_s} s",
                    "snapshot": f"{stall_s} s",
                }
            },
        ),
        policy="async",
        replications=replications,
        seed=seed,
        quantity=long_run_goodput(commits * tau_s, fresh_s - commits * tau_s / exact),
        exact=exact,
        printed=printed,
    )


GOODPUT = [
    _goodput({"distribution": "deterministic"}, 100, 2, 31, "0.87805"),
    _goodput({"distribution": "weibull", "shape": 0.5}, 100, 600, 32, "0.87209"),
    _goodput({"distribution": "weibull", "shape": 1.0}, 100, 300, 33, "0.85249"),
    _goodput({"distribution": "weibull", "shape": 3.0}, 100, 200, 34, "0.84816"),
    # The survival is erfc(sqrt(t/2M)); summed term by term that gives 0.86378. The reference has
    # 0.86287, of runs that were played: short ones are biased.
    _goodput({"distribution": "gamma", "shape": 0.5}, 100, 400, 35, "0.86378"),
]


def _count(
    law: Table,
    per: str,
    servers: int,
    horizon_s: float,
    seed: int,
    printed: str = "",
    ages: Ages = "new",
) -> Case:
    nodes = servers if per == "node" else 1
    times, new = Distribution(**law), ages == "new"
    gaps = horizon_s / times.expected_s
    return Case(
        group="Number of failures in a fixed time",
        name=f"{law['distribution']}, shape {law['shape']:g}, "
        f"in {gaps:g} x the mean"
        + (f", each of {nodes} nodes" if per == "node" else ", the job as a whole")
        + ("" if new else f", {ages}"),
        source="renewal equation, solved numerically" if new else "Cox 1962, chapter 4",
        # Nothing costs any time, so the job lasts for its useful time exactly.
        scenario=job(
            horizon_s,
            costs(0.0, 0.0, 0.0),
            {**law, "per": per, "ages": ages},
            {"partial": {"system": "partial", "interval": f"{horizon_s!r} s"}},
            servers=servers,
            final_save=False,
        ),
        policy="partial",
        replications=1500,
        seed=seed,
        quantity=column("failures"),
        exact=nodes * (renewal_count(times, horizon_s) if new else gaps),
        printed=printed,
    )


WEAR_OUT = {"distribution": "weibull", "mean": "100 h", "shape": 3.0}
AS_CPR = {"distribution": "gamma", "mean": "28 h", "shape": 0.675}
COUNTS = [
    _count(WEAR_OUT, "node", 10, 3 * 360_000.0, 41),
    _count({**WEAR_OUT, "shape": 0.5}, "node", 10, 360_000.0, 42),
    _count(AS_CPR, "job", 8, 201_600.0, 43, "2.23"),
    _count(AS_CPR, "job", 8, 201_600.0, 44, "2", ages="stationary"),
]


def _shipped(name: str, policy: str, replications: int, seed: int) -> list[Case]:
    tables = shipped(name)
    uniform = uniform_of(tables, policy)
    overhead, pls = uniform.played()
    case = Case(
        group="Shipped scenarios: overhead in percent, and PLS",
        name=f"{name}, {policy}: overhead",
        source="arithmetic on an even grid of failure instants",
        scenario=tables,
        policy=policy,
        replications=replications,
        seed=seed,
        quantity=overhead_percent(uniform.useful_time_s),
        exact=overhead,
    )
    if uniform.full:
        return [case]
    lost = {"name": f"{name}, {policy}: PLS", "quantity": column("pls"), "exact": pls}
    return [case, Case(**{**vars(case), **lost})]


def uniform_of(tables: Table, policy: str) -> Uniform:
    """The numbers of a shipped scenario whose failures are `exactly` so many."""
    scenario = Scenario(**tables)
    plan, context, costs = scenario.plan(policy), scenario.context, scenario.costs
    return Uniform(
        useful_time_s=context.useful_time_s,
        interval_s=plan.interval_s,
        save_s=context.save_s,
        load_s=costs.load_s,
        downtime_s=costs.reschedule + costs.detect_s,
        failures=scenario.failures.exactly,
        hit_share=context.servers_hit / context.servers,
        full=plan.recovery == "full",
    )


SHIPPED = [
    case
    for number, name in enumerate(("criteo-kaggle", "criteo-terabyte", "production"))
    for policy in ("full", "partial", "cpr")
    for case in _shipped(name, policy, 1500, 51 + number)
]

CASES: Sequence[Case] = [*BLOCKING, *PARTIAL, *ASYNC, *GOODPUT, *COUNTS, *SHIPPED]


# --- Where the optimal interval is ---------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Full recovery at several intervals, all against the same failures."""

    parameters: tuple[float, float, float, float, float]  # T, save, M, load, downtime, s
    intervals_s: tuple[float, ...]
    replications: int
    seed: int

    def makespan_s(self, interval_s: float) -> float:
        """The exact mean wall time at an interval."""
        useful_s, save_s, mtbf_s, load_s, downtime_s = self.parameters
        return blocking_makespan_s(useful_s, interval_s, save_s, mtbf_s, load_s, downtime_s)

    @property
    def optimum_s(self) -> float:
        """The interval that the closed form calls best."""
        _, save_s, mtbf_s, _, _ = self.parameters
        return exact_interval_s(save_s, mtbf_s)


SWEEP = Sweep(
    parameters=(1000.0, 2.0, 200.0, 5.0, 2.0),
    intervals_s=tuple(round(1000 / parts, 3) for parts in (70, 50, 37, 27, 19)),
    replications=1000,
    seed=61,
)


def measure_sweep(sweep: Sweep = SWEEP) -> list[Measured]:
    """The wall time at each interval of a sweep."""
    useful_s, save_s, mtbf_s, load_s, downtime_s = sweep.parameters
    policies = {
        f"every {tau_s:g} s": {"system": "full", "interval": f"{tau_s!r} s"}
        for tau_s in sweep.intervals_s
    }
    tables = job(
        useful_s,
        costs(save_s, load_s, downtime_s),
        exponential(mtbf_s, during_recovery=True),
        policies,
        final_save=False,
    )
    table = json.dumps(tables)
    walls = _play(table, tuple(policies), sweep.replications, sweep.seed)[
        ..., COLUMNS.index("wall")
    ]
    return [
        _compare(walls[:, i], sweep.makespan_s(tau_s)) for i, tau_s in enumerate(sweep.intervals_s)
    ]
