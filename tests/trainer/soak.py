"""Many kills at random instants over short runs; `make soak` has 200 of them.

What a run is checked for: it ends; full recovery predicts what a run without failures does, at
whatever instants it was hit; under partial recovery failed shards come back as they were saved, and
no other row changes; every process that was hit was replaced; the last checkpoint of each member is
sound; no process, socket or handle is left, here and in the process that members are forked from.
"""

import multiprocessing.util
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import psutil

from cprsim.contract import Save, Tracking, every
from cprsim.failures.hit import Hit
from cprsim.policies.full import full_plan
from cprsim.policies.partial import partial_plan
from cprsim.trainer.member import Deadlines
from cprsim.trainer.store import Store
from cprsim.trainer.strikes import Manner
from tests.trainer.runs import PATIENT, ran

#: Useful seconds are steps here, of which these runs have 40.
_INTERVAL = 7.0
_QUICK = Deadlines(answer_s=0.5, work_s=10.0)
#: Kills are spread over so long, s: longer than a quiet machine takes for a run.
_SPAN_S = 1.5
_HITS = (((0,), ()), ((1,), ()), ((0, 1), ()), ((), (0,)), ((1,), (0,)))


@dataclass(frozen=True)
class Soaked:
    """What all runs together came to."""

    runs: int
    failures: int
    struck: int
    replaced: int


def soak(kills: int, seed: int, folder: Path) -> Soaked:
    """Short runs until at least so many processes were hit."""
    multiprocessing.util.get_temp_dir()  # of the process that members are forked from
    with mock.patch.object(tempfile, "tempdir", str(folder)):  # where sockets go
        return _soak(kills, seed, folder)


def _soak(kills, seed, folder):
    clean = ran(full_plan(1e9), [], folder / "clean").predictions
    rng = np.random.default_rng(seed)
    there = _there()
    runs = failures = struck = replaced = 0
    while struck < kills:
        found = _one(rng, runs, folder / str(runs), clean)
        runs += 1
        failures += found.failures
        struck += found.struck
        replaced += found.replaced
        assert not [pid for pid in found.pids if psutil.pid_exists(pid)]
        assert not list(folder.glob("cprsim-*"))
        assert _there() == there
        _check_stores(folder / str(runs - 1))
    return Soaked(runs, failures, struck, replaced)


def _there():
    """How many handles this process has open, and all that it has started, by their ids."""
    mine = psutil.Process()
    return {each.pid: each.num_fds() for each in (mine, *mine.children(recursive=True))}


def _check_stores(folder):
    """What members that were killed have left is a checkpoint, or isn't seen."""
    stores = [Store(each) for each in folder.iterdir()]
    assert stores
    for store in stores:
        assert store.restore(at_most=10**9) is not None


def _one(rng, number, folder, clean):
    times = np.sort(rng.uniform(0, _SPAN_S, 6)).tolist()
    failures = [(at_s, Hit(*_HITS[rng.integers(len(_HITS))])) for at_s in times]
    manner = Manner(saving=0.2, loading=0.2, seed=number)
    kind = ("full", "partial", "hangs", "mfu")[number % 4]
    given = {"at_time": True, "manner": manner, "during_recovery": bool(rng.integers(2))}
    if kind == "hangs":
        given |= {"manner": replace(manner, hangs=0.5), "deadlines": _QUICK}
    if kind in ("partial", "mfu"):
        plan = partial_plan(_INTERVAL)
        if kind == "mfu":
            plan = replace(
                plan,
                schedules=every(_INTERVAL, Save(portion=0.25)),
                tracking=Tracking("mfu", 0.25),
            )
        found = ran(plan, failures, folder, watch=True, **given)
        _check_rows(found.watched)
    else:
        found = ran(full_plan(_INTERVAL), failures, folder, **given)
        assert found.predictions == clean
    # Members that were only slow may have been taken for hung where patience is short.
    if given.get("deadlines", PATIENT) is PATIENT:
        assert found.replaced == found.struck
    else:
        assert found.replaced >= found.struck
    return found


def _check_rows(watched):
    """A recovery may see several failures; it begins with the first since the last one ended.

    What a trainer had sent before it died, servers may still be adding to their rows.
    """
    for (lost, before, saved), after in watched.recoveries():
        for server in after.keys() & saved.keys():
            if server in lost.servers:
                assert np.array_equal(after[server], saved[server])
            elif not lost.trainers:
                assert np.array_equal(after[server], before[server])


def main(kills=200, seed=0):
    """Not run as a script: members would import it again, each time one is started."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"{soak(kills, seed, Path(folder))}\n")
