"""Hooks that learn the MTBF and the cost of a save while a loop runs, at whatever pace it does."""

import pytest

from cprsim.contract import Always, Plan, Recover, every
from cprsim.trainer.hooks import running_job
from cprsim.trainer.hooks.running_job import RunningJob
from cprsim.trainer.support import LAB
from tests.trainer.loops import STEPS, begun, hooked, scenario

AUTO = {"auto": {"system": "autopilot", "prior": "30 s"}}


class Time:
    """A clock that a test moves, and that moves by itself a little whenever somebody looks."""

    def __init__(self, monkeypatch, look_s=0.0):
        self.now_s, self._look_s = 0.0, look_s
        monkeypatch.setattr(running_job.time, "monotonic", self.look)

    def look(self):
        self.now_s += self._look_s
        return self.now_s


@pytest.mark.parametrize("step_s", [0.01, 1.0, 300.0])
def test_the_clock_is_in_seconds_of_the_scenario(step_s, monkeypatch):
    """Ten steps of 2 s there, a save as long as three of them, five more that are lost."""
    time = Time(monkeypatch)
    plan = Plan("full", every(1e9), Always(Recover("all")))
    job = RunningJob(LAB.start(plan), 100, 2.0)
    job.watch.start()

    def trained(steps):
        for _ in range(steps):
            time.now_s += step_s
            job.did()

    trained(10)
    assert job.clock == pytest.approx((20.0, 20.0))
    job.watch.switch("save")
    time.now_s += 3 * step_s
    assert job.clock == pytest.approx((26.0, 20.0))
    job.watch.switch("train")
    saved_s = job.trained_s
    trained(5)
    job.watch.undo(saved_s)
    job.step = 10
    assert job.clock == pytest.approx((36.0, 20.0))


@pytest.mark.parametrize("useful", ["4 ms", "40 s", "40 h"])
def test_a_loop_comes_to_its_end_whatever_the_scenario_says_of_its_steps(useful, tmp_path):
    job = scenario(**AUTO, job={"useful_time": useful})
    begun("auto", tmp_path, 25, scenario=job)
    again = begun("auto", tmp_path, STEPS, scenario=job)

    assert again.hooks.summary.step == STEPS


def known(hooks):
    """The row in which the controller counts failures, saves and what these took."""
    return hooks._job.controller._controller._job.run


@pytest.mark.parametrize("planned", [False, True])
def test_a_new_process_knows_the_failures_and_saves_of_those_before(planned, tmp_path, monkeypatch):
    """A job that was stopped after `save_now()` has not failed; one that trained on has."""
    Time(monkeypatch, look_s=0.001)
    for starts in range(3):
        loop = hooked("auto", tmp_path, scenario=scenario(**AUTO))
        hooks, first = loop.hooks, loop.hooks.restore()
        loop.train(first + 12)
        assert hooks.save_now()
        if not planned:
            loop.train(first + 13)
        knows = known(hooks)
        assert knows.failures == hooks.summary.failures == (0 if planned else starts)

    again = begun("auto", tmp_path, 0, scenario=scenario(**AUTO))
    knows = known(again.hooks)
    assert knows.timed_saves == 1
