"""A policy's decisions alone: when saves are due, what a failure takes back, what is learned."""

import json
import math
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import cprsim
from cprsim.contract import Loss
from cprsim.errors import PlanError, ScenarioError, UsageError
from cprsim.hooks.decider import Decider, LearnedCosts
from tools.paths import DOCS


class Loop:
    """A training loop on a clock of its own: steps, saves and failures take what they take."""

    def __init__(self, steps: int, step_s: float = 1.0, save_s: float = 60.0, **given: object):
        self.now_s, self.step, self.step_s, self.save_s = 0.0, 0, step_s, save_s
        self.steps = steps
        self.decider = Decider(steps=steps, clock=lambda: self.now_s, **given)  # type: ignore[arg-type]
        self.saved: list[int] = []

    def run(self, until: int) -> list[int]:
        """Train up to a step; the steps of all saves."""
        while self.step < until:
            self.step += 1
            self.now_s += self.step_s
            save = self.decider.due(self.step)
            if save is not None:
                self.now_s += self.save_s
                self.decider.saved(self.step, save, self.save_s)
                self.saved.append(self.step)
        return self.saved

    def fail(self, away_s: float) -> str:
        """Lose a server, and go on from the last save; who rolled back."""
        answer = self.decider.lost()
        self.now_s += away_s
        if answer.rollback == "all":
            self.step = self.saved[-1]
        self.decider.resumed(self.step)
        return str(answer.rollback)


def job(**policies: dict[str, object]) -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "10000 s"},
        cluster={"parameter_servers": 4},
        costs={"save": "10 s", "load": "10 s"},
        failures={"distribution": "exponential", "mean": "1 h"},
        policies=policies,
    )


def test_it_loads_no_training_library_and_no_simulator() -> None:
    code = (
        "import sys, cprsim.hooks.decider\n"
        "assert not {'torch', 'simpy', 'numpy', 'pydantic'} & sys.modules.keys()\n"
        "d = cprsim.hooks.decider.Decider('full', steps=100, scenario='quickstart')\n"
        "assert [step for step in range(1, 101) if d.due(step)][0] == 2\n"
        "assert not {'torch', 'simpy'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_saves_are_due_where_the_scenario_has_them() -> None:
    loop = Loop(1000, scenario=job(full={"system": "full", "interval": "205 s"}), save_s=7.0)

    # A step is 10 s of the job; the first step at or after each 205 s of training.
    assert loop.run(100) == [21, 42, 63, 84]


def test_a_save_is_due_until_it_is_made() -> None:
    decider = Decider("full", steps=1000, scenario=job(full={"system": "full", "interval": "50 s"}))

    assert [decider.due(step) is None for step in (4, 5, 5, 6)] == [True, False, False, False]
    save = decider.due(7)
    assert save is not None
    decider.saved(7, save, 1.0)
    assert [decider.due(step) is None for step in (7, 11, 12)] == [True, True, False]


def test_a_job_that_returns_counts_from_where_it_returned_to() -> None:
    loop = Loop(1000, scenario=job(full={"system": "full", "interval": "205 s"}))
    loop.run(60)

    assert loop.fail(300.0) == "all"
    assert loop.run(80) == [21, 42, 63]


def test_under_partial_recovery_the_others_keep_their_schedule() -> None:
    keys = {"system": "cpr-vanilla", "interval": "205 s"}
    loop = Loop(1000, policy="cpr-vanilla", scenario=job(**{"cpr-vanilla": keys}))
    loop.run(30)

    assert loop.fail(300.0) == "lost"
    assert loop.run(50) == [21, 42]


def test_costs_are_measured_where_nothing_says_them() -> None:
    """Young's interval of what a save took and of the MTBF as far as it was seen."""
    loop = Loop(10**6, save_s=60.0)
    saved = loop.run(40_000)

    assert loop.decider.learned.step_s == pytest.approx(1.0)
    assert loop.decider.learned.save_s == pytest.approx(60.0)
    mtbf_s = loop.decider.learned.mtbf_s(86400.0)
    assert mtbf_s == pytest.approx(86400.0 + loop.now_s)
    young_s = math.sqrt(2 * 60.0 * mtbf_s)
    assert loop.decider.interval_s == pytest.approx(young_s, rel=0.06)
    assert saved[-1] - saved[-2] == pytest.approx(loop.decider.interval_s, abs=1)
    # Before a save was timed, one was taken to last as long as a step.
    assert saved[0] == pytest.approx(20 + math.sqrt(2 * 86400.0), abs=2)


@pytest.mark.parametrize(
    ("policy", "keys", "cost_s"),
    [
        ("async", {}, 0.05),
        ("async", {"snapshot": "1 s"}, 1.0),
        ("partial-experts", {"experts": 4}, 0.05),
        # One expert of 4, and the rest: 0.86 / 4 + 0.14 of a checkpoint.
        ("partial-experts", {"experts": 4, "blocking": True}, 0.05 * 0.355),
    ],
)
def test_the_snapshot_of_a_save_in_the_background_is_measured(
    policy: str, keys: dict[str, object], cost_s: float
) -> None:
    """Training stalls for 50 ms at a save, in a job of 10 d."""
    loop = Loop(864_000, save_s=0.05, policy=policy, keys=keys)
    loop.run(1_000)

    assert len(loop.saved) > 1
    assert loop.decider.interval_s == pytest.approx(math.sqrt(2 * cost_s * 86400.0), rel=0.06)


def test_a_plan_that_can_not_be_made_leaves_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(10**6)
    loop.run(100)
    plan = loop.decider.plan

    def fails(*_: object, **__: object) -> None:
        raise PlanError("too many saves")

    monkeypatch.setattr(cprsim.scenario, "Scenario", fails)
    saved = loop.run(1_000)
    assert loop.decider.plan is plan
    assert len(saved) > 1
    monkeypatch.undo()
    loop.run(saved[-1] + 500)  # the next save plans again
    assert loop.decider.interval_s > 2_000


def test_failures_make_saves_more_frequent() -> None:
    calm, harsh = Loop(10**6), Loop(10**6)
    calm.run(30_000)
    for until in range(5_000, 35_000, 5_000):
        harsh.run(until)
        harsh.fail(100.0)
    harsh.run(harsh.step + 8_000)

    assert harsh.decider.learned.failures == 6
    assert harsh.decider.learned.away_s == pytest.approx(100.0)
    assert harsh.decider.interval_s < 0.6 * calm.decider.interval_s


def test_the_next_process_goes_on_with_what_was_learned() -> None:
    first = Loop(10**6)
    first.run(20_000)
    kept = json.loads(json.dumps(asdict(first.decider.learned)))

    second = Loop(10**6, learned=kept)
    second.step = first.saved[-1]
    second.decider.resumed(second.step)
    second.run(second.step + 5_000)

    assert second.decider.learned.failures == 1
    running_s = kept["running_s"] + second.now_s
    assert second.decider.learned.running_s == pytest.approx(running_s)
    # At once by what was measured: no steps are timed first, no short interval comes before.
    assert second.saved[0] - first.saved[-1] == pytest.approx(
        math.sqrt(2 * 60.0 * (86400.0 + kept["running_s"]) / 2), rel=0.1
    )


def test_what_was_learned_may_come_when_training_resumes() -> None:
    """A trainer's checkpoint may be read after the decider was made."""
    kept = LearnedCosts(step_s=1.0, save_s=60.0, away_s=5.0, running_s=20_000.0, failures=2)
    early, late = Loop(10**6, learned=kept), Loop(10**6)
    early.decider.resumed(7_000)
    late.now_s = 500.0  # to load it took a while
    late.decider.resumed(7_000, asdict(kept))
    for loop in (early, late):
        loop.step = 7_000
        loop.run(12_000)

    assert late.saved == early.saved
    assert late.decider.learned == early.decider.learned
    assert late.decider.learned.failures == 3


ALL = cprsim.load_scenario("all-systems")


@pytest.mark.parametrize("policy", list(ALL.policies))
def test_every_policy_decides_as_its_plan_says(policy: str) -> None:
    decider, plan = Decider(policy, steps=100_000, scenario=ALL), ALL.plan(policy)
    step_s = ALL.job.useful_time_s / 100_000
    due = next((step for step in range(1, 100_001) if decider.due(step)), None)

    first_s = min((each.period_s for each in plan.schedules), default=math.inf)
    if first_s < ALL.job.useful_time_s and plan.sequence is None:
        assert due == math.ceil(first_s / step_s - 1e-9)
    loss = Loss(frozenset([1]), frozenset())
    assert decider.lost(loss) == plan.recover(loss)


def test_what_makes_no_sense_is_said() -> None:
    with pytest.raises(UsageError, match="steps 0"):
        Decider(steps=0)
    with pytest.raises(UsageError, match="keys: the scenario has"):
        Decider(steps=1, scenario="quickstart", keys={"interval": "1 h"})
    with pytest.raises(ScenarioError, match="the scenario has none of that name"):
        Decider("fulll", steps=10, scenario="quickstart").due(1)
    decider = Decider("full", steps=100, scenario="quickstart")
    save = decider.due(50)
    assert save is not None
    with pytest.raises(UsageError, match="seconds -1"):
        decider.saved(50, save, -1.0)


def test_the_page_runs(tmp_path: Path) -> None:
    """Every block of docs/how-to/when-to-save.md, in order, around a loop that does nothing."""
    page = (DOCS / "how-to" / "when-to-save.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    loop = {
        "train": lambda step: None,
        "write_checkpoint": lambda step, learned: None,
        "checkpoint": {"step": 100, "learned": asdict(LearnedCosts(step_s=1.0, save_s=5.0))},
    }
    job_file = tmp_path / "job.toml"
    job_file.write_text(job(**{"cpr-vanilla": {"system": "cpr-vanilla"}}).to_toml())
    for block in blocks:
        exec(block.replace("job.toml", str(job_file)).replace("100_000", "2_000"), loop)

    assert len(blocks) == 3
