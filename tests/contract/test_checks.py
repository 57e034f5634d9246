"""What plans and controllers may not say, and in which words they are refused."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

import cprsim
from cprsim.contract.actions import Clock, Failed, Loss, Recover, Save, Train
from cprsim.contract.answers import Always, Answers, Case
from cprsim.contract.checks import STUCK, answer_flaw, flaw_of
from cprsim.contract.plan import (
    Accepted,
    Chains,
    Differences,
    Growing,
    Learned,
    Mirror,
    Plan,
    Redundancy,
    Rotation,
    Rotations,
    Schedule,
    Tracking,
    Verification,
    every,
)
from cprsim.errors import RunError, ScenarioError
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.full import Full
from cprsim.sim.engine import play
from cprsim.trainer.support import LAB

ALL, LOST, WHOLE = Recover("all"), Recover("lost"), Save()
SOUND = Plan("partial", every(3600.0), Always(LOST))
NEAR = (Tier("near", "host"), REMOTE)
SERVER = Loss(frozenset({0}), frozenset())
TRAINER = Loss(frozenset(), frozenset({0}))
SAVES: list[tuple[Any, str]] = [
    (Save("moon"), "to 'moon', none of its tiers"),
    (Save(portion=2.0), "whose portion is 2.0; it must be > 0 and <= 1"),
    (Save(portion=0.0), "whose portion is 0.0; it must be > 0 and <= 1"),
    (Save(writes=float("inf")), "whose writes is inf, no number from 0"),
    (Save(reads=-1.0), "whose reads is -1.0, no number from 0"),
    (Save(extra_s=float("nan")), "whose extra_s is nan, no number from 0"),
    (Save(unsaved_s=(-1e5,)), "whose unsaved_s is (-100000.0,), no tuple of numbers from 0"),
    (Save(unsaved_s=()), "whose unsaved_s is (), no tuple of numbers from 0"),
    (Save(since="ever"), "whose since is 'ever', none of None, baseline, save"),  # type: ignore[arg-type]
    (Save(unsaved_s=[0.0]), "whose unsaved_s is [0.0], no tuple of numbers from 0"),  # type: ignore[arg-type]
    (Save("moon", blocking=False), "to 'moon', none of its tiers"),
    (Save(bits=33), "whose bits are 33, no whole number from 1 to 32"),
]
ANSWERS: list[tuple[Any, str]] = [
    ("x", "with 'x', no Recover"),
    (Recover("some"), "with a Recover whose rollback is 'some', none of all, lost, none"),  # type: ignore[arg-type]
    (LOST._replace(source="moon"), "with a Recover whose source is 'moon', none of its tiers"),
    (ALL._replace(healthy="moon"), "with a Recover whose healthy is 'moon', none of its tiers"),
    (LOST._replace(degraded=-0.5), "with a Recover whose degraded is -0.5, no number from 0"),
    (
        ALL._replace(keep_training=True),
        "with a Recover by which a job trains on that has lost all it had (keep_training, "
        "rollback 'all')",
    ),
    (
        LOST._replace(regrow="remote"),
        "with a Recover whose regrow is 'remote'; shards are taken back where the rest trains on "
        "and the lost ones are loaded (keep_training, rollback 'lost')",
    ),
    (
        Recover("none"),
        "with a Recover by which lost shards are rebuilt from 'remote', which holds "
        "checkpoints alone; say what they are made of (redundancy, mirror, or a live tier), or "
        "load them (rollback 'lost')",
    ),
]
TIERS: list[tuple[dict[str, Any], str]] = [
    ({"medium": "disk"}, "medium is 'disk', none of store, peers, host"),
    ({"save_s": -5.0}, "save_s is -5.0, no number from 0"),
    ({"load_s": float("nan")}, "load_s is nan, no number from 0"),
    ({"snapshot_s": -3.0}, "snapshot_s is -3.0, no number from 0"),
    ({"read": 0.0}, "read is 0.0; it must be > 0"),
]
SIZES = ("one-shot", 9.0, 1.0, 1.0)
SEQUENCES: list[tuple[Any, str]] = [
    (
        "x",
        "whose sequence is 'x', none of Chains, Growing, Learned, Rotations, Differences, and has "
        "no method controller",
    ),
    (Chains(()), "whose chains are (), not some saves for each of its schedules"),
    (Chains(((),)), "whose chains are ((),), not some saves for each of its schedules"),
    (Chains(((Save("moon"),),)), "with a save to 'moon', none of its tiers"),
    (Growing(-5.0, 1.0, 0.1), "whose first_s is -5.0; it must be > 0"),
    (Growing(5.0, -1.0, 0.1), "whose more_s is -1.0, no number from 0"),
    (Learned(0.0, 1.0, 9.0), "whose mtbf_s is 0.0; it must be > 0"),
    (Learned(9.0, 0.0, 9.0), "whose weight is 0.0; it must be > 0"),
    (
        Learned(9.0, 1.0, 9.0, Accepted(1.0, 0.0, partial=LOST._replace(source="moon"))),
        "that answers a loss with a Recover whose source is 'moon', none of its tiers",
    ),
    (Rotations((), 4, 1.0), "whose rotations are (), no tuple of them"),
    (
        Rotations((Rotation(WHOLE, None),), 0, 1.0),
        "whose sequence.servers is 0, no whole number from 1",
    ),
    (
        Differences("x", 9.0, 1.0, 1.0, (0.0,), (0.0,)),  # type: ignore[arg-type]
        "whose variant is 'x', none of intermittent, one-shot, consecutive",
    ),
    (
        Differences(*SIZES, (0.0, 1.0), (0.0,)),  # type: ignore[arg-type]
        "whose shares are at (0.0, 1.0), not one at each of some that ascend from 0",
    ),
    (
        Differences(*SIZES, (0.0,), (-1.0,)),  # type: ignore[arg-type]
        "whose shares is (-1.0,), no tuple of numbers from 0",
    ),
]
PLANS = [
    (
        {"schedules": (*every(9.0), *every(5.0, Save(portion=0.5)))},
        "with 2 schedules of saves to 'remote'; give each its own tier, or a controller that "
        "says which save comes next",
    ),
    (
        {"schedules": (*every(9.0), *every(5.0, Save("near"))), "tiers": NEAR},
        "whose schedules save to remote, near; give them in the order of its tiers",
    ),
    ({"schedules": every(9.0, max_pending=0)}, "whose max_pending is 0, no whole number from 1"),
    ({"schedules": (Schedule(5.0, None),)}, "with a save of None, no Save"),  # type: ignore[arg-type]
    ({"keep": 0}, "whose keep is 0, no whole number from 1"),
    ({"spares": -1}, "whose spares is -1, no whole number from 0"),
    ({"tiers": (REMOTE, REMOTE)}, "with 2 tiers 'remote'; give each its own name"),
    *(({"tiers": (Tier("remote", **tier),)}, f"with a tier whose {flaw}") for tier, flaw in TIERS),
    ({"mirror": Mirror("moon", 1.0)}, "with a Mirror in 'moon', none of its tiers"),
    ({"mirror": "x"}, "whose mirror is 'x', no Mirror"),
    ({"mirror": Mirror("remote", 0.0)}, "whose step_s is 0.0; it must be > 0"),
    ({"mirror": Mirror("remote", 1.0, -1)}, "whose mirror.behind is -1, no whole number from 0"),
    ({"redundancy": Redundancy("x", 1, 1)}, "with a Redundancy in 'x', none of its tiers"),
    (
        {"redundancy": Redundancy("remote", 0, 1)},
        "whose redundancy.data is 0, no whole number from 1",
    ),
    ({"verifies": Verification(0, 1.0)}, "whose verifies.every is 0, no whole number from 1"),
    ({"verifies": Verification(1, -1.0)}, "whose takes_s is -1.0, no number from 0"),
    *(({"sequence": sequence}, flaw) for sequence, flaw in SEQUENCES),
    (
        {"schedules": (Schedule(5.0, Save("near")), Schedule(9.0)), "tiers": NEAR}
        | {"sequence": Growing(9.0, 1.0, 0.1)},
        "with 2 schedules, where Growing is for one",
    ),
    (
        {"recover": Answers((Case(LOST, ("node", "proces")), Case(ALL)))},  # type: ignore[arg-type]
        "with a case whose severities are ('node', 'proces'), not of process, node, cluster",
    ),
    (
        {"recover": Always(ALL._replace(healthy="near")), "tiers": NEAR},
        "that answers a loss with a Recover whose healthy is 'near', a tier that its plan has no "
        "schedule for",
    ),
    *(
        ({"recover": Answers((Case(a, servers=(2, 9)), Case(ALL)))}, f"that answers a loss {flaw}")
        for a, flaw in ANSWERS
    ),
    *(({"schedules": every(9.0, save)}, f"with a save {flaw}") for save, flaw in SAVES),
    *(({"recover": lambda _, a=a: a}, f"that answers a loss {flaw}") for a, flaw in ANSWERS),
]


@pytest.mark.parametrize(("changes", "flaw"), PLANS)
def test_plans_are_refused_in_words(changes: dict[str, Any], flaw: str) -> None:
    assert flaw_of(replace(SOUND, **changes), SERVER) == f"a plan {flaw}"


def test_cases_that_leave_losses_of_no_server_to_the_last_are_sound() -> None:
    cases = Answers((Case(LOST, servers=(1, 9)), Case(Recover("none"))))

    assert flaw_of(replace(SOUND, recover=cases), SERVER) == ""


def test_shards_are_made_anew_of_what_holds_them_and_where_some_are_lost() -> None:
    anew = Recover("none", source="copies")
    copies = (Tier("copies", "peers"), REMOTE)
    plan = replace(SOUND, tiers=copies, redundancy=Redundancy("copies", 1, 1))

    assert answer_flaw(anew, SERVER, plan) == ""
    assert answer_flaw(anew, TRAINER, replace(SOUND, tiers=copies)) == ""
    assert "holds checkpoints alone" in answer_flaw(anew, SERVER, replace(SOUND, tiers=copies))


# --- Controllers ---------------------------------------------------------------------------------


class Says:
    """Says `save`, if there is one, when an hour is trained, and `answer` to losses."""

    def __init__(self, save: Any, answer: Any) -> None:
        self.says, self.answer, self.lost = [save] if save else [], answer, False

    def tell(self, event: object) -> None:
        self.lost |= isinstance(event, Failed)

    def ask(self, now: Clock) -> Any:
        if self.lost:
            self.lost = False
            return self.answer
        if now.progress_s < 3600.0:
            return Train(3600.0)
        return self.says.pop() if self.says else Train(float("inf"))


@dataclass(frozen=True, slots=True)
class OwnPlan(Plan):
    save: Any = WHOLE
    answer: Any = LOST

    def start(self) -> Says:  # type: ignore[override]
        return Says(self.save, self.answer)


def own(**says: Any) -> OwnPlan:
    return OwnPlan(SOUND.recovery, SOUND.schedules, SOUND.recover, **says)


def job(plan: Plan, failures: int = 1) -> cprsim.Scenario:
    class Own(Full):
        def plan(self, _context: object) -> Plan:
            return plan

    one = cprsim.Scenario(
        job={"useful_time": "20 h"},
        cluster={"parameter_servers": 4, "trainers": 2},
        costs={"save": "1 min", "load": "1 min", "reschedule": "1 h"},
        failures={"exactly": failures},
        policies={"full": {"system": "full"}},
    )
    return one.with_policies({"own": Own(system="full")})


def played(plan: Plan) -> cprsim.Result:
    return cprsim.run(job(plan), replications=20, engine="sim")


@pytest.mark.parametrize(("save", "flaw"), SAVES)
def test_saves_of_controllers_are_refused_where_they_are_asked_for(save: Save, flaw: str) -> None:
    with pytest.raises(RunError) as simulated:
        played(own(save=save))
    with pytest.raises(RunError) as carried_out:
        LAB.start(own(save=save)).ask(Clock(0.0, 3600.0))

    assert str(simulated.value) == f"policy 'own': its controller requested a save {flaw}"
    assert str(carried_out.value) == f"the controller requested a save {flaw}"


@pytest.mark.parametrize(("answer", "flaw"), ANSWERS)
def test_answers_of_controllers_are_refused_where_they_are_given(answer: Any, flaw: str) -> None:
    with pytest.raises(RunError) as simulated:
        played(own(answer=answer))
    with pytest.raises(RunError) as carried_out:
        LAB.start(own(answer=answer)).answer(Clock(0.0, 0.0), SERVER)

    assert str(simulated.value) == f"policy 'own': its controller answered a failure {flaw}"
    assert str(carried_out.value) == f"the controller answered a failure {flaw}"


def test_saves_of_controllers_that_nobody_can_carry_out_are_refused() -> None:
    lacks = "saves of rows that no tracker chooses"
    with pytest.raises(RunError, match=f"^{lacks} can be simulated but not trained yet: Save"):
        LAB.start(own(save=Save(portion=0.5))).ask(Clock(0.0, 3600.0))


@pytest.mark.parametrize(
    ("plan", "lacks"),
    [
        (
            replace(SOUND, schedules=every(9.0, Save(portion=0.5, unsaved_s=(9.0,)))),
            "saves of rows that no tracker chooses",
        ),
        (replace(SOUND, tracking=Tracking("round-robin", 0.5)), "rows chosen by 'round-robin'"),
    ],
)
def test_saves_of_rows_that_nobody_chooses_are_not_trained(plan: Plan, lacks: str) -> None:
    with pytest.raises(ScenarioError) as error:
        LAB.check_plan("own", plan, lambda: {"own": plan, "other": SOUND})
    assert str(error.value) == (
        f"policies.own: {lacks} can be simulated but not trained yet; choose one of other"
    )


def test_a_controller_that_saves_for_ever_is_told() -> None:
    class Stuck(Says):
        def ask(self, _now: Clock) -> Save:
            return WHOLE

    class Plans(OwnPlan):
        def start(self) -> Stuck:
            return Stuck(None, None)

    controller = LAB.start(Plans(SOUND.recovery, SOUND.schedules, SOUND.recover))
    for step in range(3 * STUCK):
        controller.ask(Clock(0.0, float(step // 2)))  # it trains between
    for _ in range(STUCK):
        controller.ask(Clock(0.0, 1e6))
    with pytest.raises(RunError) as error:
        controller.ask(Clock(0.0, 1e6))
    assert str(error.value) == (
        "the controller asks for save after save at progress 1000000.0 s and never trains; after "
        "Saved it must answer Train"
    )


def test_to_train_until_no_number_is_refused() -> None:
    class Lost(Says):
        def ask(self, _now: Clock) -> Train:
            return Train(float("nan"))

    class Plans(OwnPlan):
        def start(self) -> Lost:
            return Lost(None, None)

    with pytest.raises(RunError, match="asked to train until nan s, which is not ahead"):
        played(Plans(SOUND.recovery, SOUND.schedules, SOUND.recover))


def test_a_controllers_own_answer_degrades_as_much_as_the_rules() -> None:
    slowed = Recover("lost", keep_training=True, degraded=0.5)
    plans = replace(SOUND, recover=Always(slowed)), own(answer=slowed, save=None)
    jobs = [job(replace(plan, schedules=()), failures=3) for plan in plans]

    for replication in range(5):
        by_rule, by_itself = (play(each, "own", 0, replication).slowdown for each in jobs)
        assert by_rule == by_itself
        assert by_rule > 1800  # half of the hour that the first is away for, and more


def _more_the_more(loss: Loss) -> Recover:
    return Recover("lost", keep_training=True, degraded=0.2 * len(loss.servers))


def test_an_answer_that_degrades_as_the_rule_shrinks_with_it_as_servers_come_back() -> None:
    class Later(Says):
        """As the rule has it, but for what a takeover takes."""

        def tell(self, event: object) -> None:
            if isinstance(event, Failed):
                self.lost, self.answer = True, _more_the_more(event.loss)._replace(takeover_s=1e-6)

    class Plans(OwnPlan):
        def start(self) -> Later:
            return Later(None, None)

    ruled = replace(SOUND, schedules=(), recover=_more_the_more)
    own_jobs = [job(each, failures=12) for each in (ruled, Plans("partial", (), _more_the_more))]
    for replication in range(3):
        by_rule, by_itself = (play(each, "own", 0, replication).slowdown for each in own_jobs)
        assert by_itself == pytest.approx(by_rule, rel=1e-6)


def test_schedules_of_a_tier_each_are_sound() -> None:
    both = (Schedule(5.0, Save("near")), Schedule(9.0))

    assert flaw_of(replace(SOUND, schedules=both, tiers=NEAR), SERVER) == ""
