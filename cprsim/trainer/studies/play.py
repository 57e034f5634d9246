"""Do the runs of a study that are not done yet, several at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import islice
from typing import Any

from cprsim.basics.interrupts import Ended
from cprsim.basics.manifest import versions
from cprsim.errors import RunError
from cprsim.runs.workers import Workers
from cprsim.trainer.limits import check_fits
from cprsim.trainer.studies.design import Run
from cprsim.trainer.studies.store import RunStore
from cprsim.trainer.training import train

#: Called with the number of runs done and the number in all.
Progress = Callable[[int, int], None]


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
