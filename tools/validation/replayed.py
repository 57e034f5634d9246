"""Jobs under replayed logs beside the same jobs under the laws fitted to these logs."""

import math
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cprsim
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.views import nodes_of
from cprsim.fitting.log_fit import LogFit
from tools.paths import SHARED

REPLICATIONS = 150
MEAN_GAPS = 60  # useful time in gaps of the log, so that how a job starts matters little
POLICIES = ("full", "cpr")
#: What CPR loses, beside what policies cost.
PLS = "PLS of cpr"
_LANL = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
_SPOT = "availability/16-node/aws-08-27-2023/{}_v100_1.json"


class Log(NamedTuple):
    """A log, what is taken of it, and how it is called."""

    name: str
    reader: str
    path: str
    system: int | None = None
    window: str | None = None
    coalesce: str | None = None
    nodes: int | None = None  # of the job; the whole system if not given
    in_archive: str | None = None
    uptimes: bool = False  # the law is of the nodes' lives

    @property
    def there(self) -> bool:
        """Whether the data are at hand."""
        return (SHARED / self.path).exists()


LOGS = (
    Log("LANL 20, second half, 512 nodes", "lanl", _LANL, 20, "0.5:1"),
    Log("LANL 20, second half, 256 of them", "lanl", _LANL, 20, "0.5:1", nodes=256),
    Log("LANL 18, second half, 1,024 nodes", "lanl", _LANL, 18, "0.5:1"),
    Log("LANL 18, second half, 256 of them", "lanl", _LANL, 18, "0.5:1", nodes=256),
    Log("LANL 8, whole life, 164 nodes", "lanl", _LANL, 8),
    Log("LANL 18, whole life, uptimes, 256 nodes", "lanl", _LANL, 18, nodes=256, uptimes=True),
    Log("LANL 20, whole life, uptimes, 256 nodes", "lanl", _LANL, 20, nodes=256, uptimes=True),
    Log("Grid'5000 site3/c1, 57 nodes", "fta", "grid5000_fta/g5k_dev_site3_c1.tab.gz"),
    Log(
        "the same, coalesced within 5 min",
        "fta",
        "grid5000_fta/g5k_dev_site3_c1.tab.gz",
        coalesce="5 min",
    ),
    Log(
        "Grid'5000 site3/c1, uptimes, 57 nodes",
        "fta",
        "grid5000_fta/g5k_dev_site3_c1.tab.gz",
        nodes=57,
        uptimes=True,
    ),
    Log(
        "spot, us-west-2a, 16 nodes",
        "spot",
        "spot_preemption/skypilot_spot_traces.tar.xz",
        in_archive=_SPOT.format("us-west-2a"),
    ),
    Log(
        "spot, us-east-2b, 16 nodes",
        "spot",
        "spot_preemption/skypilot_spot_traces.tar.xz",
        in_archive=_SPOT.format("us-east-2b"),
    ),
)


class Mean(NamedTuple):
    """Mean of a share, with its standard error."""

    share: float
    error: float

    @classmethod
    def of(cls, summary: Any, policy: str, measure: str) -> "Mean":
        """What a run found."""
        mean, high = (float(summary.loc[policy, each]) for each in (measure, f"{measure}_high"))
        return cls(mean, (high - mean) / 1.96)

    def z(self, other: "Mean") -> float:
        """How far it lies above another, in standard errors of both."""
        return (self.share - other.share) / math.hypot(self.error, other.error)


class Overhead(NamedTuple):
    """What a policy costs under the log, and under its law."""

    replayed: Mean
    fitted: Mean

    @property
    def z(self) -> float:
        """How far the two are apart, in standard errors."""
        return self.fitted.z(self.replayed)


@dataclass(frozen=True)
class Fitted:
    """A log with its best law, and the keys of either as failures of a scenario."""

    fit: LogFit
    nodes: int  # of the job
    gap_s: float
    trace: dict[str, Any]
    law: dict[str, Any]

    def overheads(
        self, failures: dict[str, Any], gaps: float, replications: int
    ) -> dict[str, Mean]:
        """What each policy costs in jobs of so many mean gaps, and what CPR loses."""
        useful_s, plans = gaps * self.gap_s, _intervals(self.gap_s)
        summary = _summary(self.nodes, useful_s, failures, plans, replications)
        costs = {name: Mean.of(summary, name, "overhead") for name in POLICIES}
        return costs | {PLS: Mean.of(summary, "cpr", "pls")}


@dataclass(frozen=True)
class Compared:
    """A log's fit, and the overhead of each policy."""

    fit: LogFit
    overheads: dict[str, Overhead]

    @property
    def said(self) -> str:
        """What `cprsim fit` says of the best law, in short."""
        verdict = "adequate" if self.fit.verdict.adequate else "no law is adequate"
        clusters = self.fit.dependence is not None and self.fit.dependence.clustered
        return f"{verdict}, clusters" if clusters else verdict


@cache
def compare(log: Log, folder: Path) -> Compared:
    """Fit a log and play both; spot traces are unpacked into `folder`."""
    found = fitted(log, folder)
    replayed, by_law = (
        found.overheads(each, MEAN_GAPS, REPLICATIONS) for each in (found.trace, found.law)
    )
    return Compared(found.fit, {name: Overhead(replayed[name], by_law[name]) for name in POLICIES})


def fitted(log: Log, folder: Path) -> Fitted:
    """Fit a log as `cprsim fit` does; spot traces are unpacked into `folder`."""
    path = _unpacked(log, folder)
    taken = {"window": log.window, "coalesce": log.coalesce}
    view = {} if log.nodes is None else {"view": "job", "nodes": log.nodes}
    if log.uptimes:
        view = {"view": "uptime"}
    fit = cprsim.fit(path, log.reader, log.system, **taken, **view)
    nodes = log.nodes or nodes_of(LogSource(path, log.reader, log.system).failures())
    gap_s, law = fit.view.sample.mean_s, fit.best.law.mapping() | {"per": "job"}
    if fit.verdict.adequate and fit.hits:  # as the block of `fit --toml` has it
        law["hits"] = fit.hits
    if log.uptimes:
        gap_s, law = fit.best.law.expected_s / nodes, law | {"per": "node", "ages": "stationary"}
    keys = {"trace": str(path), "reader": log.reader, "system": log.system, **taken}
    trace = {key: value for key, value in keys.items() if value is not None}
    return Fitted(fit, nodes, gap_s, trace, law)


def _unpacked(log: Log, folder: Path) -> Path:
    if log.in_archive is None:
        return SHARED / log.path
    path = folder / Path(log.in_archive).name
    with tarfile.open(SHARED / log.path) as archive:
        member = archive.extractfile(log.in_archive)
        assert member is not None
        path.write_bytes(member.read())
    return path


def _intervals(mtbf_s: float) -> dict[str, Any]:
    """Plans that both play: as `optimal` and a PLS of 0.1 over 8 servers are at the mean gap."""
    full_s = math.sqrt(2 * 5.62 * 60 * mtbf_s)
    return {
        "full": {"system": "full", "interval": f"{full_s!r} s"},
        "cpr": {"system": "partial", "interval": f"{2 * 0.1 * 8 * mtbf_s!r} s"},
    }


def _summary(
    nodes: int,
    useful_s: float,
    failures: dict[str, Any],
    plans: dict[str, Any],
    replications: int,
) -> Any:
    scenario = cprsim.Scenario(
        job={"useful_time": f"{useful_s!r} s"},
        cluster={"parameter_servers": nodes, "trainers": 0},
        costs={"save": "5.62 min", "load": "2 min", "reschedule": "3.39 min"},
        failures=failures,
        policies=plans,
    )
    return cprsim.run(scenario, replications=replications, seed=1).summary
