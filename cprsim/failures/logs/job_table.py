"""Tables of jobs, as a scheduler keeps them, and the interruptions in them.

A row a job with its nodes, its time and its state, as `sacct --parsable2 --duplicates --truncate`
writes them; docs/failures.md has the whole command. A job that its nodes interrupted is a failure;
all others ended before one, and their node-hours count, too.
"""

import csv
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import Cells, LogPath, csv_cells
from cprsim.basics.units import counted, format_duration, format_durations
from cprsim.errors import LogError, UnitError, UsageError, shown
from cprsim.failures.logs.cells import delimiter_of, header_cells, is_unknown, with_header
from cprsim.failures.logs.clock import read_times
from cprsim.failures.logs.intervals import seconds_of
from cprsim.failures.logs.options import Cell, Columns, Rules
from cprsim.failures.logs.table import name_of, names_of, parsed, read_table, refuse
from cprsim.failures.logs.words import WORDS, known_by, plain
from cprsim.survival.kaplan_meier import poisson_band

#: Names of the columns.
COLUMNS: Final[dict[str, list[str]]] = WORDS["jobs"]
#: What Slurm calls a job that lost a node.
_NODE_FAIL: Final = "NODE_FAIL"
_HOUR_S: Final = 3600.0
#: What Slurm calls a step: of a job, of one of an array, or of a part of a job.
_STEPS: Final = ("batch", "extern", "interactive")
_STEP: Final = rf"^(.+)\.({'|'.join(_STEPS)}|[0-9]+)\Z"
_NODES: Final = r"[0-9]{1,9}(\.0)?"
#: Reasons why rows are left out, in the order of the notes.
_AGAIN: Final = "told again"
_REASONS: Final = (
    "of steps of a job",
    "of jobs without nodes",
    "of jobs that never ran, or whose end is unknown",
)
#: Beyond chance: two-sided, 1 in 100.
_SURE: Final = 2.576
#: Interruptions below which the size test's normal approximation doesn't hold.
_FEW: Final = 10


def are_jobs(header: str) -> bool:
    """Return whether the header of a table is that of a table of jobs, and not of nodes."""
    names = header_cells(header)
    found = known_by(names, COLUMNS)
    return "job" in found and not _missing(found) and "node" not in Columns().found(names)


def _missing(found: Mapping[str, str]) -> str:
    """Say what a table of jobs needs and this one lacks; empty if it has all."""
    for column in ("state", "nodes"):
        if column not in found:
            return f"has no column of {column}, such as {COLUMNS[column][0]}"
    timed = "elapsed" in found or {"start", "end"} <= found.keys()
    return "" if timed else "has no column elapsed, nor start and end"


@dataclass(frozen=True, eq=False)
class JobRecords:
    """Jobs of a cluster, and which of them were interrupted."""

    path: str
    #: A row a job: `nodes`, `hours` that it ran, `interrupted`.
    jobs: pd.DataFrame
    #: The end of a job that counts as interrupted, e.g. `State=NODE_FAIL`.
    counts: str
    #: Numbers of jobs by their end, the most frequent first; and of rows left out, by reason.
    ended: Mapping[str, int]
    dropped: Mapping[str, int]
    #: Whether the table may hide interruptions of jobs that were requeued.
    hides: bool

    @property
    def node_hours(self) -> float:
        """Return the node hours of all jobs."""
        return float((self.jobs.nodes * self.jobs.hours).sum())

    @property
    def interruptions(self) -> int:
        """Return the interruptions of all jobs."""
        return int(self.jobs.interrupted.sum())

    def mtbf_s(self, nodes: int = 1) -> tuple[float, float, float]:
        """Mean time between interruptions of a job on so many nodes, and its 95 % interval, s.

        The maximum likelihood of a constant rate from jobs most of which are censored: node-hours
        per interruption; its interval is exact (Garwood, Biometrika 1936). Infinite ends where
        none was seen.
        """
        low, high = (float(each[0]) for each in poisson_band(np.array([self.interruptions])))
        at_all_s = self.node_hours * _HOUR_S / nodes
        return (
            at_all_s / self.interruptions if self.interruptions else math.inf,
            at_all_s / high,
            at_all_s / low if low else math.inf,
        )

    @property
    def by_nodes(self) -> pd.DataFrame:
        """A row a range of sizes, each twice the one before, of those that jobs had.

        Columns: `least`, `most` nodes of a job; `jobs`, `node_hours`, `interruptions`; those `per
        1,000 node-hours`, and the `low` and `high` ends of its exact 95 % interval.
        """
        jobs = self.jobs.assign(node_hours=self.jobs.nodes * self.jobs.hours)
        found = jobs.groupby(np.floor(np.log2(jobs.nodes)).astype(int)).agg(
            least=("nodes", "min"),
            most=("nodes", "max"),
            jobs=("nodes", "size"),
            node_hours=("node_hours", "sum"),
            interruptions=("interrupted", "sum"),
        )
        low, high = poisson_band(found.interruptions.to_numpy())
        each = {"per_1000_node_hours": found.interruptions, "low": low, "high": high}
        scaled = {name: 1000 * np.asarray(n) / found.node_hours for name, n in each.items()}
        return found.assign(**scaled).reset_index(drop=True)

    @property
    def size_z(self) -> float:
        """Return how far the rate per node-hour grows with the size of a job, in standard errors.

        The score test of rates that go with a power of the size: given how many interruptions
        there are, they fall on jobs in proportion to node-hours if size doesn't matter. NaN where
        there is nothing to compare.
        """
        if not self.interruptions or self.jobs.nodes.nunique() < 2:
            return math.nan
        share = self.jobs.nodes * self.jobs.hours / self.node_hours
        size = np.log(self.jobs.nodes)
        mean = float((share * size).sum())
        spread = math.sqrt(float((share * (size - mean) ** 2).sum()))
        seen = float(size[self.jobs.interrupted].mean())
        return (seen - mean) / spread * math.sqrt(self.interruptions)

    @property
    def _of_sizes(self) -> list[str]:
        """That the size of a job matters, where that is beyond chance."""
        if self.interruptions < _FEW or not abs(self.size_z) > _SURE:
            return []
        more = "more" if self.size_z > 0 else "less"
        return [
            f"Nodes of larger jobs interrupt {more} often than those of small ones, beyond chance "
            f"(z {self.size_z:+.1f}): one mean does not stand for jobs of every size."
        ]

    @property
    def notes(self) -> list[str]:
        """Return the basis of the figures, a sentence each."""
        mean_s, low_s, high_s = self.mtbf_s()
        rate = (
            f"A node interrupts its job once in {format_duration(mean_s)} "
            f"({format_durations(low_s, high_s)}) of running."
            if self.interruptions
            else f"No interruption was seen: a node interrupts its job less than once in "
            f"{format_duration(low_s)}, with 97.5 % certainty."
        )
        ended = ", ".join(f"{name} {count:,}" for name, count in self.ended.items())
        hidden = (
            "No job has two rows. sacct shows the last run alone of a job that was requeued, "
            "and so hides its interruption: ask with --duplicates."
        )
        return [
            rate,
            *self._of_sizes,
            f"Interrupted is {self.counts}; jobs ended as {ended}.",
            *[hidden] * self.hides,
            *(f"Left out: {counted(n, 'row')} {why}." for why, n in self.dropped.items()),
        ]

    def document(self) -> dict[str, Any]:
        """Return the document of `cprsim fit --json` for a table of jobs."""
        mean_s, low_s, high_s = self.mtbf_s()
        return {
            "log": self.path,
            "reader": "jobs",
            "jobs": len(self.jobs),
            "node_hours": self.node_hours,
            "interruptions": self.interruptions,
            "interrupted": self.counts,
            "mtbf_s": mean_s if math.isfinite(mean_s) else None,
            "mtbf_ci95_s": [low_s, high_s if math.isfinite(high_s) else None],
            "size_z": None if math.isnan(self.size_z) else self.size_z,
            "by_nodes": self.by_nodes.to_dict("records"),
            "ended": dict(self.ended),
            "dropped": dict(self.dropped),
        }

    def toml(self) -> str:
        """A `[failures]` block; raise `UsageError` where no interruption was seen."""
        mean_s, low_s, high_s = self.mtbf_s()
        if not self.interruptions:
            raise UsageError(
                f"--toml: {self.path} has no interruption ({self.counts}), and so no mean; "
                f"it is {format_duration(low_s)} at least, with 97.5 % certainty"
            )
        warned = "".join(f"# {each}\n" for each in self._of_sizes)
        return (
            f"{warned}# {Path(self.path).name}: {counted(self.interruptions, 'interruption')} "
            f"({self.counts}) in {self.node_hours:,.0f} node-hours of "
            f"{counted(len(self.jobs), 'job')}; 95 % {format_durations(low_s, high_s)}\n"
            '[failures]\ndistribution = "exponential"\nper = "node"\n'
            f'mean = "{mean_s / _HOUR_S:.6g} h"\n'
        )


def read_jobs(
    path: LogPath, failure_when: str | None = None, time_unit: str | None = None
) -> JobRecords:
    """Read a table of jobs, as docs/failures.md describes it; packed ones too.

    Of rows of one job with one start the last counts. `failure_when`: COLUMN=VALUE, the jobs that
    were interrupted, the state `NODE_FAIL` if not given; of a cell of several words the first
    counts, too. `time_unit`: of times that are numbers, as in `cprsim.failures.logs.options.Rules`.

    Raises
    ------
    LogError
        If the file can't be read, lacks a column, or holds no job that ran.
    UsageError
        If `failure_when` or `time_unit` make no sense, or no job ended as `failure_when` says.
    """
    rules = Rules.of({"failure_when": failure_when, "time_unit": time_unit})
    table = read_table(path, choose=_choose, split=_cells)
    of = known_by(names_of(table), COLUMNS)
    failing = Cell(of["state"], _NODE_FAIL)
    if rules.failing is not None:
        named = name_of(table, rules.failing.column, "failure_when")
        failing = Cell(named, rules.failing.value)
    rows = pd.DataFrame(
        {
            "state": table[of["state"]].map(_first),
            "nodes": _nodes(table, of["nodes"]),
            "hours": _elapsed_s(table, of, rules) / _HOUR_S,
            "interrupted": [
                failing.holds(cell) or failing.holds(_first(cell)) for cell in table[failing.column]
            ],
        }
    )
    rows["job"], runs = "", pd.Series(range(len(rows)), rows.index).astype(str)
    if "job" in of:  # runs of a job differ in their starts, where these are known
        rows["job"] = table[of["job"]]
        told = [of["job"], of["start"]] if "start" in of else names_of(table)
        runs = runs.where(rows.job == "", table[told].agg("\n".join, axis=1))
    jobs = rows[~runs.duplicated(keep="last")]
    if rules.failing is not None and not jobs.interrupted.any():
        raise UsageError(
            f"--failure-when {rules.failing}: no row of {path} has it; jobs ended as "
            f"{', '.join(jobs.state.unique())}"
        )
    steps = jobs.job.str.extract(_STEP)  # `7.0` is one where there is a job 7
    is_step = steps[1].isin(_STEPS) | steps[0].isin(jobs.job)
    why = np.select([is_step, jobs.nodes == 0, ~(jobs.hours > 0)], _REASONS, "")
    kept, counts = jobs[why == ""], Counter(why.tolist()) + Counter({_AGAIN: len(rows) - len(jobs)})
    dropped = {each: counts[each] for each in (_AGAIN, *_REASONS) if counts[each]}
    if kept.empty:
        left_out = ", ".join(f"{count:,} {each}" for each, count in dropped.items())
        raise LogError(
            f"{path}: none of its {counted(len(rows), 'row')} is of a job that ran: {left_out}"
        )
    return JobRecords(
        os.fspath(path),
        kept[["nodes", "hours", "interrupted"]].reset_index(drop=True),
        str(failing),
        dict(Counter(kept.state).most_common()),
        dropped,
        # Slurm's own word for nodes, and no job with two runs.
        plain(of["nodes"]) == "nnodes" and kept.job.is_unique,
    )


def _choose(names: list[str]) -> tuple[list[str], list[str]]:
    of = known_by(names, COLUMNS)
    lacks = _missing(of)
    if lacks:
        raise LookupError(f"{lacks}; the header is {shown(','.join(names))}")
    return list(dict.fromkeys(of.values())), []


def _elapsed_s(table: pd.DataFrame, of: dict[str, str], rules: Rules) -> NDArray[np.float64]:
    """Return the time that each job ran, s; NaN where it isn't known."""
    if "elapsed" in of:

        def lasted(text: str) -> float:
            try:
                return seconds_of(text, rules.unit_s or 1.0)
            except UnitError as error:
                raise UnitError(f"{of['elapsed']}: {error}") from None

        return parsed(table, of["elapsed"], lasted, may_lack=True)
    elapsed_s = np.full(len(table), math.nan)
    timed = ~table[[of["start"], of["end"]]].map(is_unknown).any(axis=1).to_numpy()
    if timed.any():
        times = read_times(table[timed], of["start"], of["end"], unit=rules.time_unit)
        elapsed_s[timed] = times.ends_s - times.starts_s
    return elapsed_s


def _cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows of a table, without headers within it; where `|` parts cells nothing is quoted."""
    header, whole = with_header(text)
    mark = delimiter_of(header)
    names = header_cells(header)
    rows: Iterator[Cells] = csv_cells(path, whole, mark)
    if mark == "|":
        rows = enumerate(csv.reader(whole, delimiter=mark, quoting=csv.QUOTE_NONE), 1)
    first = True
    for line, cells in rows:  # several tables may be in one file
        if any(cells) and (first or [each.strip() for each in cells] != names):
            yield line, cells
            first = False


def _nodes(table: pd.DataFrame, column: str) -> NDArray[np.int64]:
    texts = table[column].str.replace(",", "")
    unknown = texts.map(is_unknown)
    wrong = ~texts.str.fullmatch(_NODES) & ~unknown
    refuse(
        table,
        column,
        wrong,
        ", not a number of nodes; of sacct, print NNodes, and with --noconvert",
    )
    return np.asarray(texts.where(~unknown, "0").astype(np.float64), np.int64)


def _first(cell: str) -> str:
    """The first word of a state: Slurm writes `CANCELLED by 1001`."""
    return next(iter(cell.split()), "(none)")
