"""docs/plug-into-other-trainers.md's Orbax, with the real library."""

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cprsim.hooks.decider import Decider
from cprsim.hooks.orbax import OrbaxPolicy
from tests.hooks.scripts import killed_and_resumed, needs
from tests.hooks.test_decider import Loop, job
from tests.hooks.test_whole_saves import Watch

pytestmark = needs("orbax")
MEASURED: dict[str, Any] = {"steps": 200, "mtbf": "100 s"}


class SlowPolicy(OrbaxPolicy):
    """Saves take 5 s of the clock."""

    def should_preserve(self, checkpoints: Any, *, context: Any) -> list[bool]:
        self._saves.decider.clock.now_s += 5.0
        return super().should_preserve(checkpoints, context=context)


def train(
    folder: Path, policy: OrbaxPolicy, decider: Decider, until: int, background: bool = False
) -> list[int]:
    """Train from the last checkpoint on, 1 s a step; the steps of all checkpoints there are."""
    import orbax.checkpoint as ocp

    options = ocp.CheckpointManagerOptions(
        save_decision_policy=policy,
        preservation_policy=policy,
        enable_async_checkpointing=background,
    )
    with ocp.CheckpointManager(folder, options=options) as manager:
        begun = manager.latest_step() or 0
        if begun:
            decider.resumed(begun, manager.metadata(begun).custom_metadata)
        for step in range(begun + 1, until + 1):
            decider.clock.now_s += 1.0
            args, learned = ocp.args.StandardSave({"step": np.array(step)}), asdict(decider.learned)
            manager.save(step, args=args, custom_metadata=learned)
            manager.wait_until_finished()  # or how fast disks are decides which save waits
        return list(manager.all_steps())


def test_a_killed_job_ends_with_the_same_weights(tmp_path: Path) -> None:
    plain, hit = killed_and_resumed("orbax_job.py", tmp_path)

    assert (plain / "weights.npy").read_bytes() == (hit / "weights.npy").read_bytes()


def test_it_saves_where_the_decider_alone_says(tmp_path: Path) -> None:
    loop = Loop(200, mtbf="100 s", save_s=5.0)
    decider = Decider(clock=Watch(), **MEASURED)

    assert train(tmp_path, SlowPolicy(decider), decider, 80) == loop.run(80)
    assert decider.learned == loop.decider.learned

    # The next process takes over what the last checkpoint has: measured before that save.
    last = loop.saved[-1]
    kept = Loop(200, mtbf="100 s", save_s=5.0)
    kept.run(last - 1)
    kept.decider.due(last)
    again = Loop(200, mtbf="100 s", save_s=5.0)
    again.step = last
    again.decider.resumed(last, kept.decider.learned)
    second = Decider(clock=Watch(), **MEASURED)
    found = train(tmp_path, SlowPolicy(second), second, 160)

    assert [step for step in found if step > last] == again.run(160)
    assert second.learned.failures == 1


def test_the_policy_says_how_many_are_kept(tmp_path: Path) -> None:
    keys = {"system": "full", "interval": "500 s", "keep": 2}
    decider = Decider("full", steps=200, scenario=job(full=keys), clock=Watch())

    assert train(tmp_path, OrbaxPolicy(decider), decider, 45) == [30, 40]


def test_saves_in_the_background_are_those_of_async(tmp_path: Path) -> None:
    keys = {"system": "async", "interval": "500 s"}
    decider = Decider("async", steps=200, scenario=job(**{"async": keys}), clock=Watch())

    assert train(tmp_path, OrbaxPolicy(decider), decider, 35, background=True) == [10, 20, 30]


@pytest.mark.parametrize(
    ("saving", "preempted", "answer"),
    [(False, False, True), (True, False, False), (False, True, True), (True, True, True)],
)
def test_a_save_waits_for_the_one_before_and_not_after_a_notice(
    saving: bool, preempted: bool, answer: bool
) -> None:
    decider = Decider("full", steps=200, scenario=job(full={"system": "full", "interval": "50 s"}))
    context: Any = SimpleNamespace(is_saving_in_progress=saving, reached_preemption=preempted)
    step: Any = SimpleNamespace(step=1)

    assert OrbaxPolicy(decider).should_save(step, [], context=context) is answer
