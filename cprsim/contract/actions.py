"""Actions of a controller, and the events that it learns of."""

from typing import Literal, NamedTuple, Protocol

from cprsim.job.costs import Rollback
from cprsim.job.severity import SEVERITIES, Severity
from cprsim.job.tiers import REMOTE
from cprsim.machine import rules

#: What saves of modified rows build on: the last whole save, or the one before.
Since = Literal["baseline", "save"]
#: Of an element that is stored as it is, float32.
ALL_BITS = 32

# --- Actions -------------------------------------------------------------------------------------


class Train(NamedTuple):
    """Train until the job's progress is `until_s` useful seconds, or until something happens."""

    until_s: float


class Save(NamedTuple):
    """Save to a tier.

    `blocking`: training waits until the last byte is stored. Otherwise it waits for the tier's
    snapshot, and the save continues in the background. `portion`: the share of the rows that is
    saved, those that a tracker selects. `unsaved_s`: of saves that don't hold everything, the
    updates that a shard would lose just after its 1st, 2nd, ... save since it was last whole, in
    useful seconds of training; the last holds on.

    `writes`: bytes that are written, as a share of a whole save of that portion (modified rows
    alone, quantised). `reads`: bytes that are read to return to this checkpoint, as a share of
    those of a whole one (a chain of differences reads more). `extra_s`: further time, s
    (what was appended is merged).

    `since`: only rows are saved that were modified since the last usable save of all rows
    (`"baseline"`), or since the last usable one (`"save"`); returning to it reads that, too.
    `bits`: what an element of a row is stored in; `ALL_BITS`: as it is. With either, `writes` and
    `reads` are what is expected: whoever counts what was written says so once it is stored.
    """

    tier: str = REMOTE.name
    blocking: bool = True
    portion: float = 1.0
    unsaved_s: tuple[float, ...] = (0.0,)
    writes: float = 1.0
    reads: float = 1.0
    extra_s: float = 0.0
    since: Since | None = None
    bits: int = ALL_BITS

    @property
    def expects(self) -> bool:
        """Return whether its sizes are expected ones, of rows that nobody has counted yet."""
        return self.since is not None or self.bits < ALL_BITS

    @property
    def leaves(self) -> bool:
        """Return whether it leaves rows to other saves, which count on it."""
        return self.portion != 1.0 or self.unsaved_s != (0.0,)


class Recover(NamedTuple):
    """Bring a job that lost nodes back to training.

    `rollback`: who returns to a checkpoint: `"all"` nodes, the `"lost"` shards alone, or `"none"`
    (lost shards, if any, are rebuilt from copies or parities on other servers). `source`: the
    tier that is loaded from. `healthy`: the tier that nodes which are still up return to, where it
    holds fresher rows than `source` does. `reads`: shards that are read to fill a lost one.

    `keep_training`: the rest trains on while the lost nodes are replaced and filled, `degraded` by
    so large a share of time; otherwise it waits for them. `pause_s`: what training stops for before
    it continues so, until others serve for the lost ones. `takeover_s`: further time to put
    replacements into their places. `restarts`: whether all processes are started again where all
    return; otherwise those that are up go on.

    `regrow`: with `keep_training`, the servers that are left load the lost shards before they train
    on; replacements take their shards back later, from this tier. Without it the replacements load
    the lost shards.
    """

    rollback: Rollback
    keep_training: bool = False
    source: str = REMOTE.name
    healthy: str | None = None
    reads: float = 1.0
    degraded: float = 0.0
    takeover_s: float = 0.0
    pause_s: float = 0.0
    regrow: str | None = None
    restarts: bool = True

    @property
    def fills(self) -> "Recover":
        """Return the answer by which replacements are filled while the rest trains on."""
        if self.regrow is None:
            return self
        return Recover("none", True, self.regrow, degraded=self.degraded)

    @property
    def made_anew(self) -> bool:
        """Return whether lost shards come from copies or parities, not from a checkpoint."""
        return self.rollback == "none"

    @property
    def starts_again(self) -> bool:
        """Return whether it is a new attempt: all processes are started again."""
        return self.rollback == "all" and self.restarts

    @property
    def loads(self) -> Rollback:
        """Return which nodes load from `source`; nodes that return to their own state do not."""
        return self.rollback if self.healthy is None else "lost"


class Loss(NamedTuple):
    """Nodes that are down after a failure, by index, and the worst that has happened to them.

    `severity`: `"process"`: what the nodes hold in host memory survives; `"node"`: it doesn't;
    `"cluster"`: no node's memory survives.
    """

    servers: frozenset[int]
    trainers: frozenset[int]
    severity: Severity = "node"

    @property
    def nodes(self) -> int:
        """Return how many nodes are down."""
        return len(self.servers) + len(self.trainers)

    def drains_to(self, ready: int) -> bool:
        """Return whether so many ready machines can take their places before they fail."""
        return rules.can_drain(self.nodes, ready, SEVERITIES.index(self.severity))


class Drain(NamedTuple):
    """Move `nodes`, which are to fail at `deadline_s`, to spare machines; it takes `takes_s`.

    Training holds meanwhile. What fails then takes nothing from the job (semantics 38). A failure
    that strikes before it is done ends it.
    """

    nodes: Loss
    deadline_s: float
    takes_s: float


Action = Train | Save | Recover | Drain

# --- Events --------------------------------------------------------------------------------------


class Clock(NamedTuple):
    """Now: wall-clock seconds since the start, and useful seconds of training done."""

    wall_s: float
    progress_s: float


class Saved(NamedTuple):
    """Training may go on after a save; its checkpoint is usable if `stored`, else later."""

    now: Clock
    save: Save
    stored: bool


class Stored(NamedTuple):
    """The last byte of a background save is stored: its checkpoint is usable from now on."""

    now: Clock
    save: Save


class Void(NamedTuple):
    """A save turned out to have failed at its end, and is not tried again (semantics 31).

    A background save has been reported by `Saved` before, without `stored`; a blocking one has not.
    """

    now: Clock
    save: Save


class Failed(NamedTuple):
    """Nodes failed; the next `ask` must answer with `Recover`. Background saves may be lost."""

    now: Clock
    loss: Loss


class Resumed(NamedTuple):
    """Training can go on after a recovery, from `now.progress_s`; `pending` background saves.

    `source`: of another allocation, in which nothing had failed, the tier that it was loaded from.
    """

    now: Clock
    pending: tuple[Save, ...]
    source: str | None = None


class Unusable(NamedTuple):
    """The last checkpoint of `tier` is torn, or with `corrupt` training holds a silent fault.

    The job returns to an older checkpoint of that tier (semantics 34 and 35), and `Resumed`
    follows. Nothing is to be answered.
    """

    now: Clock
    tier: str
    corrupt: bool


class Notice(NamedTuple):
    """A failure is announced for `deadline_s` on the wall clock, or none comes for all that.

    Reported during training, and only where the plan has an answer (`Plan.on_notice`). `nodes`:
    the nodes that are to fail. `ready`: spare machines that are ready.
    """

    now: Clock
    deadline_s: float
    nodes: Loss
    ready: int


Event = Saved | Stored | Void | Failed | Unusable | Notice | Resumed


class Controller(Protocol):
    """The state of one run of a policy. It has no clock: the caller passes the time."""

    def tell(self, event: Event) -> None:
        """Something has happened."""

    def ask(self, now: Clock) -> Action:
        """Return the next action: after `Failed` a `Recover`, otherwise `Train` or `Save`."""


# --- Answers to notices --------------------------------------------------------------------------


#: The key `on_notice`: save everything, or replace the nodes before they fail.
Answering = Literal["save", "drain"]


class EmergencySave(NamedTuple):
    """An answer to a notice: this save, at once, where it ends before the deadline.

    `takes_s`: what it takes, with a verification before it if there is one, s. Of several notices
    the last deadline counts.
    """

    save: Save
    takes_s: float


class Draining(NamedTuple):
    """An answer to a notice: its nodes move to spare machines, in `takes_s` seconds.

    Where fewer are ready, or it would not end before the deadline, `otherwise` is the answer. If
    several notices it answers that with the first deadline for which nodes can be drained.
    """

    takes_s: float
    otherwise: EmergencySave | None = None


def emergency_of(answer: EmergencySave | Draining | None) -> EmergencySave | None:
    """Return the save of an answer to notices, or None."""
    return answer.otherwise if isinstance(answer, Draining) else answer
