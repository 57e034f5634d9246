"""Do the runs of a study that are not done yet, several at a time, and keep each in a file."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any

from cprsim.basics.files import check_writable, finish_others, write_all
from cprsim.basics.interrupts import Ended
from cprsim.basics.manifest import digest, json_bytes, versions
from cprsim.errors import RunError
from cprsim.runs.workers import Workers
from cprsim.trainer.limits import check_fits
from cprsim.trainer.studies.design import Run
from cprsim.trainer.training import train

#: Called with the number of runs done and the number in all.
Progress = Callable[[int, int], None]
#: What a file says of itself: the run, and a hash of all else that it says.
_KEY, _HASH = "key", "sha256"


class RunStore:
    """A folder of runs, a file each by its key. A damaged file is no run: it is trained again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, runs: Sequence[Run]) -> None:
        """Raise `UsageError` where these can't be put; finish what was begun before."""
        check_writable(self._folder, [self.path(run).name for run in runs])
        finish_others(self._folder)

    def find(self, run: Run) -> dict[str, Any] | None:
        """Return the result of a run; None if it is missing or its file is damaged."""
        try:
            found = json.loads(self.path(run).read_bytes())
        except (FileNotFoundError, IsADirectoryError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.pop(_HASH, None) != digest(found):
            return None
        return found if found.pop(_KEY, None) == run.key else None

    def done(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """Return the results of those that are done."""
        return [document for document in map(self.find, runs) if document is not None]

    def put(self, run: Run, document: dict[str, Any]) -> None:
        """Keep a run; it is there whole, or not at all."""
        path = self.path(run)
        if path.exists() and self.find(run) is None:  # it may be a file of the user's
            others = (path.with_suffix(f".damaged-{number}") for number in count(1))
            path.rename(next(each for each in others if not each.exists()))
        content = {**document, _KEY: run.key}
        content |= {_HASH: digest(content)}
        write_all(self._folder, {path.name: json_bytes(content)})

    def path(self, run: Run) -> Path:
        """The file of a run."""
        return self._folder / f"{run.key}.json"


def play(runs: Sequence[Run], store: RunStore, workers: int, progress: Progress) -> None:
    """Do and store those that the store doesn't hold; each as soon as it has ended.

    Raises
    ------
    ScenarioError
        Where this machine has no room for so many runs at a time.
    RunError
        If a run fails, or a worker process dies. Those that are done stay.
    """
    missing = [run for run in runs if store.find(run) is None]
    progress(len(runs) - len(missing), len(runs))
    if not missing:
        return
    for run in {id(run.scenario): run for run in missing}.values():
        check_fits(run.scenario, run.section, workers)
    pool, ended = Workers(workers), Ended[dict[str, Any]]()
    under_way: dict[Future[dict[str, Any]], Run] = {}
    left = iter(missing)
    try:
        for done in range(len(runs) - len(missing), len(runs)):
            for run in islice(left, workers - len(under_way)):
                under_way[ended.watch(pool.submit(played, run))] = run
            future = ended.next()
            store.put(under_way.pop(future), future.result())
            progress(done + 1, len(runs))
    except BrokenProcessPool:
        raise RunError("a worker process died; start the study again: it continues") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def played(run: Run) -> dict[str, Any]:
    """One run, and the versions that it was made with.

    Raises
    ------
    RunError
        If a member died that no failure had struck: the machine was too slow for its deadlines, and
        what came out is not what another machine would give.
    """
    trained = train(run.scenario, run.section, run.policy, run.seed)
    if trained.replaced != trained.struck:
        raise RunError(
            f"{run.policy}, seed {run.seed}: {trained.replaced} processes were replaced though "
            f"{trained.struck} were struck; give trainer.answer more time, and start again"
        )
    made_with = {**versions(), "torch": version("torch")}
    return {**run.facts, **trained.document(), "versions": made_with}
