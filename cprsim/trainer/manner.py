"""How a job is trained: what `[trainer]` can say of it, with no torch in sight."""

from dataclasses import dataclass

#: How often one batch accesses a row at most.
MOST_TIMES = 1 << 20


@dataclass(frozen=True)
class InjectionMode:
    """How failures strike.

    `hangs`: share that stops processes (SIGSTOP) instead of killing them (SIGKILL). `saving`: share
    that waits for the next save and strikes while that is under way. `loading`: share that strikes
    again while the replacements load. `seed`: of what each failure does.
    """

    hangs: float = 0.0
    saving: float = 0.0
    loading: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Deadlines:
    """How long a member may be silent, s, before it counts as hung and is killed.

    `answer_s`: a server that a trainer has asked. Whom the controller asks to train, to connect or
    to begin a save has three times as long, since a trainer may be waiting for a server. `work_s`:
    who starts, writes, loads or predicts.

    Servers wait for each other for parts of that, so that whoever waits for both of two learns
    which one is silent: `passed_s` for what is passed on to copies, `ended_s` for connections of
    earlier epochs to end, `greeted_s` for copies to be greeted.
    """

    answer_s: float = 2.0
    work_s: float = 60.0

    # Each is longer than all that it may have to wait for. A connection that ends may still have to
    # pass on an update, then to wait for the ends of it, and find another server silent each time.

    @property
    def passed_s(self) -> float:
        """For copies to take an update, or to have done all of them."""
        return self.answer_s / 4

    @property
    def ended_s(self) -> float:
        """For connections of earlier epochs to end: more than twice `passed_s`."""
        return self.answer_s * 5 / 8

    @property
    def greeted_s(self) -> float:
        """For copies to answer a greeting: more than `ended_s`, less than `answer_s`."""
        return self.answer_s * 3 / 4

    @property
    def fetched_s(self) -> float:
        """For all rows that a server fetches from others."""
        return self.work_s / 2
