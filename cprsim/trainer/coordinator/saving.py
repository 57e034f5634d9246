"""Carries out saves: training waits until all is stored, or until all members have a copy."""

from collections.abc import Callable

from cprsim.contract import Save
from cprsim.trainer.coordinator.background import SavesUnderWay, SaveUnderWay
from cprsim.trainer.coordinator.mailbox import Mailbox
from cprsim.trainer.coordinator.recovery import ClusterRecovery
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import Strikes


class Saving:
    """Carries out saves, whatever fails meanwhile."""

    def __init__(
        self,
        job: RunningJob,
        mailbox: Mailbox,
        strikes: Strikes,
        saves: SavesUnderWay,
        recovery: ClusterRecovery,
    ) -> None:
        self._job, self._mailbox, self._strikes = job, mailbox, strikes
        self._saves, self._recovery = saves, recovery

    def save(self, save: Save) -> None:
        """Save, and wait as long as the save says.

        A rollback of the whole job makes it void. Otherwise members that were replaced meanwhile
        store what they have returned to, and it counts.
        """
        cause = "save" if save.blocking else "stall"
        self._job.watch.switch(cause)
        each = self._saves.begin(save)
        self._recovery.handle_pending()
        self._strikes.saving()
        self.wait(cause, lambda: self._may_go_on(each))
        if each in self._saves.under_way:
            self._saves.go_on(each)

    def land(self, cause: str) -> None:
        """Wait until one of those under way has landed, or is void; the time goes to `cause`."""
        first = self._saves.under_way[0]
        self.wait(cause, lambda: first not in self._saves.under_way)

    def wait(self, cause: str, done: Callable[[], bool]) -> None:
        """Wait for members, with failures on the way recovered from."""
        while True:
            if self._recovery.handle_pending():
                continue
            self._job.watch.switch("detect" if self._recovery.unnoticed else cause)
            if done():
                return
            if self._mailbox.next(self._strikes.wait_s) is None:
                self._strikes.strike()

    def _may_go_on(self, each: SaveUnderWay) -> bool:
        """Whether training may, once all who are up have been asked."""
        void = each not in self._saves.under_way
        return void or (each.stored if each.save.blocking else not each.taking)
