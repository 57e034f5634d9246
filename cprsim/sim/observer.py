"""Those who watch a run."""

from typing import Literal, NamedTuple

from cprsim.contract import Recover
from cprsim.failures.hit import Hit


class BackgroundTask(NamedTuple):
    """What goes on in the background while the job trains.

    `kind`, by the cause that it would be in the foreground: `"save"` to the tier, `"reschedule"` of
    lost nodes, or `"load"` of what they held from the tier.
    """

    kind: Literal["save", "reschedule", "load"]
    tier: str
    servers: frozenset[int] = frozenset()
    trainers: frozenset[int] = frozenset()


class Observer:
    """Sees a run as it goes; changes nothing. A subclass defines what it wants to see."""

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Wall time from `start_s` to `end_s` went to `cause`; training may yet be rolled back."""

    def slowed(self, by_s: float) -> None:
        """Of the last span, which was training, `by_s` were on top of the useful seconds."""

    def failure(self, at_s: float, hit: Hit) -> None:
        """A failure struck at `at_s`."""

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """What is done about the last failure, or a silent fault, and what training now counts.

        `progress_s`: useful seconds, `slowdown_s`: how much longer than that they took; both are
        less than before if the whole job has been rolled back.
        """

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        """A task went on from `start_s` to `end_s`, when it was completed or given up."""
