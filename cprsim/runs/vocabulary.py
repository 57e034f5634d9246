"""The ledger's causes in the words of others, as shares of the wall clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.errors import UsageError


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Somebody's terms for where the wall clock goes.

    `about`: its origin. `terms`: the causes that each term covers; every cause has one.
    """

    about: str
    terms: Mapping[str, tuple[str, ...]]

    def shares(self, overheads: Mapping[str, float]) -> dict[str, float]:
        """Return the share of the wall clock of each term; they add up to 1.

        `overheads`: seconds by cause over useful seconds, as in a row of `Result.summary`.
        """
        own = {cause: float(overheads[cause]) for cause in OVERHEAD_CAUSES}
        return self.of_seconds({"train": 1.0} | own)

    def of_seconds(self, seconds: Mapping[str, float]) -> dict[str, float]:
        """The same from seconds by cause, all of them."""
        wall = sum(seconds.values())
        return {
            term: sum(seconds[cause] for cause in causes) / wall
            for term, causes in self.terms.items()
        }

    @property
    def words(self) -> dict[str, str]:
        """The term of each cause."""
        return {cause: term for term, causes in self.terms.items() for cause in causes}


#: By name, as `--vocabulary` takes them; the first term of each is productive time.
VOCABULARIES: Final[dict[str, Vocabulary]] = {
    "cprsim": Vocabulary("cprsim's own words", {cause: (cause,) for cause in CAUSES}),
    # https://github.com/AI-Hypercomputer/ml-goodput-measurement, 0.2.3: goodput and BadputType.
    # Of its types these have no cause here: those of loading data and of elastic jobs. Of starts
    # we have one cause where it has three (TPU_INITIALIZATION, TRAINING_PREP, PROGRAM_STARTUP).
    "goodput": Vocabulary(
        "the words of ml-goodput-measurement",
        {
            "GOODPUT": ("train",),
            "PROGRAM_STARTUP": ("start",),
            "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME": ("save", "stall"),
            "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME": ("load",),
            "WASTED_PROGRESS_FROM_DISRUPTION": ("lost",),
            "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION": ("detect", "reschedule"),
            "CUSTOM_BADPUT_EVENTS": ("slowdown", "verify"),
            "OTHER": ("shutdown",),
        },
    ),
    # "Optimizing effective training time for Meta's internal recommendation/ranking workloads",
    # PyTorch blog, 2026: ETT % = 100 - idleness - failure. Training that is slowed down isn't
    # mentioned there; it has a term for itself.
    "ett": Vocabulary(
        "the words of Meta's effective training time",
        {
            "effective training": ("train",),
            "time to start": ("start",),
            "checkpoint saving": ("save", "stall", "verify"),
            "slowed training": ("slowdown",),
            "unsaved training": ("lost",),
            "time to recover": ("detect", "reschedule", "load"),
            "shutdown": ("shutdown",),
        },
    ),
}


def vocabulary(name: str) -> Vocabulary:
    """That of a name; `UsageError` where there is none."""
    if name not in VOCABULARIES:
        raise UsageError(f"vocabulary: {name!r} is none of {', '.join(VOCABULARIES)}")
    return VOCABULARIES[name]
