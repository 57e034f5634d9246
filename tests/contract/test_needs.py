"""Needs of plans that a training loop can't meet."""

from dataclasses import replace

import pytest

from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Always
from cprsim.contract.needs import TRAINER_NEEDS, deployment_fault, needs_of, trainer_need
from cprsim.contract.plan import (
    Chains,
    Differences,
    Growing,
    Plan,
    Redundancy,
    Rotation,
    Rotations,
    Schedule,
    Tracking,
    Verification,
    every,
)
from cprsim.job.tiers import REMOTE, Tier
from cprsim.trainer.support import HOOKS
from tests.test_memory import job

PLAIN = Plan("full", every(10.0), Always(Recover("all")))
SMALL = Save(portion=0.125, writes=0.6)
MODIFIED = Save(since="baseline", bits=4, writes=0.2, reads=1.2)
COPIED = Recover("none")
TWINS = Tier("twins", "peers", snapshot_s=1.0, live=True)
NEEDS = {
    "nothing": (PLAIN, []),
    "an answer to one kind of loss": (
        replace(PLAIN, recover=lambda loss: Recover("lost", keep_training=bool(loss.trainers))),
        ["training while lost nodes are replaced"],
    ),
    "an answer to the loss of the cluster": (
        replace(
            PLAIN,
            recover=lambda loss: COPIED if loss.severity == "cluster" else PLAIN.recover(loss),
        ),
        ["lost shards rebuilt from copies"],
    ),
    "verifications and checksums": (
        replace(PLAIN, checksum=True, verifies=Verification(2, 5.0)),
        ["verification of what is trained", "saves that are checked"],
    ),
    "modified rows, whatever their sizes": (
        replace(PLAIN, schedules=every(10.0, MODIFIED)),
        ["rows stored in 4 bits an element"],
    ),
    "rows that nobody chooses": (
        replace(PLAIN, schedules=every(10.0, SMALL)),
        [
            "checkpoints of another size than the rows they hold",
            "saves of rows that no tracker chooses",
        ],
    ),
    "rows that a tracker finds to choose": (
        replace(PLAIN, schedules=every(10.0, SMALL), tracking=Tracking("mfu", 0.125)),
        [],
    ),
    "copies": (
        replace(PLAIN, recover=Always(COPIED), redundancy=Redundancy("peers", 1, 2)),
        ["copies on other servers"],
    ),
    "parities": (
        replace(PLAIN, recover=Always(COPIED), redundancy=Redundancy("peers", 3, 1)),
        ["parities on other servers"],
    ),
    "chains": (replace(PLAIN, sequence=Chains(((Save(), Save(writes=0.5)),))), []),
    "growing intervals": (replace(PLAIN, sequence=Growing(10.0, 2.0, 0.05)), []),
    "rotations": (replace(PLAIN, sequence=Rotations((Rotation(Save(), None),), 8, 5.0)), []),
    "differences": (
        replace(PLAIN, sequence=Differences("one-shot", 10.0, 1.0, 1.0, (0.0, 1.0), (0.0, 0.5))),
        [],
    ),
}


@pytest.mark.parametrize(("plan", "needs"), NEEDS.values(), ids=NEEDS)
def test_what_a_loop_lacks_is_said(plan, needs):
    assert needs_of(plan) == needs


def test_the_last_save_holds_rows_of_all_bits():
    assert replace(PLAIN, schedules=every(10.0, MODIFIED)).last_save == Save()


def test_twins_are_the_need_of_a_loop_without_groups():
    """Nothing is stored with them, whatever an averaging sends."""
    averaging = Schedule(10.0, Save("twins", writes=2.0))
    answer = Always(Recover("lost", source="twins"))
    plan = Plan("replica", (averaging,), answer, (TWINS, REMOTE))

    assert needs_of(plan) == []
    assert needs_of(plan, twins=False) == ["lost shards filled by twins"]


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
    assert (not HOOKS.lacks(plan)) == (need != "own")


def test_needs_that_common_trainers_do_not_meet_are_said():
    plan = job({"system": "accepted-loss"}).plan("it")

    assert deployment_fault(plan) == (
        "needs a trainer of one's own: training while lost nodes are replaced"
    )
    assert list(TRAINER_NEEDS) == ["any", "background", "partial", "own"]
