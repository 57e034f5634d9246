"""Costs of a policy's own: typed in the scenario, derived from the job, assumed, or unknown.

Each function returns an `OwnCost`. A value that the scenario gives wins, 0 included. Otherwise the
cost follows from the bytes that are moved and from what moves them: the servers' memory
(`cluster.memory_bandwidth`) or cards (`cluster.nic`).
"""

from typing import TYPE_CHECKING, Literal, NamedTuple

from cprsim.basics.units import format_bytes, format_duration, format_percent
from cprsim.job.costs import CostModel
from cprsim.rows.names import TrackerName

if TYPE_CHECKING:
    from cprsim.rows.model import RowModel

#: Where the value of a cost comes from. `"given"`: the scenario has it. `"derived"`: it follows
#: from what the scenario has. `"assumed"`: it rests on a figure that others measured, on other
#: machines. `"unknown"`: nothing says what it is, and 0 is charged.
Basis = Literal["given", "derived", "assumed", "unknown"]
#: Bytes per second that one process copies in a host's memory, each read once and written once:
#: 10 to 20 GB/s on hosts that train DLRMs.
ASSUMED_MEMORY = 15e9
#: Share of time that applying every update once more takes where nothing says how many bytes are
#: updated: ECRec's parities alone, without commits and copies of the dense part (PVLDB 16(11),
#: 2023, ablation at 220 GB on 5 servers).
ASSUMED_UPDATE = 0.026
#: Seconds that a tracker takes to see one row looked up, of 10 million rows in batches of 2,048
#: samples with 26 lookups (docs/performance-trackers.csv: 163 and 695 us a batch). SCAR only marks
#: the rows, and so does Check-N-Run: charged as MFU, which writes to one place in memory, too.
SECONDS_A_ROW: dict[TrackerName, float] = {
    "mfu": 163e-6 / (2048 * 26),
    "scar": 163e-6 / (2048 * 26),
    "ssu": 695e-6 / (2048 * 26),
}


class OwnCost(NamedTuple):
    """A cost of a policy's own, and where its value comes from.

    `key`: of the policy's table in the scenario. `value`: seconds, or a share of the useful time.
    `unit`: `"s"` or `"share"`. `basis`: see `Basis`. `follows`: what the value follows from, or
    what is missing.
    """

    key: str
    value: float
    unit: Literal["s", "share"]
    basis: Basis
    follows: str = ""

    @property
    def text(self) -> str:
        """`"key = value"`, for people."""
        shown = format_duration if self.unit == "s" else format_percent
        return f"{self.key} = {shown(self.value)}"

    def document(self) -> dict[str, object]:
        """Return the cost as plain data, by the names of its fields, without the key."""
        told = self._asdict()
        del told["key"]
        return told


def published(
    key: str, value: float, default: float, source: str, unit: Literal["s", "share"] = "s"
) -> OwnCost:
    """Return a cost whose default was measured by `source`: assumed, unless another is given."""
    assumed = value == default
    return OwnCost(key, value, unit, "assumed" if assumed else "given", source * assumed)


def snapshot(
    costs: CostModel, given_s: float | None, share: float = 1.0, key: str = "snapshot"
) -> OwnCost:
    """Return the time in which each server copies its part of the state in its memory, s.

    `share checkpoint_bytes / servers / memory_bandwidth`; `share`: of a full checkpoint, that is
    copied. Training waits for it, since servers update their rows in place.
    """
    model = costs.model
    return copied(costs, given_s, None if model is None else share * model.checkpoint_bytes, key)


def copied(costs: CostModel, given_s: float | None, all_bytes: float | None, key: str) -> OwnCost:
    """Return the time in which each server copies its part of these bytes in its memory, s.

    `all_bytes / servers / memory_bandwidth`; None where they are not known, without a model.
    """
    if given_s is not None:
        return OwnCost(key, given_s, "s", "given")
    if all_bytes is None:
        return OwnCost(key, 0.0, "s", "unknown", "[model] is not given")
    bytes_each = all_bytes / costs.cluster.parameter_servers
    follows = f"{format_bytes(bytes_each)} a server, {_memory_told(costs)}"
    return OwnCost(key, bytes_each / _memory(costs), "s", _of_memory(costs), follows)


def applied_again(costs: CostModel, given: float | None, times: float, key: str) -> OwnCost:
    """Return the share of time in which servers apply all updates `times` more times.

    `times pushed_bytes_per_s (entry + optimizer state) / entry / servers / memory_bandwidth`: each
    update reads and writes the entry and its optimizer state, as a copy of as many bytes does.
    Charged in full, as if servers had no idle time. Where nothing says how many bytes are pushed,
    `times` the share that ECRec measured. From the bytes of ECRec's job (8,900 rows of 512 B and as
    much optimizer state in 221 batches a second, 5 servers) 2.7 % follow, where 2.6 % was measured.
    The lab's own servers, which update random rows by torch's index operations, take some 13 times
    as long (`python -m benchmarks.derived`): where yours do, give what was measured.
    """
    if given is not None:
        return OwnCost(key, given, "share", "given")
    pushed = pushed_bytes_per_s(costs)
    if pushed is None:
        measured = f"ECRec's {format_percent(ASSUMED_UPDATE)} for applying updates once more"
        return OwnCost(key, times * ASSUMED_UPDATE, "share", "assumed", measured)
    updated = times * pushed * _with_optimizer_state(costs)
    share = updated / costs.cluster.parameter_servers / _memory(costs)
    follows = f"{format_bytes(updated)}/s of updates, {_memory_told(costs)}"
    return OwnCost(key, share, "share", _of_memory(costs), follows)


def committed(coding: OwnCost, given: float | None, key: str = "commit") -> OwnCost:
    """Return the share of time that two-phase commit adds: as much as the parities themselves.

    ECRec's ablation has 2.6 % of either (PVLDB 16(11), 2023, 220 GB on 5 servers).
    """
    if given is not None:
        return OwnCost(key, given, "share", "given")
    return OwnCost(key, coding.value, "share", "assumed", "as much as coding, as ECRec measured")


def dense_copied(costs: CostModel, given: float | None, key: str = "replication") -> OwnCost:
    """Return the share of time in which the dense part goes to another server after each batch.

    `dense_bytes batches_per_s / servers / nic`. From ECRec's dense part (8.5 MB, 221 batches a
    second, 5 servers, 25 Gbit/s) 12 % follow, where 13 % was measured.
    """
    if given is not None:
        return OwnCost(key, given, "share", "given")
    model, job, nic = costs.model, costs.job, costs.cluster.nic
    lacks = {
        "model.dense": model is None or not model.dense_bytes,
        "model.batch": model is None or model.batch is None,
        "job.samples": job.samples is None,
        "cluster.nic": nic is None,
    }
    missing = [name for name, absent in lacks.items() if absent]
    if missing:
        return OwnCost(key, 0.0, "share", "unknown", f"without {' and '.join(missing)}")
    assert model is not None
    assert model.batch is not None
    assert job.samples is not None
    assert nic is not None
    pushed = model.dense_bytes * job.samples / model.batch / job.useful_time_s
    follows = f"{format_bytes(pushed)}/s of the dense part over the cards"
    return OwnCost(key, pushed / costs.cluster.parameter_servers / nic, "share", "derived", follows)


def tracked_rows(costs: CostModel, given: float | None, tracker: TrackerName, key: str) -> OwnCost:
    """Return the share of time in which servers notify a tracker of the rows that are looked up.

    `lookups_per_s SECONDS_A_ROW / servers`, of the tables that are tracked.
    """
    if given is not None:
        return OwnCost(key, given, "share", "given")
    rows, samples = _rows(costs), costs.job.samples
    if rows is None or samples is None:
        lacks = "job.samples" if rows is not None else "[model] preset or tables"
        return OwnCost(key, 0.0, "share", "unknown", f"without {lacks}")
    lookups = samples / costs.job.useful_time_s * sum(table.lookups for table in rows.tracked)
    row_s = SECONDS_A_ROW[tracker]
    follows = f"{lookups:.3g} rows/s, {1e9 * row_s:.2g} ns each (docs/performance.md)"
    share = lookups * row_s / costs.cluster.parameter_servers
    return OwnCost(key, share, "share", "assumed", follows)


def resharded(costs: CostModel, given_s: float | None, key: str = "reshard") -> OwnCost:
    """Return the time in which the rows of a lost server go to all others over their cards, s.

    `shard_bytes / servers / (servers - 1) / nic`: each of the others takes an equal part.
    """
    if given_s is not None:
        return OwnCost(key, given_s, "s", "given")
    model, nic, servers = costs.model, costs.cluster.nic, costs.cluster.parameter_servers
    if model is None or nic is None:
        lacks = "[model]" if model is None else "cluster.nic"
        return OwnCost(key, 0.0, "s", "unknown", f"without {lacks}")
    part = model.shard_bytes / servers / max(servers - 1, 1)
    return OwnCost(key, part / nic, "s", "derived", f"{format_bytes(part)} a server over its card")


def pushed_bytes_per_s(costs: CostModel) -> float | None:
    """Return the bytes of updates that trainers push in a useful second, all together.

    `job.network`; without it samples a second times the rows that each looks up, in bytes; None
    where the scenario has neither.
    """
    job, rows = costs.job, _rows(costs)
    if job.network is not None:
        return job.network
    if rows is None or job.samples is None:
        return None
    return job.samples / job.useful_time_s * _looked_up(rows)


def _looked_up(rows: "RowModel") -> float:
    """Return the bytes of the rows that one sample looks up, without optimizer state."""
    return sum(table.lookups * table.row_bytes for table in rows.tables)


def _with_optimizer_state(costs: CostModel) -> float:
    """Return the bytes of an entry and its optimizer state, per byte of the entry."""
    model, rows = costs.model, _rows(costs)
    if rows is not None:
        both = sum(table.lookups * table.saved_bytes / table.rows for table in rows.tables)
        return both / _looked_up(rows)
    if model is None or not model.embedding:
        return 1.0
    return model.shard_bytes / model.embedding


def _rows(costs: CostModel) -> "RowModel | None":
    return None if costs.model is None else costs.model.rows


def _memory(costs: CostModel) -> float:
    """Return the bytes per second that a server copies in its memory."""
    given = costs.cluster.memory_bandwidth
    return ASSUMED_MEMORY if given is None else given


def _of_memory(costs: CostModel) -> Basis:
    return "assumed" if costs.cluster.memory_bandwidth is None else "derived"


def _memory_told(costs: CostModel) -> str:
    assumed = " (assumed)" if costs.cluster.memory_bandwidth is None else ""
    return f"memory {format_bytes(_memory(costs))}/s{assumed}"
