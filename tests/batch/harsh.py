"""Scenarios in which failures come all the time: while saving, loading, and rebuilding.

Most of the jobs make progress, but none in any comfort. There is a strategy for each source of
failures, and each draws policies of any system, with any of its keys.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from cprsim.basics import units
from cprsim.errors import PlanError
from cprsim.failures.presets import PRESETS
from cprsim.scenario import Scenario
from tests.drawn import SYSTEMS, scenarios
from tests.drawn.numbers import SHARES, YES, JobSize
from tests.drawn.policies import ANSWERING, Keys, policy

Strategy = st.SearchStrategy[Keys]
#: Of the model whose rows are saved: 100,000 rows of 16 elements, four bytes each.
MODEL_BYTES: Final = 4.0 * 16 * 10**5
#: Failures come every 100 s; policies are drawn for this mean time between them, in seconds.
_POLICIES_FOR_S: Final = 200.0

_SPREADS: Final[dict[str, Keys]] = {
    "exponential": {},
    "gamma": {"shape": 0.6},
    "weibull": {"shape": 0.7},
    "lognormal": {"cv": 1.5},
    "uniform": {},
    "deterministic": {},  # all nodes that were placed at once fail at once
    "empirical": {"durations": ["10 s", "50 s", "240 s"]},
}
_LAWS: Final = st.sampled_from(list(_SPREADS))
_RULES: Final = st.sampled_from(["sgd", "adagrad"])
_AGES: Final = st.sampled_from(["new", "stationary"])
_FRAILTIES: Final = st.sampled_from(
    [
        {},
        {"frailty": 0.5},
        {"frailty": 2.0, "exclude_worst": 2},
        {"frailty": 2.0, "frailty_of": "machine"},
    ]
)
_WEIGHTS: Final[Keys] = {"process": 0.5, "node": 0.4, "cluster": 0.1}
_NODES: Final = st.sets(st.integers(0, 9), min_size=1, max_size=4)
_LOGS: Final = st.lists(
    st.tuples(SHARES, _NODES, st.sampled_from(["process", "node", "cluster"])),
    min_size=8,
    max_size=30,
)
#: Rows of the model and their elements, four bytes each: `MODEL_BYTES`.
_ROWS: Final = {"rows": 10**5, "dim": 16}


# --- Sources of failures -------------------------------------------------------------------------


@st.composite
def by_job(draw: st.DrawFn, systems: Sequence[str] = SYSTEMS) -> Keys:
    """Failures of the job by a law, mean time between them 100 s."""
    tables = _tables(draw, systems)
    tables["failures"] |= _preset(draw, "job", 100.0) or _law(draw, 100.0)
    tables["failures"] |= {"ages": draw(_AGES)} | _hits(draw, tables["cluster"]) | _graded(draw)
    return tables


def noticed_late(systems: Sequence[str] = SYSTEMS) -> Strategy:
    """The same where noticing a failure takes 40 s, in which the other nodes fail, too."""

    def late(tables: Keys) -> Keys:
        return tables | {
            "cluster": tables["cluster"] | {"holds_nodes": True},
            "costs": tables["costs"] | {"detect": "40 s"},
            "failures": tables["failures"] | {"during_recovery": True, "while_waiting": True},
        }

    return by_job(systems).map(late)


@st.composite
def exactly(draw: st.DrawFn, systems: Sequence[str] = SYSTEMS) -> Keys:
    """So many failures, over the useful time."""
    tables = _tables(draw, systems)
    count = {"exactly": draw(st.integers(0, 20))}
    tables["failures"] |= count | _hits(draw, tables["cluster"]) | _graded(draw)
    return tables


@st.composite
def by_node(draw: st.DrawFn, systems: Sequence[str] = SYSTEMS) -> Keys:
    """Lives of nodes by a law, one of which ends each 100 s."""
    tables = _tables(draw, systems)
    mean_s = 100.0 * nodes_of(tables["cluster"])
    law = _preset(draw, "node", mean_s) or _law(draw, mean_s)
    tables["failures"] |= {"per": "node", "ages": draw(_AGES)} | law | draw(_FRAILTIES)
    return tables


@st.composite
def by_burst(draw: st.DrawFn, systems: Sequence[str] = SYSTEMS) -> Keys:
    """Lives of nodes, half of which end in bursts of a rack."""
    tables = _tables(draw, systems)
    nodes = nodes_of(tables["cluster"])
    rack = draw(st.integers(2, 5))
    racks = -(-nodes // rack)
    tables["failures"] |= {"per": "node", "ages": draw(_AGES)} | _law(draw, 200.0 * nodes)
    tables["failures"]["bursts"] = {
        "mean": seconds(200.0 * racks),
        "rack": rack,
        "sizes": {"1": 1.0, str(draw(st.integers(2, rack))): 3.0},
    }
    return tables


def by_severity(systems: Sequence[str] = SYSTEMS) -> Strategy:
    """The same with failures that leave the hosts' memory, and some of the whole cluster."""

    def graded(tables: Keys) -> Keys:
        return tables | {"failures": tables["failures"] | {"severity": _WEIGHTS}}

    return by_burst(systems).map(graded)


@st.composite
def replayed(draw: st.DrawFn, log: Path, systems: Sequence[str] = SYSTEMS) -> Keys:
    """Failures of a log that is written to `log`, some of several nodes at once."""
    tables = _tables(draw, systems)
    until_s, count = 1000.0, nodes_of(tables["cluster"])
    whole, told = draw(YES), draw(YES)
    lines = ["time_s,node,severity" if told else "time_s,node"]
    # A log in which all strike at second 0 tells no mean time between them.
    struck = [*draw(_LOGS), (1.0, {0}, "process")]
    for share, nodes, severity in sorted(struck, key=lambda line: line[0]):
        at_s = float(round(until_s * share)) if whole else until_s * share
        end = f",{severity}" if told else ""
        lines += [f"{at_s!r},{node}{end}" for node in {node % count for node in nodes}]
    log.write_text("\n".join(lines), encoding="utf-8")
    tables["failures"] |= {"trace": str(log)}
    if not told:
        tables["failures"] |= _graded(draw)
    return tables


@st.composite
def of_a_system(draw: st.DrawFn, log: Path, systems: Sequence[str] = SYSTEMS) -> Keys:
    """Failures of a log of a whole system, written to `log`, that comes again and again."""
    tables = _slower(_tables(draw, systems), 3600.0)
    days = draw(st.lists(st.integers(1, 25), min_size=20, max_size=60))
    rows = [
        f"8,16,{(7 * i) % 16},{1 + i % 2}/{day}/2004 {(5 * i) % 24}:{(13 * i) % 60:02},"
        for i, day in enumerate(sorted(days))
    ]
    header = "System,nodes,nodenumz,Prob Started,Prob Fixed"
    log.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    tables["failures"] |= {"trace": str(log), "reader": "lanl", "system": 8} | _graded(draw)
    if draw(YES):
        tables["failures"]["coalesce"] = "2 h"
    if draw(YES):
        tables["failures"]["window"] = "0:0.9"
    return tables


def sources(log: Path, systems: Sequence[str] = SYSTEMS) -> Mapping[str, Strategy]:
    """Return a strategy for each source of failures, by name; logs are written to `log`."""
    return {
        "of the job": by_job(systems),
        "exactly so many": exactly(systems),
        "lives of nodes": by_node(systems),
        "lives and bursts": by_burst(systems),
        "lives, bursts and severities": by_severity(systems),
        "a log": replayed(log, systems),
        "a log of a system": of_a_system(log, systems),
    }


def strategies(log: Path) -> Mapping[str, Strategy]:
    """Return the strategies that both engines are compared on, by name."""
    # Under accepted-loss the others train on, and none fails while one is noticed (rule 11).
    waiting = [system for system in SYSTEMS if system != "accepted-loss"]
    return {
        **sources(log),
        "announced, saves": announced(log, "save"),
        "announced, drains": announced(log, "drain"),
        "noticed late": noticed_late(waiting),
        "any": scenarios(),
    }


# --- All but when failures come ------------------------------------------------------------------


def _tables(draw: st.DrawFn, systems: Sequence[str]) -> Keys:
    """Times are of the order of 100 s."""
    cluster: Keys = {
        "parameter_servers": draw(st.integers(2, 6)),
        "trainers": draw(st.integers(0, 4)),
    }
    if draw(YES):
        cluster["spares"] = draw(st.integers(0, min(3, nodes_of(cluster))))
    if draw(YES):
        cluster["holds_nodes"] = draw(YES)
    if draw(YES) and draw(YES):
        cluster["updates"] = [1.0 + 3.0 * (server % 3) for server in range(servers_of(cluster))]
    job = {
        "useful_time": seconds(100 * draw(st.floats(1.0, 8.0))),
        "samples": 10**7,
        "final_save": draw(YES),
    }
    tables = {
        "job": job,
        "model": _model(draw, cluster),
        "cluster": cluster,
        "costs": {},
        "storage": {},
    }
    if draw(YES):
        _derive(draw, tables)
    else:
        _measure(draw, tables["costs"])
    _delay(draw, tables["costs"])
    _start(draw, tables["costs"])
    _fail(draw, tables["storage"])
    if not tables["storage"]:
        del tables["storage"]
    size = JobSize(
        units.parse_duration(job["useful_time"]),
        servers_of(cluster),
        cluster["trainers"],
        _POLICIES_FOR_S,
        sure_to_end=False,
        has_model=True,
    )
    tables |= {
        "failures": {"during_recovery": draw(YES), "while_waiting": draw(YES)},
        "policies": {"it": policy(draw, draw(st.sampled_from(systems)), size)},
    }
    if draw(YES) and draw(YES):
        _corrupt(draw, tables)
    if draw(SHARES) < 0.2:
        _allocate(draw, tables)
    if draw(SHARES) < 0.1:  # which nobody answers
        tables["failures"]["notice"] = {"lead": "20 s", "false_alarms": "1 / 2 min"}
        tables["costs"]["drain"] = "5 s"
    return tables


@st.composite
def announced(draw: st.DrawFn, log: Path, answer: str) -> Keys:
    """Any of all that with notices, and policies that answer them so."""
    tables = draw(st.one_of(*sources(log, sorted(ANSWERING | {"tiered"})).values()))
    pace = 3600.0 if "reader" in tables["failures"] else 1.0
    notice: Keys = {"lead": seconds(pace * between(draw, 2.0, 60.0)), "recall": draw(SHARES)}
    if draw(YES):
        notice["false_alarms"] = f"1 / {seconds(pace * between(draw, 20.0, 400.0))}"
    tables["failures"]["notice"] = notice
    tables["policies"]["it"]["on_notice"] = answer
    tables["costs"]["drain"] = seconds(pace * 20 * draw(SHARES))
    if answer == "drain":
        tables["cluster"]["spares"] = min(draw(st.integers(1, 4)), nodes_of(tables["cluster"]))
    return tables


def _allocate(draw: st.DrawFn, tables: Keys) -> None:
    """Nodes for so long at a stretch, where that is long enough to train anything."""
    allocated = tables["job"] | {"allocation": seconds(between(draw, 30.0, 600.0))}
    with suppress(PlanError):
        Scenario(**tables | {"job": allocated, "failures": {"exactly": 0}})
        tables["job"] = allocated


def _corrupt(draw: st.DrawFn, tables: Keys) -> None:
    """Silent faults, what is torn in the store, and what is done about either."""
    policy = tables["policies"]["it"]
    if draw(YES):
        law = _law(draw, between(draw, 100.0, 1000.0))
        tables["failures"]["silent"] = law
    if draw(YES):
        tables["storage"] = tables.get("storage", {}) | {"torn": 0.3 * draw(SHARES)}
    if draw(SHARES) < 0.8:
        policy["verify_every"] = draw(st.integers(1, 4))
        tables["costs"]["verify"] = seconds(5 * draw(SHARES))
    if draw(YES):
        policy["keep"] = draw(st.integers(policy.get("verify_every", 1), 5))
    if draw(YES) and draw(YES):
        policy["checksum"] = draw(YES)
        tables["costs"]["checksum"] = seconds(2 * draw(SHARES))


def _model(draw: st.DrawFn, cluster: Keys) -> Keys:
    table: Keys = _ROWS | {"skew": {"zipf": 1.0}}
    model: Keys = {"tables": [table]}
    if draw(YES):
        model["optimizer_rule"] = draw(_RULES)
        table["pooling"] = 2.0
    if draw(SHARES) < 0.1:
        model["renewed"] = "20%"
    if draw(SHARES) < 0.3:
        model["batch"] = draw(st.integers(1, 200))
    if draw(SHARES) < 0.1:
        model["gradient_directions"] = draw(st.integers(1, 3))
    if "updates" in cluster and draw(YES):
        table["updates"] = [1.0 + 4.0 * (server % 2) for server in range(servers_of(cluster))]
    return model


def _derive(draw: st.DrawFn, tables: Keys) -> None:
    """Sizes and bandwidths: saves, loads and training share cards and the store."""
    cluster, job = tables["cluster"], tables["job"]
    tables["storage"] |= {
        "write": rate_of(MODEL_BYTES / between(draw, 1.0, 30.0)),
        "read": rate_of(MODEL_BYTES / between(draw, 1.0, 60.0)),
    }
    if draw(YES) or draw(YES):
        nic = MODEL_BYTES / servers_of(cluster) / between(draw, 2.0, 30.0)
        cluster["nic"] = rate_of(nic)
        if cluster["trainers"]:
            most = nic * min(servers_of(cluster), cluster["trainers"])
            job["network"] = rate_of(most * between(draw, 0.5, 1.0))
    for key in ("select", "gather", "save_fixed", "append", "merge"):
        if draw(YES) and draw(YES):
            tables["costs"][key] = seconds(between(draw, 0.0, 2.0))


def _measure(draw: st.DrawFn, costs: Keys) -> None:
    costs["save"] = seconds(between(draw, 0.5, 30.0))
    both = {"load_full": _load(draw, 70.0), "load_partial": _load(draw, 70.0)}
    costs |= both if draw(YES) else {"load": _load(draw, 40.0)}


def _load(draw: st.DrawFn, most: float) -> str:
    """Nothing, or so long that an outage isn't tried through a million times."""
    share = draw(SHARES)
    return seconds(most * share if share > 1e-3 else 0.0)


def _delay(draw: st.DrawFn, costs: Keys) -> None:
    costs["detect"] = seconds(5 * draw(SHARES))
    kind = draw(st.sampled_from(["none", "fixed", "law"]))
    if kind == "fixed":
        costs["reschedule"] = seconds(30 * draw(SHARES))
    elif kind == "law":
        costs["reschedule"] = _law(draw, 20.0)


def _start(draw: st.DrawFn, costs: Keys) -> None:
    """What starts and ends take."""
    if draw(YES) or draw(YES):
        return
    parts = ("schedule", "initialise", "compile", *(["compile_warm"] if draw(YES) else []))
    costs["start"] = {
        part: _law(draw, 8.0) if draw(YES) else seconds(10 * draw(SHARES)) for part in parts
    }
    if "compile_warm" in parts:
        costs["start"]["cache"] = draw(st.sampled_from(["store", "node"]))
        if isinstance(costs["start"]["compile"], str):  # no warm one is longer than a cold one
            costs["start"]["compile_warm"] = costs["start"]["compile"]
    if draw(YES):
        costs["start"] |= {"warmup": seconds(5 * draw(SHARES)), "warmup_rate": 0.5}
    if draw(YES):
        costs["shutdown"] = _law(draw, 5.0) if draw(YES) else seconds(5 * draw(SHARES))


def _fail(draw: st.DrawFn, storage: Keys) -> None:
    """Saves and loads that are in vain."""
    if draw(YES):
        return
    if draw(YES):
        storage |= {"save_fails": 0.3 * draw(SHARES), "load_fails": 0.2 * draw(SHARES)}
    if draw(YES):
        lasts = _law(draw, 5.0) if draw(YES) else seconds(8 * draw(SHARES))
        storage["outages"] = {"every": seconds(between(draw, 50.0, 300.0)), "lasts": lasts}


def _law(draw: st.DrawFn, mean_s: float) -> Keys:
    """A law of durations with this mean."""
    name = draw(_LAWS)
    spread = _SPREADS[name]
    if "durations" in spread:  # with a mean of 100 s
        return {"distribution": name} | _slower(spread, mean_s / 100.0)
    return {"distribution": name, "mean": seconds(mean_s)} | spread


def _preset(draw: st.DrawFn, per: str, mean_s: float) -> Keys:
    """A known law of that kind with another mean, now and then; else nothing."""
    if draw(SHARES) < 0.8:
        return {}
    names = [name for name, each in PRESETS.items() if each.keys["per"] == per]
    return {"preset": draw(st.sampled_from(names)), "mean": seconds(mean_s)}


def _hits(draw: st.DrawFn, cluster: Keys) -> Keys:
    hits: Keys = {}
    if draw(YES):
        hits["parameter_servers"] = draw(st.integers(1, servers_of(cluster)))
    if cluster["trainers"] and draw(YES):
        hits |= {"weights": {"parameter_servers": 2, "trainers": 1}}
        if draw(YES):
            hits["trainers"] = "50%"
    return {"hits": hits} if hits else {}


def _graded(draw: st.DrawFn) -> Keys:
    return {"severity": _WEIGHTS} if draw(YES) and draw(YES) else {}


# --- Numbers -------------------------------------------------------------------------------------


def seconds(value: float) -> str:
    """Return a duration as scenario files write it."""
    return f"{value!r} s"


def between(draw: st.DrawFn, least: float, most: float) -> float:
    return least + (most - least) * draw(SHARES)


def rate_of(bytes_per_s: float) -> str:
    return f"{bytes_per_s!r} B/s"


def servers_of(cluster: Keys) -> int:
    return int(cluster["parameter_servers"])


def nodes_of(cluster: Keys) -> int:
    return servers_of(cluster) + int(cluster["trainers"])


_DURATION: Final = re.compile(rf"\S+ ({'|'.join(units.SECONDS)})")


def _slower(tables: Keys, factor: float) -> Keys:
    """Return the scenario with all of its times that many times as long."""

    def longer(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: longer(each) for key, each in value.items()}
        if isinstance(value, list):
            return [longer(each) for each in value]
        if isinstance(value, str) and value.endswith(" B/s"):
            return rate_of(float(value.removesuffix(" B/s")) / factor)
        if isinstance(value, str) and _DURATION.fullmatch(value):
            return seconds(units.parse_duration(value) * factor)
        return value

    return {key: longer(each) for key, each in tables.items()}


KINDS: Final = tuple(strategies(Path()))
