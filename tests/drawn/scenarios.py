"""Hypothesis strategies of scenario files."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from hypothesis import strategies as st

from cprsim.basics import units
from cprsim.errors import PlanError, ScenarioError, printable
from cprsim.job.costs import CostModel, Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.presets import PRESETS
from cprsim.job.tiers import REMOTE
from cprsim.job.workload import Job, Model
from cprsim.scenario import Scenario
from tests.drawn.numbers import (
    SHARES,
    UNITS,
    YES,
    JobSize,
    duration,
    from_least,
    from_zero,
    in_unit,
)
from tests.drawn.policies import PRIORITY, SYSTEMS, policy


def durations(min_s: float = 1e-3, max_s: float = 30 * 86400.0) -> st.SearchStrategy[str]:
    """Durations as scenario files write them, in any unit of time.

    Parameters
    ----------
    min_s, max_s
        Bounds in seconds; the text may be off by the rounding of its conversion.

    Returns
    -------
    SearchStrategy
        Of texts such as `"2.5 h"`.
    """
    return st.builds(in_unit, from_least(min_s, max_s), UNITS)


@st.composite
def scenarios(
    draw: st.DrawFn, systems: Sequence[str] = SYSTEMS, often: float = 0.1, harsh: float = 1.0
) -> dict[str, Any]:
    """Tables of a scenario, for `cprsim.Scenario(**tables)`: every key but those of traces.

    They can be run: failures are rare beside saves and loads, checkpoints frequent enough beside
    failures, and a job is some dozens of intervals at most, so that a replication takes
    milliseconds. To run a policy of your own in them, replace `tables["policies"]`.

    Parameters
    ----------
    systems
        Which systems its policies are of; one to three policies are drawn. Those that save rows by
        priority come only where the scenario tells how rows are accessed, `cpr-vanilla` in their
        stead where no other is left.
    often
        The share of scenarios that have each of the rarer keys.
    harsh
        How many times as much saves, loads and the rest cost beside failures: at 8, failures come
        all the time, while saving, loading and rebuilding.

    Returns
    -------
    SearchStrategy
        Of mappings that may be changed; no two share a table.
    """
    tables: dict[str, Any] = draw(_PLATFORMS)
    costs, mtbf_s = _costs(draw, tables, often, harsh)
    if draw(YES) or costs:
        tables["costs"] = costs
    tables |= _outages(draw, tables, mtbf_s, often)
    exactly = draw(_EXACTLY)
    if exactly is None:
        useful_s = mtbf_s * draw(_LENGTHS)
        tables["failures"] = _law_of_failures(draw, mtbf_s, tables["cluster"])
    else:
        # As many failures, whenever they come, are no danger to any policy's progress.
        useful_s = mtbf_s * max(exactly, 1)
        tables["failures"] = {"exactly": exactly} | _hits(draw, tables["cluster"])
    tables["failures"] |= draw(_DURING_RECOVERY)
    tables["job"] = {"useful_time": _time(useful_s)} | draw(_JOBS)
    tables["job"] |= _network(draw, tables["cluster"])
    servers, trainers = (tables["cluster"][kind] for kind in ("parameter_servers", "trainers"))
    job = JobSize(
        useful_s,
        servers,
        trainers,
        mtbf_s,
        sure_to_end=exactly is not None,
        has_model="model" in tables,
    )
    tables["policies"] = {
        f"{system} {number}{draw(_NAMES)}": policy(draw, system, job)
        for number in range(draw(_POLICY_COUNTS))
        for system in [draw(st.sampled_from(_possible(systems, tables)))]
    }
    if draw(SHARES) < often:
        _corrupt(draw, tables, mtbf_s / harsh)
    if draw(SHARES) < often:
        _announce(draw, tables, mtbf_s)
    if draw(SHARES) < 2 * often:
        _cure(draw, tables, mtbf_s)
    if draw(SHARES) < often:
        _allocate(tables, mtbf_s * (0.5 + 2.0 * draw(SHARES)))
    return tables | draw(_TITLES)


def _announce(draw: st.DrawFn, tables: dict[str, Any], mtbf_s: float) -> None:
    """Notices, some of them long enough to save in, or to drain a node."""
    notice = {"lead": duration(draw, mtbf_s / 1000, mtbf_s / 10), "recall": 0.9 * draw(SHARES)}
    if draw(YES):
        notice["false_alarms"] = f"{1 + 3 * draw(SHARES)!r} / {_time(mtbf_s)}"
    tables["failures"]["notice"] = notice
    tables.setdefault("costs", {})["drain"] = duration(draw, 0.0, mtbf_s / 100)


def _cure(draw: st.DrawFn, tables: dict[str, Any], mtbf_s: float) -> None:
    """Causes, noticed sooner or later, restarts in place, and groups that form again."""
    costs = tables.get("costs", {}) | {"restart": duration(draw, 0.0, mtbf_s / 100)}
    if draw(YES):
        costs["regroup"] = duration(draw, 0.0, mtbf_s / 100)
    failures = tables["failures"] | {"severity": {"process": 0.7, "node": 0.3}}
    if draw(YES):
        costs["restart_fails"] = 0.9 * draw(SHARES)
    if draw(YES):
        share = 0.1 + 0.8 * draw(SHARES)
        hang = {"name": "hang", "share": share, "severity": "process"}
        hang["detect"] = duration(draw, 0.0, mtbf_s / 20)
        crash = {"name": "crash", "share": 1 - share}
        del failures["severity"]
        failures["causes"] = [hang, crash]
    with suppress(ScenarioError):
        Scenario(**tables | {"failures": failures, "costs": costs})
        tables["failures"], tables["costs"] = failures, costs


def _allocate(tables: dict[str, Any], allocation_s: float) -> None:
    """Nodes for so long at a stretch, where all policies can hand over what they have trained."""
    allocated = tables["job"] | {"allocation": _time(allocation_s)}
    with suppress(PlanError):
        Scenario(**tables | {"job": allocated})
        tables["job"] = allocated


def _corrupt(draw: st.DrawFn, tables: dict[str, Any], mtbf_s: float) -> None:
    """Silent faults, rarer than failures, and policies that verify what is trained, or don't."""
    tables["failures"]["silent"] = {"mean": _time(mtbf_s * (5.0 + 50.0 * draw(SHARES)))}
    costs = tables.setdefault("costs", {})
    costs["verify"] = duration(draw, 0.0, mtbf_s / 300)
    for table in tables["policies"].values():
        table.update(draw(_LATE))


def _possible(systems: Sequence[str], tables: Mapping[str, Any]) -> Sequence[str]:
    """Those of `systems` that the scenario tells enough for, and has servers for."""
    knows_rows = (
        "samples" in tables["job"] and {"preset", "tables"} & tables.get("model", {}).keys()
    )
    too_much = set() if knows_rows else set(PRIORITY)
    if tables["cluster"]["parameter_servers"] < 2:
        too_much |= {"hot-swap", "twin-groups"}
    return [each for each in systems if each not in too_much] or ["cpr-vanilla"]


# Other letters no scenario has.
_LETTERS: Final = st.characters().filter(lambda each: printable(each) == each != "\n")
_NAMES: Final = st.text(_LETTERS, max_size=4)
_POLICY_COUNTS: Final = st.integers(1, 3)
_TITLES: Final = st.fixed_dictionaries({}, optional={"title": st.text(_LETTERS, max_size=20)})
_EXACTLY: Final = st.sampled_from([*range(9), *[None] * 12])  # None: by a law
_LENGTHS: Final = st.floats(0.2, 8.0)  # of jobs, in mean times between failures
_SEVERITIES: Final = st.fixed_dictionaries(
    {"node": st.floats(0.1, 1.0)},
    optional={"process": st.floats(0.1, 1.0), "cluster": st.floats(0.01, 0.2)},
)
_DURING_RECOVERY: Final = st.fixed_dictionaries(
    {}, optional={"during_recovery": YES, "while_waiting": YES, "severity": _SEVERITIES}
)
_JOBS: Final = st.fixed_dictionaries(
    {}, optional={"samples": st.integers(1, 10**12), "final_save": YES}
)


def _rates(middle: float) -> st.SearchStrategy[float]:
    return st.floats(middle / 30, middle * 30)


def _storage(write: float, read_per_write: float, fails: dict[str, float]) -> dict[str, Any]:
    return {"write": f"{write!r} B/s", "read": f"{write * read_per_write!r} B/s"} | fails


def _sizes(least: float, most: float) -> st.SearchStrategy[str]:
    sizes = st.floats(least, most) if least else from_zero(most)
    return sizes.map(lambda size: f"{size!r} B")


_LATE: Final = st.fixed_dictionaries(
    {"checksum": YES}, optional={"verify_every": st.integers(1, 3), "keep": st.integers(3, 9)}
)
_CHANCES: Final = from_zero(0.3)
_STORE_FAILS: Final = st.one_of(
    *[st.just({})] * 3,  # most stores do not, and are played in batches
    st.fixed_dictionaries(
        {}, optional={"save_fails": _CHANCES, "load_fails": _CHANCES, "torn": _CHANCES}
    ),
)
_SKEWS: Final = st.one_of(
    st.sampled_from(["uniform", "dlrm-production"]), st.fixed_dictionaries({"zipf": from_zero(1.5)})
)
_TRACKED: Final[dict[str, Any]] = {"tracked_tables": st.just(1)}  # as many as each model has
_TABLES: Final = st.fixed_dictionaries(
    {"rows": st.integers(10**4, 10**9), "dim": st.integers(1, 256)},
    optional={
        "name": st.text(_LETTERS, max_size=8),
        "dtype": st.sampled_from(["float64", "float32", "float16", "bfloat16", "int8"]),
        "optimizer_slots": st.integers(0, 2),
        "skew": _SKEWS,
        "pooling": st.floats(0.1, 50.0),
    },
)
_DENSE: Final[dict[str, Any]] = {"dense": _sizes(0.0, 1e9)}
_OPTIMIZERS: Final = st.sampled_from(["sgd", "adam"])  # Adagrad's rows take seconds a model
_OPTIMIZER: Final[dict[str, Any]] = {"optimizer": st.one_of(_sizes(0.0, 1e12), _OPTIMIZERS)}
_BY_NAME: Final[dict[str, Any]] = {"optimizer": _OPTIMIZERS}
_MODELS: Final = st.one_of(
    st.fixed_dictionaries({"embedding": _sizes(1e6, 1e12)}, optional=_DENSE | _OPTIMIZER),
    st.fixed_dictionaries(
        {"tables": st.lists(_TABLES, min_size=1, max_size=3)}, optional=_DENSE | _TRACKED | _BY_NAME
    ),
    st.fixed_dictionaries(
        {"preset": st.sampled_from(sorted(PRESETS))},
        optional=_DENSE | _OPTIMIZER | _TRACKED | {"skew": _SKEWS},
    ),
)


def _enough_nodes(cluster: dict[str, Any]) -> dict[str, Any]:
    """No more spares than nodes, and a share of the updates for each server."""
    if "updates" in cluster:
        cluster["updates"] = cluster["updates"][: cluster["parameter_servers"]]
    if "spares" in cluster:
        cluster["spares"] = min(cluster["spares"], cluster["parameter_servers"])
    return cluster


_PLATFORMS: Final = st.fixed_dictionaries(
    {
        "cluster": st.fixed_dictionaries(
            {"parameter_servers": st.integers(1, 8), "trainers": st.integers(0, 6)},
            optional={
                "nic": _rates(3.125e9).map(lambda rate: f"{rate!r} B/s"),  # 25 Gbit/s
                "spares": st.integers(0, 3),
                "holds_nodes": YES,
                "memory_bandwidth": _rates(15e9).map(lambda rate: f"{rate!r} B/s"),
                "updates": st.lists(st.floats(0.1, 10.0), min_size=8, max_size=8),
            },
        ).map(_enough_nodes)
    },
    optional={
        "storage": st.builds(_storage, _rates(2e9), st.floats(0.4, 2.5), _STORE_FAILS),
        "model": _MODELS,
    },
)


def _time(seconds: float) -> str:
    return f"{seconds!r} s"


_SPREADS: Final[dict[str, dict[str, st.SearchStrategy[Any]]]] = {
    "exponential": {},
    "gamma": {"shape": st.floats(0.5, 4.0)},
    "weibull": {"shape": st.floats(0.6, 4.0)},
    "lognormal": {"cv": st.floats(0.1, 2.0)},
    "deterministic": {},
    "uniform": {},
    "empirical": {"durations": st.lists(st.floats(0.1, 1.9), min_size=1, max_size=5)},
}
_LAWS: Final = st.one_of(
    *(
        st.fixed_dictionaries({"distribution": st.just(name)} | spread)
        for name, spread in _SPREADS.items()
    )
)


def _law(draw: st.DrawFn, mean_s: float) -> dict[str, Any]:
    """The keys of a law of durations with this mean."""
    law: dict[str, Any] = draw(_LAWS)
    if "durations" not in law:
        return law | {"mean": _time(mean_s)}
    mean = sum(law["durations"]) / len(law["durations"])
    return law | {"durations": [_time(mean_s * value / mean) for value in law["durations"]]}


_MEASURED_KEYS: Final = st.sets(st.sampled_from(["save", "load", "load_full", "load_partial"]))
_BASES: Final = st.floats(60.0, 30 * 86400.0)
_RARITIES: Final = st.floats(30.0, 150.0)
_DELAYS: Final = st.sampled_from(["none", "at once", "fixed", "law"])


def _costs(
    draw: st.DrawFn, tables: Mapping[str, Any], often: float, harsh: float
) -> tuple[dict[str, Any], float]:
    """`[costs]`, and a time between failures that is long beside what things cost, s."""
    measured = draw(_MEASURED_KEYS)
    if not ("model" in tables and "storage" in tables):
        measured.add("save")
        if not measured >= {"load_full", "load_partial"}:
            measured.add("load")
    loads = "load" in measured or measured >= {"load_full", "load_partial"}
    if "save" in measured and loads:
        mtbf_s = draw(_BASES)
    else:
        mtbf_s = _longest_derived_s(tables) * draw(_RARITIES) / harsh
    costs: dict[str, Any] = {}
    long_s = mtbf_s * harsh
    for key in sorted(measured):
        # A save that takes no time has no optimal interval.
        at_once = key != "save" and draw(SHARES) < 0.1
        costs[key] = "0 s" if at_once else duration(draw, long_s / 300, long_s / 30)
    for key in ("select", "gather", "save_fixed", "append", "merge", "checksum", "shutdown"):
        if draw(SHARES) < often:
            costs[key] = duration(draw, 0.0, long_s / 1000)
    if draw(SHARES) < often:
        parts = {"schedule": 1000, "initialise": 1000, "compile_warm": 2000}
        costs["start"] = {part: duration(draw, 0.0, long_s / n) for part, n in parts.items()}
        costs["start"]["compile"] = duration(draw, long_s / 1000, long_s / 500)
    for key in ("reschedule", "detect"):
        kind = draw(_DELAYS)
        if kind == "law" and key == "reschedule":
            costs[key] = _law(draw, long_s / 20)
        elif kind != "none":
            costs[key] = "0 s" if kind == "at once" else duration(draw, 0.0, long_s / 20)
    return costs, mtbf_s


def _longest_derived_s(tables: Mapping[str, Any]) -> float:
    model = CostModel(
        Costs(),
        Job.model_validate({"useful_time": "1 h"}),
        Model.model_validate(tables["model"]),
        cluster := Cluster.model_validate(tables["cluster"]),
        Storage.model_validate(tables["storage"]),
    )
    partial = model.load(REMOTE, "lost", cluster.parameter_servers)
    return max(
        model.seconds(each) for each in (model.save(REMOTE), model.load(REMOTE, "all", 1), partial)
    )


def _outages(
    draw: st.DrawFn, tables: Mapping[str, Any], mtbf_s: float, often: float
) -> dict[str, Any]:
    """`storage` with outages, if any: rare, and short beside the time between failures."""
    if "storage" not in tables or draw(SHARES) < 1 - often:
        return {}
    lasts = _law(draw, mtbf_s / 50) if draw(YES) else duration(draw, 0.0, mtbf_s / 20)
    outages = {"every": _time(mtbf_s * (0.5 + draw(SHARES))), "lasts": lasts}
    return {"storage": tables["storage"] | {"outages": outages}}


def _law_of_failures(draw: st.DrawFn, mtbf_s: float, cluster: Mapping[str, Any]) -> dict[str, Any]:
    per, ages = draw(_PERS), draw(_AGES)
    if per == {"per": "node"}:
        nodes = cluster["parameter_servers"] + cluster["trainers"]
        law = _law(draw, mtbf_s * nodes) | _bursts(draw, mtbf_s, nodes)
        return per | ages | law | draw(_FRAILTIES)
    return per | ages | _law(draw, mtbf_s) | _hits(draw, cluster)


def _bursts(draw: st.DrawFn, mtbf_s: float, nodes: int) -> dict[str, Any]:
    """`bursts` of `[failures]`, if any: half as many as failures of single nodes, at most."""
    if draw(YES):
        return {}
    rack = draw(_RACKS)
    mean_s = mtbf_s * draw(_BURST_RARITIES) * -(-nodes // rack)
    sizes = {str(1 + int(share * (rack - 1))): weight for share, weight in draw(_BURST_SIZES)}
    return {"bursts": {"mean": _time(mean_s), "rack": rack, "sizes": sizes}}


_FRAILTIES: Final[st.SearchStrategy[dict[str, Any]]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"frailty": st.sampled_from([0.3, 1.5])},
        optional={"frailty_of": st.just("place"), "exclude_worst": st.integers(1, 3)},
    ),
    st.just({"frailty": 0.8, "frailty_of": "machine"}),
    st.fixed_dictionaries(
        {
            "offenders": st.fixed_dictionaries(
                {"share": SHARES, "times": st.sampled_from([1.0, 4.0])},
                optional={
                    "cured": SHARES,
                    "misdiagnosed": st.just(0.3),
                    "retired_after": st.integers(1, 3),
                },
            )
        }
    ),
)
_AGES: Final = st.fixed_dictionaries({}, optional={"ages": st.sampled_from(["new", "stationary"])})
_RACKS: Final = st.integers(1, 16)  # up to more than all nodes
_BURST_RARITIES: Final = st.floats(2.0, 20.0)  # in mean times between failures of single nodes
_BURST_SIZES: Final = st.lists(st.tuples(SHARES, st.floats(0.01, 9.0)), min_size=1, max_size=3)

_PERS: Final = st.sampled_from(["job", "node", None]).map(lambda per: {"per": per} if per else {})
_HITS: Final = st.sampled_from(["", "", "s", "t", "st", "w", "ws", "wt", "wst"])
_WEIGHTS: Final = st.fixed_dictionaries(
    {"parameter_servers": from_zero(9.0), "trainers": st.floats(0.5, 9.0)}
)
_PERCENT: Final = st.integers(1, 100)


def _hits(draw: st.DrawFn, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """`hits` of `[failures]`, if any: counts or shares of servers, of trainers, and weights."""
    form = draw(_HITS)
    if not cluster["trainers"]:
        form = "s" if "s" in form else ""
    hits: dict[str, Any] = {}
    for kind, letter in (("parameter_servers", "s"), ("trainers", "t")):
        if letter in form:
            count = st.integers(1, cluster[kind])
            hits[kind] = draw(count) if draw(YES) else f"{draw(_PERCENT)}%"
    if "w" in form:
        hits["weights"] = draw(_WEIGHTS)
    return {"hits": hits} if hits else {}


def _network(draw: st.DrawFn, cluster: Mapping[str, Any]) -> dict[str, str]:
    """`network` of `[job]`, if any: what the cards of servers and trainers can take."""
    if not cluster["trainers"] or "nic" not in cluster or draw(YES):
        return {}
    cards = units.parse(cluster["nic"], units.BYTES_PER_SECOND) * min(
        cluster["parameter_servers"], cluster["trainers"]
    )
    return {"network": f"{cards * (0.05 + 0.95 * draw(SHARES))!r} B/s"}
