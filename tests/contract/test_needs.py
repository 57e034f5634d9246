"""What plans need of who carries them out."""

from dataclasses import dataclass, replace

import pytest

from cprsim.contract import (
    REMOTE,
    Always,
    Chains,
    Differences,
    Growing,
    Plan,
    Recover,
    Redundancy,
    Rotation,
    Rotations,
    Save,
    Schedule,
    Tier,
    Tracking,
    Verification,
    every,
)
from cprsim.contract.interpreter import Interpreter
from cprsim.contract.needs import TRAINER_NEEDS, deployment_fault, needs_of, trainer_need
from cprsim.trainer.support import HOOKS
from tests.contract.test_memory import job


def test_needs_are_those_of_every_kind_of_loss():
    plan = Plan(
        "partial", every(10.0), lambda loss: Recover("lost", keep_training=bool(loss.trainers))
    )
    needs = needs_of(plan)

    assert needs == {"training on": "training while lost nodes are replaced"}
    assert Interpreter(()).lacks(needs) == list(needs.values())
    assert Interpreter(("training on",)).lacks(needs) == []


def test_verifications_and_checksums_are_needs():
    plan = Plan("full", every(10.0), Always(Recover("all")), checksum=True)
    plan = replace(plan, verifies=Verification(2, 5.0))

    assert needs_of(plan) == {
        "verification": "verification of what is trained",
        "checksums": "saves that are checked",
    }


def test_saves_of_modified_rows_and_of_fewer_bits_are_needs_whatever_their_sizes():
    save = Save(since="baseline", bits=4, writes=0.2, reads=1.2)
    both = {
        "differences": "saves of modified rows alone",
        "bits": "rows stored in 4 bits an element",
    }

    assert needs_of(Plan("full", every(10.0, save), Always(Recover("all")))) == both
    last = Plan("full", every(10.0, save), Always(Recover("all"))).last_save
    assert last == Save()


def test_how_many_rows_a_tracker_finds_to_choose_is_nobodys_need():
    few = every(10.0, Save(portion=0.125, writes=0.6))
    plan = Plan("partial", few, Always(Recover("lost")))

    assert list(needs_of(plan)) == ["sizes", "portions"]
    assert needs_of(replace(plan, tracking=Tracking("mfu", 0.125))) == {}


def test_an_answer_for_the_loss_of_a_whole_cluster_counts():
    plan = Plan("full", every(10.0), lambda loss: _anew(loss.severity == "cluster"))

    assert list(needs_of(plan)) == ["rebuilding"]


@dataclass(frozen=True, slots=True)
class OwnPlan(Plan):
    def start(self):
        return Plan.start(self)


@pytest.mark.parametrize(
    "sequence",
    [
        Chains(((Save(), Save(writes=0.5)),)),
        Growing(10.0, 2.0, 0.05),
        Rotations((Rotation(Save(), None),), 8, 5.0),
        Differences("one-shot", 10.0, 1.0, 1.0, (0.0, 1.0), (0.0, 0.5)),
    ],
)
def test_a_sequence_and_a_controller_of_its_own_are_decisions_while_the_job_runs(sequence):
    words = {"controller": "a controller that decides while the job runs"}
    plain = Plan("full", every(10.0), Always(Recover("all")))
    following = Plan("full", every(10.0), Always(Recover("all")), sequence=sequence)

    assert needs_of(plain) == {}
    assert needs_of(following) == words
    assert needs_of(OwnPlan("full", every(10.0), Always(Recover("all")))) == words


def _anew(copied: bool) -> Recover:
    return Recover("none") if copied else Recover("all")


@pytest.mark.parametrize(
    ("redundancy", "needs"),
    [
        (Redundancy("peers", 1, 2), {"copies": "copies on other servers"}),
        (Redundancy("peers", 3, 1), {"parities": "parities on other servers"}),
    ],
)
def test_what_shards_are_made_anew_from_is_a_need(redundancy, needs):
    plan = Plan("parity", every(10.0), Always(Recover("none")), redundancy=redundancy)

    assert needs_of(plan) == needs
    modified = replace(plan, schedules=every(10.0, Save(since="baseline")))
    assert needs_of(modified) == needs | {"differences": "saves of modified rows alone"}


def test_groups_that_are_trained_on_are_one_need_of_their_own():
    """Nothing is stored with them, whatever an averaging sends."""
    twins = Tier("twins", "peers", snapshot_s=1.0, live=True)
    averaging = Schedule(10.0, Save("twins", writes=2.0))
    plan = Plan("replica", (averaging,), Always(Recover("lost", source="twins")), (twins, REMOTE))

    assert needs_of(plan) == {"twins": "lost shards filled by twins"}


TRAINERS = [
    ({"system": "full"}, "any"),
    ({"system": "tiered", "remote": {}}, "any"),
    ({"system": "ecrm", "parity": 0, "interval": "1 h"}, "any"),
    ({"system": "async", "snapshot": "5 s"}, "background"),
    ({"system": "async", "interval": "checkfreq", "iteration": "1 s"}, "background"),
    ({"system": "tiered", "remote": {"blocking": False}}, "background"),
    ({"system": "partial"}, "partial"),
    ({"system": "cpr-vanilla", "target_pls": 0.1}, "partial"),
    ({"system": "twin-groups", "every": "1 min"}, "partial"),
    ({"system": "accepted-loss"}, "own"),
    ({"system": "elastic", "bound": 0.5}, "own"),
    ({"system": "replication"}, "own"),
    ({"system": "ecrm"}, "own"),
    ({"system": "peer-memory", "iteration": "1 s"}, "own"),
    ({"system": "hot-swap", "iteration": "1 s"}, "own"),
    ({"system": "check-n-run", "modified": 0.2}, "own"),
    ({"system": "tiered", "peer": {}, "remote": {}}, "own"),
]


@pytest.mark.parametrize(("policy", "need"), TRAINERS, ids=str)
def test_each_plan_needs_one_kind_of_trainer(policy, need):
    plan = job(policy).plan("it")

    assert trainer_need(plan) == need
    assert (deployment_fault(plan) is None) == (need != "own")
    assert (not HOOKS.lacks(needs_of(plan))) == (need != "own")


def test_needs_that_common_trainers_do_not_meet_are_said():
    plan = job({"system": "accepted-loss"}).plan("it")

    assert deployment_fault(plan) == (
        "needs a trainer of one's own: training while lost nodes are replaced"
    )
    assert list(TRAINER_NEEDS) == ["any", "background", "partial", "own"]
