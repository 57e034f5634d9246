"""What all adapters share: whole checkpoints, timed by the decider's clock, and refusals."""

import pytest

import cprsim
from cprsim.errors import UsageError
from cprsim.hooks.decider import Decider
from cprsim.hooks.whole_saves import WholeSaves
from tests.hooks.test_decider import job

EVERY_50_S = job(full={"system": "full", "interval": "50 s"})


class Watch:
    """A clock that moves when a test moves it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_save_takes_from_when_it_is_due_until_it_is_stored() -> None:
    watch = Watch()
    decider = Decider("full", steps=1000, scenario=EVERY_50_S, clock=watch)
    saves = WholeSaves(decider)

    assert [saves.due(step) for step in range(1, 6)] == [False] * 4 + [True]
    watch.now_s += 100.0  # it evaluates first
    saves.begin()
    watch.now_s += 7.0
    saves.stored(5)

    assert decider.learned.save_s == 7.0
    assert [saves.due(step) for step in range(6, 11)] == [False] * 4 + [True]


ALL = cprsim.load_scenario("all-systems")
WHOLE = {"full", "async"}


@pytest.mark.parametrize("policy", list(ALL.policies))
def test_only_policies_of_whole_checkpoints_are_carried_out(policy: str) -> None:
    saves = WholeSaves(Decider(policy, steps=100_000, scenario=ALL))
    steps = range(1, 100_001)

    if policy in WHOLE:
        assert any(map(saves.due, steps))
    else:
        with pytest.raises(UsageError, match=r"take full, async or autopilot, or cprsim\.trainer"):
            any(map(saves.due, steps))


def test_a_refusal_names_the_policy_and_the_reason() -> None:
    with pytest.raises(UsageError) as parts:
        WholeSaves(Decider("cpr-mfu", steps=10, scenario=ALL)).due(1)
    assert str(parts.value) == (
        "policy 'cpr-mfu' recovers from more than whole checkpoints, and this trainer can't: take "
        "full, async or autopilot, or cprsim.trainer.TrainerHooks"
    )
    with pytest.raises(UsageError) as tiers:
        any(map(WholeSaves(Decider("tiered", steps=1000, scenario=ALL)).due, range(1, 1001)))
    assert str(tiers.value) == (
        "policy 'tiered' saves parts of the state, or to several tiers, and this trainer stores "
        "whole checkpoints in one place: take full, async or autopilot, or "
        "cprsim.trainer.TrainerHooks"
    )
