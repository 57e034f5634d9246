"""The rules of docs/semantics.md, each as an example worked by hand; all numbers are exact floats.

Unless a case says otherwise the job has 128 s of training on parameter servers 0 to 3 and trainers
4 and 5; a save takes 8 s, noticing a failure 1 s, replacing nodes 2 s and loading 4 s, so that a
recovery takes 1 + 2 + 4 = 7 s. With an interval of 32 s and without failures it goes

    train 0-32, save 32-40, train 40-72, save 72-80, train 80-112, save 112-120, train 120-152.

One second of one shard's training is 1 / (128 * 4) = 1 / 512 of all training.
"""

from pathlib import Path
from typing import Any, Literal

import pytest

from cprsim.contract import Context, Loss, Plan, Policy, Recover, every
from tests.by_hand import ASYNC, FULL, PARTIAL, Run, played

REPLICATION = {"system": "replication", "slowdown": 0, "takeover": "0 s"}
UNSAVED = {"system": "partial", "interval": "1000 s"}
OFTEN = {"system": "async", "interval": "4 s", "snapshot": "1 s"}
DUE_50 = {"distribution": "deterministic", "mean": "50 s", "ages": "new", "exactly": None}
RARE = {"during_recovery": False}
CAUSES = ("lost", "save", "load", "reschedule", "detect", "slowdown", "stall", "wall")


class TwoRules(Policy):
    """A lone server loses its shard; when two are down the whole job rolls back."""

    system: Literal["test-two-rules"] = "test-two-rules"

    def plan(self, context: Context) -> Plan:
        return Plan("partial", every(1000.0), one_or_more)


def one_or_more(loss: Loss) -> Recover:
    return Recover("lost" if len(loss.servers) == 1 else "all")


Job = tuple[Any, dict[str, Any], dict[str, Any]]


def job(
    policy: dict[str, Any] | Policy,
    *strikes: tuple[float, int],
    failures: dict[str, Any] | None = None,
    costs: dict[str, str] | None = None,
    final_save: bool = False,
    spares: int = 0,
    **expected: Any,
) -> Job:
    """A job whose nodes fail by time and number, and what is `expected` of its run.

    `seconds`: of all causes that took any, without training that counts, and the wall clock.
    `counts`: failures that struck, failures absorbed, usable saves. `spans`: the first of some
    causes. `at`: instants of failures. Others are entries of its ledger.
    """
    tables = {
        "strikes": strikes,
        "job": {"final_save": final_save},
        "cluster": {"trainers": 2, "spares": spares},
        "costs": costs or {},
        "failures": {"while_waiting": False} | (failures or {}),
    }
    return policy, tables, expected


def found(run: Run, key: str, hand: Any) -> Any:
    """The value of a run that `job` calls so."""
    ledger = run.ledger
    if key == "seconds":
        return {cause: value for cause in CAUSES if (value := getattr(ledger, cause))}
    if key == "counts":
        return ledger.failures, ledger.absorbed, ledger.saves
    if key == "spans":
        return {cause: run.spans(cause)[: len(first)] for cause, first in hand.items()}
    if key == "at":
        return [at_s for at_s, _ in run.seen.failures]
    return getattr(ledger, key)


CASES: dict[str, list[Job]] = {
    # --- Saves and their ends ---
    "a run without failures": [
        # 128 s of training and three saves of 8 s: 152 s.
        job(
            FULL,
            seconds={"save": 24, "wall": 152},
            spans={
                "train": [(0, 32), (40, 72), (80, 112), (120, 152)],
                "save": [(32, 40), (72, 80), (112, 120)],
            },
            counts=(0, 0, 3),
        )
    ],
    "a save that ends when a failure strikes counts": [
        # Back to the checkpoint of 32 s that is just stored: nothing is lost, the recovery adds 7.
        job(
            *(FULL, (40.0, 0)),
            seconds={"save": 24, "load": 4, "reschedule": 2, "detect": 1, "wall": 159},
            counts=(1, 0, 3),
        )
    ],
    "an interrupted save is worthless under full recovery": [
        # 7.5 s of the save are spent, then 32 s of training are lost and all starts over:
        # 39.5 + 7 + 152 = 198.5.
        job(*(FULL, (39.5, 0)), lost=32, save=31.5, load=4, wall=198.5, counts=(1, 0, 3))
    ],
    "a failure when a save is due strikes before it": [
        # The stretch of training ends at 32 s, the failure strikes, no save has started:
        # 32 s are lost, 32 + 7 + 152 = 191.
        job(*(FULL, (32.0, 0)), lost=32, wall=191, spans={"save": [(71, 79)]})
    ],
    "a save goes on after the recovery under partial recovery": [
        # 4 s of the save, recovery from 36 to 43, the other 4 s until 47. One second of training
        # later server 1 fails, and has lost just that second: the checkpoint of 32 s counts. Server
        # 0 failed before the save was complete, and so lost the 32 s since the start. 152 s and two
        # recoveries of 7 s.
        job(
            *(PARTIAL, (36.0, 0), (48.0, 1)),
            spans={"save": [(32, 36), (43, 47)]},
            pls=(32 + 1) / 512,
            wall=166,
            save=24,
            saves=3,
        )
    ],
    "the interval counts training time between saves": [
        # A failure at 50, after 10 s of training since the save, leaves 22 s to train after the
        # recovery ends at 57: the save starts at 79.
        job(*(PARTIAL, (50.0, 0)), spans={"save": [(32, 40), (79, 87)]}),
        # Full: training starts anew from the checkpoint of 32 s: 32 s from 57 on, so at 89.
        job(*(FULL, (50.0, 0)), spans={"save": [(32, 40), (89, 97)]}),
    ],
    "a longer interval than the job means no save": [
        job({"system": "full", "interval": each}, seconds={"wall": 128}, counts=(0, 0, 0))
        for each in ("128 s", "129 s", "1 h")
    ],
    "a save due at the last useful second is left out": [
        # 128 s are four intervals of 32 s: three saves, the fourth only as the final save.
        job(FULL, counts=(0, 0, 3)),
        job(FULL, final_save=True, counts=(0, 0, 4), seconds={"save": 32, "wall": 160}),
    ],
    "a final save comes even if none is due": [
        job(UNSAVED, final_save=True, seconds={"save": 8, "wall": 136})
    ],
    "the initial state is a checkpoint": [
        # Back to the start, with all that loading it takes: 10 + 7 + 152 = 169.
        job(
            *(FULL, (10.0, 0)),
            seconds={"lost": 10, "save": 24, "load": 4, "reschedule": 2, "detect": 1, "wall": 169},
        )
    ],
    "a failure at the very start": [
        # (The second one keeps the log's mean time between failures above 0; it comes too late.)
        # Nothing is lost yet: 7 + 152.
        job(*(FULL, (0.0, 0), (1000.0, 0)), lost=0, wall=159)
    ],
    # --- The end of the job ---
    "a job that ends when a failure strikes has ended": [
        job(*(FULL, (152.0, 0)), wall=152, counts=(0, 0, 3))
    ],
    "a failure a moment before the end strikes": [
        # 31.5 s since the checkpoint of 96 s are lost; 151.5 + 7 + 32 = 190.5.
        job(*(FULL, (151.5, 0)), lost=31.5, wall=190.5)
    ],
    "with a final save the job has not ended before it": [
        # Training is done, its save has not begun: back to 96 s; 152 + 7 + 32 + 8 = 199.
        job(*(FULL, (152.0, 0)), final_save=True, lost=32, wall=199, counts=(1, 0, 4))
    ],
    "a final save that ends when a failure strikes ends the job": [
        job(*(FULL, (160.0, 0)), final_save=True, wall=160, counts=(0, 0, 4))
    ],
    "an interrupted final save goes on under partial recovery": [
        # 2 s of it, the recovery, the other 6 s: 154 + 7 + 6 = 167.
        job(*(PARTIAL, (154.0, 0)), final_save=True, wall=167, save=32)
    ],
    # --- Recoveries and their ends ---
    "a recovery that ends when a failure strikes has ended": [
        # The first recovery ends at 10 + 7 = 17, whole; the second ends at 24, 24 + 152 = 176.
        job(
            *(FULL, (10.0, 0), (17.0, 0)),
            spans={"load": [(13, 17), (20, 24)]},
            seconds={"lost": 10, "save": 24, "load": 8, "reschedule": 4, "detect": 2, "wall": 176},
            counts=(2, 0, 3),
        ),
        job(*(FULL, (10.0, 0), (17.0, 0)), failures=RARE, wall=176, counts=(2, 0, 3)),
    ],
    "a failure in the downtime is absorbed": [
        # The downtime of 3 s, from 10 to 13: nothing else comes of the failures in it.
        job(*(FULL, (10.0, 0), (10.5, 1), (12.5, 2)), wall=169, counts=(1, 2, 3))
    ],
    "a failure when loading starts strikes": [
        # The downtime ends at 13 and the failure strikes: another 3 s, then 4 s of loading to 20.
        job(
            *(FULL, (10.0, 0), (13.0, 1)),
            spans={"detect": [(10, 11), (13, 14)], "load": [(13, 13), (16, 20)]},
            load=4,
            wall=172,
            counts=(2, 0, 3),
        )
    ],
    "a failure while loading starts the recovery again": [
        # 2 s of loading for nothing, then 7 s from 15 on: 22 + 152 = 174.
        job(
            *(FULL, (10.0, 0), (15.0, 1)),
            spans={"load": [(13, 15), (18, 22)]},
            load=6,
            wall=174,
            counts=(2, 0, 3),
        )
    ],
    "a failure while loading is absorbed if none strikes in recoveries": [
        job(
            *(FULL, (10.0, 0), (13.0, 1), (15.0, 1)),
            failures=RARE,
            spans={"load": [(13, 17)]},
            wall=169,
            counts=(1, 2, 3),
        )
    ],
    # 128 s of training and two recoveries are over at 142, before a third failure.
    "a renewed clock starts when loading does": [
        job(UNSAVED, failures=DUE_50, at=[50, 103], wall=142)  # at 53
    ],
    "a renewed clock starts when training does if none strikes in recoveries": [
        job(UNSAVED, failures=DUE_50 | RARE, at=[50, 107], wall=142)  # at 57
    ],
    "a renewed clock starts when the failure is noticed if training goes on": [
        job(REPLICATION, failures=DUE_50, at=[50, 101], wall=130)  # at 51
    ],
    "a replaced node is new and the others keep their age": [
        # Lives of 50 s each end at once at 50; the nodes are replaced in the downtime of 50-53, and
        # so fail at 103 again.
        job(UNSAVED, failures=DUE_50 | {"per": "node"}, at=[50, 103], wall=142)
    ],
    "nodes whose lives end at the same instant are one failure": [
        # All four servers are lost at 100, and each of them 100 s of training.
        job(UNSAVED, failures=DUE_50 | {"mean": "100 s", "per": "node"}, pls=4 * 100 / 512)
    ],
    # --- What is lost ---
    "nodes that fail at the same instant are one failure": [
        job(*(PARTIAL, (10.0, 1), (10.0, 3)), at=[10], counts=(1, 0, 3), wall=159)  # one recovery
    ],
    "each server of a failure adds its own share": [
        # At 50 the job is 10 s past its checkpoint of 32 s.
        job(
            *(PARTIAL, *((50.0, server) for server in range(servers))),
            pls=servers * 10 / 512,
            updates_lost=servers * 10 / 512,
        )
        for servers in (1, 2, 3, 4)
    ],
    "a second loss of a shard counts twice in pls and once in updates": [
        # At 10 it has lost 10 s, at 27 (17 was the end of the recovery) all 20 s since the start,
        # of which the first 10 s were lost before.
        job(
            *(UNSAVED, (10.0, 0), (27.0, 0)),
            pls=(10 + 20) / 512,
            updates_lost=(10 + 10) / 512,
        )
    ],
    "two shards each lose their own": [
        job(
            *(UNSAVED, (10.0, 0), (27.0, 1)),
            pls=(10 + 20) / 512,
            updates_lost=(10 + 20) / 512,
        )
    ],
    "a checkpoint ends what a shard can lose": [
        # Recovery 10-17, training to 39, save to 47, training to 57: 10 s past the checkpoint.
        job(
            *(PARTIAL, (10.0, 0), (57.0, 0)),
            pls=(10 + 10) / 512,
            updates_lost=(10 + 10) / 512,
        )
    ],
    "full recovery loses no learning": [
        job(*(FULL, (10.0, 0), (50.0, 1)), pls=0, updates_lost=0),
    ],
    "a shard lost twice with a rollback between has lost its last part": [
        # Server 0 loses 10 s; recovered at 17, the job is at 30 s of training when it rolls back to
        # its start at 37. From 44 on it trains 5 s, which server 0 loses at 49.
        job(
            *(TwoRules(), (10.0, 0), (37.0, 1), (37.0, 2), (49.0, 0)),
            lost=30,
            updates_lost=5 / 512,
        )
    ],
    "what is trained again after a rollback is not lost for good": [
        # As above, but server 0 does not fail again: after the rollback to the start every update
        # that it had lost is made once more.
        job(*(TwoRules(), (10.0, 0), (37.0, 1), (37.0, 2)), updates_lost=0)
    ],
    # --- Trainers ---
    "a lost trainer restarts the job under full recovery": [
        job(*(FULL, (10.0, 4)), lost=10, load=4, wall=169)
    ],
    "a lost trainer is waited for under partial recovery": [
        # Nothing to load: 152 + 1 + 2.
        job(
            *(policy, (10.0, 4)),
            seconds={"save": 24, "reschedule": 2, "detect": 1, "wall": 155},
            pls=0,
        )
        for policy in (PARTIAL, {"system": "cpr-vanilla", "interval": "32 s"})
    ],
    "a lost trainer voids background saves": [
        # Snapshot 32-33, in flight until 41: void at 35. 32 s and 2 s of training are lost, and
        # 35 + 7 + 128 and three stalls are 173.
        job(*(ASYNC, (35.0, 4)), lost=34, wall=173)
    ],
    "a lost trainer is waited for under replication": [
        job(*(REPLICATION, (10.0, 4)), seconds={"reschedule": 2, "detect": 1, "wall": 131})
    ],
    "a lost server is copied while its trainer is waited for": [
        # The job can't train on, so the 4 s of the copy count: 128 + 7.
        job(
            *(REPLICATION, (10.0, 0), (10.0, 4)),
            seconds={"load": 4, "reschedule": 2, "detect": 1, "wall": 135},
        )
    ],
    # --- Spares, of machines that are made good 50 s after a failure ---
    "a spare takes over at once": [
        job(
            *(UNSAVED, (10.0, 0)),
            spares=1,
            costs={"reschedule": "50 s"},
            seconds={"load": 4, "detect": 1, "wall": 133},
        )
    ],
    "a used spare is made good after a rescheduling delay": [
        # A failure at 60 finds it; one at 59.5 waits half a second for it.
        job(
            *(UNSAVED, (10.0, 0), (at_s, 1)),
            spares=1,
            costs={"reschedule": "50 s"},
            reschedule=waits_s,
            wall=128 + 2 * 5 + waits_s,
        )
        for at_s, waits_s in ((60.0, 0.0), (59.5, 0.5))
    ],
    "a spare is taken even if another node is waited for": [
        # Two nodes fail and there is one spare: the job waits 50 s for the other node. The second
        # to come is a spare again for the failure at 70 (the first recovery is over at 65).
        job(
            *(UNSAVED, (10.0, 0), (10.0, 1), (70.0, 2)),
            spares=1,
            costs={"reschedule": "50 s"},
            reschedule=50,
            wall=128 + 55 + 5,
        )
    ],
    # --- Background saves ---
    "a run with background saves": [
        job(
            ASYNC,
            spans={"stall": [(32, 33), (65, 66), (98, 99)]},
            seconds={"stall": 3, "wall": 131},
            counts=(0, 0, 3),
        )
    ],
    "a background save that lands when a failure strikes counts": [
        # Snapshot 32-33, landing 8 s later. Of 41 s, 32 are in the checkpoint and 1 was the stall.
        job(*(ASYNC, (41.0, 0)), lost=8, wall=41 + 7 + (128 - 32) + 2),
        # Half a second earlier it is void: back to the start.
        job(*(ASYNC, (40.5, 0)), lost=39.5, wall=40.5 + 7 + 128 + 3),
    ],
    "a snapshot waits for the save in flight": [
        # Snapshot at 4 s of training; the next is due at 8 s, but the save lands after 8 s of
        # training more, at 12; so at 4, 12, 20, ... 124 s of training: 16 stalls, and the last
        # never lands.
        job(
            OFTEN,
            spans={"stall": [(4, 5), (13, 14), (22, 23)]},
            seconds={"stall": 16, "wall": 144},
            counts=(0, 0, 15),
        )
    ],
    "a final save in the background is waited for": [
        # Training is over at 131; a snapshot, and 8 s until it has landed.
        job(
            ASYNC,
            final_save=True,
            seconds={"save": 8, "stall": 4, "wall": 140},
            counts=(0, 0, 4),
        )
    ],
    "a failure when the final save lands comes too late": [
        job(*(ASYNC, (140.0, 0)), final_save=True, counts=(0, 0, 4)),
        # Back to 96 s of training: 32 s, a stall and 8 s again after the recovery.
        job(*(ASYNC, (139.5, 0)), final_save=True, lost=32, wall=139.5 + 7 + 32 + 1 + 8),
    ],
    "the final save too waits for the save in flight": [
        # As above training is over at 144, 4 s after the last snapshot, whose save lands at 148;
        # then a snapshot of 1 s and a save of 8 s.
        job(
            OFTEN | {"in_flight": 1},
            final_save=True,
            seconds={"save": 4 + 8, "stall": 17, "wall": 157},
        )
    ],
    "a background save that takes no time lands before a failure": [
        # Snapshot 32-33, landed at 33: nothing is lost, 33 + 7 + 96 and two more stalls.
        job(*(ASYNC, (33.0, 0)), costs={"save": "0 s"}, lost=0, wall=138)
    ],
    # --- Replication: two copies on neighbours in a ring; 0 and 1 share a shard, 3 and 0 too ---
    "a lost server is rebuilt while its copies serve": [
        job(*(REPLICATION, (10.0, 0)), seconds={"detect": 1, "wall": 129})
    ],
    "when all copies of a shard are gone the job rolls back": [
        # Server 0 is replaced from 11 to 13 and filled from 13 to 17. 10 s and 5 s of training are
        # lost: 16 + 7 + 128.
        job(
            *(REPLICATION, (10.0, 0), (16.0, second)),
            seconds={"lost": 15, "load": 4, "reschedule": 2, "detect": 2, "wall": 151},
        )
        for second in (1, 3)
    ],
    "servers that share no shard may both be down": [
        job(*(REPLICATION, (10.0, 0), (16.0, 2)), seconds={"detect": 2, "wall": 130}),
        job(*(REPLICATION, (10.0, 0), (10.0, 2)), seconds={"detect": 1, "wall": 129}),
    ],
    "a server that is filled when its neighbour fails serves": [
        job(*(REPLICATION, (10.0, 0), (17.0, 1)), seconds={"detect": 2, "wall": 130}),
        # One that is rebuilt in no time serves before its neighbour fails.
        job(
            *(REPLICATION, (10.0, 0), (11.0, 1)),
            costs={"reschedule": "0 s", "load": "0 s"},
            seconds={"detect": 2, "wall": 130},
        ),
    ],
    "neighbours lost at once roll the job back": [
        job(
            *(REPLICATION, (10.0, 0), (10.0, 1)),
            seconds={"lost": 10, "load": 4, "reschedule": 2, "detect": 1, "wall": 145},
        )
    ],
    "three copies bear two neighbours": [
        job(
            *(REPLICATION | {"copies": 3}, (10.0, 0), (10.0, 1)),
            seconds={"detect": 1, "wall": 129},
        ),
        job(*(REPLICATION | {"copies": 3}, (10.0, 0), (10.0, 1), (10.0, 2)), lost=10),
    ],
    "rare checkpoints bound what a lost shard costs": [
        # Back to the checkpoint of 32 s: 10 s lost, 152 + 10 + 7.
        job(*(REPLICATION | {"interval": "32 s"}, (50.0, 0), (50.0, 1)), lost=10, wall=169)
    ],
    "a failure in the second that noticing takes is absorbed": [
        job(
            *(REPLICATION, (10.0, 0), (10.5, 1)),
            seconds={"detect": 1, "wall": 129},
            counts=(1, 1, 0),
        )
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_rules_by_hand(name: str, tmp_path: Path) -> None:
    for policy, tables, expected in CASES[name]:
        run = played(tmp_path, policy, **tables)

        assert run.ledger.train == 128
        assert {key: found(run, key, hand) for key, hand in expected.items()} == expected
