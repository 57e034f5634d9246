"""Silent faults that a verification finds, and checkpoints that turn out torn, worked by hand.

The job has 128 s of training on four servers; it saves every 32 s, which takes 8 s. Verifying takes
2 s, noticing a failure 1 s, replacing nodes 2 s, loading 4 s. Silent faults strike after so much
training, that which is done again included.
"""

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cprsim.basics.streams import Cause, stream
from cprsim.contract import Recover
from cprsim.contract.ledger import Ledger
from cprsim.machine import marks
from cprsim.machine.codes import NONE
from cprsim.machine.plan_rows import PlanRow
from cprsim.machine.run_rows import CheckpointRow, TierRow
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from cprsim.testing import Recording
from tests.by_hand import FULL, played


def seed_of(torn: str) -> int:
    """One whose first saves are torn where there is an `x`."""

    def goes(seed: int) -> bool:
        rng = stream(seed, 0, Cause.SAVE_TORN)
        return all((rng.random() < 0.5) == (each == "x") for each in torn)

    return next(seed for seed in count() if goes(seed))


class Seen(Recording):
    """Also to which progress the job returned."""

    def __init__(self) -> None:
        super().__init__()
        self.returns: list[tuple[str, float]] = []

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        self.returns.append((answer.source, progress_s))


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """`job(policy, silent_s, strikes)` plays the job of this page."""

    def playing(
        policy: dict[str, Any],
        silent_s: float | None = None,
        *strikes: tuple[float, int],
        torn: str = "",
        final_save: bool = False,
        costs: dict[str, str] | None = None,
        trainers: int = 0,
    ) -> tuple[Ledger, Seen]:
        silent = {"distribution": "deterministic", "mean": f"{silent_s} s"}
        run = played(
            tmp_path,
            policy,
            strikes,
            seed_of(torn),
            Seen(),
            job={"final_save": final_save},
            cluster={"trainers": trainers},
            costs={"verify": "2 s"} | (costs or {}),
            storage={"torn": 0.5 if torn else 0.0},
            failures={} if silent_s is None else {"silent": silent},
        )
        return run.ledger, run.seen

    return playing


# --- Silent faults -------------------------------------------------------------------------------


def test_what_is_corrupt_returns_to_the_last_that_was_verified(job: Any) -> None:
    # Faults after 70, 140, ... s of training: in the third interval, and in the fourth, which is
    # trained from 128 to 160 s. The end is verified, too, and not saved.
    ledger, seen = job(FULL | {"verify_every": 1}, 70)

    assert [progress_s for _, progress_s in seen.returns] == [64, 96]
    assert (ledger.lost, ledger.verify, ledger.save, ledger.load) == (64, 6 * 2, 3 * 8, 2 * 4)
    assert ledger.wall == 6 * 32 + 12 + 24 + 8
    assert (ledger.corrupt, ledger.failures, ledger.pls) == (0, 0, 0)
    # One after 64, 128, ... s strikes before the verification at that instant.
    _, seen = job(FULL | {"verify_every": 1}, 64)
    assert [progress_s for _, progress_s in seen.returns] == [32, 64, 96]


def test_what_was_saved_since_is_left_out(job: Any) -> None:
    # Every second save is verified, of 64 s; that of 96 s isn't. A fault after 100 s is found at
    # the end, which is saved: the job returns to 64, and is over after 192 s of training.
    ledger, seen = job(FULL | {"verify_every": 2}, 100, final_save=True)

    assert seen.returns == [("remote", 64)]
    assert (ledger.lost, ledger.verify) == (64, 3 * 2)
    assert ledger.saves == 5  # of 32, 64, 96, 96, and 128


def test_two_saves_are_not_verified_before_the_third(job: Any) -> None:
    # That of 96 s, at 112 on the clock, and the end, at 112 + 2 + 8 + 32.
    _, seen = job(FULL | {"verify_every": 3})
    assert [start for cause, start, _ in seen.spans if cause == "verify"] == [112, 154]


def test_without_verification_nobody_knows(job: Any) -> None:
    found, _ = job(FULL, 100)
    without, _ = job(FULL)

    assert (found.corrupt, without.corrupt) == (1, 0)
    assert found.wall == without.wall


def test_a_rollback_may_undo_a_fault_or_keep_it(job: Any) -> None:
    # A failure 20 s after the fault of 70 s, before the next save: the job returns to sound rows.
    undone, _ = job(FULL, 70, (64.0 + 16 + 26, 0))
    kept, _ = job(FULL, 70, (96.0 + 24 + 10, 0))  # the save of 96 s holds it

    # A corrupt checkpoint is no torn one.
    assert job(FULL, 70, (96.0 + 24 + 10, 0), torn="oooooo")[0] == kept

    # The second fault, after 140 s, strikes both.
    assert (undone.corrupt, kept.corrupt) == (1, 1)
    late, _ = job(FULL, 90, (64.0 + 16 + 28, 0))  # 156 s are trained in all; the next is after 180
    assert late.corrupt == 0


def test_a_failure_strikes_while_verifying_and_while_loading_what_was_verified(job: Any) -> None:
    # It verifies from 32 to 34, and from 74 to 76. At 33 s server 0 fails: all starts over.
    ledger, seen = job(FULL | {"verify_every": 1}, None, (33.0, 0))
    assert seen.returns == [("remote", 0)]
    assert (ledger.lost, ledger.verify) == (32, 1 + 4 * 2)
    # Partial recovery goes on verifying for the second that is left.
    partial, _ = job({"system": "partial", "interval": "32 s", "verify_every": 1}, None, (33.0, 0))
    assert (partial.lost, partial.verify) == (0, 4 * 2)
    # A fault after 40 s is found at 76, where all is loaded until 80. At 78 s server 0 fails: then
    # partial recovery, too, waits for it and loads all.
    both, seen = job({"system": "partial", "interval": "32 s", "verify_every": 1}, 140, (78.0, 0))
    assert both.load == 4
    cut, seen = job({"system": "partial", "interval": "32 s", "verify_every": 1}, 60, (78.0, 0))
    assert seen.returns[:2] == [("remote", 32), ("remote", 32)]
    assert cut.load == 2 + 4 + 4 * (len(seen.returns) - 2)


def test_what_the_near_tier_verified_is_returned_to_without_the_store(job: Any) -> None:
    tiers = {
        "system": "tiered",
        "verify_every": 1,
        "local": {"interval": "16 s", "save": "1 s", "load": "1 s"},
        "remote": {"interval": "64 s"},
    }
    # Saves at 16, 32, 48 (near), 64 (far), ...: a fault after 70 s is found before that of 80 s.
    ledger, seen = job(tiers, 70)
    assert seen.returns[0] == ("local", 64)
    assert ledger.load == len(seen.returns) * 1


def test_what_a_tier_has_dropped_is_not_returned_to() -> None:
    kept = [CheckpointRow(progress_s=32.0, marks=0), CheckpointRow(progress_s=64.0)]
    plan, tier = PlanRow(schedules=1, older=1), TierRow()
    ring: Any = SimpleNamespace(plan=plan, tiers=[tier], kept=kept)
    assert marks.last_verified(ring) == NONE
    tier.kept_count = 1
    assert marks.last_verified(ring) == 0


# --- Torn checkpoints ----------------------------------------------------------------------------


def test_a_torn_checkpoint_costs_a_load_and_the_job_an_older_one(job: Any) -> None:
    # At 100 s 84 s are trained; the second save, of 64 s, is torn: after 1 + 2 s it is loaded for
    # nothing, and then that of 32 s.
    ledger, seen = job(FULL, None, (100.0, 0), torn="oxoooo")
    assert seen.returns == [("remote", 32)]
    assert (ledger.lost, ledger.load) == (52, 8)
    assert ledger.wall == 100 + 3 + 8 + 96 + 2 * 8


def test_where_none_is_kept_the_job_starts_over(job: Any) -> None:
    ledger, seen = job(FULL | {"keep": 1}, None, (100.0, 0), torn="oxoooo")
    assert seen.returns == [("remote", 0)]
    assert (ledger.lost, ledger.load) == (84, 8)


def test_a_lost_shard_returns_to_an_older_one_too(job: Any) -> None:
    ledger, _ = job({"system": "partial", "interval": "32 s"}, None, (100.0, 0), torn="oxoooo")
    assert ledger.load == 8
    assert ledger.pls == ledger.updates_lost == 52 / 128 / 4


def test_a_lost_trainer_alone_reads_none(job: Any) -> None:
    # Node 4 fails at 90 s. At 100 s server 0 does, after 81 s of training, and only then is the
    # torn save of 64 s loaded for nothing.
    partial = {"system": "partial", "interval": "32 s"}
    ledger, _ = job(partial, None, (90.0, 4), (100.0, 0), torn="oxoooo", trainers=1)
    assert ledger.load == 8
    assert ledger.pls == (81 - 32) / 128 / 4
    # Under full recovery all load it when node 4 fails, after 74 s of training.
    ledger, _ = job(FULL, None, (90.0, 4), torn="oxoooo", trainers=1)
    assert (ledger.load, ledger.lost) == (8, 74 - 32)


def test_a_failure_while_a_torn_one_is_loaded_has_it_loaded_again(job: Any) -> None:
    # Loads begin at 103 s; at 105 s server 1 fails.
    ledger, _ = job(FULL, None, (100.0, 0), (105.0, 1), torn="oxoooo")
    assert ledger.load == 2 + 8


def test_a_checksum_finds_it_at_once(job: Any) -> None:
    # Each save takes 1 s more; the second turns out void at its end, and is tried again.
    policy = FULL | {"checksum": True}
    ledger, seen = job(policy, None, (110.0, 0), torn="oxoooo", costs={"checksum": "1 s"})
    assert seen.returns == [("remote", 64)]
    # Saves: 9 s each, at 32, 73 and 82; 19 s of training until 110.
    assert (ledger.lost, ledger.load, ledger.save) == (19, 4, 4 * 9)


# --- Many runs -----------------------------------------------------------------------------------


def test_silent_faults_and_torn_checkpoints_move_no_other_draw() -> None:
    def walls(policy: dict[str, Any], **tables: Any) -> Any:
        failures = {"distribution": "weibull", "mean": "5 h", "shape": 0.7}
        scenario = Scenario(
            job={"useful_time": "40 h"},
            cluster={"parameter_servers": 4},
            costs={
                "save": "2 min",
                "load": "0 s",
                "reschedule": {"distribution": "exponential", "mean": "3 min"},
            },
            failures=failures | tables.pop("failures", {}),
            policies={"it": policy},
            **tables,
        )
        return simulate(scenario, ["it"], range(20), 0)[:, 0]

    partial = {"system": "partial", "interval": "1 h"}
    plain = walls(partial)
    # Loads take no time here, so that what is torn costs none.
    late = walls(partial, storage={"torn": 0.3}, failures={"silent": {"mean": "30 h"}})
    wall, pls = COLUMNS.index("wall"), COLUMNS.index("pls")
    assert np.array_equal(plain[:, wall], late[:, wall])
    assert late[:, pls].sum() > plain[:, pls].sum()
