"""Phases: stretches of wall-clock time in which a lane does one thing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cprsim.contract.ledger import CAUSE_LABELS

#: Healthy nodes that wait for others.
WAIT: Final = "wait"
#: What a phase does, in words.
WORDS: Final = {"train": "training", **CAUSE_LABELS, WAIT: "waiting"}


class Phase(NamedTuple):
    """From `start_s` to `end_s`; `doing` is a cause of the ledger, or `WAIT`.

    `slower_s`: of training that counts, how much longer it took than at full speed.
    """

    doing: str
    start_s: float
    end_s: float
    slower_s: float = 0.0

    def seconds(self) -> dict[str, float]:
        """Its seconds by cause; what training took longer is `slowdown`."""
        length_s = self.end_s - self.start_s
        if not self.slower_s:
            return {self.doing: length_s}
        return {self.doing: length_s - self.slower_s, "slowdown": self.slower_s}

    def spans(self) -> Iterator[tuple[str, float, float]]:
        """The same as cause, start and end, one after the other; slowdown comes last."""
        slower_from_s = self.end_s - self.slower_s
        yield self.doing, self.start_s, slower_from_s
        if self.slower_s:
            yield "slowdown", slower_from_s, self.end_s

    def part(self, start_s: float, end_s: float) -> "Phase":
        """Return its part between two times within it; its slowdown was the same all along."""
        share = (end_s - start_s) / (self.end_s - self.start_s)
        return Phase(self.doing, start_s, end_s, share * self.slower_s)


def seconds_by_cause(phases: Iterable[Phase]) -> dict[str, float]:
    """Seconds of all phases together."""
    total: dict[str, float] = {}
    for phase in phases:
        for cause, seconds in phase.seconds().items():
            total[cause] = total.get(cause, 0.0) + seconds
    return total


def joined(phases: Iterable[Phase]) -> list[Phase]:
    """Phases that follow each other and are alike made one; none of them is empty."""
    found: list[Phase] = []
    for phase in phases:
        if phase.end_s <= phase.start_s:
            continue
        if found and _alike(found[-1], phase):
            found[-1] = found[-1]._replace(end_s=phase.end_s)
        else:
            found.append(phase)
    return found


def _alike(phase: Phase, following: Phase) -> bool:
    slower = phase.slower_s or following.slower_s
    return phase.doing == following.doing and phase.end_s == following.start_s and not slower


def overlaid(below: Sequence[Phase], above: Sequence[Phase]) -> list[Phase]:
    """`below`, and where there is any `above` in its stead; both in order, without overlaps."""
    found: list[Phase] = []
    at = 0
    for phase in above:
        at = _up_to(below, at, found, phase.start_s)
        found.append(phase)
        while at < len(below) and below[at].end_s <= phase.end_s:
            at += 1
    _up_to(below, at, found, below[-1].end_s if below else 0.0)
    return joined(found)


def _up_to(below: Sequence[Phase], at: int, found: list[Phase], until_s: float) -> int:
    """Go on with `below[at:]` from where `found` ends up to a time; returns where that is."""
    while at < len(below) and below[at].start_s < until_s:
        phase = below[at]
        start_s = max(phase.start_s, found[-1].end_s) if found else phase.start_s
        end_s = min(phase.end_s, until_s)
        if start_s < end_s:
            found.append(phase.part(start_s, end_s))
        if phase.end_s > until_s:
            break
        at += 1
    return at
