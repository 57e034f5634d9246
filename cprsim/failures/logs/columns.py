"""Which columns of a table of failures hold what."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Self

from pydantic import Field

from cprsim.basics.schema import Section
from cprsim.basics.tabular import shown
from cprsim.errors import UsageError

#: By what names a column goes, the likeliest first, of which the first is cprsim's own; small and
#: capital letters are alike, and so are blanks, `-` and `_`.
SYNONYMS: Final = {
    "time": (
        *("time_s", "time", "timestamp", "@timestamp", "datetime", "date_time", "start"),
        *("started", "started_at", "start_time", "failed_at", "failure_time", "event_time", "date"),
        *("ts", "occurred_at", "restarted_at", "restart_time"),
    ),
    "node": (
        *("node", "host", "hostname", "instance", "server", "machine", "node_name", "host_name"),
        *("instance_id", "node_id", "nodename", "gpu", "gpu_id", "device", "disk", "disk_id"),
        *("serial_number", "serial", "vm", "worker"),
    ),
    "end": (
        *("end_s", "end", "ended", "ended_at", "end_time", "stop", "repaired", "repaired_at"),
        *("resolved", "resolved_at", "recovered", "recovered_at", "fixed"),
    ),
    "kind": ("kind", "type"),
    "rack": ("rack", "rack_id"),
    "severity": ("severity",),
    "cause": (
        *("cause", "reason", "root_cause", "failure_cause", "failure_reason", "failure_type"),
        *("fault_type", "error_type", "category", "description", "message", "comment"),
        *("why", "exit_reason", "error_message"),
    ),
}
#: Columns of free text, which may hold what parts cells.
FREE_TEXT: Final = frozenset(
    (*SYNONYMS["cause"], "error", "text", "note", "notes", "comments", "details", "summary", "msg")
)
_WHAT = {"time": "times", "node": "nodes"}
_Column = Annotated[str | None, Field(min_length=1, examples=["hostname"])]


class Columns(Section):
    """What the columns of a CSV log are called, where it isn't one of the known names.

    `time`: the column that says when a node failed. `node`: that says which node. `end`: that says
    when the outage was over. `kind`: that tells parameter servers from trainers. `rack`: that says
    where the node stands. `cause`: that says why it failed.
    """

    time: _Column = None
    node: _Column = None
    end: _Column = None
    kind: _Column = None
    rack: _Column = None
    cause: _Column = None

    @classmethod
    def of(cls, names: Mapping[str, object]) -> Self:
        """From a mapping, as a caller has it; raise `UsageError` if it makes no sense."""
        for key, name in names.items():
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise UsageError(f"columns names {shown(str(key))}; known: {known}")
            if not isinstance(name, str) or not name:
                raise UsageError(f"columns: {key} is {shown(str(name))}; it is a column's name")
        return cls.model_validate(dict(names))

    def found(self, header: Sequence[str]) -> dict[str, str]:
        """The name in the header of each column that is given or, by `SYNONYMS`, known."""
        given = self.mapping()
        free = [name for name in header if name not in given.values()]
        return known_by(free, SYNONYMS) | given

    def needed(self, header: Sequence[str], *columns: str) -> dict[str, str]:
        """As `found`; raise `LookupError`, which says the way out, if one of `columns` isn't."""
        found = self.found(header)
        for column in columns:
            if column not in found:
                examples = " or ".join(SYNONYMS[column][:3:2])
                raise LookupError(
                    f"has no column of {_WHAT[column]}, such as {examples}; the header is "
                    f"{shown(','.join(header))}; name it with --{column}-column "
                    "(in a scenario: failures.columns)"
                )
        return found


def known_by(header: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The name in the header of each column that it has by one of its names, the first of those."""
    by_plain = {plain(name): name for name in reversed(header)}
    found = {
        column: next((by_plain[name] for name in names if name in by_plain), None)
        for column, names in synonyms.items()
    }
    return {column: name for column, name in found.items() if name is not None}


def plain(name: str) -> str:
    """Return a name of a column as it is compared with others."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")
