"""Schedules of the job that `modelled` has: drawn by a seed, or all of a small case.

All of it: under the schedule that always takes the first action there is, and those that stray from
it up to so many times, wherever and whichever way (Emmi, Qadeer and Rakamaric, "Delay-bounded
scheduling", POPL 2011), with one fault before any action.
"""

import random
import sys
import time

import torch

from tests.trainer.modelled import Case, check

#: Longer than most jobs take, in actions: so some faults come too late, and others strike in
#: recoveries from the first.
_SPAN = 600


class FailedAtError(AssertionError):
    """What broke, and how to see it again."""


#: Servers, and entries that share a parity, where there are parities.
_CODED = ((3, 2), (4, 2), (4, 3), (6, 2))


def by_seed(seed, parities=False):
    """A case, who picks, and faults: what this seed has.

    Who picks may prefer what comes first among all that could happen, or last: then some members
    hardly get on, and what was sent to them waits while others recover.
    """
    rng = random.Random(seed)
    servers, data = _CODED[seed // 2 % len(_CODED)] if parities else (4, 0)
    case = Case(
        servers,
        2 if seed % 4 == 1 else 3,
        steps=rng.choice((2, 3, 4)),
        interval=rng.choice((2.0, 3.0, 1e9)),
        free=rng.random() < 0.5,
        room=rng.choice((1, 2, 3)),
        data=data,
    )
    # Servers most often, and the trainer.
    struck = [("server", number) for number in range(servers)] + [("trainer", 0)]
    first = rng.randrange(_SPAN)
    # Half of the pairs come close together, where they meet each other.
    second = first + rng.randrange(40) if rng.random() < 0.5 else rng.randrange(_SPAN)
    hit = rng.sample(struck, 2) if rng.random() < 0.75 else rng.choices(struck, k=2)
    faults = [(at, name, rng.random() < 0.5) for at, name in zip((first, second), hit, strict=True)]
    skew = (4.0, 1.0, 0.25, 1.0)[seed // 8 % 4]  # each case meets each of them
    return case, lambda count: int(rng.random() ** skew * count), faults


def search(seeds, parities=False):
    """Try all of these; raises `FailedAtError`. How many actions were taken."""
    torch.set_num_threads(1)
    actions = 0
    for seed in seeds:
        try:
            actions += check(*by_seed(seed, parities)).actions
        except Exception as error:
            raise FailedAtError(f"seed {seed}: {error!r}") from error
    return actions


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


def main():
    """`python -m tests.trainer.interleavings COUNT [FIRST] [parities]`."""
    arguments = [each for each in sys.argv[1:] if each != "parities"]
    parities = len(arguments) < len(sys.argv) - 1
    count, first = int(arguments[0]), int([*arguments, "0"][1])
    began_s, actions, broken = time.monotonic(), 0, []
    for seed in range(first, first + count):
        try:
            actions += search([seed], parities)
        except FailedAtError as error:
            broken.append(str(error))
            sys.stdout.write(f"{error}\n")
    spent_s = time.monotonic() - began_s
    sys.stdout.write(f"{count} seeds, {actions} actions, {len(broken)} broken, {spent_s:.0f} s\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
