"""The rules of docs/semantics.md, each as an example worked by hand; all numbers are exact floats.

Unless a test says otherwise the job has 128 s of training on parameter servers 0 to 3 and trainers
4 and 5; a save takes 8 s, noticing a failure 1 s, replacing nodes 2 s and loading 4 s, so that a
recovery takes 1 + 2 + 4 = 7 s. With an interval of 32 s and without failures it goes

    train 0-32, save 32-40, train 40-72, save 72-80, train 80-112, save 112-120, train 120-152.

One second of one shard's training is 1 / (128 * 4) = 1 / 512 of all training.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from cprsim.contract import Context, Loss, Plan, Policy, Recover, every
from tests.by_hand import ASYNC, FULL, PARTIAL, Run, played

REPLICATION = {"system": "replication", "slowdown": 0, "takeover": "0 s"}
UNSAVED = {"system": "partial", "interval": "1000 s"}

Strikes = Sequence[tuple[float, int]]


def seconds(run: Run) -> dict[str, float]:
    """Seconds of the causes that took any, without training that counts, and the wall clock."""
    causes = ("lost", "save", "load", "reschedule", "detect", "slowdown", "stall", "wall")
    return {cause: value for cause in causes if (value := getattr(run.ledger, cause))}


def counts(run: Run) -> tuple[int, int, int]:
    """Failures that struck, failures absorbed, usable saves."""
    return run.ledger.failures, run.ledger.absorbed, run.ledger.saves


Play = Callable[..., Run]


@pytest.fixture
def job(tmp_path: Path) -> Play:
    """`job(policy, strikes, failures={...}, spares=..., ...)` plays the job of this page."""

    def playing(
        policy: dict[str, Any] | Policy,
        strikes: Strikes = (),
        *,
        failures: dict[str, Any] | None = None,
        final_save: bool = False,
        spares: int = 0,
        **costs: str,
    ) -> Run:
        run = played(
            tmp_path,
            policy,
            strikes,
            job={"final_save": final_save},
            cluster={"trainers": 2, "spares": spares},
            costs=costs,
            failures={"while_waiting": False} | (failures or {}),
        )
        assert run.ledger.train == 128
        return run

    return playing


# --- Saves and their ends ------------------------------------------------------------------------


def test_a_run_without_failures(job: Play) -> None:
    run = job(FULL)
    # 128 s of training and three saves of 8 s: 152 s.
    assert seconds(run) == {"save": 24, "wall": 152}
    assert run.spans("train") == [(0, 32), (40, 72), (80, 112), (120, 152)]
    assert run.spans("save") == [(32, 40), (72, 80), (112, 120)]
    assert counts(run) == (0, 0, 3)


def test_a_save_that_ends_when_a_failure_strikes_counts(job: Play) -> None:
    run = job(FULL, [(40.0, 0)])
    # Back to the checkpoint of 32 s that is just stored: nothing is lost, the recovery adds 7 s.
    assert seconds(run) == {"save": 24, "load": 4, "reschedule": 2, "detect": 1, "wall": 159}
    assert counts(run) == (1, 0, 3)


def test_an_interrupted_save_is_worthless_under_full_recovery(job: Play) -> None:
    run = job(FULL, [(39.5, 0)])
    # 7.5 s of the save are spent, then 32 s of training are lost and all starts over:
    # 39.5 + 7 + 152 = 198.5.
    assert seconds(run) == {
        "lost": 32,
        "save": 31.5,
        "load": 4,
        "reschedule": 2,
        "detect": 1,
        "wall": 198.5,
    }
    assert counts(run) == (1, 0, 3)


def test_a_failure_when_a_save_is_due_strikes_before_it(job: Play) -> None:
    run = job(FULL, [(32.0, 0)])
    # The stretch of training ends at 32 s, the failure strikes, no save has started:
    # 32 s are lost, 32 + 7 + 152 = 191.
    assert run.ledger.lost == 32
    assert run.ledger.wall == 191
    assert run.spans("save")[0] == (71, 79)


def test_a_save_goes_on_after_the_recovery_under_partial_recovery(job: Play) -> None:
    run = job(PARTIAL, [(36.0, 0), (48.0, 1)])
    # 4 s of the save, recovery from 36 to 43, the other 4 s until 47. One second of training later
    # server 1 fails, and has lost just that second: the checkpoint of 32 s counts.
    assert run.spans("save")[:2] == [(32, 36), (43, 47)]
    # Server 0 failed before the save was complete, and so lost the 32 s since the start.
    assert run.ledger.pls == (32 + 1) / 512
    # 152 s and two recoveries of 7 s.
    assert run.ledger.wall == 166
    assert run.ledger.save == 24
    assert run.ledger.saves == 3


def test_the_interval_counts_training_time_between_saves(job: Play) -> None:
    # Partial: a failure at 50, after 10 s of training since the save, leaves 22 s to train after
    # the recovery ends at 57: the save starts at 79.
    assert job(PARTIAL, [(50.0, 0)]).spans("save")[1] == (79, 87)
    # Full: training starts anew from the checkpoint of 32 s: 32 s from 57 on, so at 89.
    assert job(FULL, [(50.0, 0)]).spans("save")[1] == (89, 97)


def test_a_longer_interval_than_the_job_means_no_save(job: Play) -> None:
    for interval in ("128 s", "129 s", "1 h"):
        run = job({"system": "full", "interval": interval})
        assert seconds(run) == {"wall": 128}
        assert counts(run) == (0, 0, 0)


def test_a_save_due_at_the_last_useful_second_is_left_out(job: Play) -> None:
    # 128 s are four intervals of 32 s: three saves, the fourth only as the final save.
    assert counts(job(FULL)) == (0, 0, 3)
    run = job(FULL, final_save=True)
    assert counts(run) == (0, 0, 4)
    assert seconds(run) == {"save": 32, "wall": 160}


def test_a_final_save_comes_even_if_none_is_due(job: Play) -> None:
    run = job({"system": "full", "interval": "1 h"}, final_save=True)
    assert seconds(run) == {"save": 8, "wall": 136}


def test_the_initial_state_is_a_checkpoint(job: Play) -> None:
    run = job(FULL, [(10.0, 0)])
    # Back to the start, with all that loading it takes: 10 + 7 + 152 = 169.
    assert seconds(run) == {
        "lost": 10,
        "save": 24,
        "load": 4,
        "reschedule": 2,
        "detect": 1,
        "wall": 169,
    }


def test_a_failure_at_the_very_start(job: Play) -> None:
    # (The second one keeps the log's mean time between failures above 0; it comes too late.)
    run = job(FULL, [(0.0, 0), (1000.0, 0)])
    # Nothing is lost yet: 7 + 152.
    assert run.ledger.lost == 0
    assert run.ledger.wall == 159


# --- The end of the job --------------------------------------------------------------------------


def test_a_job_that_ends_when_a_failure_strikes_has_ended(job: Play) -> None:
    run = job(FULL, [(152.0, 0)])
    assert run.ledger.wall == 152
    assert counts(run) == (0, 0, 3)


def test_a_failure_a_moment_before_the_end_strikes(job: Play) -> None:
    run = job(FULL, [(151.5, 0)])
    # 31.5 s since the checkpoint of 96 s are lost; 151.5 + 7 + 32 = 190.5.
    assert run.ledger.lost == 31.5
    assert run.ledger.wall == 190.5


def test_with_a_final_save_the_job_has_not_ended_before_it(job: Play) -> None:
    run = job(FULL, [(152.0, 0)], final_save=True)
    # Training is done, its save has not begun: back to 96 s; 152 + 7 + 32 of training + 8 = 199.
    assert run.ledger.lost == 32
    assert run.ledger.wall == 199
    assert counts(run) == (1, 0, 4)


def test_a_final_save_that_ends_when_a_failure_strikes_ends_the_job(job: Play) -> None:
    run = job(FULL, [(160.0, 0)], final_save=True)
    assert run.ledger.wall == 160
    assert counts(run) == (0, 0, 4)


def test_an_interrupted_final_save_goes_on_under_partial_recovery(job: Play) -> None:
    run = job(PARTIAL, [(154.0, 0)], final_save=True)
    # 2 s of it, the recovery, the other 6 s: 154 + 7 + 6 = 167.
    assert run.ledger.wall == 167
    assert run.ledger.save == 32


# --- Recoveries and their ends -------------------------------------------------------------------


def test_a_recovery_that_ends_when_a_failure_strikes_has_ended(job: Play) -> None:
    run = job(FULL, [(10.0, 0), (17.0, 0)])
    # The first recovery ends at 10 + 7 = 17, whole; the second ends at 24, 24 + 152 = 176.
    assert run.spans("load") == [(13, 17), (20, 24)]
    assert seconds(run) == {
        "lost": 10,
        "save": 24,
        "load": 8,
        "reschedule": 4,
        "detect": 2,
        "wall": 176,
    }
    assert counts(run) == (2, 0, 3)


def test_a_recovery_that_ends_when_a_failure_strikes_has_ended_without_failures_in_it(
    job: Play,
) -> None:
    run = job(FULL, [(10.0, 0), (17.0, 0)], failures={"during_recovery": False})
    assert run.ledger.wall == 176
    assert counts(run) == (2, 0, 3)


def test_a_failure_in_the_downtime_is_absorbed(job: Play) -> None:
    # The downtime of 3 s, from 10 to 13: nothing else comes of the failures in it.
    run = job(FULL, [(10.0, 0), (10.5, 1), (12.5, 2)])
    assert run.ledger.wall == 169
    assert counts(run) == (1, 2, 3)


def test_a_failure_when_loading_starts_strikes(job: Play) -> None:
    run = job(FULL, [(10.0, 0), (13.0, 1)])
    # The downtime ends at 13 and the failure strikes: another 3 s, then 4 s of loading until 20.
    assert run.spans("detect") == [(10, 11), (13, 14)]
    assert [span for span in run.spans("load") if span[0] < span[1]] == [(16, 20)]
    assert run.ledger.load == 4
    assert run.ledger.wall == 172
    assert counts(run) == (2, 0, 3)


def test_a_failure_while_loading_starts_the_recovery_again(job: Play) -> None:
    run = job(FULL, [(10.0, 0), (15.0, 1)])
    # 2 s of loading for nothing, then 7 s from 15 on: 22 + 152 = 174.
    assert run.spans("load") == [(13, 15), (18, 22)]
    assert run.ledger.load == 6
    assert run.ledger.wall == 174
    assert counts(run) == (2, 0, 3)


def test_a_failure_while_loading_is_absorbed_if_none_strikes_in_recoveries(job: Play) -> None:
    failures = {"during_recovery": False}
    run = job(FULL, [(10.0, 0), (13.0, 1), (15.0, 1)], failures=failures)
    assert run.spans("load") == [(13, 17)]
    assert run.ledger.wall == 169
    assert counts(run) == (1, 2, 3)


DUE_50 = {"distribution": "deterministic", "mean": "50 s", "ages": "new"}


def test_a_renewed_clock_starts_when_loading_does(job: Play) -> None:
    law = DUE_50
    run = job(UNSAVED, failures={"exactly": None} | law)
    # At 50; loading starts at 53, so at 103; at 106, so at 156, but 128 s of training and two
    # recoveries are over at 142.
    assert [at_s for at_s, _ in run.seen.failures] == [50, 103]
    assert run.ledger.wall == 142


def test_a_renewed_clock_starts_when_training_does_if_none_strikes_in_recoveries(job: Play) -> None:
    law = DUE_50 | {"during_recovery": False}
    run = job(UNSAVED, failures={"exactly": None} | law)
    # At 50; training goes on at 57, so at 107.
    assert [at_s for at_s, _ in run.seen.failures] == [50, 107]
    assert run.ledger.wall == 142


def test_a_renewed_clock_starts_when_the_failure_is_noticed_if_training_goes_on(job: Play) -> None:
    law = DUE_50
    run = job(REPLICATION, failures={"exactly": None} | law)
    # At 50; training goes on at 51, so at 101. 128 s of training and two seconds are over at 130.
    assert [at_s for at_s, _ in run.seen.failures] == [50, 101]
    assert run.ledger.wall == 130


def test_a_replaced_node_is_new_and_the_others_keep_their_age(job: Play) -> None:
    # Lives of 50 s each end at once at 50; the nodes are replaced in the downtime of 50-53, and so
    # fail at 103 again.
    law = DUE_50 | {"per": "node"}
    run = job(UNSAVED, failures={"exactly": None} | law)
    assert [at_s for at_s, _ in run.seen.failures] == [50, 103]
    assert run.ledger.wall == 142


def test_nodes_whose_lives_end_at_the_same_instant_are_one_failure(job: Play) -> None:
    law = DUE_50 | {"mean": "100 s", "per": "node"}
    run = job(UNSAVED, failures={"exactly": None} | law)
    # All four servers are lost at 100, and each of them 100 s of training.
    assert run.ledger.pls == 4 * 100 / 512


# --- What is lost --------------------------------------------------------------------------------


def test_nodes_that_fail_at_the_same_instant_are_one_failure(job: Play) -> None:
    run = job(PARTIAL, [(10.0, 1), (10.0, 3)])
    assert [(at_s, hit.servers, hit.trainers) for at_s, hit in run.seen.failures] == [
        (10, (1, 3), ())
    ]
    assert counts(run) == (1, 0, 3)
    assert run.ledger.wall == 159  # one recovery


@pytest.mark.parametrize("servers", [1, 2, 3, 4])
def test_each_server_of_a_failure_adds_its_own_share(job: Play, servers: int) -> None:
    run = job(PARTIAL, [(50.0, server) for server in range(servers)])
    # At 50 the job is 10 s past its checkpoint of 32 s.
    assert run.ledger.pls == servers * 10 / 512
    assert run.ledger.updates_lost == servers * 10 / 512


def test_a_second_loss_of_a_shard_counts_twice_in_pls_and_once_in_updates(job: Play) -> None:
    run = job(UNSAVED, [(10.0, 0), (27.0, 0)])
    # At 10 it has lost 10 s, at 27 (17 was the end of the recovery) all 20 s since the start,
    # of which the first 10 s were lost before.
    assert run.ledger.pls == (10 + 20) / 512
    assert run.ledger.updates_lost == (10 + 10) / 512


def test_two_shards_each_lose_their_own(job: Play) -> None:
    run = job(UNSAVED, [(10.0, 0), (27.0, 1)])
    assert run.ledger.pls == (10 + 20) / 512
    assert run.ledger.updates_lost == (10 + 20) / 512


def test_a_checkpoint_ends_what_a_shard_can_lose(job: Play) -> None:
    run = job(PARTIAL, [(10.0, 0), (57.0, 0)])
    # Recovery 10-17, training to 39, save to 47, training to 57: 10 s past the checkpoint.
    assert run.ledger.pls == (10 + 10) / 512
    assert run.ledger.updates_lost == (10 + 10) / 512


def test_full_recovery_loses_no_learning(job: Play) -> None:
    run = job(FULL, [(10.0, 0), (50.0, 1)])
    assert run.ledger.pls == 0
    assert run.ledger.updates_lost == 0


class TwoRules(Policy):
    """A lone server loses its shard; when two are down the whole job rolls back."""

    system: Literal["test-two-rules"] = "test-two-rules"

    def plan(self, context: Context) -> Plan:
        return Plan("partial", every(1000.0), one_or_more)


def one_or_more(loss: Loss) -> Recover:
    return Recover("lost" if len(loss.servers) == 1 else "all")


def test_a_shard_lost_twice_with_a_rollback_between_has_lost_its_last_part(job: Play) -> None:
    run = job(TwoRules(), [(10.0, 0), (37.0, 1), (37.0, 2), (49.0, 0)])
    # Server 0 loses 10 s; recovered at 17, the job is at 30 s of training when it rolls back to
    # its start at 37. From 44 on it trains 5 s, which server 0 loses at 49.
    assert run.ledger.lost == 30
    assert run.ledger.updates_lost == 5 / 512


def test_what_is_trained_again_after_a_rollback_is_not_lost_for_good(job: Play) -> None:
    run = job(TwoRules(), [(10.0, 0), (37.0, 1), (37.0, 2)])
    # As above, but server 0 does not fail again: after the rollback to the start every update
    # that it had lost is made once more.
    assert run.ledger.updates_lost == 0


# --- Trainers ------------------------------------------------------------------------------------


def test_a_lost_trainer_restarts_the_job_under_full_recovery(job: Play) -> None:
    run = job(FULL, [(10.0, 4)])
    assert run.ledger.lost == 10
    assert run.ledger.load == 4
    assert run.ledger.wall == 169


def test_a_lost_trainer_is_waited_for_under_partial_recovery(job: Play) -> None:
    for policy in (PARTIAL, {"system": "cpr-vanilla", "interval": "32 s"}):
        run = job(policy, [(10.0, 4)])
        # Nothing to load: 152 + 1 + 2.
        assert seconds(run) == {"save": 24, "reschedule": 2, "detect": 1, "wall": 155}
        assert run.ledger.pls == 0


def test_a_lost_trainer_voids_background_saves(job: Play) -> None:
    run = job(ASYNC, [(35.0, 4)])
    # Snapshot 32-33, in flight until 41: void at 35. 32 s and 2 s of training are lost, and
    # 35 + 7 + 128 and three stalls are 173.
    assert run.ledger.lost == 34
    assert run.ledger.wall == 173


def test_a_lost_trainer_is_waited_for_under_replication(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 4)])
    assert seconds(run) == {"reschedule": 2, "detect": 1, "wall": 131}


def test_a_lost_server_is_copied_while_its_trainer_is_waited_for(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (10.0, 4)])
    # The job can't train on, so the 4 s of the copy count: 128 + 7.
    assert seconds(run) == {"load": 4, "reschedule": 2, "detect": 1, "wall": 135}


# --- Spares --------------------------------------------------------------------------------------


def test_a_spare_takes_over_at_once(job: Play) -> None:
    run = job(UNSAVED, [(10.0, 0)], spares=1, reschedule="50 s")
    assert seconds(run) == {"load": 4, "detect": 1, "wall": 133}


def test_a_used_spare_is_made_good_after_a_rescheduling_delay(job: Play) -> None:
    # Made good 50 s after the failure. One at 60 finds it; one at 59.5 waits half a second for it.
    in_time = job(UNSAVED, [(10.0, 0), (60.0, 1)], spares=1, reschedule="50 s")
    assert in_time.ledger.reschedule == 0
    assert in_time.ledger.wall == 128 + 2 * 5
    too_early = job(UNSAVED, [(10.0, 0), (59.5, 1)], spares=1, reschedule="50 s")
    assert too_early.ledger.reschedule == 0.5
    assert too_early.ledger.wall == 128 + 5 + 5.5


def test_a_spare_is_taken_even_if_another_node_is_waited_for(job: Play) -> None:
    # Two nodes fail and there is one spare: the job waits 50 s for the other node. The second to
    # come is a spare again for the failure at 70 (the first recovery is over at 65).
    run = job(UNSAVED, [(10.0, 0), (10.0, 1), (70.0, 2)], spares=1, reschedule="50 s")
    assert run.ledger.reschedule == 50
    assert run.ledger.wall == 128 + 55 + 5


# --- Background saves ----------------------------------------------------------------------------


def test_a_run_with_background_saves(job: Play) -> None:
    run = job(ASYNC)
    assert run.spans("stall") == [(32, 33), (65, 66), (98, 99)]
    assert seconds(run) == {"stall": 3, "wall": 131}
    assert counts(run) == (0, 0, 3)


def test_a_background_save_that_lands_when_a_failure_strikes_counts(job: Play) -> None:
    # Snapshot 32-33, landing 8 s later. Of 41 s, 32 are in the checkpoint and 1 was the stall.
    run = job(ASYNC, [(41.0, 0)])
    assert run.ledger.lost == 8
    assert run.ledger.wall == 41 + 7 + (128 - 32) + 2
    # Half a second earlier it is void: back to the start.
    run = job(ASYNC, [(40.5, 0)])
    assert run.ledger.lost == 39.5
    assert run.ledger.wall == 40.5 + 7 + 128 + 3


def test_a_snapshot_waits_for_the_save_in_flight(job: Play) -> None:
    run = job({"system": "async", "interval": "4 s", "snapshot": "1 s"})
    # Snapshot at 4 s of training; the next is due at 8 s, but the save lands after 8 s of training
    # more, at 12; so at 4, 12, 20, ... 124 s of training: 16 stalls, and the last never lands.
    assert run.spans("stall")[:3] == [(4, 5), (13, 14), (22, 23)]
    assert seconds(run) == {"stall": 16, "wall": 144}
    assert counts(run) == (0, 0, 15)


def test_a_final_save_in_the_background_is_waited_for(job: Play) -> None:
    run = job(ASYNC, final_save=True)
    # Training is over at 131; a snapshot, and 8 s until it has landed.
    assert seconds(run) == {"save": 8, "stall": 4, "wall": 140}
    assert counts(run) == (0, 0, 4)


def test_a_failure_when_the_final_save_lands_comes_too_late(job: Play) -> None:
    assert counts(job(ASYNC, [(140.0, 0)], final_save=True)) == (0, 0, 4)
    run = job(ASYNC, [(139.5, 0)], final_save=True)
    # Back to 96 s of training: 32 s, a stall and 8 s again after the recovery.
    assert run.ledger.lost == 32
    assert run.ledger.wall == 139.5 + 7 + 32 + 1 + 8


def test_the_final_save_too_waits_for_the_save_in_flight(job: Play) -> None:
    policy = {"system": "async", "interval": "4 s", "snapshot": "1 s", "in_flight": 1}
    run = job(policy, final_save=True)
    # As above training is over at 144, 4 s after the last snapshot, whose save lands at 148; then
    # a snapshot of 1 s and a save of 8 s.
    assert seconds(run) == {"save": 4 + 8, "stall": 17, "wall": 157}


def test_a_background_save_that_takes_no_time_lands_before_a_failure(job: Play) -> None:
    run = job(ASYNC, [(33.0, 0)], save="0 s")
    # Snapshot 32-33, landed at 33: nothing is lost, 33 + 7 + 96 and two more stalls.
    assert run.ledger.lost == 0
    assert run.ledger.wall == 138


# --- Replication ---------------------------------------------------------------------------------


def test_a_lost_server_is_rebuilt_while_its_copies_serve(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0)])
    assert seconds(run) == {"detect": 1, "wall": 129}


@pytest.mark.parametrize("second", [1, 3])
def test_when_all_copies_of_a_shard_are_gone_the_job_rolls_back(job: Play, second: int) -> None:
    # Two copies on neighbours in a ring of four: 0 and 1 share a shard, 3 and 0 too.
    # Server 0 is replaced from 11 to 13 and filled from 13 to 17.
    run = job(REPLICATION, [(10.0, 0), (16.0, second)])
    # 10 s and 5 s of training are lost: 16 + 7 + 128.
    assert seconds(run) == {"lost": 15, "load": 4, "reschedule": 2, "detect": 2, "wall": 151}


def test_servers_that_share_no_shard_may_both_be_down(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (16.0, 2)])
    assert seconds(run) == {"detect": 2, "wall": 130}
    run = job(REPLICATION, [(10.0, 0), (10.0, 2)])
    assert seconds(run) == {"detect": 1, "wall": 129}


def test_a_server_that_is_filled_when_its_neighbour_fails_serves(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (17.0, 1)])
    assert seconds(run) == {"detect": 2, "wall": 130}


def test_a_server_that_is_rebuilt_in_no_time_serves_before_its_neighbour_fails(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (11.0, 1)], reschedule="0 s", load="0 s")
    assert seconds(run) == {"detect": 2, "wall": 130}


def test_neighbours_lost_at_once_roll_the_job_back(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (10.0, 1)])
    assert seconds(run) == {"lost": 10, "load": 4, "reschedule": 2, "detect": 1, "wall": 145}


def test_three_copies_bear_two_neighbours(job: Play) -> None:
    copies = REPLICATION | {"copies": 3}
    assert seconds(job(copies, [(10.0, 0), (10.0, 1)])) == {"detect": 1, "wall": 129}
    run = job(copies, [(10.0, 0), (10.0, 1), (10.0, 2)])
    assert run.ledger.lost == 10


def test_rare_checkpoints_bound_what_a_lost_shard_costs(job: Play) -> None:
    run = job(REPLICATION | {"interval": "32 s"}, [(50.0, 0), (50.0, 1)])
    # Back to the checkpoint of 32 s: 10 s lost, 152 + 10 + 7.
    assert run.ledger.lost == 10
    assert run.ledger.wall == 169


def test_a_failure_in_the_second_that_noticing_takes_is_absorbed(job: Play) -> None:
    run = job(REPLICATION, [(10.0, 0), (10.5, 1)])
    assert seconds(run) == {"detect": 1, "wall": 129}
    assert counts(run) == (1, 1, 0)
