"""Jobs of a cluster: their scenarios, sizes, and when they come."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, stream
from cprsim.clusters.spec import ClusterSpec, JobEntry, JobTrace
from cprsim.errors import ScenarioError
from cprsim.job.workload import Model
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, parts_of, scenario_tables, set_value
from cprsim.scenario.scenario import check_hands_over

#: A job's limit where none is given, in useful times.
_LIMIT: Final = 1.5
#: What a job's own `[failures]` says beyond when nodes fail, which the cluster's `node` leaves.
_STAYS: Final = ("silent", "notice", "severity", "during_recovery", "while_waiting")
#: Keys of sizes and rates that grow with the job.
_GROWS: Final = (("model", "embedding"), ("model", "optimizer"), ("job", "network"))


@dataclass(frozen=True)
class ClusterJob:
    """A job of a cluster.

    `arrives_s`: when it comes; `None` where that is drawn (`arrivals`). `entry`: the number of its
    `[[jobs]]`. `limit_s`: how long it is expected to run at most, s.
    """

    name: str
    scenario: Scenario
    policy: str
    entry: int
    priority: int
    limit_s: float
    arrives_s: float | None

    @property
    def nodes(self) -> int:
        """Number of its nodes."""
        return self.scenario.cluster.parameter_servers + self.scenario.cluster.trainers


def jobs_of(spec: ClusterSpec) -> list[ClusterJob]:
    """Return the jobs of a cluster.

    Raises
    ------
    ScenarioError
        For a scenario that is wrong, a trace that can't be read, and a job larger than the cluster.
    """
    found = [job for number, entry in enumerate(spec.jobs) for job in _of(spec, number, entry)]
    twice = [name for name, count in Counter(job.name for job in found).items() if count > 1]
    if twice:
        raise ScenarioError(f"jobs: two are called {twice[0]}; give the entries other names")
    # A job that may lose its nodes has to resume from a save.
    first = max(job.priority for job in found)
    for job in found:
        if spec.scheduler.preempt and job.priority < first:
            try:
                check_hands_over(job.scenario.plan(job.policy), "where preempt takes its nodes")
            except ValueError as error:
                raise ScenarioError(f"jobs.{job.name}: policy {job.policy!r}: {error}") from None
    most = spec.cluster.all_nodes
    large = [f"jobs.{job.name}: needs {job.nodes:,} nodes" for job in found if job.nodes > most]
    if large:
        raise ScenarioError(f"{large[0]}; the cluster has {most:,}")
    return found


def arrivals(
    spec: ClusterSpec, jobs: Sequence[ClusterJob], seed: int, replication: int
) -> NDArray[np.float64]:
    """Return when each job comes in a replication, s, in the order of `jobs`."""
    found = np.array([np.nan if job.arrives_s is None else job.arrives_s for job in jobs])
    entries = np.array([job.entry for job in jobs])
    for number, entry in enumerate(spec.jobs):
        if isinstance(entry.every, Distribution):
            rng = stream(seed, replication, Cause.JOB_ARRIVAL, number)
            gaps_s = entry.every.sample(rng, entry.count)
            found[entries == number] = entry.arrives_s + np.cumsum(gaps_s) - gaps_s[0]
    return found


def _of(spec: ClusterSpec, number: int, entry: JobEntry) -> Iterator[ClusterJob]:
    """Yield the jobs of an entry."""
    sized, jobs = _sized(spec, entry), list[tuple[str, float | None, Scenario]]()
    if entry.trace is not None:
        rows = _trace(entry.trace).to_numpy().tolist()
        for i, (at_s, lasts_s, nodes) in enumerate(rows, 1):
            alike = sized(int(nodes))
            job = alike.job.model_copy(update={"useful_time_s": lasts_s})
            scenario = alike.model_copy(update={"job": job})
            jobs.append((f"{entry.name}-{i}", entry.arrives_s + at_s, scenario))
    else:
        every = entry.every
        for i in range(entry.count):
            name = entry.name if entry.count == 1 else f"{entry.name}-{i + 1}"
            arrives_s = None if isinstance(every, Distribution) else entry.arrives_s + i * every
            jobs.append((name, arrives_s, sized(entry.nodes)))
    for name, arrives_s, scenario in jobs:
        limit_s = entry.limit_s or _LIMIT * scenario.job.useful_time_s
        yield ClusterJob(name, scenario, entry.policy, number, entry.priority, limit_s, arrives_s)


def _sized(spec: ClusterSpec, entry: JobEntry) -> Callable[[int | None], Scenario]:
    """Return what gives the scenario of an entry with so many nodes; its own where None."""
    own = scenario_tables(load_mapping(entry.scenario))
    policies = own.get("policies", {})
    if not isinstance(policies, dict) or entry.policy not in policies:
        known = ", ".join(policies) if isinstance(policies, dict) and policies else "none"
        raise ScenarioError(
            f"jobs.{entry.name}.policy: {entry.policy!r}: {entry.scenario} has none of that "
            f"name; it has {known}"
        )
    own["policies"] = {entry.policy: policies[entry.policy]}
    for key, value in entry.set.items():
        set_value(own, parts_of(key), value, f"jobs.{entry.name}.set")

    @cache
    def sized(nodes: int | None) -> Scenario:
        try:
            template = Scenario(**own)  # names what is wrong with it, before it is changed
            tables = own if nodes is None else _of_size(template, nodes)
            return Scenario(**_shared(tables, spec))
        except ScenarioError as error:
            raise ScenarioError(*(f"jobs.{entry.name}: {text}" for text in error.args)) from None

    return sized


def _shared(tables: dict[str, Any], spec: ClusterSpec) -> dict[str, Any]:
    """Return tables with what a job has of the cluster: lives of nodes, spares, outages."""
    tables, shared = dict(tables), spec.mapping()
    lives = spec.failures.node
    if lives is not None:
        own = tables.get("failures", {})
        stays = {key: own[key] for key in _STAYS if key in own}
        if "causes" in lives:  # which have severities of their own
            stays.pop("severity", None)
        tables["failures"] = {"per": "node", **stays, **lives}
    if spec.cluster.spares:
        cluster = tables["cluster"]
        nodes = cluster["parameter_servers"] + cluster.get("trainers", 0)
        # No job can use more; the pool itself has as many as it has (`play`).
        tables["cluster"] = {**cluster, "spares": min(spec.cluster.spares, nodes)}
        tables["costs"] = {**tables.get("costs", {}), "reschedule": shared["cluster"]["repair"]}
    if spec.store.outages is not None:
        tables["storage"] = {**tables.get("storage", {}), "outages": shared["store"]["outages"]}
    return tables


def _of_size(template: Scenario, nodes: int) -> dict[str, Any]:
    """Return the tables of a job of `nodes` nodes, in the proportions of a template."""
    tables, cluster = template.mapping(), template.cluster
    own = cluster.parameter_servers + cluster.trainers
    servers = max(1, round(nodes * cluster.parameter_servers / own))
    trainers = nodes - servers
    if nodes == 1 or not cluster.trainers:
        servers, trainers = nodes, 0
    factor = nodes / own
    if template.model is not None and template.model.each_table is not None and nodes != own:
        tables["model"] = _grown(template.model, factor)
    tables["cluster"] |= {"parameter_servers": servers, "trainers": trainers}
    for section, key in _GROWS:
        value = getattr(getattr(template, section), key, None)
        if isinstance(value, float):
            unit = "B/s" if section == "job" else "B"
            tables[section][key] = f"{value * factor!r} {unit}"
    failures, table = template.failures, tables["failures"]
    laws: list[tuple[Any, dict[str, Any]]] = [(failures, table)] if failures.per == "job" else []
    if failures.silent is not None:
        laws.append((failures.silent, table["silent"]))
    for law, keys in laws:
        if law.mean_s is not None:
            keys["mean"] = f"{law.mean_s / factor!r} s"
        if law.durations_s is not None:
            keys["durations"] = [f"{each / factor!r} s" for each in law.durations_s]
    if failures.notice is not None and failures.notice.false_alarm_every_s is not None:
        every_s = failures.notice.false_alarm_every_s / factor
        table["notice"]["false_alarms"] = f"1 / {every_s!r} s"
    for each in (table, *table.get("causes", ())):
        if "hits" in each:
            each["hits"] = _hits(each["hits"], servers, trainers)
    return tables


def _grown(model: Model, factor: float) -> dict[str, Any]:
    """Return the table of a model with so many times the rows in each of its tables."""
    tables = [
        each.mapping() | {"rows": max(1, round(each.rows * factor))}
        for each in model.each_table or ()
    ]
    kept = {key: value for key, value in model.mapping().items() if key not in ("preset", "skew")}
    if model.tables_tracked is not None:
        kept["tracked_tables"] = model.tables_tracked
    return kept | {"tables": tables, "dense": f"{model.dense_bytes!r} B"}


def _hits(hits: dict[str, Any], servers: int, trainers: int) -> dict[str, Any]:
    """Return a table of hits with no more nodes of a kind than there are; shares stay."""
    kept: dict[str, Any] = {}
    for kind, most in (("parameter_servers", servers), ("trainers", trainers)):
        value = hits.get(kind)
        if value and most:
            kept[kind] = min(value, most) if isinstance(value, int) else value
    if trainers and "weights" in hits:
        kept["weights"] = hits["weights"]
    return kept


def _trace(trace: JobTrace) -> pd.DataFrame:
    """Return arrivals from the start, useful time (both s) and nodes of the jobs of a trace."""
    path = Path(trace.file)
    try:
        table = pd.read_csv(path)
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ScenarioError(f"{path}: is no CSV table: {error}") from None
    for key in ("arrives", "lasts", "size"):
        column = getattr(trace, key)
        if column not in table:
            raise ScenarioError(
                f"{path}: has no column {column!r}; give trace.{key}, one of "
                f"{', '.join(map(str, table))}"
            )
    if table.empty:
        raise ScenarioError(f"{path}: has no row below its header; give a table with jobs")
    at_s = _instants(table[trace.arrives], str(path))
    first_s = at_s.min()
    if trace.start is not None:
        first_s = _instants(pd.Series([trace.start]), "trace.start")[0]
    found = pd.DataFrame(
        {
            "at_s": at_s - first_s,
            "lasts_s": _numbers(table[trace.lasts], str(path), "a number of seconds"),
            "nodes": np.ceil(_numbers(table[trace.size], str(path), "a number") / trace.per_node),
        }
    )
    end_s = np.inf if trace.span_s is None else trace.span_s
    kept = (found.at_s >= 0) & (found.at_s < end_s) & (found.lasts_s > 0) & (found.nodes > 0)
    found = found[kept & (found.lasts_s >= trace.shortest_s)].sort_values("at_s", kind="stable")
    if found.empty:
        raise ScenarioError(
            f"{path}: has no job in that time that lasts; give another start or span"
        )
    return found.reset_index(drop=True)


def _instants(column: pd.Series, what: str) -> NDArray[np.float64]:
    """Return instants, as numbers of seconds or as ISO 8601, in seconds."""
    if pd.to_numeric(column, errors="coerce").notna().any():
        return _numbers(column, what, "a number of seconds, as others are")
    times = pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
    seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    kind = "a time: write 2017-10-09 07:00:00, or seconds"
    return _numbers(column, what, kind, seconds)


def _numbers(
    column: pd.Series, what: str, kind: str, read: pd.Series | None = None
) -> NDArray[np.float64]:
    """Return the numbers of a column, as `read`; raise `ScenarioError` for one that is none."""
    read = pd.to_numeric(column, errors="coerce") if read is None else read
    found = np.asarray(read, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        line = "" if column.name is None else f", line {bad[0] + 2}, {column.name}"
        raise ScenarioError(f"{what}{line}: {str(column.iloc[bad[0]])!r} is not {kind}")
    return found
