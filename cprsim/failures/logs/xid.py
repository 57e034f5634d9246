"""Kernel logs of hosts with NVIDIA GPUs, whose driver reports errors as Xids."""

import math
import re
from datetime import UTC, datetime
from typing import Final

from cprsim.basics.tabular import LogPath, lines, shown
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows
from cprsim.failures.logs.outages import NodeOutages

#: Codes after which a GPU has to be reset or replaced, or its host restarted. Of NVIDIA, "XID
#: Errors", the Xid catalogue; https://docs.nvidia.com/deploy/xid-errors.
FAILURES: Final = {
    46: "GPU stopped processing",
    48: "double-bit ECC error",
    62: "halt of the power management unit",
    64: "failure to remap a row or to retire a page",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    94: "contained ECC error",
    95: "uncontained ECC error",
    110: "security fault",
    119: "GSP timeout",
    120: "GSP error",
    140: "unrecovered ECC error",
    143: "GPU initialization failure",
}
_MARK = "NVRM: Xid"
_TELL = "write the log with journalctl -k -o short-iso"
_HEAD = re.compile(
    r"(?:<[0-9]+>(?:[0-9] )?)?"  # priority and version, as sent over the network
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.,][0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r"\s+(?!NVRM:)(\S+)\s"
)
_NO_YEAR = re.compile(r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}")
_CODE = re.compile(rf"{_MARK} \([^)]*\): ([0-9]{{1,4}})\b")


def read_xid(path: LogPath) -> FailureLog:
    """Failures of hosts by the lines `NVRM: Xid (PCI:0000:3b:00): 79, ...` of their kernel logs.

    Other lines are skipped. In front of the Xid stand an ISO time and the name of the host, as
    `journalctl -k -o short-iso` and syslog daemons of today write them. Logs of several hosts may
    follow each other in one file, in any order.

    Parameters
    ----------
    path
        The log; plain, or compressed with a name that ends in `.gz` or `.xz`.

    Returns
    -------
    FailureLog
        A failure for each line whose code is in `FAILURES`; one incident often makes several. The
        others are left out and counted by their code. The cause is the code. Time 0 is the first
        failure; hosts are watched until the last line with an Xid, or the last of the file. Times
        without a zone count as they stand. When a host is back, such a log doesn't tell.

    Raises
    ------
    LogError
        If the file can't be read, an Xid has no ISO time, host or code, only some of the times
        have a zone, or no line is a failure.
    """
    outages, until_s, zoned, last, read = NodeOutages(), -math.inf, None, "", 0
    for number, line in enumerate(lines(path), 1):
        if _MARK not in line:
            last = line
            continue
        read += 1
        head, code, last = _HEAD.match(line), _CODE.search(line), ""
        time_s = _time_s(head) if head else math.nan
        if head is None or code is None or math.isnan(time_s):
            raise LogError(f"{path}:{number}: {_fault(line, head, time_s)}")
        if zoned not in (None, bool(head[2])):
            zone = "with a zone, unlike" if head[2] else "without a zone, unlike"
            told = f"time is {shown(head[1])}, {zone} those before; {_TELL}"
            raise LogError(f"{path}:{number}: {told}")
        zoned, until_s = bool(head[2]), max(until_s, time_s)
        if int(code[1]) in FAILURES:
            outages.add(head[3], time_s, cause=f"Xid {int(code[1])}")
        else:
            outages.dropped[f"lines of Xid {int(code[1])}"] += 1
    end = _HEAD.match(last)
    if end and bool(end[2]) == zoned:
        until_s = max(until_s, _time_s(end))
    return outages.log(
        path,
        f"no line has an {_MARK}",
        until_s,
        ends=False,
        epoch=Epoch(0.0, bool(zoned)),
        rows=Rows("lines with an Xid", read, len(outages)),
    )


def _time_s(head: re.Match[str]) -> float:
    """Seconds on a clock of the log's own; nan where there is no such time."""
    try:
        time = datetime.fromisoformat(head[1].replace(",", "."))
    except ValueError:  # 2024-02-30
        return math.nan
    return (time if head[2] else time.replace(tzinfo=UTC)).timestamp()


def _fault(line: str, head: re.Match[str] | None, time_s: float) -> str:
    """What is wrong with a line that has an Xid."""
    if head is None:
        no_year = _NO_YEAR.match(line)
        if no_year:
            return f"time is {shown(no_year[0])}, without a year; {_TELL}"
        return f"no ISO time and host in front of the Xid: {shown(line.strip())}; {_TELL}"
    if math.isnan(time_s):
        return f"time is {shown(head[1])}, not a time like 2024-03-01T12:00:00+00:00"
    return f"no code behind {_MARK}: {shown(line.strip())}"
