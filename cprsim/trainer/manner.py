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
    """

    answer_s: float = 2.0
    work_s: float = 60.0
