"""Answers to notices of failures: a save at once, or nodes that are drained."""

from typing import NamedTuple

from cprsim.contract.actions import Save


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
