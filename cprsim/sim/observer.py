"""Observers of a run."""

from typing import Literal, NamedTuple

from cprsim.contract import Recover
from cprsim.failures.hits import Hit


class BackgroundTask(NamedTuple):
    """A background task while the job trains.

    `kind`, by the cause that it would have in the foreground: `"save"` to the tier, `"reschedule"`
    of lost nodes, or `"load"` of their shards from the tier.
    """

    kind: Literal["save", "reschedule", "load"]
    tier: str
    servers: frozenset[int] = frozenset()
    trainers: frozenset[int] = frozenset()


class Observer:
    """Watches a run without changing it. A subclass overrides the methods that it needs."""

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Time from `start_s` to `end_s` went to `cause`; training may be rolled back later."""

    def slowed(self, by_s: float) -> None:
        """The last span, which was training, took `by_s` more than its useful seconds."""

    def failure(self, at_s: float, hit: Hit) -> None:
        """A failure struck at `at_s`."""

    def struck(self, cause: str, updates_lost: float) -> None:
        """The failure just reported is of `cause`, where the scenario has causes.

        `updates_lost`: share of all updates lost for good before it.
        """

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """The last failure, or a silent fault, was answered; training now counts as given.

        `progress_s`: useful seconds. `slowdown_s`: extra seconds that they took. Both are less than
        before if the whole job was rolled back.
        """

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        """A task ran from `start_s` to `end_s`, when it was completed or abandoned."""
