"""Jobs under replayed logs, and the same jobs under the laws fitted to these logs."""

import math
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import cprsim
from cprsim.failures.logs.log import FailureLog
from cprsim.fitting.block import gap_keys, law_keys, log_keys
from cprsim.fitting.log_fit import LogFit
from tools.paths import SHARED
from tools.validation.systems.mean import Mean

#: Useful times in gaps of the log: two are the regime of the CPR paper, 56 h at an MTBF of 28 h.
LENGTHS: Final = (2, 6, 60)
#: Gaps in all jobs of a length together, and the most jobs.
GAPS: Final = 6000
MOST_JOBS: Final = 1000
AGES: Final = ("new", "stationary")
#: The measure of CPR's loss; the others are overheads.
PLS: Final = "PLS of cpr"
MEASURES: Final = ("full", "cpr", PLS)
_LANL = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
_GRID = "grid5000_fta/g5k_dev_{}.tab.gz"
_SPOT = "availability/16-node/aws-08-27-2023/{}_v100_1.json"
_NODES = {3: 128, 4: 128, 5: 128, 6: 32, 8: 164, 18: 1024, 20: 512}  # of LANL's systems


class Log(NamedTuple):
    """A log, what is taken of it, and how it is called."""

    name: str
    path: str
    system: int | None = None
    window: str | None = None
    coalesce: str | None = None
    nodes: int | None = None  # of the job; the whole system if not given
    in_archive: str | None = None
    uptimes: bool = False  # the law is of the nodes' lives
    jobs: int = MOST_JOBS

    @property
    def there(self) -> bool:
        """True if its file exists."""
        return (SHARED / self.path).exists()


def _lanl(system: int, nodes: int | None = None) -> Log:
    second = f"LANL {system}, second half, "
    what = f"{_NODES[system]:,} nodes" if nodes is None else f"{nodes} of them"
    return Log(second + what, _LANL, system, "0.5:1", nodes=nodes)


def _grid(name: str, nodes: int, coalesce: str | None = None) -> Log:
    close = "" if coalesce is None else f", coalesced within {coalesce}"
    site, _, cluster = name.partition("_")
    text = f"Grid'5000 {site}/{cluster}, {nodes} nodes{close}"
    return Log(text, _GRID.format(name), coalesce=coalesce)


def _spot(zone: str) -> Log:
    archive = "spot_preemption/skypilot_spot_traces.tar.xz"
    return Log(f"spot, {zone}, 16 nodes", archive, in_archive=_SPOT.format(zone))


LOGS: Final = (
    *(Log(f"LANL {each}, whole life, {n:,} nodes", _LANL, each) for each, n in _NODES.items()),
    *(_lanl(system, nodes) for system in (18, 20) for nodes in (None, 256)),
    *(
        Log(f"LANL {each}, whole life, uptimes, 256 nodes", _LANL, each, nodes=256, uptimes=True)
        for each in (18, 20)
    ),
    *(_grid("site3_c1", 57, each) for each in (None, "5 min", "1 h")),
    Log("Grid'5000 site3/c1, uptimes, 57 nodes", _GRID.format("site3_c1"), nodes=57, uptimes=True),
    *(_grid("site6_c1", 103, each) for each in (None, "5 min", "1 h")),
    *map(_spot, ("us-west-2a", "us-east-2b")),
    Log("StepFun, the 124 servers that fail", "stepfun_faults/fault_trace_dev.json.gz"),
    Log(
        "Alibaba's SSDs, the 12,033 servers that fail",
        "alibaba_ssd/ssd_failures_trimmed.csv.gz",
        jobs=400,  # each of which takes some 50 ms
    ),
    Log("Titan's GPUs, lives, 1,000 of them", "titan_gpu/gc_summary_loc.csv.gz", nodes=1000),
)


class Played(NamedTuple):
    """Jobs of one length: each of `MEASURES` under the log, and under its law by age.

    `repeated`: how many times as long as the log these jobs are together.
    """

    replayed: dict[str, Mean]
    by_age: dict[str, dict[str, Mean]]
    repeated: float

    def z(self, measure: str) -> float:
        """Return how far the law lies above the log, in standard errors.

        Those of the log count as many jobs as fit into it once, as in `cprsim fit --for`: playing
        the same failures again adds no knowledge of the cluster.
        """
        return self.law[measure].z(self.log(measure))

    def log(self, measure: str) -> Mean:
        """Return the mean under the log, with the error that a log of its length has."""
        share, error = self.replayed[measure]
        return Mean(share, error * math.sqrt(max(self.repeated, 1.0)))

    @property
    def law(self) -> dict[str, Mean]:
        """Means under the law, its clock being under way at the start."""
        return self.by_age["stationary"]

    def z_of_replays(self, ages: str, measure: str) -> float:
        """Return how far a law lies above the replays, in standard errors of the runs."""
        return self.by_age[ages][measure].z(self.replayed[measure])

    def excess(self, ages: str, measure: str) -> float:
        """Return how far the law lies above the log, as a share of the log's mean."""
        return self.by_age[ages][measure].value / self.replayed[measure].value - 1


@dataclass(frozen=True)
class Compared:
    """A log's fit, and its jobs by their length in gaps."""

    fit: LogFit
    jobs: dict[int, Played]

    @property
    def law(self) -> str:
        """The best law, in words."""
        law, frail = self.fit.law, self.fit.wanted_frailty
        if law.distribution == "exponential":
            return law.distribution
        spread = f"shape {law.shape:.2f}" if law.cv is None else f"cv {law.cv:.2g}"
        return f"{law.distribution}, {spread}" + (
            "" if frail is None else f", frailty {frail.key:.2g}"
        )

    @property
    def has_clock(self) -> bool:
        """True if the law is adequate and its jobs depend on where in a gap they start."""
        return has_clock(self.fit)

    @property
    def warned(self) -> str:
        """The reason, by `cprsim fit`, why the mean of the law may be wrong; empty without one."""
        if not self.fit.verdict.adequate:
            return "no law is adequate"
        return "a guess" if any(each.endswith(": a guess.") for each in self.fit.notes) else ""

    @property
    def said(self) -> str:
        """The findings of `cprsim fit` before anything is played, in short."""
        follow, moves = self.fit.dependence, self.fit.trend
        told = {
            self.warned or "adequate": True,
            "clusters": follow is not None and follow.clustered,
            "trend": moves is not None and moves.is_sure,
        }
        return ", ".join(text for text, is_so in told.items() if is_so)


@cache
def compare(log: Log, folder: Path) -> Compared:
    """Fit a log as `cprsim fit` does, and play it and its law at every length.

    Spot traces, and logs that count no nodes, are written into `folder`.
    """
    view = {} if log.nodes is None else {"view": "job", "nodes": log.nodes}
    if log.uptimes:
        view = {"view": "uptime"}
    if log.path.startswith("titan"):
        view = {}
    fit = cprsim.fit(
        _unpacked(log, folder),
        system=log.system,
        window=log.window,
        coalesce=log.coalesce,
        **view,  # type: ignore[arg-type]
    )
    failures = None if fit.source.reader == "intervals" else fit.source.failures()
    nodes = log.nodes or failures.system  # type: ignore[arg-type]
    lives = fit.view.per == "node"
    gap_s = fit.law.expected_s / nodes if lives else fit.view.sample.mtbf_s
    in_log = math.inf
    if failures is not None:
        in_log = failures.span_s / gap_s * max(failures.system // nodes, 1)
    replayed, law = _replayed(fit, failures, folder), law_keys(fit)
    ages = AGES if has_clock(fit) else AGES[1:]
    jobs = {}
    for gaps in LENGTHS:
        count = min(GAPS // gaps, log.jobs)
        jobs[gaps] = Played(
            _played(nodes, gap_s, gaps, count, replayed),
            {each: _played(nodes, gap_s, gaps, count, law | {"ages": each}) for each in ages},
            count * gaps / in_log,
        )
    return Compared(fit, jobs)


def has_clock(fit: LogFit) -> bool:
    """Return whether a law is adequate, of a job, and not exponential."""
    exponential = fit.best.law.distribution == "exponential"
    return fit.verdict.adequate and fit.view.per == "job" and not exponential


def _replayed(fit: LogFit, log: FailureLog | None, folder: Path) -> dict[str, Any]:
    """`[failures]` that replays the log; draws from its lives, where there are only these."""
    if log is None:
        return gap_keys(fit)
    keys = log_keys(fit)
    if "trace" in keys and keys["reader"] != "csv":
        return keys
    return {"trace": str(_as_event_trace(log, folder)), "reader": "fta"}


def _as_event_trace(log: FailureLog, folder: Path) -> Path:
    """A log that counts no nodes, as one of a system of those that fail.

    So each job starts at a random time of it. Outages are of no length: those of one node that
    overlap would be one.
    """
    machines, nodes = np.unique(log.machines, return_inverse=True)
    path = folder / f"{log.start_s}-{len(log)}.tab"
    until_s = 1.0 + log.watched_s  # nobody sees failures at the first instant
    with path.open("w", encoding="utf-8") as file:
        for node in range(len(machines)):
            file.write(f"0 0 {node} 1 n 1 0 {until_s!r} NULL\n")
        for node, at_s in zip(nodes.tolist(), (log.times_s - log.start_s).tolist(), strict=True):
            file.write(f"0 0 {node} 1 n 0 {1 + at_s!r} {1 + at_s!r} NULL\n")
    return path


def _unpacked(log: Log, folder: Path) -> Path:
    if log.in_archive is None:
        return SHARED / log.path
    path = folder / Path(log.in_archive).name
    with tarfile.open(SHARED / log.path) as archive:
        member = archive.extractfile(log.in_archive)
        assert member is not None
        path.write_bytes(member.read())
    return path


def _played(
    nodes: int, gap_s: float, gaps: int, jobs: int, failures: dict[str, Any]
) -> dict[str, Mean]:
    """Return each policy's overhead in jobs of so many mean gaps, and CPR's PLS."""
    # Plans that both play: as `optimal` and a PLS of 0.1 over 8 servers are at the mean gap.
    full_s = math.sqrt(2 * 5.62 * 60 * gap_s)
    scenario = cprsim.Scenario(
        job={"useful_time": f"{gaps * gap_s!r} s"},
        cluster={"parameter_servers": nodes, "trainers": 0},
        costs={"save": "5.62 min", "load": "2 min", "reschedule": "3.39 min"},
        failures=failures,
        policies={
            "full": {"system": "full", "interval": f"{full_s!r} s"},
            "cpr": {"system": "partial", "interval": f"{2 * 0.1 * 8 * gap_s!r} s"},
        },
    )
    summary = cprsim.run(scenario, replications=jobs, seed=1).summary
    found = {}
    for measure, policy, column in (
        *((name, name, "overhead") for name in MEASURES[:2]),
        (PLS, "cpr", "pls"),
    ):
        mean, high = (float(summary.loc[policy, each]) for each in (column, f"{column}_high"))
        found[measure] = Mean(mean, (high - mean) / 1.96)
    return found
