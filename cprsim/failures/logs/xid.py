"""Kernel logs of hosts with NVIDIA GPUs, whose driver reports errors as Xids."""

import math
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pandas as pd

from cprsim.basics.tabular import LogPath, lines, shown
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows
from cprsim.failures.logs.outages import Outage, outages_log
from cprsim.failures.logs.rules import Rules

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
#: The cause of a GPU that is lost without an Xid.
OFF_THE_BUS: Final = "off the bus"
#: A host is down for a minute at least: what its log has of its GPUs until then tells the same.
SAME_FAILURE_S: Final = 60.0
CONTINUED: Final = "lines that continue a failure of their host"
_TELL = "write the log with journalctl -k -o short-iso"
_HEAD = re.compile(
    r"(?:<[0-9]+>(?:[0-9] )?)?"  # priority and version, as sent over the network
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.,][0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r"\s+(?!NVRM:|kernel:|nvidia-nvswitch)(\S+)\s"
)
_NO_YEAR = re.compile(r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}")
_MARK = re.compile(r"\bS?Xid \(|NVRM:.*\b(?:fallen|fell) off the bus|NVRM:.*GPU is lost")
_CODE = re.compile(r"\b(S?Xid) \([^)]*\): ([0-9]{1,5})\b(.*)")
# What a line says of itself wins over its code.
_HARMLESS = re.compile(r"\bnon[- ]?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"\bfatal\b", re.IGNORECASE)
_ACTION = re.compile(r"recovery action changed from .* to \S+ \(([^)]*)\)", re.IGNORECASE)
_NO_RULES = Rules()


def read_xid(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of hosts by the lines `NVRM: Xid (PCI:0000:3b:00): 79, ...` of their kernel logs.

    And by those of a GPU that falls off the bus without an Xid, and of NVSwitches (SXid). Other
    lines are skipped. In front stand an ISO time and the name of the host, as `journalctl -k -o
    short-iso` and syslog daemons of today write them. Logs of several hosts may follow each other
    in one file, in any order.

    Parameters
    ----------
    path
        The log; plain, or compressed with a name that ends in `.gz` or `.xz`.
    rules
        Codes of Xids that are failures beside those of `FAILURES`.

    Returns
    -------
    FailureLog
        A failure for each line that says "Fatal", names an action by which a GPU has to recover,
        or whose Xid is in `FAILURES`, unless it says "Nonfatal" or that no action is needed. Lines
        of a host up to `SAME_FAILURE_S` after one that counts are the same failure. The others are
        left out and counted by their code. The cause is the code. Time 0 is the first failure;
        hosts are watched until the last of these lines, or the last of the file. Times without a
        zone count as they stand. When a host is back, such a log doesn't tell.

    Raises
    ------
    LogError
        If the file can't be read, an Xid has no ISO time, host or code, only some of the times
        have a zone, or no line is a failure.
    """
    found, left_out, others = list[Outage](), Counter[str](), False
    until_s, zoned, last = -math.inf, None, ""
    for number, line in enumerate(lines(path), 1):
        if not _MARK.search(line):
            last = line
            continue
        head, code, last = _HEAD.match(line), _CODE.search(line), ""
        time_s = _time_s(head) if head else math.nan
        if head is None or math.isnan(time_s) or (code is None and "Xid (" in line):
            raise LogError(f"{path}:{number}: {_fault(line, head, time_s)}")
        if zoned not in (None, bool(head[2])):
            zone = "with a zone, unlike" if head[2] else "without a zone, unlike"
            told = f"time is {shown(head[1])}, {zone} those before; {_TELL}"
            raise LogError(f"{path}:{number}: {told}")
        zoned, until_s = bool(head[2]), max(until_s, time_s)
        others |= code is None or code[1] == "SXid"
        cause = OFF_THE_BUS if code is None else f"{code[1]} {int(code[2])}"
        if code is None or _is_failure(code[1], int(code[2]), code[3], rules.xids or ()):
            found.append(Outage(head[3], time_s, cause=cause))
        else:
            left_out[f"lines of {cause}"] += 1
    end = _HEAD.match(last)
    if end and bool(end[2]) == zoned:
        until_s = max(until_s, _time_s(end))
    what = f"lines with an Xid{' or SXid, or of a lost GPU' * others}"
    log = outages_log(
        path,
        pd.DataFrame(found, columns=Outage._fields),
        "no line has an NVRM: Xid",
        until_s,
        ends=False,
        epoch=Epoch(0.0, bool(zoned)),
        rows=Rows(what, len(found) + left_out.total(), len(found)),
        dropped=left_out,
    )
    return _once_a_failure(log)


def _is_failure(kind: str, code: int, text: str, extra: tuple[int, ...]) -> bool:
    """Return whether a line is of a failure: by what it says itself, else by its code."""
    if kind == "Xid" and code in extra:
        return True
    if _HARMLESS.search(text):
        return False
    action = _ACTION.search(text)
    if action is not None:
        return action[1].lower() != "none"
    return bool(_FATAL.search(text)) or (kind == "Xid" and code in FAILURES)


def _once_a_failure(log: FailureLog) -> FailureLog:
    """Return the log with one failure for lines of a host that tell the same."""
    order = np.lexsort((log.times_s, log.nodes))
    apart_s = np.diff(log.times_s[order], prepend=-np.inf)
    is_new = (np.diff(log.nodes[order], prepend=-1) != 0) | (apart_s > SAME_FAILURE_S)
    repeats = int(np.count_nonzero(~is_new))
    if not repeats:
        return log
    kept = np.sort(order[is_new])
    span_s = float(log.times_s[kept[-1]]) - log.start_s
    return replace(log.leaving_out(kept, {CONTINUED: repeats}), span_s=span_s)


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
    return f"no code behind NVRM: Xid: {shown(line.strip())}"
