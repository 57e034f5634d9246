"""The controller of plans that are data: what it answers to tables of events."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Drain,
    Draining,
    EmergencySave,
    Event,
    Failed,
    Loss,
    Notice,
    Recover,
    Resumed,
    Save,
    Saved,
    Stored,
    Train,
    Unusable,
    Void,
)
from cprsim.contract.answers import Always, Answers, Case
from cprsim.contract.controller import ScheduledController
from cprsim.contract.plan import (
    Accepted,
    Chains,
    Differences,
    Growing,
    Learned,
    Plan,
    Rotation,
    Rotations,
    Schedule,
    every,
    user_code,
)

NEAR, FAR = Save("near"), Save("far")
ALL, LOST = Recover("all"), Recover("lost")
FROM_NEAR, FROM_FAR = Recover("all", source="near"), Recover("all", source="far")
ONE = Loss(frozenset({0}), frozenset())
TWO_TIERS = (Schedule(10.0, NEAR), Schedule(30.0, FAR))
BY_SEVERITY = Answers((Case(FROM_NEAR, severities=("process",)), Case(FROM_FAR)))
BACKGROUND = Save(blocking=False)

#: An event, or the action that is asked for at that wall clock and progress, s.
Step = Event | tuple[float, float, Action]


def at(wall_s: float, progress_s: float | None = None) -> Clock:
    return Clock(wall_s, wall_s if progress_s is None else progress_s)


def full(*schedules: Schedule, **more: Any) -> Plan:
    return Plan("full", schedules or every(10.0), more.pop("recover", Always(ALL)), **more)


def chained(recover: Any = BY_SEVERITY) -> tuple[Plan, list[Save], list[Save]]:
    """Three near saves and two far ones go round, all in the background."""
    near = [Save("near", False, writes=writes) for writes in (1.0, 0.1, 0.2)]
    far = [Save("far", False, writes=writes) for writes in (1.0, 0.3)]
    schedules = (Schedule(10.0, near[0]), Schedule(30.0, far[0]))
    sequence = Chains((tuple(near), tuple(far)))
    return full(*schedules, recover=recover, sequence=sequence), near, far


def blocking_chained() -> tuple[Plan, list[Save], list[Save]]:
    plan, *chains = chained()
    near, far = ([save._replace(blocking=True) for save in chain] for chain in chains)
    schedules = (Schedule(10.0, near[0]), Schedule(30.0, far[0]))
    return replace(plan, schedules=schedules, sequence=Chains((tuple(near), tuple(far)))), near, far


def background(save: Save, taken_s: float, stored_s: float) -> list[Step]:
    """A background save that is due at `taken_s` and usable at `stored_s`."""
    return [
        (taken_s, taken_s, save),
        Saved(at(taken_s), save, stored=False),
        Stored(at(stored_s), save),
    ]


def failed(wall_s: float, answer: Recover, to_s: float, loss: Loss = ONE) -> list[Step]:
    """A failure at `wall_s`, after which the job trains on from progress `to_s` 10 s later."""
    return [Failed(at(wall_s), loss), (wall_s, wall_s, answer), Resumed(at(wall_s + 10, to_s), ())]


NEARS, FARS = chained()[1:]
BLOCKING_NEARS, BLOCKING_FARS = blocking_chained()[1:]
PROCESS = ONE._replace(severity="process")
KEPT, STORED = Save("near", False, unsaved_s=(2.0,)), Save("far", False, unsaved_s=(6.0,))
MORE_KEPT, MORE_STORED = Save("near", False, unsaved_s=(1.0,)), Save("far", False)
ROTATIONS = Rotations((Rotation(STORED, KEPT), Rotation(MORE_STORED, MORE_KEPT)), 4, 5.0)
FRESHER = Recover("all", source="far", healthy="near")
SIZES = {"whole": 0.5, "rows": 0.5, "at": (0.0, 1.0, 2.0), "shares": (0.0, 0.25, 0.5)}
SAVE_AT_ONCE = EmergencySave(Save(), 4.0)


def rotating() -> Plan:
    schedules = Schedule(10.0, KEPT), Schedule(20.0, STORED)
    return full(*schedules, recover=Always(FRESHER), sequence=ROTATIONS)


def differing(variant: Any) -> Plan:
    sequence = Differences(variant, 10.0, bits=8, **SIZES)
    return full(*every(10.0, BACKGROUND), sequence=sequence)


def difference(writes: float, reads: float, since: Any = None) -> Save:
    return Save(blocking=False, writes=writes, reads=reads, since=since, bits=8)


CASES: dict[str, tuple[Plan, list[Step]]] = {
    # --- Schedules ---
    "no saves": (
        Plan("full", (), Always(ALL)),
        [(0.0, 0.0, Train(math.inf)), *failed(5.0, ALL, 0.0)],
    ),
    "a blocking save is due one period after the last": (
        full(),
        [
            (0.0, 0.0, Train(10.0)),
            (10.0, 10.0, Save()),
            Saved(at(12.0, 10.0), Save(), stored=True),
            (12.0, 10.0, Train(20.0)),
        ],
    ),
    "only so many background saves are under way": (
        full(Schedule(10.0, BACKGROUND, 2)),
        [
            Saved(at(10.0), BACKGROUND, stored=False),
            Saved(at(20.0), BACKGROUND, stored=False),
            (30.0, 30.0, Train(math.inf)),
            Stored(at(31.0), BACKGROUND),
            (31.0, 31.0, BACKGROUND),
        ],
    ),
    "a failed blocking save waits for the next period": (
        full(),
        [(10.0, 10.0, Save()), Void(at(13.0, 10.0), Save()), (13.0, 10.0, Train(20.0))],
    ),
    "a failed background save makes room for the next": (
        full(*every(10.0, BACKGROUND)),
        [
            Saved(at(10.0), BACKGROUND, stored=False),
            (25.0, 25.0, Train(math.inf)),
            Void(at(25.0), BACKGROUND),
            (25.0, 25.0, BACKGROUND),
        ],
    ),
    "a recovery abandons saves that aren't pending any more": (
        full(Schedule(10.0, BACKGROUND, 2)),
        [
            Saved(at(10.0), BACKGROUND, stored=False),
            Saved(at(20.0), BACKGROUND, stored=False),
            Failed(at(25.0), ONE),
            (25.0, 25.0, ALL),
            Resumed(at(35.0, 5.0), (BACKGROUND,)),
            (35.0, 5.0, Train(15.0)),
            (45.0, 15.0, BACKGROUND),
        ],
    ),
    "a further tier serves the nearer one if its save blocks": (
        full(*TWO_TIERS, recover=BY_SEVERITY),
        [
            (30.0, 30.0, FAR),
            Saved(at(30.0), FAR, stored=True),
            (30.0, 30.0, Train(40.0)),
            *failed(35.0, FROM_NEAR, 30.0, PROCESS),
            *failed(39.0, FROM_FAR, 30.0),
        ],
    ),
    "the last save of an allocation is usable in the next": (
        full(),
        [Resumed(at(500.0, 7.0), (), source="remote"), (500.0, 7.0, Train(10.0))],
    ),
    # --- Chains ---
    "a chain goes round": (
        chained()[0],
        [
            *background(NEARS[0], 10.0, 11.0),
            *background(NEARS[1], 20.0, 21.0),
            *background(FARS[0], 30.0, 31.0),
            *background(NEARS[2], 31.0, 32.0),
            *background(NEARS[0], 41.0, 42.0),
        ],
    ),
    "a blocking base of the further tier is a base of the nearer one": (
        blocking_chained()[0],
        [
            Saved(at(10.0), BLOCKING_NEARS[0], stored=True),
            (30.0, 30.0, BLOCKING_FARS[0]),
            Saved(at(30.0), BLOCKING_FARS[0], stored=True),
            (40.0, 40.0, BLOCKING_NEARS[1]),
        ],
    ),
    "a blocking difference of the further tier is one more of the nearer one": (
        blocking_chained()[0],
        [
            Saved(at(30.0), BLOCKING_FARS[0], stored=True),
            Saved(at(60.0), BLOCKING_FARS[1], stored=True),
            (70.0, 70.0, BLOCKING_NEARS[2]),
        ],
    ),
    "a failed save is the next link again": (
        chained()[0],
        [
            *background(NEARS[0], 10.0, 11.0),
            Saved(at(20.0), NEARS[1], stored=False),
            Void(at(25.0), NEARS[1]),
            (30.0, 30.0, FARS[0]),
            Saved(at(30.0), FARS[0], stored=False),
            (30.0, 30.0, NEARS[1]),
        ],
    ),
    "a return from further fills the nearer tier with a base": (
        chained()[0],
        [
            *background(FARS[0], 30.0, 31.0),
            *background(NEARS[0], 31.0, 32.0),
            *background(NEARS[1], 41.0, 42.0),
            *failed(45.0, FROM_FAR, 30.0),
            (65.0, 40.0, NEARS[1]),
        ],
    ),
    "no save is in the tier that the job returns from": (
        chained()[0],
        [*background(NEARS[0], 10.0, 11.0), *failed(15.0, FROM_FAR, 0.0), (35.0, 10.0, NEARS[0])],
    ),
    "a further save that a near return has ended is due at once": (
        chained()[0],
        [
            *background(NEARS[0], 10.0, 11.0),
            Saved(at(30.0), FARS[0], stored=False),
            *failed(31.0, FROM_NEAR, 20.0, PROCESS),
            (41.0, 20.0, FARS[0]),
        ],
    ),
    "after a torn checkpoint all chains begin with a base": (
        chained()[0],
        [
            *background(NEARS[0], 10.0, 11.0),
            Failed(at(15.0), PROCESS),
            (15.0, 15.0, FROM_NEAR),
            Unusable(at(15.0), "near", corrupt=False),
            Resumed(at(25.0, 0.0), ()),
            (35.0, 10.0, NEARS[0]),
        ],
    ),
    # --- Intervals that follow what saves take ---
    "an interval grows after a save that cost more than its bound": (
        full(*every(99.0), sequence=Growing(10.0, 4.0, 0.25)),
        [
            (10.0, 10.0, Save()),
            Saved(at(12.5, 10.0), Save(), stored=True),  # on the bound
            Saved(at(12.5, 10.0), Save(), stored=True),  # another one, which costs nothing
            (12.5, 10.0, Train(20.0)),
            Saved(at(25.1, 20.0), Save(), stored=True),  # 2.6 s for 10 s
            (25.1, 20.0, Train(34.0)),
            Resumed(at(60.0, 20.0), ()),  # a recovery is no save
            (60.0, 20.0, Train(34.0)),
        ],
    ),
    "an interval is learned from saves and failures": (
        full(*every(30.0), sequence=Learned(100.0, 1.0, 2.0)),
        [
            (0.0, 0.0, Train(30.0)),
            Saved(at(38.0, 30.0), Save(), stored=True),  # 8 s: 5 s in the mean
            (38.0, 30.0, Train(30.0 + math.sqrt(2 * 5.0 * 138.0))),
            Failed(at(50.0, 42.0), ONE),
            (50.0, 42.0, ALL),
            Resumed(at(62.0, 30.0), ()),
            (62.0, 30.0, Train(30.0 + math.sqrt(2 * 5.0 * 162.0 / 2))),
        ],
    ),
    "the kind of recovery is learned as well": (
        full(*every(30.0), sequence=Learned(100.0, 1.0, 2.0, Accepted(0.5, 0.0))),
        [
            *failed(20.0, ALL, 20.0),
            # (2 s + 0) / (1 + 0) of a save in 0.5 MTBFs of 65 s are less than 16.1 s by Young.
            *failed(31.0, LOST, 20.0),
            Saved(at(200.0, 40.0), Save(), stored=True),  # 139 s beside training: 70.5 s
            (200.0, 40.0, Train(40.0 + math.sqrt(2 * 70.5 * 100.0))),
            *failed(201.0, ALL, 40.0),
        ],
    ),
    # --- Rotations ---
    "a rotation follows once failures have lost too much": (
        rotating(),
        [
            *background(STORED, 20.0, 21.0),
            *background(KEPT, 21.0, 22.0),
            # 4 s of 2 saves' worth: 1/4 lost 6 s, 3/4 lost 2 s, together 3 s.
            *failed(30.0, FRESHER, 20.0),
            (41.0, 31.0, KEPT),
            *failed(45.0, FRESHER, 40.0),
            (66.0, 51.0, MORE_STORED),
        ],
    ),
    "after a silent fault all comes from that tier": (
        rotating(),
        [
            *background(STORED, 20.0, 21.0),
            Unusable(at(25.0), "far", corrupt=True),
            Resumed(at(35.0, 20.0), ()),  # 6 s: more than 5
            (50.0, 30.0, MORE_KEPT),
        ],
    ),
    # --- Differences ---
    "differences are taken from the baseline": (
        differing("one-shot"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            *background(difference(0.125, 0.625, "baseline"), 20.0, 21.0),
            *background(difference(0.25, 0.75, "baseline"), 30.0, 31.0),
        ],
    ),
    "differences are taken from the save before": (
        differing("consecutive"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            *background(difference(0.125, 0.625, "save"), 20.0, 21.0),
            *background(difference(0.125, 0.75, "save"), 30.0, 31.0),
        ],
    ),
    "a baseline follows once differences have grown to its size": (
        differing("intermittent"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            (30.0, 30.0, difference(0.25, 0.75, "baseline")),
            Saved(at(30.0), difference(0.25, 0.75, "baseline"), stored=False),
            # It has written as much as the baseline: 1 + 1 <= 2 * 1.
            Stored(at(31.0), difference(0.5, 0.75, "baseline")),
            (40.0, 40.0, difference(0.5, 0.5)),
        ],
    ),
    "none follows differences that have grown less": (
        differing("intermittent"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            (30.0, 30.0, difference(0.25, 0.75, "baseline")),
            Saved(at(30.0), difference(0.25, 0.75, "baseline"), stored=False),
            # It has written six tenths of the baseline: 1 + 0.6 > 2 * 0.6.
            Stored(at(31.0), difference(0.3, 0.75, "baseline")),
            (40.0, 40.0, difference(0.25, 0.75, "baseline")),
        ],
    ),
    "differences build on what is stored": (
        differing("one-shot"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            Saved(at(20.0), difference(0.125, 0.625, "baseline"), stored=False),
            Void(at(21.0), difference(0.125, 0.625, "baseline")),
            (30.0, 30.0, difference(0.25, 0.75, "baseline")),
        ],
    ),
    "a save outside the sequence is a baseline": (
        differing("one-shot"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            Saved(at(15.0), Save(), stored=True),
            (25.0, 25.0, difference(0.125, 0.625, "baseline")),
        ],
    ),
    "a baseline follows a return beyond the last save": (
        differing("one-shot"),
        [
            *background(difference(0.5, 0.5), 10.0, 11.0),
            *failed(15.0, ALL, 0.0),
            (35.0, 10.0, difference(0.5, 0.5)),
        ],
    ),
    # --- Notices ---
    "of several notices a save has to meet the last deadline": (
        full(*every(100.0), on_notice=SAVE_AT_ONCE),
        [
            Notice(at(50.0), 51.0, ONE, 0),
            Notice(at(50.0), 54.0, ONE, 0),
            (50.0, 50.0, Save()),
            (50.0, 50.0, Train(100.0)),  # it is answered
        ],
    ),
    "nothing is saved twice, nor too late": (
        full(*every(100.0), on_notice=SAVE_AT_ONCE),
        [
            Saved(at(50.0), Save(), stored=True),
            Notice(at(50.0), 60.0, ONE, 0),
            (50.0, 50.0, Train(150.0)),
            Notice(at(60.0), 63.0, ONE, 0),
            (60.0, 60.0, Train(150.0)),
        ],
    ),
    "what the job returned to is saved": (
        full(*every(100.0), on_notice=SAVE_AT_ONCE),
        [
            *failed(50.0, ALL, 40.0),
            Notice(at(60.0, 40.0), 70.0, ONE, 0),
            (60.0, 40.0, Train(100.0)),
        ],
    ),
    "of nodes that can be drained those with the first deadline are": (
        full(*every(100.0), on_notice=Draining(3.0, SAVE_AT_ONCE)),
        [
            Notice(at(50.0), 52.0, ONE, 1),  # too early
            Notice(at(50.0), 60.0, ONE, 1),
            Notice(at(50.0), 55.0, PROCESS, 1),
            Notice(at(50.0), 54.0, Loss(frozenset({1, 2}), frozenset()), 1),  # too many
            (50.0, 50.0, Drain(PROCESS, 55.0, 3.0)),
            (53.0, 50.0, Train(100.0)),
        ],
    ),
    "everything is saved where no node can be drained": (
        full(*every(100.0), on_notice=Draining(3.0, SAVE_AT_ONCE)),
        [Notice(at(50.0), 60.0, ONE._replace(severity="cluster"), 9), (50.0, 50.0, Save())],
    ),
}


def played(controller: Controller, steps: list[Step]) -> list[Action]:
    """The actions at the steps that ask for one."""
    found = []
    for step in steps:
        if type(step) is tuple:  # events are named tuples
            found.append(controller.ask(Clock(*step[:2])))
        else:
            controller.tell(step)
    return found


@pytest.mark.whole
@pytest.mark.parametrize("name", CASES)
def test_actions_by_hand(name: str) -> None:
    plan, steps = CASES[name]

    found = played(plan.start(), steps)

    expected = [step[2] for step in steps if type(step) is tuple]
    for action, hand in zip(found, expected, strict=True):
        if isinstance(action, Train) and isinstance(hand, Train):
            assert action.until_s == pytest.approx(hand.until_s)
        else:
            assert action == hand


# --- Code of another package ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EachSecond:
    """A sequence with a controller."""

    def controller(self, plan: Plan) -> Controller:
        return ScheduledController(every(1.0), plan.recover)


def test_a_sequence_of_another_package_has_its_own_controller() -> None:
    plan = full(sequence=EachSecond())
    steps = [(0.0, 0.0, Train(1.0)), (1.0, 1.0, Save()), *failed(1.5, ALL, 1.0)]

    assert user_code(plan) == "its sequence of saves is user code"
    assert played(plan.start(), steps) == [Train(1.0), Save(), ALL]


def test_such_a_controller_leaves_notices_to_the_plan() -> None:
    plan = full(sequence=EachSecond(), on_notice=Draining(3.0))
    steps = [
        Notice(at(0.5), 9.0, ONE, 1),
        (0.5, 0.5, Drain(ONE, 9.0, 3.0)),
        (0.5, 0.5, Train(1.0)),
        *failed(0.7, ALL, 0.0),
    ]

    assert played(plan.start(), steps) == [Drain(ONE, 9.0, 3.0), Train(1.0), ALL]


def test_a_rule_of_another_package_is_asked_for_each_loss() -> None:
    losses = []

    def recover(loss: Loss) -> Recover:
        losses.append(loss)
        return LOST

    assert played(full(recover=recover).start(), failed(3.0, LOST, 3.0, PROCESS)) == [LOST]
    assert losses == [PROCESS]
