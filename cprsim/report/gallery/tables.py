"""Pictures of points around a scenario: servers, failures, intervals, targets and levers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from cprsim.advice.decision import closed_form
from cprsim.contract import Policy
from cprsim.contract.expected import expected
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.fitting.mtbf import STEP_S, independent_s
from cprsim.formulas.intervals import young_interval_s
from cprsim.policies.cpr import Cpr, CprVanilla
from cprsim.report.gallery.levers import Levers, load_levers
from cprsim.report.gallery.picture import Drawing, PictureSource, register
from cprsim.runs.engines import chosen
from cprsim.runs.runner import run
from cprsim.runs.vocabulary import VOCABULARIES
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import leaves

#: What the CPR paper compares: full recovery, partial recovery at its interval, and CPR.
_CPR_SYSTEMS: Final = ("full", "partial", "cpr-vanilla")
#: Servers, as multiples of the scenario's.
_SERVERS: Final = (1, 2, 4, 8, 16)
#: Failures, as multiples of the scenario's: of 2 the 20 and 40 of the CPR paper, as recalled.
_FAILURES: Final = (0.5, 1, 2, 4, 10, 20)
#: Servers that each failure takes, as shares of all.
_SHARES: Final = (0.125, 0.25, 0.5)
#: Targets on the portion of lost samples.
_TARGETS: Final = (0.005, 0.01, 0.02, 0.05, 0.1)
#: Simulated intervals, as multiples of Young's.
_INTERVALS: Final = (1 / 8, 1 / 4, 1 / 2, 1 / math.sqrt(2), math.sqrt(2), 2.0, 4.0, 8.0)
_MOST: Final = 5.0  # overhead: jobs beyond it hardly end, and nobody asks for them
_POINTS: Final = 500  # of a curve: it jumps wherever there is one save less
#: Of `[failures]`: what says who fails and meanwhile, and not when.
_KEPT: Final = ("hits", "severity", "causes", "during_recovery", "while_waiting")
#: Columns of a row that are those of a summary.
_COLUMNS: Final = [
    "system",
    "interval_s",
    *(f"{m}{end}" for m in ("overhead", "pls", "updates_lost") for end in ("", "_low", "_high")),
]
Rows = list[dict[str, Any]]

#: The row without any lever.
AS_IT_IS: Final = "as it is"


@register("ett-ladder", "levers", "ett-ladder.toml")
def ladder(source: PictureSource, replications: int = 400) -> Drawing:
    """The time that each lever of a scenario gives back, one after the other and alone.

    A row a lever and way of pulling it, for the scenario's first policy. All rows meet the same
    failures, as far as their law is the same.
    """
    levers = load_levers(source.path)
    names = [*levers.sets]
    pulled = [
        ((), "together"),
        *((tuple(names[: i + 1]), "together") for i in range(len(names))),
        *(((name,), "alone") for name in names),
    ]
    runs = len({which for which, _ in pulled})
    found = {
        which: effective_training(levers.scenario(which), replications, runs) for which, _ in pulled
    }
    rows = [
        {"lever": which[-1] if which else AS_IT_IS, "way": way, "sets": _sets(levers, which)}
        | found[which]
        for which, way in pulled
    ]
    return Drawing("bars:ladder", pd.DataFrame(rows), levers.scenario().title)


def effective_training(scenario: Scenario, replications: int, runs: int) -> dict[str, Any]:
    """Return shares of the wall clock, half the interval of what counts, and updates lost.

    `runs`: how many such are made, by which the engine is chosen.
    """
    name = next(iter(scenario.policies))
    engine = chosen(scenario, [name], "auto", runs * replications)[name]
    row: Any = run(scenario, name, replications, engine=engine).summary.iloc[0]
    shares = VOCABULARIES["cprsim"].shares(row)
    ett = shares["train"]
    half = (row["overhead_high"] - row["overhead"]) * ett**2  # ett is 1 / (1 + overhead)
    causes = {cause: shares[cause] for cause in OVERHEAD_CAUSES}
    return {"ett": ett, "ett_half": half, **causes, "updates_lost": row["updates_lost"]}


def _sets(levers: Levers, which: Sequence[str]) -> str:
    """Return what the last of these levers sets, in words."""
    if not which:
        return ""
    return ", ".join(
        f"{value}" if parts[-1] == "system" else f"{parts[-1]} {value}"
        for parts, value in leaves(levers.sets[which[-1]])
    )


@register("scaling", "scenario", "criteo-kaggle.toml")
def scaling(scenario: Scenario, replications: int = 100) -> Drawing:
    """Overhead against the number of servers, if the MTBF falls with it in two ways.

    A row a model, number of servers and policy. Failures are exponential; the scenario's own MTBF
    is that of both models at its own size.
    """
    policies = of_systems(scenario, _CPR_SYSTEMS, "scaling")
    _check_fails(scenario, "scaling")
    servers, rows = scenario.cluster.parameter_servers, Rows()
    for size in (servers * times for times in _SERVERS):
        for model, mtbf_s in mtbf_by_model(scenario.context.mtbf_s, servers, size).items():
            values = {"cluster.parameter_servers": size, "policies": policies}
            point = {"varied": model, "value": size, "mtbf_s": mtbf_s}
            rows += _measured(_at_mtbf(scenario, mtbf_s, values), replications, **point)
    return Drawing("curves:estimates", pd.DataFrame(rows), scenario.title)


def mtbf_by_model(mtbf_s: float, servers: int, size: int) -> dict[str, float]:
    """Return the MTBF of a job on `size` servers by model, seconds, given that on `servers`.

    `linear`: in inverse proportion. `independent`: each server fails in an hour with the same
    chance p, and a job on n of them with 1 - (1 - p)^n (Maeng et al., MLSys 2021); in half the
    MTBF where that is shorter than an hour.
    """
    step_s = min(STEP_S, mtbf_s / 2)
    chance = 1 - (1 - step_s / mtbf_s) ** (1 / servers)
    independent = independent_s(chance, size, step_s)
    return {"linear": mtbf_s * servers / size, "independent": independent}


@register("sensitivity", "scenario", "criteo-kaggle.toml")
def sensitivity(scenario: Scenario, replications: int = 100) -> Drawing:
    """Overhead against the number of failures, and the share of servers that each takes.

    A row a point and policy. Every job has exactly that many failures, uniform over it: as many as
    the scenario's MTBF gives on average, where its own number isn't exact.
    """
    policies = of_systems(scenario, _CPR_SYSTEMS, "sensitivity")
    _check_fails(scenario, "sensitivity")
    usual = max(round(scenario.job.useful_time_s / scenario.context.mtbf_s), 1)
    hits = scenario.failures.mapping().get("hits", {})
    counts = sorted({max(round(times * usual), 1) for times in _FAILURES})
    points: list[tuple[str, float, int, Any]] = [("failures", n, n, hits) for n in counts]
    servers = scenario.cluster.parameter_servers
    taken = sorted({max(round(share * servers), 1) for share in _SHARES})
    points += [("share", k / servers, usual, {"parameter_servers": k}) for k in taken]
    rows = Rows()
    for varied, value, count, who in points:
        failures = _failing(scenario, {"exactly": count, "hits": who})
        there = scenario.with_values({"failures": failures, "policies": policies})
        rows += _measured(there, replications, varied=varied, value=value)
    return Drawing("curves:estimates", pd.DataFrame(rows), scenario.title)


def tradeoff(scenario: Scenario, replications: int = 100) -> Drawing:
    """Return a row a target and CPR policy, and one for full recovery, as `tradeoff` draws them."""
    cpr = {name: p for name, p in scenario.policies.items() if isinstance(p, Cpr)}
    if not cpr:
        raise UsageError(
            "figure tradeoff: the scenario has no CPR policy whose target could be varied; add "
            'one, e.g. system = "cpr-vanilla"'
        )
    full = {name: p for name, p in scenario.policies.items() if p.system == "full"}
    rows = Rows()
    if full:
        rows += _measured(scenario.with_values({"policies": full}), replications, target=0.0)
    for target in _TARGETS:
        # An interval of their own would be stronger than the target.
        update = {"target_pls": target, "interval": None}
        policies = {name: policy.model_copy(update=update) for name, policy in cpr.items()}
        there = scenario.with_values({"policies": policies})
        rows += _measured(there, replications, target=target)
    return Drawing("curves:tradeoff", pd.DataFrame(rows), scenario.title)


@register("interval", "scenario", "criteo-kaggle.toml", one_axes=True)
def interval(scenario: Scenario, replications: int = 200) -> Drawing:
    """Overhead against the checkpoint interval, simulated on the closed form, with the optimum.

    A row an interval and system. Failures are exponential, with the scenario's MTBF.
    """
    context = scenario.context
    young_s = young_interval_s(context.save_s, context.mtbf_s)
    if not 0 < young_s < math.inf:
        raise UsageError("figure interval: saves or failures cost nothing, so no interval is best")
    cpr = next((p for p in scenario.policies.values() if isinstance(p, CprVanilla)), None)
    cpr = (cpr or CprVanilla(system="cpr-vanilla")).model_copy(update={"checksum": None})
    cpr_s = cpr.interval_s(context)  # as in the closed form, saves are not checked
    # What saves at each interval: full recovery, and partial recovery as CPR does it.
    chosen = {"full": young_s}
    if cpr_s > 0:
        chosen["cpr-vanilla"] = min(cpr_s, context.useful_time_s)
    played = {young_s * times for times in _INTERVALS} | {*chosen.values()}
    played = {each_s for each_s in played if each_s <= context.useful_time_s}
    curve = np.geomspace(min(played), context.useful_time_s, _POINTS)
    closed = pd.DataFrame(
        [
            (system, interval_s, closed_form(context, system, interval_s))
            for system in chosen
            for interval_s in sorted({*curve.tolist(), *played})
        ],
        columns=["system", "interval_s", "closed_form"],
    )
    closed = closed[closed["closed_form"] <= _MOST]
    closed["chosen"] = closed["interval_s"] == closed["system"].map(chosen)
    # Without rollbacks the rarest saves cost the least: only full recovery has an optimum.
    of_full = closed.loc[closed["system"] == "full", "closed_form"]
    if of_full.empty:
        raise UsageError(
            f"figure interval: full recovery costs {_MOST:g} times the useful time at any "
            "interval, or more; make failures rarer, or saves and recoveries cheaper"
        )
    closed["best"] = closed.index == of_full.idxmin()
    simulated = closed[closed["interval_s"].isin(played)]
    pairs = zip(simulated["system"], simulated["interval_s"], strict=True)
    policies = {f"{i}": {"system": s, "interval": f"{t!r} s"} for i, (s, t) in enumerate(pairs)}
    there = _at_mtbf(scenario, context.mtbf_s, {"policies": policies})
    seen = pd.DataFrame(_measured(there, replications))
    seen = seen[["system", "interval_s", "overhead", "overhead_low", "overhead_high"]]
    rows = closed.merge(seen, how="left", on=["system", "interval_s"])
    return Drawing("curves:interval", rows, scenario.title)


def of_systems(scenario: Scenario, systems: Iterable[str], picture: str) -> dict[str, Policy]:
    """Return the scenario's first policy of each of the systems.

    Raises `UsageError` if it has none of them.
    """
    first: dict[str, str] = {}
    for name, policy in scenario.policies.items():
        first.setdefault(policy.system, name)
    found = {first[s]: scenario.policies[first[s]] for s in systems if s in first}
    if not found:
        raise UsageError(
            f"figure {picture}: the scenario has no policy of system {', '.join(systems)}; add one"
        )
    return found


def _check_fails(scenario: Scenario, picture: str) -> None:
    """Raise `UsageError` for a job that never fails."""
    if scenario.context.mtbf_s == math.inf:
        raise UsageError(
            f"figure {picture}: the job never fails; give failures.mean, or failures.exactly >= 1"
        )


def _at_mtbf(scenario: Scenario, mtbf_s: float, values: Mapping[str, object]) -> Scenario:
    """Return the scenario with other values, and exponential failures of the whole job."""
    failures = _failing(scenario, {"distribution": "exponential", "mean": f"{mtbf_s!r} s"})
    return scenario.with_values({**values, "failures": failures})


def _failing(scenario: Scenario, when: Mapping[str, object]) -> dict[str, object]:
    """Return `[failures]` with other times, of the same nodes by the same conventions."""
    mapping = scenario.failures.mapping()
    return {key: mapping[key] for key in _KEPT if key in mapping} | dict(when)


def _measured(scenario: Scenario, replications: int, **point: Any) -> Rows:
    """Return a row a policy: the point, the overhead to first order, and means with intervals."""
    result = run(scenario, replications=replications)
    return [
        {
            **point,
            "policy": name,
            "first_order": expected(result.plans[str(name)], scenario.context).overhead,
            **{column: row[column] for column in _COLUMNS},
        }
        for name, row in result.summary.iterrows()
    ]
