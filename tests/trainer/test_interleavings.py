"""The protocol of members and controller, searched: the very code that processes run."""

import os
import subprocess
import sys

import pytest

from tests.trainer.interleavings import by_seed, exhaustive, search
from tests.trainer.modelled import Case, check

SMALL = Case(servers=2, copies=2, steps=2, interval=1e9)


def _most_struck_two(struck):
    """Faults come in time: else what was searched is jobs that nobody disturbs."""
    return struck[2] > 0.85 * struck.total()


@pytest.mark.slow
@pytest.mark.essential
def test_whoever_is_killed_or_hangs_nobody_else_is_and_no_row_is_wrong():
    assert _most_struck_two(search(range(200)))


@pytest.mark.slow
def test_the_same_in_many_more_orders():
    assert _most_struck_two(search(range(1_000_000, 1_001_000)))


@pytest.mark.parametrize("seed", [290, 415, 20_004_717])
def test_what_the_search_has_found_once(seed):
    """A trainer that left while a copy hung; copies that differed once it and a server had died;
    a server lost after the last step, while another was away. As above, these are other
    schedules by now."""
    check(*by_seed(seed))


def test_a_seed_gives_the_same_again():
    worlds = [check(*by_seed(11)) for _ in range(2)]

    assert worlds[0].actions == worlds[1].actions
    assert worlds[0].now == worlds[1].now


_TOLD = """
from tests.trainer.interleavings import by_seed
from tests.trainer.modelled import check
for seed in range(8):
    world = check(*by_seed(seed))
    print(world.actions, world.now, world.struck)
"""


@pytest.mark.slow
def test_a_seed_gives_the_same_in_another_process():
    """Where nobody asks members in the order of a set, which is another in each process."""
    command = [sys.executable, "-c", _TOLD]
    told = {
        subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": each}, capture_output=True, check=True
        ).stdout
        for each in "123"
    }
    assert len(told) == 1


@pytest.mark.parametrize("hangs", [False, True], ids=["killed", "hung"])
def test_one_of_two_fails_before_any_action(hangs):
    """Every point of the job at which a fault can come, in the plainest order."""
    actions = check(SMALL, lambda _: 0).actions

    assert all(
        exhaustive(SMALL, [(at, ("server", server), hangs)], strays=0)
        for at in range(actions)
        for server in (0, 1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True], ids=["killed", "hung"])
def test_one_of_two_fails_in_every_order_that_strays_once(hangs):
    actions = check(SMALL, lambda _: 0).actions

    tried = sum(
        exhaustive(SMALL, [(at, ("server", 0), hangs)], strays=1) for at in range(0, actions, 7)
    )
    assert tried > actions


@pytest.mark.slow
@pytest.mark.parametrize("first", [False, True], ids=["killed", "hung"])
def test_two_of_four_fail_together_before_any_action(first):
    case = Case(steps=3)
    actions = check(case, lambda _: 0).actions

    assert all(
        exhaustive(case, [(at, ("server", 1), first), (at + apart, ("server", other), True)], 0)
        for at in range(0, actions, 2)
        for apart in (0, 3, 11)
        for other in (0, 2, 3)
    )
