"""Errors of NVIDIA GPUs, called Xids, in logs of kernels."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pandas as pd

from cprsim.basics.tabular import LogPath, lines
from cprsim.errors import LogError, shown
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Rules
from cprsim.failures.logs.outages import merged, outages_log
from cprsim.failures.logs.words import WORDS

_NO_RULES = Rules()

#: Codes after which a GPU has to be reset or replaced, or its host restarted.
FAILURES: Final = {int(code): what for code, what in WORDS["xid"].items()}
#: The cause of a GPU that is lost without an Xid.
OFF_THE_BUS: Final = "off the bus"
#: A host is down for a minute at least: lines of its GPUs until then are of the same failure.
_SAME_FAILURE_S: Final = 60.0
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


def read_xid(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of hosts by the lines `NVRM: Xid (PCI:0000:3b:00): 79, ...` of their kernel logs.

    And by those of a GPU that falls off the bus without an Xid, and of NVSwitches (SXid). The cause
    is the code. Time 0 is the first failure; hosts are watched until the last of these lines, or
    the last of the file. Times have a zone all, or none, and then are taken for UTC. Such a
    log lacks the ends of outages. `rules`: codes that are failures, added to `FAILURES`. Raises
    `LogError` if it can't be read or holds no failure.
    """
    found, left_out, others = list[tuple[str, float, str]](), Counter[str](), False
    until_s, zoned, last = -math.inf, None, ""
    for number, line in enumerate(lines(path), 1):
        if not _MARK.search(line):
            last = line
            continue
        head, code, last = _HEAD.match(line), _CODE.search(line), ""
        time_s = _time_s(head) if head else math.nan
        if head is None or math.isnan(time_s) or (code is None and "Xid (" in line):
            raise LogError(f"{path}:{number}: {_line_fault(line, head, time_s)}")
        if zoned not in (None, bool(head[2])):
            zone = "with a zone, unlike" if head[2] else "without a zone, unlike"
            told = f"time is {shown(head[1])}, {zone} those before; {_TELL}"
            raise LogError(f"{path}:{number}: {told}")
        zoned, until_s = bool(head[2]), max(until_s, time_s)
        others |= code is None or code[1] == "SXid"
        cause = OFF_THE_BUS if code is None else f"{code[1]} {int(code[2])}"
        if code is None or _is_failure(code[1], int(code[2]), code[3], rules.xids or ()):
            found.append((head[3], time_s, cause))
        else:
            left_out[f"lines of {cause}"] += 1
    end = _HEAD.match(last)
    if end and bool(end[2]) == zoned:
        until_s = max(until_s, _time_s(end))
    what = f"lines with an Xid{' or SXid, or of a lost GPU' * others}"
    rows = pd.DataFrame(found, columns=["node", "start_s", "cause"]).assign(end_s=math.nan)
    rows["node"], start_s = pd.factorize(rows.node)[0], rows.start_s.to_numpy(np.float64)
    begins, _ = merged(rows.node.to_numpy(), start_s, start_s + _SAME_FAILURE_S)
    left_out["lines that continue a failure of their host"] = len(rows) - len(begins)
    return outages_log(
        path,
        rows.iloc[np.sort(begins)],
        until_s,
        nothing="no line has an NVRM: Xid",
        ends=False,
        rows=(what, len(begins) + left_out.total()),
        dropped=left_out,
    )


def _is_failure(kind: str, code: int, text: str, extra: Sequence[int]) -> bool:
    """Return whether a line is of a failure: by what it says itself, else by its code."""
    if kind == "Xid" and code in extra:
        return True
    if _HARMLESS.search(text):
        return False
    action = _ACTION.search(text)
    if action is not None:
        return action[1].lower() != "none"
    return bool(_FATAL.search(text)) or (kind == "Xid" and code in FAILURES)


def _time_s(head: re.Match[str]) -> float:
    """Seconds on a clock of the log's own; nan where there is no such time."""
    try:
        time = datetime.fromisoformat(head[1].replace(",", "."))
    except ValueError:  # 2024-02-30
        return math.nan
    return (time if head[2] else time.replace(tzinfo=UTC)).timestamp()


def _line_fault(line: str, head: re.Match[str] | None, time_s: float) -> str:
    """Return the fault of a line that has an Xid."""
    if head is None:
        no_year = _NO_YEAR.match(line)
        if no_year:
            return f"time is {shown(no_year[0])}, without a year; {_TELL}"
        return f"no ISO time and host in front of the Xid: {shown(line.strip())}; {_TELL}"
    if math.isnan(time_s):
        return f"time is {shown(head[1])}, not a time like 2024-03-01T12:00:00+00:00"
    return f"no code behind NVRM: Xid: {shown(line.strip())}"
