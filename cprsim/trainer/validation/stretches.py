"""What stretches of training take that a simulation of whole steps doesn't know of.

Members start and stop between two saves, and caches are cold after a recovery. All of it is
training, and where it is rolled back it is lost.
"""

from dataclasses import dataclass

from cprsim.contract import Recover
from cprsim.failures.hit import Hit
from cprsim.sim.observer import Observer
from cprsim.trainer.validation.calibration import Calibration
from cprsim.trainer.validation.pinned import RECOVERY
from cprsim.trainer.validation.rehearsal import longness


@dataclass
class _Training:
    """Steps in one go, from the one that the job had done then; `more_s` is beside theirs."""

    since: int
    steps: int
    more_s: float


class StretchTimes(Observer):
    """Watches a simulated job, and counts what its stretches take, steps and all.

    Attributes
    ----------
    lost_s
        Of those that were rolled back.
    saved_s
        What saves take longer that are the first after a recovery, less what those do that follow
        no long stretch.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._of = calibration
        self._trained: list[_Training] = []
        self._done, self._training, self._resumed, self._warm = 0, False, False, False
        self._recovered, self._saved = False, 0
        self.lost_s = self.saved_s = 0.0

    @property
    def kept_s(self) -> float:
        """Of those that count."""
        steps = sum(each.steps for each in self._trained)
        return steps * self._of.step_s + sum(each.more_s for each in self._trained)

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
        self._training, self._resumed = True, False

    def _save(self) -> None:
        steps, self._saved = self._done - self._saved, self._done
        if steps:  # or it goes on with the same save
            self.saved_s -= self._of.long_s * (1 - longness(steps))
        self.saved_s += self._recovered * self._of.resaved_s
        self._recovered = False

    def failure(self, at_s: float, hit: Hit) -> None:  # noqa: ARG002
        """A save is longer where servers are new; a trainer alone leaves theirs as they are."""
        self._recovered |= bool(hit.servers)

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:  # noqa: ARG002
        """The job may have been rolled back: what it trained since is lost."""
        self._done = round(progress_s / self._of.step_s)
        self._saved = min(self._saved, self._done)
        while self._trained and self._trained[-1].since + self._trained[-1].steps > self._done:
            last = self._trained.pop()
            kept = max(self._done - last.since, 0)
            self.lost_s += (last.steps - kept) * self._of.step_s
            if kept:
                self._trained.append(_Training(last.since, kept, last.more_s))
            else:
                self.lost_s += last.more_s
