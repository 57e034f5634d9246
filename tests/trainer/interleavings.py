"""Schedules of the job that `modelled` has: drawn by a seed, or all of a small case.

All of it: under the schedule that always takes the first action there is, and those that stray from
it up to so many times, wherever and whichever way (Emmi, Qadeer and Rakamaric, "Delay-bounded
scheduling", POPL 2011), with one fault before any action.

`make interleavings` tries very many that are drawn, in worker processes.
"""

import argparse
import gc
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context

import torch

from cprsim.basics.machine import cores
from tests.trainer.modelled import Case, check

#: Servers, and entries that share a parity, where there are parities.
_CODED = ((3, 2), (4, 2), (4, 3), (6, 2))
#: Actions within which two faults meet each other.
_CLOSE = 40
#: Of so many seeds that `main` tries, one has parities.
_PARITIES = 7
#: Seeds that a worker tries at a time.
_AT_A_TIME = 1000
#: Whether Python counts references, and circles are looked for.
_COUNTS = sys.implementation.name == "cpython"


class FailedAtError(AssertionError):
    """What broke, and how to see it again."""


def by_seed(seed, parities=False):
    """A case, who picks, and faults: what this seed has.

    Who picks may prefer what comes first among all that could happen, or last: then some members
    hardly get on, and what was sent to them waits while others recover. The first fault comes
    before the end of the job, wherever that is; half of the second ones come close to it.
    """
    rng = random.Random(seed)
    servers, data = _CODED[seed // 2 % len(_CODED)] if parities else (4, 0)
    case = Case(
        servers,
        2 if seed % 4 == 1 else 3,
        steps=rng.choice((2, 3, 4)),
        interval=rng.choice((1.0, 2.0, 1e9)),
        free=rng.random() < 0.5,
        room=rng.choice((1, 2, 3)),
        data=data,
    )
    skew = (4.0, 1.0, 0.25, 1.0)[seed // 8 % 4]  # each case meets each of them
    # Servers most often, and the trainer.
    struck = [("server", number) for number in range(servers)] + [("trainer", 0)]
    hit = rng.sample(struck, 2) if rng.random() < 0.75 else rng.choices(struck, k=2)
    length = _length(replace(case, free=True, room=2), skew)  # about that of the others, too
    first = rng.randrange(length)
    second = first + rng.randrange(_CLOSE if rng.random() < 0.5 else length)
    faults = [(at, name, rng.random() < 0.5) for at, name in zip((first, second), hit, strict=True)]
    return case, _picking(rng, skew), faults


def _picking(rng, skew):
    draw = rng.random
    if skew == 1:
        return lambda count: int(draw() * count)
    return lambda count: int(draw() ** skew * count)


@cache
def _length(case, skew):
    """Actions of the job where nobody fails."""
    world = check(case, _picking(random.Random(0), skew))
    return world.actions - world.began


def search(seeds, parities=False):
    """Try all of these; raises `FailedAtError`. How many schedules had so many members struck."""
    torch.set_num_threads(1)
    struck = Counter()
    for seed in seeds:
        try:
            struck[len(check(*by_seed(seed, parities)).struck)] += 1
        except Exception as error:
            raise FailedAtError(f"seed {seed}: {error!r}") from error
    return struck


class Straying:
    """Picks the first, but for `strays`: at which pick, and which one instead."""

    def __init__(self, strays):
        self._strays, self.counts = dict(strays), []

    def __call__(self, count):
        self.counts.append(count)
        return min(self._strays.get(len(self.counts) - 1, 0), count - 1)


def exhaustive(case, faults, strays):
    """Every schedule with up to so many strays; how many there were."""
    tried, todo = 0, [{}]
    while todo:
        given = todo.pop()
        pick = Straying(given)
        try:
            check(case, pick, faults)
        except Exception as error:
            raise FailedAtError(f"{case}, {faults}, strays {given}: {error!r}") from error
        tried += 1
        if len(given) < strays:
            after = max(given, default=-1) + 1
            todo += [
                {**given, at: other}
                for at in range(after, len(pick.counts))
                for other in range(1, pick.counts[at])
            ]
    return tried


def of_all(_seed):
    """Every schedule that there is."""
    return True


def of_three_copies(seed):
    """Those with 4 servers and 3 copies of each shard."""
    return seed % _PARITIES != 0 and seed % 4 != 1


def tried(seeds):
    """How many there were of each kind, which are broken, and what CPU time that took, s."""
    torch.set_num_threads(1)
    if _COUNTS:
        gc.collect()
        gc.freeze()  # what was imported is not looked through again and again
        gc.disable()  # a world is full of circles: many are thrown away together
    began_s, found, broken = time.process_time(), Counter(), []
    for seed in seeds:
        parities = seed % _PARITIES == 0
        try:
            case, pick, faults = by_seed(seed, parities)
            struck = len(check(case, pick, faults).struck)
        except Exception as error:
            broken.append(f"broken: --schedules 1 --seed {seed}: {error!r}")
        else:
            held = f"a parity of {case.data}" if parities else f"{case.copies} copies"
            found[f"{case.servers} servers with {held}"] += 1
            found[f"{struck} struck"] += 1
        if _COUNTS and seed % 50 == 0:
            gc.collect()
    if _COUNTS:
        gc.enable()
        gc.unfreeze()
    return found, broken, time.process_time() - began_s


def _all_tried(chunks, workers):
    if workers == 1:
        yield from map(tried, chunks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(tried, chunks)


def main(arguments=None, which=of_all):
    """Try schedules of seeds one after another, and say again and again how many there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.trainer.interleavings")
    parser.add_argument("--schedules", type=int, default=100_000, help="and seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--workers", type=int, default=cores())
    given = parser.parse_args(arguments)
    seeds = [*filter(which, range(given.seed, given.seed + given.schedules))]
    if not seeds:
        parser.error("none of these seeds is one that is tried")
    chunks = [seeds[at : at + _AT_A_TIME] for at in range(0, len(seeds), _AT_A_TIME)]
    total, done, wrong, spent_s = Counter(), 0, 0, 0.0
    for chunk, found in zip(chunks, _all_tried(chunks, given.workers), strict=True):
        kinds, broken, cpu_s = found
        total, wrong, spent_s = total + kinds, wrong + len(broken), spent_s + cpu_s
        done += len(chunk)
        counts = "; ".join(f"{kind}: {count}" for kind, count in sorted(total.items()))
        each_ms = 1e3 * spent_s / done
        told = [
            *broken,
            f"{done} schedules, {wrong} broken, {each_ms:.2f} ms of CPU each; {counts}",
        ]
        sys.stdout.writelines(f"{line}\n" for line in told)
        sys.stdout.flush()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
