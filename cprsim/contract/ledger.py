"""The ledger of one run: seconds by cause, and losses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

#: Causes of wall-clock seconds; they add up to the wall clock. The field's words for them: goodput
#: and ETTR are train / wall, every other cause is badput.
CAUSES: Final = (
    *("train", "lost", "save", "load", "reschedule", "detect", "slowdown", "stall"),
    *("verify", "start", "shutdown"),
)
#: Causes that overhead is made of: all but training that counts.
OVERHEAD_CAUSES: Final = CAUSES[1:]
#: Those that a failure costs, in the order in which they come.
FAILURE_COSTS: Final = ("detect", "reschedule", "start", "load", "lost")
#: Causes that only some scenarios have: tables show them where they aren't all 0.
RARE_CAUSES: Final = ("verify", "start", "shutdown")
#: The field's word for each cause of overhead, in the order in which bars stack them.
CAUSE_LABELS: Final = {
    "save": "saving",
    "load": "loading",
    "lost": "lost computation",
    "reschedule": "rescheduling",
    "detect": "detection",
    "slowdown": "slowdown",
    "stall": "snapshot stall",
    "verify": "verification",
    "start": "start-up",
    "shutdown": "shutdown",
}


def told_causes(is_told: Callable[[str], Any]) -> tuple[str, ...]:
    """Causes of overhead that a table has columns for: all but rare ones that `is_told` denies."""
    return tuple(each for each in OVERHEAD_CAUSES if each not in RARE_CAUSES or is_told(each))


def overhead(wall_s: Any, useful_s: Any) -> Any:
    """Return the time beyond the useful time, as a share of that; numbers or arrays."""
    return wall_s / useful_s - 1.0


def overhead_retrained(overhead: Any, updates_lost: Any) -> Any:
    """The overhead if every lost update were trained again (semantics 24); numbers or arrays."""
    return overhead + updates_lost


def ettr(wall_s: Any, useful_s: Any) -> Any:
    """Effective training time ratio, which others call goodput; numbers or arrays."""
    return useful_s / wall_s


@dataclass(slots=True)
class Ledger:
    """Seconds by cause of one run, and its counts.

    `train`: training that counts, at full speed. `lost`: training that was rolled back. `save`:
    waiting for saves, interrupted ones too. `load`: loading checkpoints or copies. `reschedule`:
    waiting for replacements, or for nodes to be drained. `detect`: until failures are noticed.
    `slowdown`: how much longer than at full speed the training that counts took. `stall`: snapshots
    of background saves. `verify`: looking whether what was trained is sound. `start`: getting
    nodes, initialising, compiling, warming up. `shutdown`: ending, after the last save.

    `pls`: portion of lost samples, (E4) of CPR. `updates_lost`: share of all updates of embedding
    shards that were made and then lost for good; it differs from `pls` where a shard fails twice
    between checkpoints, since what is lost already can't be lost again. `learning_lost`: the mean
    over shards of -ln(1 - u), where u is the share of a shard's updates that it has lost for
    good; a shard that loses much loses more than its updates. `failures`: struck; `absorbed`: fell
    into a downtime, or took nodes that were drained; `saves`: checkpoints that became usable.
    `stored` and `sent`: bytes that saves wrote to the remote store and to the memory of peers, in
    full checkpoints. `corrupt`: 1 where a silent fault is in what the job ends with, which nobody
    has found.
    """

    train: float = 0.0
    lost: float = 0.0
    save: float = 0.0
    load: float = 0.0
    reschedule: float = 0.0
    detect: float = 0.0
    slowdown: float = 0.0
    stall: float = 0.0
    verify: float = 0.0
    start: float = 0.0
    shutdown: float = 0.0
    wall: float = 0.0
    pls: float = 0.0
    updates_lost: float = 0.0
    learning_lost: float = 0.0
    failures: int = 0
    absorbed: int = 0
    saves: int = 0
    stored: float = 0.0
    sent: float = 0.0
    corrupt: int = 0
