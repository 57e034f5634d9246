"""What stretches of training take that a simulation of whole steps doesn't know of.

Members start and stop between two saves, the first steps are slower than those after many, and
caches are cold after a recovery. All of it is training, and where it is rolled back it is lost. The
longer a stretch was, the longer the save after it takes, and the longer, the newer servers are.
"""

from dataclasses import dataclass

from cprsim.contract import Recover
from cprsim.failures.hit import Hit
from cprsim.sim.observer import Observer
from cprsim.trainer.validation.calibration import Calibration
from cprsim.trainer.validation.longness import USUAL, Newness, longness
from cprsim.trainer.validation.pinned import RECOVERY


@dataclass
class _Training:
    """Steps in one go, from the one that the job had done then; `more_s` is beside theirs."""

    since: int
    steps: int
    more_s: float

    def took_s(self, of: Calibration) -> float:
        """All of it."""
        return self.steps * of.step_s + of.slow_s * longness(self.steps) + self.more_s


class StretchTimes(Observer):
    """Watches a simulated job, and counts what its stretches take, steps and all.

    Attributes
    ----------
    lost_s
        Of those that were rolled back.
    saved_s
        What saves take longer, those of new servers and after more steps than are `USUAL`, less
        what those do that follow fewer.
    """

    def __init__(self, calibration: Calibration, servers: int) -> None:
        self._of, self._newness = calibration, Newness(servers)
        self._trained: list[_Training] = []
        self._done, self._training, self._resumed, self._warm = 0, False, False, False
        self._unsaved = 0  # steps since the last save, those that were rolled back too
        self.lost_s = self.saved_s = 0.0

    @property
    def kept_s(self) -> float:
        """Of those that count."""
        return sum(each.took_s(self._of) for each in self._trained)

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Training goes on, begins, or has ended."""
        if cause != "train":
            self._training = False
            self._resumed |= cause in RECOVERY
            if cause == "save":
                self._save()
            return
        steps = round((end_s - start_s) / self._of.step_s)
        if not self._training:
            more_s = self._of.resumed_s if self._resumed else self._of.stretch_s
            if not self._warm:
                more_s, self._warm = more_s + self._of.warm_s, True
            self._trained.append(_Training(self._done, 0, more_s))
        self._trained[-1].steps += steps
        self._done += steps
        self._unsaved += steps
        self._training, self._resumed = True, False

    def _save(self) -> None:
        if self._unsaved:  # or it goes on with the same save
            longer = longness(self._unsaved) - longness(USUAL)
            self.saved_s += self._of.long_s * longer + self._of.new_s * self._newness.saved()
        self._unsaved = 0

    def failure(self, at_s: float, hit: Hit) -> None:  # noqa: ARG002
        """Saves are longer where servers are new."""
        self._newness.failed(hit)

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:  # noqa: ARG002
        """The job may have been rolled back: what it trained since is lost."""
        self._done = round(progress_s / self._of.step_s)
        while self._trained and self._trained[-1].since + self._trained[-1].steps > self._done:
            last = self._trained.pop()
            self.lost_s += last.took_s(self._of)
            if self._done > last.since:
                kept = _Training(last.since, self._done - last.since, last.more_s)
                self.lost_s -= kept.took_s(self._of)
                self._trained.append(kept)
