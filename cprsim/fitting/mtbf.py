"""The MTBF of jobs of every size on the nodes of one log."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.errors import UsageError
from cprsim.failures.logs import scaling
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.window import as_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class MtbfByNodes:
    """How the MTBF falls with the nodes of a job: measured, and by the two models of the CPR paper.

    `rows` has a row a number of nodes; its columns are those of
    `cprsim.failures.logs.scaling.JobMtbf`. `told` says how the log was understood.
    """

    source: LogSource
    rows: pd.DataFrame
    told: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What the columns are, a sentence each."""
        return [
            "Linear: MTBF of one node / nodes. Independent: 1 h / (1 - (1 - p)^nodes), with p the "
            "share of node-hours with a failure.",
            *self.source.notes,
            *self.told,
        ]

    def document(self) -> dict[str, Any]:
        """What `cprsim fit --view job --json` prints without `--nodes`; times in seconds."""
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
        from cprsim.figures.mtbf import mtbf_by_nodes  # noqa: PLC0415  (matplotlib is slow)

        return mtbf_by_nodes(self.rows, str(self.source))


def mtbf_by_nodes(
    log: str | os.PathLike[str] | FailureLog,
    reader: str | None = None,
    system: int | None = None,
    window: str | None = None,
    coalesce: str | None = None,
    population: int | None = None,
    nodes: Sequence[int] | None = None,
    columns: Mapping[str, str] | None = None,
    exclude_worst: int = 0,
    rules: Mapping[str, object] | None = None,
) -> MtbfByNodes:
    """Measure the MTBF of jobs on 1, 2, 4, ... nodes and on all, or on each number in `nodes`.

    The other parameters are those of `cprsim.fit`.

    Raises
    ------
    LogError
        If the log can't be read, or its failures all strike at one instant.
    UsageError
        If the arguments make no sense.
    """
    source = LogSource.from_options(
        log, reader, system, window, coalesce, population, columns, exclude_worst, rules
    )
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
    rows = pd.DataFrame(scaling.mtbf_by_nodes(failures, nodes))
    return MtbfByNodes(source, rows, failures.notes)
