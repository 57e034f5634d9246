"""Schedules of the job that `modelled` has: drawn by a seed, or all of a small case.

All of it: under the schedule that always takes the first action there is, and those that stray from
it up to so many times, wherever and whichever way (Emmi, Qadeer and Rakamaric, "Delay-bounded
scheduling", POPL 2011), with one fault before any action.

`make interleavings` tries very many that are drawn, in worker processes.
"""

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context

import torch

from cprsim.basics.machine import cores
from tests.trainer.modelled import Case, check

#: Actions within which two faults meet each other.
_CLOSE = 40
#: Seeds that a worker tries at a time.
_AT_A_TIME = 1000


class FailedAtError(AssertionError):
    """What broke, and how to see it again."""


def by_seed(seed):
    """A case, who picks, and faults: what this seed has.

    Who picks may prefer what comes first among all that could happen, or last: then some members
    hardly get on, and what was sent to them waits while others recover. The first fault comes
    before the end of the job, wherever that is; half of the second ones come close to it.
    """
    rng = random.Random(seed)
    case = Case(
        4,
        2 if seed % 4 == 1 else 3,
        steps=rng.choice((2, 3, 4)),
        interval=rng.choice((1.0, 2.0, 1e9)),
        free=rng.random() < 0.5,
        room=rng.choice((1, 2, 3)),
    )
    skew = (4.0, 1.0, 0.25, 1.0)[seed // 8 % 4]  # each case meets each of them
    # Servers most often, and the trainer.
    struck = [("server", number) for number in range(4)] + [("trainer", 0)]
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


def search(seeds):
    """Try all of these; raises `FailedAtError`. How many schedules had so many members struck."""
    torch.set_num_threads(1)
    struck = Counter()
    for seed in seeds:
        try:
            struck[len(check(*by_seed(seed)).struck)] += 1
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


def tried(seeds):
    """How many schedules had so many members struck, and which are broken."""
    torch.set_num_threads(1)
    struck, broken = Counter(), []
    for seed in seeds:
        try:
            struck[len(check(*by_seed(seed)).struck)] += 1
        except Exception as error:
            broken.append(f"broken: --schedules 1 --seed {seed}: {error!r}")
    return struck, broken


def main():
    """Try schedules of seeds one after another, and say again and again how many there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.trainer.interleavings")
    parser.add_argument("--schedules", type=int, default=100_000, help="and seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--workers", type=int, default=cores())
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.schedules)
    chunks = [seeds[at : at + _AT_A_TIME] for at in range(0, len(seeds), _AT_A_TIME)]
    total, wrong = Counter(), 0
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for struck, broken in pool.map(tried, chunks):
            total, wrong = total + struck, wrong + len(broken)
            counts = "; ".join(f"{count} struck: {of}" for count, of in sorted(total.items()))
            told = [*broken, f"{total.total() + wrong} schedules, {wrong} broken; {counts}"]
            sys.stdout.writelines(f"{line}\n" for line in told)
            sys.stdout.flush()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
