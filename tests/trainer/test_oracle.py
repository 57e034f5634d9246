"""Kills pinned to steps: what comes of them is known bit for bit."""

import hashlib
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch

from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.sim.engine import play_against
from cprsim.trainer.validation.calibration import RECOVERY
from cprsim.trainer.validation.in_process import InProcess
from tests.trainer.runs import INTERVAL, STEPS, ran, scenario, section, servers_hit, trainer_hit
from tools.counted import SavedRows

#: One after a save, two at once, one just behind a save, one after the last save.
KILLS = (
    (3.0, servers_hit(0)),
    (14.5, servers_hit(0, 1)),
    (20.25, servers_hit(1)),
    (38.0, servers_hit(0)),
)
#: The same, and two of the trainer, one of them together with a server.
ALL_KILLS = (*KILLS[:3], (27.0, trainer_hit(0)), (33.0, trainer_hit()), KILLS[3])
#: Runs that several tests look at.
once = cache(ran)


@pytest.fixture(scope="module")
def clean():
    """A run without failures or saves."""
    return ran("never")


def in_one_process(kills):
    """The predictions of a job on two servers in this process, saved whole every 10 steps."""
    given = section()
    data = given.data(scenario(), 0)
    job = InProcess(data, given, 2, 0)
    held = job.shards
    saved = [SavedRows(shard) for shard in held]
    due = list(kills)
    for step in range(STEPS):
        while due and due[0][0] < step + 1:
            for server in due.pop(0)[1].servers:
                saved[server].set_back()
        job.step(step)
        if (step + 1) % INTERVAL == 0:
            for each in saved:
                each.save()
    predicted = []
    for step in range(data.steps, data.steps + data.test_steps):
        batch = data.batch(step)
        ids = torch.from_numpy(job.placement.ids(batch.sparse))
        rows = torch.where(
            (ids % 2 == 0).unsqueeze(-1),
            held[0].weights[(ids // 2).clamp(max=len(held[0]) - 1)],
            held[1].weights[(ids // 2).clamp(max=len(held[1]) - 1)],
        )
        predicted.append(job.model.predict(torch.from_numpy(batch.dense), rows).numpy())
    return hashlib.sha256(np.concatenate(predicted).data).hexdigest()


def test_a_job_of_several_processes_is_one_of_one_process(clean):
    assert clean.predictions_sha256 == in_one_process([])
    assert (clean.failures, clean.struck, clean.replaced, clean.pls) == (0, 0, 0, 0)


def test_without_failures_a_run_gives_the_same_again_whatever_is_saved(clean):
    again = ran("mfu")

    assert again.predictions_sha256 == clean.predictions_sha256
    assert (again.updates_lost, again.learning_lost, again.dense_lost) == (0, 0, 0)


@pytest.mark.parametrize(
    ("policy", "keys"),
    [
        ("full", {}),
        ("async", {}),
        ("full", {"saving": 1.0}),
        pytest.param("async", {"saving": 1.0}, marks=pytest.mark.slow),
        pytest.param("full", {"loading": 1.0}, marks=pytest.mark.slow),
        pytest.param(
            "full", {"hangs": 1.0, "answer": "1 s", "work": "10 s"}, marks=pytest.mark.slow
        ),
    ],
)
def test_full_recovery_predicts_what_a_run_without_failures_does(clean, policy, keys):
    # Each that hangs takes up to 10 s until it is given up.
    recovered = ran(policy, ALL_KILLS[1:4:2] if "hangs" in keys else ALL_KILLS, **keys)

    assert recovered.predictions_sha256 == clean.predictions_sha256
    assert recovered.pls == recovered.updates_lost == recovered.dense_lost == 0
    assert recovered.struck > 0
    if "hangs" in keys:  # one that was only slow may have been taken for hung
        assert recovered.replaced >= recovered.struck
    else:
        assert recovered.replaced == recovered.struck


def test_full_recovery_does_again_what_was_lost():
    recovered = ran("full", KILLS)

    # The clock counts all steps: the kill at 14.5 finds step 11, of which 1 is lost; that at 20.25
    # finds step 16, the one at 38 step 28.
    assert recovered.executed == STEPS + 3 + 1 + 6 + 8
    assert recovered.seconds["lost"] > 0


def test_partial_recovery_returns_lost_shards_to_their_last_saved_rows_and_leaves_the_others(clean):
    recovered = ran("partial", KILLS)

    assert recovered.predictions_sha256 == in_one_process(KILLS)
    assert recovered.predictions_sha256 != clean.predictions_sha256
    # (E4): steps since the last checkpoint, a term for each failed server.
    assert recovered.pls == float(Fraction(3 + 4 + 4 + 0 + 8, STEPS * 2))


@pytest.mark.parametrize(
    "policy",
    ["partial", "mfu", *(pytest.param(each, marks=pytest.mark.slow) for each in ("ssu", "scar"))],
)
def test_a_schedule_of_kills_loses_what_it_does_in_the_simulator(policy):
    times, hits = zip(*ALL_KILLS, strict=True)
    simulated = play_against(scenario(), policy, AbsoluteTimeline(times, hits))
    recovered = once(policy, ALL_KILLS)

    assert recovered.failures == simulated.failures == len(ALL_KILLS)
    assert recovered.struck == recovered.replaced == 8
    causes = [span.cause for span in recovered.spans]  # those that die together return together
    assert [causes.count(each) for each in RECOVERY] == [len(ALL_KILLS)] * 3
    assert recovered.executed == STEPS
    # Kills between steps strike before the step here; two servers at 14.5, one at 20.25.
    between = (2 * 0.5 + 0.25) / (STEPS * 2)
    assert recovered.pls == pytest.approx(simulated.pls - between, rel=1e-12)
    assert recovered.updates_lost > 0


def test_updates_and_learning_lost_are_those_of_the_steps_that_were_lost():
    """One by one: of each server the uses of its rows, in all steps and in those it lost."""
    recovered = once("partial", ALL_KILLS)

    lost = [[*range(3), *range(10, 14), *range(20, 27), *range(30, 38)], [*range(10, 14)]]
    uses = [uses_of(step) for step in range(STEPS)]
    of_all = [sum(each[server] for each in uses) for server in range(2)]
    of_lost = [sum(uses[step][server] for step in lost[server]) for server in range(2)]
    assert recovered.updates_lost == sum(of_lost) / sum(of_all)
    shares = [part / whole for part, whole in zip(of_lost, of_all, strict=True)]
    expected = -sum(math.log(1 - share) for share in shares) / 2
    assert recovered.learning_lost == pytest.approx(expected, rel=1e-12)
    # The trainer returned to 20 and to 30.
    assert recovered.dense_lost == pytest.approx((27 - 20 + 33 - 30) / STEPS, rel=1e-12)


def uses_of(step):
    """Of the rows of each of two servers, in a step."""
    rows = (section().data(scenario(), 0).batch(step).sparse + np.array([0, 300, 400])).reshape(-1)
    return [int((rows % 2 == server).sum()) for server in range(2)]


def test_a_lost_trainer_takes_no_rows_with_it(clean):
    recovered = ran("partial", [(13.0, trainer_hit())])

    assert recovered.pls == recovered.updates_lost == 0
    assert recovered.dense_lost == pytest.approx((13 - 10) / STEPS, rel=1e-12)

    # A job of which nothing is left starts from its checkpoint.
    recovered = ran("full", [(14.0, trainer_hit(0, 1))])
    assert recovered.predictions_sha256 == clean.predictions_sha256
    assert recovered.executed == STEPS + 4


@pytest.mark.slow
@pytest.mark.parametrize("when", ["saving", "loading"])
def test_partial_recovery_from_failures_in_saves_and_loads(when):
    kills = [(13.0, servers_hit(0)), (25.0, servers_hit(1))]
    recovered = ran("partial", kills, **{when: 1.0})

    assert recovered.replaced == recovered.struck == (2 if when == "saving" else 4)
    assert recovered.failures == recovered.struck
    # While saving, of the saves at 20 and 30: each counts if all have stored it. While loading: 3
    # and 5 steps, as without the second strike.
    lost = (0, 10, 20) if when == "saving" else (8,)
    assert recovered.pls * STEPS * 2 in lost
