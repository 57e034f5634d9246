"""The MTBF of jobs of every size on the nodes of one log."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import as_json
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.views import deal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_S = 3600.0  # of the independent-node model, as in the tables of Maeng et al. (2021)
_JOBS = 400  # of one size: more show the same failures again
_DEALS = 100
_STRETCHES = 20  # of time, whose counts show how far chance moves the rate
_STUDENT = 2.093  # 97.5 % quantile of Student's t with 19 degrees of freedom


def measured_mtbf(log: FailureLog, nodes: Sequence[int] | None = None) -> pd.DataFrame:
    """MTBF of jobs of each size, s; of 1, 2, 4, ... nodes and the whole system if not given.

    A row a number of `nodes`. `measured_s`: time for each failure of such a job in the log,
    simultaneous ones being one. `low_s`, `high_s`: its 95 % interval, from how the failures scatter
    over 20 stretches of the log; the high end is infinite where their number may be 0. `linear_s`:
    what it would be if each node failed by itself, MTBF of one node / nodes. `independent_s`: the
    same in hours as steps.

    References
    ----------
    K. Maeng et al., "CPR: Understanding and improving failure tolerant training for deep learning
    recommendation with partial recovery", MLSys 2021, for the linear and the independent model.
    """
    if log.span_s <= 0:
        raise LogError("the failures all strike at one instant: there is no time between them")
    attendance = Attendance(log)
    system = attendance.most
    doublings = [2**power for power in range((system - 1).bit_length())]
    sizes = nodes if nodes is not None else [*doublings, system]
    if not len(sizes):
        raise UsageError("nodes is empty; give how many nodes each job runs on")
    for size in sizes:
        if not 1 <= size <= system:
            raise UsageError(f"nodes is {size}; the system has {system}, so take 1 to {system}")
    failures = np.unique(np.stack([log.machines, log.times_s]), axis=1).shape[1]
    all_s = log.node_s(log.system)
    hours = np.unique(np.stack([log.machines, log.times_s // STEP_S]), axis=1).shape[1]
    chance = min(hours * STEP_S / all_s, 1.0)
    found = pd.DataFrame([_measured(log, attendance, size) for size in sizes])
    return found.assign(
        linear_s=all_s / failures / found.nodes,
        independent_s=[independent_s(chance, size) for size in sizes],
    )


def independent_s(chance: float, nodes: int, step_s: float = STEP_S) -> float:
    """MTBF, seconds, of `nodes` that each fail with probability `chance` in each step.

    step / (1 - (1 - p)^n): failures are counted at the end of a step, so it is never less than one.
    """
    if chance == 1:
        return step_s
    return step_s / -math.expm1(nodes * math.log1p(-chance)) if chance else math.inf


def _measured(log: FailureLog, attendance: Attendance, size: int) -> dict[str, float]:
    """MTBF of jobs of one size, and its 95 % interval, seconds."""
    system = attendance.most
    jobs = system // size
    deals = min(math.ceil(_JOBS / jobs), _DEALS) if size < system else 1
    _, instants = np.unique(log.times_s, return_inverse=True)
    stretch = ((log.times_s - log.start_s) / log.span_s * _STRETCHES).astype(np.int64)
    counts = np.zeros(_STRETCHES)  # failures of all jobs of one deal, in each stretch of the log
    for job_of in deal(attendance, size, deals):
        _, first = np.unique(job_of * len(log) + instants, return_index=True)
        failed = stretch[first[job_of[first] >= 0]].clip(max=_STRETCHES - 1)
        counts += np.bincount(failed, minlength=_STRETCHES) / deals
    total = float(counts.sum())
    half = _STUDENT * math.sqrt(_STRETCHES * float(counts.var(ddof=1)))
    watched_s = math.fsum(attendance.clock_s(size * (job + 1))[1] for job in range(jobs))
    return {
        "nodes": size,
        "measured_s": watched_s / total if total else math.inf,
        "low_s": watched_s / (total + half),
        "high_s": watched_s / (total - half) if total > half else math.inf,
    }


@dataclass(frozen=True, eq=False)
class MtbfByNodes:
    """The MTBF by the nodes of a job: measured, and by the two models of the CPR paper.

    `rows`: those of `measured_mtbf`. `told` says how the log was understood.
    """

    source: LogSource
    rows: pd.DataFrame
    told: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Sentences on the columns."""
        return [
            "Linear: MTBF of one node / nodes. Independent: 1 h / (1 - (1 - p)^nodes), with p the "
            "share of node-hours with a failure.",
            *self.source.notes,
            *self.told,
        ]

    def document(self) -> dict[str, Any]:
        """Return the document of `cprsim fit --view job --json` without `--nodes`; times in s."""
        rows = self.rows.to_dict("records")
        return {
            "log": self.source.path,
            "reader": self.source.reader,
            "system": self.source.system,
            "view": "job",
            "window": as_json(self.source.window),
            "coalesce_s": self.source.coalesce_s,
            "mtbf_by_nodes": [
                {key: value if math.isfinite(value) else None for key, value in row.items()}
                for row in rows
            ],
        }

    def toml(self) -> str:
        """There is none: raise `UsageError`, which says how to get one."""
        raise UsageError("--toml needs --nodes: a [failures] block is for jobs of one size")

    def figure(self) -> "Figure":
        """MTBF against nodes, both logarithmic."""
        from cprsim.figures.measured import mtbf_by_nodes  # noqa: PLC0415  (matplotlib is slow)

        return mtbf_by_nodes(self.rows, str(self.source))


def mtbf_by_nodes(
    log: str | os.PathLike[str] | FailureLog,
    reader: str | None = None,
    system: int | None = None,
    *,
    nodes: Sequence[int] | None = None,
    **taken: Any,
) -> MtbfByNodes:
    """Measure the MTBF of jobs on 1, 2, 4, ... nodes and on all, or on each number in `nodes`.

    `reader`, `system`, `taken`: what is taken of the log, as of `cprsim.fit`.

    Returns
    -------
    MtbfByNodes
        A row a number of nodes: the MTBF as measured, and by two models.

    Raises
    ------
    LogError
        If the log can't be read, or its failures all strike at one instant.
    UsageError
        If the arguments make no sense.

    Examples
    --------
    >>> from cprsim.basics.shipped import shipped
    >>> cprsim.mtbf_by_nodes(shipped("failures.csv"), nodes=[1, 8]).rows["nodes"].tolist()
    [1, 8]
    """
    source = LogSource.from_options(log, reader, system, **taken)
    if source.reader == "intervals":
        raise UsageError("reader 'intervals' has durations, not failures of nodes")
    failures = source.failures()
    if not failures.of_nodes:
        raise UsageError(
            f"{source.path}: has no column of nodes, of which jobs take some; name it with "
            "--node-column"
        )
    if source.coalesce_s is not None:
        failures = failures.coalesced(source.coalesce_s)
    return MtbfByNodes(source, measured_mtbf(failures, nodes), failures.notes)
