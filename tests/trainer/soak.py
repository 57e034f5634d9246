"""Many kills and hangs at random instants over short runs; `make soak` has 200 of them.

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
from cprsim.contract.patterns import VARIANTS
from cprsim.failures.hit import Hit
from cprsim.policies.accepted_loss import nobody_waits
from cprsim.policies.full import full_plan
from cprsim.policies.partial import partial_plan
from cprsim.trainer.manner import Deadlines, InjectionMode
from cprsim.trainer.members.store import CheckpointStore
from tests.trainer.runs import PATIENT, behind, copied, ran, servers_hit
from tests.trainer.test_differences import differing
from tests.waiting import wait_until

#: Useful seconds are steps here, of which these runs have 40.
_INTERVAL = 7.0
_QUICK = Deadlines(answer_s=0.5, work_s=10.0)
#: Kills are spread over so long, s: longer than a quiet machine takes for a run.
_SPAN_S = 1.5
_KINDS = (
    *("full", "partial", "hangs", "mfu", "async", "accepted", "copies", "hung copies"),
    "differences",
)
#: Servers, and perhaps the trainer, that are hit together.
_HITS = tuple(
    Hit(servers, trainer)
    for servers, trainer in (((0,), ()), ((1,), ()), ((0, 1), ()), ((), (0,)), ((1,), (0,)))
)


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
    clean = {
        servers: ran(full_plan(1e9), [], folder / f"clean-{servers}", servers=servers).predictions
        for servers in (2, 4)
    }
    rng = np.random.default_rng(seed)
    there = _there()
    runs = failures = struck = replaced = 0
    while struck < kills:
        found = _one(rng, runs + seed, folder / str(runs), clean)
        runs += 1
        failures += found.failures
        struck += found.struck
        replaced += found.replaced
        assert not [pid for pid in found.pids if psutil.pid_exists(pid)]
        assert not list(folder.glob(".cprsim-*"))
        there = _gone_but(there)
        _check_stores(folder / str(runs - 1))
    return Soaked(runs, failures, struck, replaced)


def _gone_but(there):
    """Wait until no handle and no process is left but those that were there; what there is then.

    Members' parent lets go of them a moment after they have gone: what was there may have had some
    that were going, and there are fewer then.
    """

    def none_left():
        now = _there()
        left = {pid for pid, handles in now.items() if handles > there.get(pid, -1)}
        return None if left else now

    return wait_until(none_left, f"more handles or processes are left than {there}")


def _there():
    """How many handles this process has open, and all that it has started, by their ids."""
    mine = psutil.Process()
    return {each.pid: each.num_fds() for each in (mine, *mine.children(recursive=True))}


def _check_stores(folder):
    """What members that were killed have left is a checkpoint, or isn't seen."""
    stores = [CheckpointStore(each) for each in folder.iterdir()]
    assert stores
    for store in stores:
        assert store.restore(at_most=10**9) is not None


def _one(rng, number, folder, clean):
    times = np.sort(rng.uniform(0, _SPAN_S, 6)).tolist()
    kind = _KINDS[number % len(_KINDS)]
    failures = [(at_s, _HITS[rng.integers(len(_HITS))]) for at_s in times]
    manner = InjectionMode(saving=0.2, loading=0.2, seed=number)
    given = {
        "at_time": True,
        "manner": manner,
        "during_recovery": bool(rng.integers(2)),
    }
    if "hung" in kind or kind == "hangs":
        given |= {"manner": replace(manner, hangs=0.5), "deadlines": _QUICK}
    if kind == "accepted":
        plan = replace(behind(partial_plan(_INTERVAL)), recover=nobody_waits(2, 1))
        found = ran(plan, failures, folder, watch=True, **given)
        _check_survivors(found.watched)
    elif kind == "hung copies":  # of four servers two at a time: each shard has a copy left
        of_servers = [(at_s, servers_hit(*rng.permutation(4)[:2].tolist())) for at_s in times[::3]]
        found = ran(copied(4, 3, _INTERVAL), of_servers, folder, servers=4, **given)
        assert found.predictions == clean[4]
    elif kind == "copies":
        found = ran(copied(2, 2, _INTERVAL), failures, folder, **given)
        # Who has just been filled keeps no dense part before the next step.
        assert found.job.dense_lost_steps or found.predictions == clean[2]
    elif kind in ("partial", "mfu"):
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
        found = ran(_returning(kind, number), failures, folder, **given)
        assert found.predictions == clean[2]
    # Members that were only slow may have been taken for hung where patience is short.
    if given.get("deadlines", PATIENT) is PATIENT:
        assert found.replaced == found.struck
    else:
        assert found.replaced >= found.struck
    return found


def _returning(kind, number):
    """A plan by which the whole job returns to its last checkpoint."""
    if kind == "differences":
        return differing(VARIANTS[number // len(_KINDS) % len(VARIANTS)], _INTERVAL)
    plan = full_plan(_INTERVAL)
    return behind(plan) if kind == "async" else plan


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


def _check_survivors(watched):
    """Where the rest trains on: who is filled later is looked at then."""
    for (lost, before, _), after in watched.recoveries():
        for server in after.keys() & before.keys() - lost.servers:
            assert lost.trainers or np.array_equal(after[server], before[server])
    for _, rows, saved in watched.filled:
        assert np.array_equal(rows, saved)


def main(kills=200, seed=0):
    """Not run as a script: members would import it again, each time one is started."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"{soak(kills, seed, Path(folder))}\n")
