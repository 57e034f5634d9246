"""Steps taken in turns, against a plain set of those that are done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.trainer.coordinator.turns import Turns


@given(
    trainers=st.integers(1, 4),
    start=st.integers(0, 9),
    order=st.lists(st.integers(0, 3), max_size=30),
)
def test_what_is_done_is_a_set_of_steps(trainers, start, order):
    turns, done = Turns(trainers), set(range(start))
    turns.return_to(start)
    for each in order:
        trainer = each % trainers
        step = next(s for s in range(trainer, 999, trainers) if s not in done)

        assert turns.next_of(trainer) == step
        turns.did(trainer)
        done.add(step)
    first = next(step for step in range(999) if step not in done)

    assert turns.count == len(done)
    assert turns.first_missing == first
    assert turns.ahead == tuple(sorted(step for step in done if step > first))
    assert turns.reach == max(done, default=-1) + 1


def test_a_warm_start_is_one_step_at_a_time():
    turns = Turns(2, warm_start=3)
    turns.return_to(2)

    assert (turns.together(9), turns.together(2)) == (3, 2)
    turns.did(0)
    assert turns.together(9) == 9
    assert Turns(1, warm_start=3).together(9) == 9


@pytest.mark.parametrize("step", [0, 1, 7])
def test_one_trainer_is_never_ahead(step):
    turns = Turns(1)
    for _ in range(step):
        turns.did(0)

    assert (turns.count, turns.first_missing, turns.ahead) == (step, step, ())
