"""Which outages were planned, by the reasons that a log gives."""

import re
from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.rules import Rules

#: What a word of the reason of a planned outage begins with, in any case.
PLANNED: Final = (
    *("decommission", "maint", "patch", "planned", "reboot", "scheduled", "update"),
    "upgrade",
)
#: What tells of a fault, whatever else the reason says: beginnings of words, and whole words.
EVIDENCE: Final = (
    *("unexpected", "unplanned", "unscheduled", "unhealthy", "unresponsive", "unreachable"),
    *("not responding", "no response", "xid", "sxid", "fail", "fault", "error", "broken", "crash"),
    *("corrupt", "defect", "degraded", "hang", "panic", "overheat", "time out", "timed out"),
    *("fell off", "fallen off", "stuck", "impaired", "malfunction", "problem", "not ready"),
)
EVIDENCE_WORDS: Final = ("ecc", "lost", "dead", "hung", "mce", "bad", "oom")
_PLANNED = re.compile(rf"\b({'|'.join(PLANNED)})", re.IGNORECASE)
# An underscore parts words too; a failover is none.
_EVIDENCE = re.compile(
    rf"(?<![a-z0-9])(?!fail-?over)({'|'.join(EVIDENCE)}|({'|'.join(EVIDENCE_WORDS)})(?![a-z0-9]))".replace(
        " ", "[ _-]?"
    ),
    re.IGNORECASE,
)


def planned_word(reason: str, rules: Rules, by_words: bool = True) -> str | None:
    """Return the words by which an outage was planned; None of a failure.

    The owner's `not_planned` wins over `planned`, which wins over evidence of a fault, which wins
    over the words of `PLANNED`.

    Parameters
    ----------
    reason
        The reason of the outage, as the log has it.
    rules
        What the owner of the log says.
    by_words
        Whether `PLANNED` counts.
    """
    if rules.not_planned is not None and re.search(rules.not_planned, reason, re.IGNORECASE):
        return None
    if rules.planned is not None:
        named = re.search(rules.planned, reason, re.IGNORECASE)
        if named:
            return named[0].lower() or reason.lower()
    found = _PLANNED.search(reason) if by_words else None
    return found[1].lower() if found and not _EVIDENCE.search(reason) else None


def without_planned(path: LogPath, log: FailureLog, rules: Rules) -> FailureLog:
    """Return the log with the outages that `rules.planned` names apart from the failures.

    Raises
    ------
    LogError
        If none of its outages is a failure, or it has no causes.
    """
    if log.causes is None:
        raise LogError(
            f"{path}: tells no causes for planned to go by; name their column with --cause-column, "
            "or leave it out"
        )
    words = [planned_word(cause or "", rules, by_words=False) for cause in log.causes]
    planned = np.array([word is not None for word in words], np.bool_)
    if not planned.any():
        return log
    if planned.all():
        raise LogError(
            f"{path}: holds no failure: all {len(log):,} outages are planned ({rules.planned})"
        )
    why = Counter(f"rows of planned outages ({word})" for word in words if word is not None)
    failures = log.leaving_out(np.flatnonzero(~planned), why)
    return replace(failures, planned=log.only(np.flatnonzero(planned)))
