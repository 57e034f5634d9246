"""Many kills and hangs at random instants over short runs; `make soak` has 200 of them.

What a run is checked for: it ends; full recovery predicts what a run without failures does, at
whatever instants it was hit; every process that was hit was replaced; no process, folder or handle
is left, here and in the process that the others are forked from.
"""

import multiprocessing.util
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np
import psutil

from cprsim.failures.hits import Hit
from tests.trainer.runs import ran, scenario
from tests.waiting import wait_until

#: Kills are spread over so long, s: longer than a quiet machine takes for a run.
_SPAN_S = 1.5
_KINDS = ("full", "partial", "hangs", "mfu", "async")
#: Servers, and perhaps the trainer, that are hit together.
_HITS = tuple(
    Hit(servers, trainer)
    for servers, trainer in (((0,), ()), ((1,), ()), ((0, 1), ()), ((), (0,)), ((1,), (0,)))
)


def soak(kills: int, seed: int, folder: Path) -> Counter[str]:
    """Short runs until at least so many processes were hit; what all of them came to."""
    multiprocessing.util.get_temp_dir()  # of the process that members are forked from
    with mock.patch.object(tempfile, "tempdir", str(folder)):  # where checkpoints go
        return _soak(kills, seed, folder)


def _soak(kills, seed, folder):
    clean = ran("never").predictions_sha256
    rng = np.random.default_rng(seed)
    there = _there()
    all_runs = Counter()
    while all_runs["struck"] < kills:
        found = _one(rng, all_runs["runs"] + seed, clean)
        counts = {what: getattr(found, what) for what in ("failures", "struck", "replaced")}
        all_runs.update(runs=1, **counts)
        assert not list(folder.glob(".cprsim_*"))
        there = _gone_but(there)
    return all_runs


def _gone_but(there):
    """Wait until no handle and no process is left but those that were there; what there is then.

    The parent of killed processes lets go of them a moment after they have gone.
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


def _one(rng, number, clean):
    kind = _KINDS[number % len(_KINDS)]
    times = np.sort(rng.uniform(0, _SPAN_S, 6)).tolist()
    failures = [(at_s, _HITS[rng.integers(len(_HITS))]) for at_s in times]
    keys = {"failures": "at-time", "saving": 0.2, "loading": 0.2}
    if kind == "hangs":
        keys |= {"hangs": 0.5, "answer": "0.5 s", "work": "10 s"}
    of = scenario(failures={"during_recovery": bool(rng.integers(2))})
    found = ran("full" if kind == "hangs" else kind, failures, of=of, **keys)
    if kind in ("full", "async", "hangs"):
        assert found.predictions_sha256 == clean
    if kind == "hangs":  # one that was only slow may have been taken for hung
        assert found.replaced >= found.struck
    else:
        assert found.replaced == found.struck
    return found


def main(kills=200, seed=0):
    """Not run as a script: processes would import it again, each time one is started."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"{soak(kills, seed, Path(folder))}\n")
