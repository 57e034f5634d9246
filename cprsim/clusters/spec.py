"""Cluster files: what jobs share, and which jobs there are."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from cprsim.basics.schema import (
    OF_SCENARIO,
    PositiveSeconds,
    Rate,
    Seconds,
    Section,
    a_list,
)
from cprsim.basics.shipped import located
from cprsim.basics.toml import check_values, parse_file, text_of
from cprsim.errors import ScenarioError
from cprsim.job.delays import Delay
from cprsim.job.platform import Outages
from cprsim.scenario.mapping import apply_override, parts_of, set_value

#: More nodes, jobs or failures than any cluster has would fill the memory.
_MOST: Final = 1_000_000
_Count = Annotated[int, Field(ge=1, le=_MOST)]
_UNSAID: Final = (None, 0.0, 1)  # of a count, a time between jobs, and a size
_Number = Annotated[int, Field(ge=0, le=_MOST)]


class Machines(Section):
    """Nodes in racks and pods, the network between them, and spare machines.

    `pods`: number of pods. `racks`: racks of each pod. `nodes`: nodes of each rack. `core`:
    bandwidth of the network between racks, B/s, which saves and loads cross, and what servers and
    trainers in different racks exchange; without it the core is no limit. `spares`: machines held
    ready for all jobs. `repair`: time until a machine that has failed is a spare, where there are
    spares; without them a job waits as its own `costs.reschedule` says. `until`: when the
    simulation ends; without it, with the last job.
    """

    pods: _Count = 1
    racks: _Count = 1
    nodes: _Count
    core: Rate | None = None
    spares: _Number = 0
    repair: Annotated[Delay | None, Field(examples=["1 d"])] = None
    until_s: PositiveSeconds | None = Field(None, alias="until", examples=["30 d"])

    @model_validator(mode="after")
    def _repairs_of_spares(self) -> Self:
        if self.spares and self.repair is None:
            raise ValueError('repair is missing for the spares; write e.g. repair = "1 d"')
        if self.pods * self.racks * self.nodes > _MOST:
            raise ValueError(f"pods, racks and nodes make more than {_MOST:,} nodes; give fewer")
        return self

    @property
    def all_nodes(self) -> int:
        """Number of nodes of the cluster."""
        return self.pods * self.racks * self.nodes


class SharedStore(Section):
    """The checkpoint store of all jobs.

    `write`, `read`: bandwidth of all saves and of all loads together, B/s. `outages`: times for
    which it is away; a save or load that one falls into fails. `saves_at_once`: how many jobs
    may save at a time, where others train on until it is their turn; without it all may.
    `loads`: how loads share its bandwidth: `alike`, or `by priority`, where a job has 1 + its
    `priority` times the share of one of priority 0. `stagger`: whether a job's first save is due
    after a part of its interval that its name decides, so that jobs don't save together.
    """

    write: Rate | None = None
    read: Rate | None = None
    outages: Annotated[Outages | None, Field(examples=[{"every": "30 d", "lasts": "1 h"}])] = None
    saves_at_once: _Count | None = None
    loads: Literal["alike", "by priority"] = "alike"
    stagger: bool = False


class Domain(Section):
    """Failures of whole racks, or of whole pods.

    `every`: mean time between failures of one of them, exponential. `lasts`: until its nodes are
    back; jobs take spare machines for them, as far as there are any.
    """

    every_s: PositiveSeconds = Field(alias="every", examples=["300 d"])
    lasts: Annotated[Delay, Field(examples=["2 h"])]


class ToldFailure(Section):
    """A failure that is given: of a rack or a pod, by number from 0, racks through all pods.

    `at`: when, from the beginning. `lasts`: until its nodes are back.
    """

    at_s: Seconds = Field(alias="at", examples=["3 d"])
    lasts_s: PositiveSeconds = Field(alias="lasts", examples=["2 h"])
    rack: _Number | None = None
    pod: _Number | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.rack is None) == (self.pod is None):
            raise ValueError("give a rack or a pod, e.g. pod = 0")
        return self


class SharedFailures(Section):
    """Failures in addition to those of a job's own scenario.

    `node`: keys of `[failures]` for the lives of all nodes, in place of the jobs' own; of these
    `silent`, `notice`, `severity`, `during_recovery` and `while_waiting` stay. `rack`, `pod`:
    failures of racks and of pods. `events`: failures at given times.
    """

    node: dict[str, Any] | None = Field(None, examples=[{"mean": "500 d"}])
    rack: Annotated[Domain | None, Field(examples=[{"every": "300 d", "lasts": "4 h"}])] = None
    pod: Annotated[Domain | None, Field(examples=[{"every": "300 d", "lasts": "4 h"}])] = None
    events: (
        Annotated[
            tuple[ToldFailure, ...],
            a_list("give each as [[failures.events]] with at, lasts, and rack or pod"),
            Field(examples=[[{"at": "3 d", "lasts": "2 h", "pod": 0}]]),
        ]
        | None
    ) = None


class Scheduler(Section):
    """Rules by which jobs get nodes.

    `order`: `first come`, or `priority`, highest first. `backfill`: whether a later job may start
    that delays the first of the queue by nothing, by the jobs' `limit` (EASY).
    `preempt`: whether a job of a lower priority gives its nodes to one that waits. `notice`: how
    long it may train on before it stops to save. `placement`: `pack` into as few racks as
    possible, or `spread` over as many.
    """

    order: Literal["first come", "priority"] = "first come"
    backfill: bool = True
    preempt: bool = False
    notice_s: Seconds = Field(0.0, alias="notice", examples=["5 min"])
    placement: Literal["pack", "spread"] = "pack"

    @model_validator(mode="after")
    def _by_priority(self) -> Self:
        if self.preempt and self.order != "priority":
            raise ValueError('preempt needs order = "priority"')
        return self


class JobTrace(Section):
    """Jobs of a table: a CSV file whose columns say when each comes, how long it takes, its size.

    `file`: its path. `arrives`, `lasts`, `size`: names of the columns: an instant (ISO 8601, or
    seconds), seconds of training, and a number of processors. `per_node`: processors of a node.
    `start`: the instant at which the simulation begins; the first arrival if not given. `span`: how
    long a part is played; all of it if not given. `shortest`: jobs that last less are left out.
    """

    file: str = Field(examples=["jobs.csv"])
    arrives: str = "timestamp"
    lasts: str = "duration"
    size: str = "num_gpus"
    per_node: _Count = 8
    start: str | None = None
    span_s: PositiveSeconds | None = Field(None, alias="span", examples=["7 d"])
    shortest_s: Seconds = Field(0.0, alias="shortest")


class JobEntry(Section):
    """A job, several alike, or all jobs of a trace.

    `name`: what it is called. `scenario`: its scenario file, or the name of a shipped one.
    `policy`: one of that scenario's. `set`: values in place of the scenario's, by dotted key.
    `nodes`: its nodes, in place of the scenario's: servers, trainers, the model and the network
    change in proportion, and a law of failures of the job with them. `arrives`: when it comes.
    `count`: how many come; `every`: the time between two of them, a duration or a law. `priority`:
    higher ones first. `limit`: how long it is expected to run at most, for backfilling; 1.5 times
    its useful time if not given. `trace`: a table of jobs, each with its size and length.
    """

    name: str = Field(min_length=1)
    scenario: str
    policy: str
    set: dict[str, Any] = Field({}, examples=[{"job.useful_time": "3 d"}])
    nodes: Annotated[_Count | None, Field(examples=[32])] = None
    arrives_s: Seconds = Field(0.0, alias="arrives")
    count: _Count = 1
    every: Annotated[Delay, Field(examples=["12 h"])] = 0.0
    priority: _Number = 0
    limit_s: PositiveSeconds | None = Field(None, alias="limit", examples=["5 d"])
    trace: Annotated[JobTrace | None, Field(examples=[{"file": "jobs.csv"}])] = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if "." in self.name:
            raise ValueError(f"name {self.name!r} has a dot, which parts the keys of --set")
        beside = [key for key in ("count", "every", "nodes") if getattr(self, key) not in _UNSAID]
        if self.trace is not None and beside:
            raise ValueError(f"{' and '.join(beside)}: the trace has them; leave these out")
        return self


class ClusterSpec(Section):
    """A cluster and its jobs, as a cluster file has them.

    `title`: what it is called. `cluster`: `Machines`. `store`: `SharedStore`. `failures`:
    `SharedFailures`. `scheduler`: `Scheduler`. `jobs`: `JobEntry` each.
    """

    title: str = "A cluster"
    cluster: Machines
    store: SharedStore = SharedStore()
    failures: SharedFailures = SharedFailures()
    scheduler: Scheduler = Scheduler()
    jobs: Annotated[
        tuple[JobEntry, ...],
        a_list("give each as [[jobs]] with name, scenario and policy"),
    ]

    @model_validator(mode="after")
    def _known_places(self) -> Self:
        names = [each.name for each in self.jobs]
        if len(set(names)) < len(names):
            raise ValueError("jobs: two have the same name; give each another name")
        racks = self.cluster.pods * self.cluster.racks
        for each in self.failures.events or ():
            if (each.rack or 0) >= racks or (each.pod or 0) >= self.cluster.pods:
                place = f"rack {each.rack}" if each.pod is None else f"pod {each.pod}"
                raise ValueError(
                    f"failures.events: {place} is not there: racks are 0 to {racks - 1}, pods 0 to "
                    f"{self.cluster.pods - 1}"
                )
        return self

    def with_values(self, values: dict[str, Any]) -> "ClusterSpec":
        """Return the cluster with other values, by dotted key, such as `store.stagger`."""
        tables = self.mapping()
        for key, value in values.items():
            set_value(tables, parts_of(key), value, key)
        return ClusterSpec.checked(tables, "", OF_SCENARIO)


def load_cluster(path: str | Path, overrides: Iterable[str] = ()) -> ClusterSpec:
    """Read a cluster file or a shipped one by name; `overrides` are `dotted.key=value` of `--set`.

    Paths in it are taken from its folder. Raises `ScenarioError` for a file that is missing or is
    no TOML, and for every fault.

    Returns
    -------
    ClusterSpec
        The cluster and its jobs.

    Examples
    --------
    >>> cprsim.load_cluster("lost-pod").title
    'Sixteen jobs on two pods; pod 1 is lost for two hours on the third afternoon'
    """
    where = located(path)
    tables = parse_file(text_of(where), where)
    check_values(tables)
    if "jobs" not in tables and tables.keys() & {"job", "policies"}:
        raise ScenarioError(
            f"{path}: is a scenario, which cprsim run plays; a cluster has [[jobs]]"
        )
    _resolve(tables, where.parent)
    for override in overrides:
        apply_override(tables, override)
    _resolve(tables, Path.cwd())  # what the command line gives is relative to where it is
    return ClusterSpec.checked(tables, "", OF_SCENARIO)


def _resolve(tables: dict[str, Any], folder: Path) -> None:
    """Take paths from the folder of the cluster file; names of shipped scenarios stay."""
    entries = tables.get("jobs")
    for entry in entries if isinstance(entries, list) else ():
        trace = entry.get("trace") if isinstance(entry, dict) else None
        for table, key in ((entry, "scenario"), (trace, "file")):
            if isinstance(table, dict) and isinstance(table.get(key), str):
                there = (folder / table[key]).absolute()
                if there.is_file() or there.suffix:
                    table[key] = str(there)
