"""A run as a watcher would have read it: what is known of the job at the end of each phase."""

from collections.abc import Iterator

from cprsim.contract.ledger import CAUSES
from cprsim.metrics import Reading
from cprsim.sim.history.recorder import History


def readings(history: History, title: str) -> Iterator[tuple[float, Reading]]:
    """When a phase ends, in seconds since the job began, and what is known of the job then.

    Seconds by cause are as they turn out: training that is rolled back later is `lost` from the
    start. The last one, at the end of the job, also has its saves and what it has lost.
    """
    labels = {"policy": history.policy, "scenario": title}
    seconds = dict.fromkeys(CAUSES, 0.0)
    struck, failures = 0, history.failures
    for number, phase in enumerate(history.phases, 1):
        for cause, spent_s in phase.seconds().items():
            seconds[cause] += spent_s
        while struck < len(failures) and failures[struck].at_s <= phase.end_s:
            struck += 1
        counts: dict[str, float] = {"failures": struck}
        if number == len(history.phases):
            ledger = history.ledger
            counts |= {
                "saves": ledger.saves,
                "pls": ledger.pls,
                "updates_lost": ledger.updates_lost,
                "learning_lost": ledger.learning_lost,
            }
        yield phase.end_s, Reading(dict(seconds), counts, labels)
