"""Whether a value of 1 means good or bad, by the words that name it."""

import re
from collections.abc import Mapping
from typing import Final

#: Words of what is bad, and of what is good, as they are parted by anything but letters.
BAD: Final = frozenset(
    (
        *("absent", "alert", "alerts", "bad", "broken", "cordoned", "crash", "crashed"),
        *("critical", "dead", "deadlock", "degraded", "down", "drain", "drained", "draining"),
        *("error", "errors", "fail", "failed", "failing", "failure", "failures", "fatal"),
        *("fault", "faulted", "faults", "faulty", "firing", "hung", "impaired", "incident"),
        *("inactive", "interrupted", "lost", "maint", "maintenance", "missing", "notready"),
        *("offline", "outage", "outages", "pressure", "problem", "reboot", "rebooted"),
        *("readonly", "stopped", "suspect", "unavailable", "unhealthy", "unreachable"),
        *("unresponsive", "unschedulable"),
    )
)
GOOD: Final = frozenset(
    (
        *("active", "alive", "available", "good", "healthy", "idle", "alloc", "allocated"),
        *("mixed", "nominal", "normal", "ok", "okay", "online", "operational", "passed"),
        *("passing", "present", "reachable", "ready", "responding", "running", "success", "up"),
        *("working", "schedulable", "repair", "repaired", "recovered", "resolved", "restored"),
        *("fixed", "returned", "cleared", "back"),
    )
)
#: Labels of a metric whose value says what it counts.
_STATES: Final = ("state", "phase", "health", "reason")
_NOT: Final = frozenset(("not", "no", "non", "un"))


def meaning(text: str) -> bool | None:
    """Return whether words are of what is good (True) or bad (False); None if they say neither."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)  # NetworkUnavailable
    words = re.split(r"[^a-z]+", parted.lower())
    found = None
    for before, word in zip(["", *words], words, strict=False):
        if word in BAD or word in GOOD:
            good = (word in GOOD) != (before in _NOT)
            found = good if found is None else found and good
    return found


def is_good(labels: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether 1 means up in a series with these labels, and the label by which it does not.

    Of conditions of Kubernetes only Ready is good; others are of problems.
    """
    good, by = True, ""
    name = labels.get("__name__", "")
    if meaning(name) is False:
        good, by = False, name
    condition = labels.get("condition")
    if condition is not None:
        good = meaning(condition) is True
        by = "" if good else f'condition="{condition}"'
    for label in _STATES:
        said = meaning(labels.get(label, ""))
        if said is not None:
            good, by = said, "" if said else f'{label}="{labels[label]}"'
    status = labels.get("status", "")
    if status.lower() == "unknown":
        return False, f'status="{status}"'
    if status.lower() == "false":
        return not good, f'status="{status}"' if good else ""
    if status.lower() != "true" and meaning(status) is not None:
        good = meaning(status) is True
        by = "" if good else f'status="{status}"'
    return good, by
