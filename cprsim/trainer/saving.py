"""Saves: every member writes its part, and the checkpoint is usable once all have."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cprsim.contract import Save, Saved
from cprsim.costs import Rollback
from cprsim.trainer.accounts import Part
from cprsim.trainer.cluster import Answer, LocalCluster
from cprsim.trainer.history import RowsSaved
from cprsim.trainer.job import Job
from cprsim.trainer.member import Name
from cprsim.trainer.strikes import Strikes
from cprsim.trainer.wire import Op


class Saving:
    """Carries out saves. `recover` brings the job back from a failure that one falls into."""

    def __init__(
        self,
        job: Job,
        cluster: LocalCluster,
        strikes: Strikes,
        recover: Callable[[], Rollback],
    ) -> None:
        self._job, self._cluster, self._strikes = job, cluster, strikes
        self._recover = recover

    def save(self, save: Save) -> None:
        """Wait until all members have stored their parts.

        A rollback of the whole job makes the save void. Otherwise members that were replaced
        meanwhile store what they have returned to, and it counts.
        """
        job, cluster = self._job, self._cluster
        job.watch.switch("save")
        rows: dict[int, NDArray[np.int64]] = {}
        left = set(cluster.names)
        while left:
            for name in left:
                cluster.ask(name, Op.SAVE, job.step, portion=save.portion)
            self._strikes.saving()
            left -= self._stored(left, rows)
            died = set(cluster.dead)
            if died:
                if self._recover() == "all":
                    return
                left |= died
                job.watch.switch("save")
        job.safe.put(job.step, save.portion, job.trained_s)
        job.happened.append(RowsSaved(job.step, rows))
        job.controller.tell(Saved(job.clock, save, stored=True))

    def _stored(self, asked: set[Name], rows: dict[int, NDArray[np.int64]]) -> set[Name]:
        """Those of the members asked that have stored their parts; the others have died."""
        stored: set[Name] = set()
        while asked - stored - set(self._cluster.dead):
            event = self._cluster.next(self._strikes.wait_s)
            if event is None:
                self._strikes.strike()
            elif isinstance(event, Answer) and event.message.op == Op.SAVED:
                stored.add(event.name)
                self._note(event, rows)
        return stored

    def _note(self, answer: Answer, rows: dict[int, NDArray[np.int64]]) -> None:
        """What a server's part took, and which rows it has stored, if not all of them."""
        (role, index), message = answer
        if role != "server":
            return
        facts = message.facts
        if not facts["whole"]:
            rows[index] = np.frombuffer(message.parts[1], np.int64)
        chosen = None if facts["whole"] else rows[index].size
        took_s = (facts[key] for key in ("select_s", "gather_s", "write_s"))
        self._job.parts.append(Part(message.step, index, facts["bytes"], chosen, *took_s))
