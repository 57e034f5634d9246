"""cprsim's own format of failure logs."""

from array import array
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from cprsim.basics.tabular import LogPath, Row, table
from cprsim.failures.hit import SEVERITIES, Severity
from cprsim.failures.logs.log import FailureLog, forget_early

_KINDS = {"parameter_server": "parameter_server", "ps": "parameter_server", "trainer": "trainer"}
_SEVERITIES: dict[str, Severity] = {severity: severity for severity in SEVERITIES}
_Name = TypeVar("_Name", bound=str)


def read_csv(path: LogPath) -> FailureLog:
    """Failures of cprsim's own format: columns time_s, node and, if there are such, four more.

    `time_s` is in seconds, 0 or later, in order (ties allowed); `node` an index from 0. Optional
    are `kind`, parameter_server (or ps) or trainer; `end_s`, when the outage was over, in seconds,
    empty or NULL where that isn't known; `rack`, a number from 0; and `severity`, process, node or
    cluster. Other columns are ignored.

    The observation lasts from the first failure to the last, the watch of the nodes until the last
    outage is over. An outage that ends before it starts has no known end and is counted.

    Raises
    ------
    LogError
        If the file can't be read, a value is none of these, or there is no failure.
    """
    times, nodes, ends, racks = array("d"), array("q"), array("d"), array("q")
    kinds, severities = list[str](), list[Severity]()
    told = f"severities: {', '.join(SEVERITIES)}"
    for row in table(path, ("time_s", "node"), optional=("kind", "end_s", "rack", "severity")):
        time = row.seconds("time_s")
        if times and time < times[-1]:
            raise row.fault(f"time_s {time} comes after {times[-1]}; sort the log by time_s")
        times.append(time)
        nodes.append(row.index("node"))
        if "kind" in row.columns:
            kinds.append(_known(row, "kind", _KINDS, "kinds: parameter_server (or ps), trainer"))
        if "end_s" in row.columns:
            ends.append(row.seconds_if_known("end_s"))
        if "rack" in row.columns:
            racks.append(row.index("rack"))
        if "severity" in row.columns:
            severities.append(_known(row, "severity", _SEVERITIES, told))
    when, repaired = np.asarray(times), np.asarray(ends) if ends else None
    return FailureLog(
        times_s=when,
        nodes=np.asarray(nodes),
        start_s=times[0],
        span_s=times[-1] - times[0],
        kinds=tuple(kinds) or None,
        dropped={} if repaired is None else forget_early(repaired, when),
        repaired_s=repaired,
        racks=np.asarray(racks) if racks else None,
        until_s=float(np.fmax.reduce(ends, initial=times[-1])),
        severities=tuple(severities) or None,
    )


def _known(row: Row, column: str, known: Mapping[str, _Name], told: str) -> _Name:
    name = known.get(row[column])
    if name is None:
        raise row.bad(column, f"; known {told}")
    return name
