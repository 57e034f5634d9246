"""Saves of modified rows alone: what they write is counted here, and what they restore is exact."""

from dataclasses import replace

import numpy as np
import pytest

from cprsim.contract import Differences
from cprsim.contract.actions import ALL_BITS
from cprsim.machine.differences import rebaseline_pays
from cprsim.policies.differential import mean_save_of_differences
from cprsim.policies.full import full_plan
from cprsim.trainer.coordinator.history import JobSetBack
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.shard import ModifiedRows, Shard, ShardState
from tests.trainer.runs import DATA, DIM, STEPS, behind, ran, servers_hit, trainer_hit
from tests.trainer.test_oracle import INTERVAL, KILLS
from tests.waiting import wait_until

PLACEMENT = Placement(tuple(table.rows for table in DATA.tables), 2)
#: Of an array in a file, before its numbers.
HEADER = 128


def landed(plan, failures, folder, **options):
    """A run that ends with a save of everything: all others have been stored by then."""
    return ran(plan, failures, folder, final_save=True, **options)


def differing(variant, interval_s=INTERVAL, bits=ALL_BITS):
    """Saves of what was modified, of which the model expects next to nothing."""
    sequence = Differences(variant, interval_s, 1.0, 1.0, (0.0, 1.0), (0.0, 0.01), bits)
    full = full_plan(interval_s)
    (schedule,) = full.schedules
    mean = mean_save_of_differences(sequence, STEPS)
    return replace(full, schedules=(schedule._replace(save=mean),), sequence=sequence)


def modified(server, first, end):
    """How many rows of a server these steps update."""
    used = [PLACEMENT.ids(DATA.batch(step).sparse) for step in range(first, end)]
    distinct = np.unique(np.concatenate(used))
    return int((distinct % PLACEMENT.servers == server).sum())


def size(server, rows=None):
    """Bytes of a file with so many rows and their numbers, or with all rows."""
    each = DIM * 4 + 4
    return (
        2 * HEADER + PLACEMENT.rows_of(server) * each
        if rows is None
        else (3 * HEADER + rows * (each + 4))
    )


def saved(run):
    """Of each save and server: the step, the server, how many rows, and the bytes."""
    found = [(each.step, each.server, each.rows, each.size) for each in run.job.parts]
    return sorted(found, key=in_order)


def in_order(save):
    return [-1 if each is None else each for each in save]


def expected(*saves):
    """The same for saves at steps, each with the step that it is a difference from, or None."""
    found = []
    for step, since in saves:
        for server in range(PLACEMENT.servers):
            rows = None if since is None else modified(server, since, step)
            found.append((step, server, rows, size(server, rows)))
    return found


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return ran(full_plan(1e9), [], tmp_path_factory.mktemp("clean"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "failures", "manner"),
    [
        ("one-shot", KILLS, InjectionMode()),
        ("consecutive", KILLS, InjectionMode()),
        ("intermittent", KILLS, InjectionMode(saving=1.0)),
        ("one-shot", [(13.0, trainer_hit()), (27.0, trainer_hit(0))], InjectionMode()),
    ],
)
def test_a_job_that_returns_to_differences_goes_on_as_one_that_was_saved_whole(
    clean, tmp_path, variant, failures, manner
):
    run = landed(differing(variant, 4.0), failures, tmp_path / "a", manner=manner)
    whole = landed(behind(full_plan(4.0)), failures, tmp_path / "b", manner=manner)

    assert run.predictions == whole.predictions == clean.predictions
    assert run.digests == whole.digests == clean.digests
    assert run.job.executed == whole.job.executed > STEPS
    assert (run.failures, run.struck) == (whole.failures, whole.struck)
    assert [each[:2] for each in saved(run)] == [each[:2] for each in saved(whole)]
    assert sum(each.size for each in run.job.parts) < sum(each.size for each in whole.job.parts)


@pytest.mark.slow
@pytest.mark.essential
@pytest.mark.parametrize(
    ("variant", "saves"),
    [
        ("one-shot", [(8, None), (16, 8), (24, 8), (32, 8)]),
        ("consecutive", [(8, None), (16, 8), (24, 16), (32, 24)]),
    ],
)
def test_what_is_written_are_the_rows_modified_since(tmp_path, variant, saves):
    saves = [*saves, (STEPS, None)]
    run = landed(differing(variant, 8.0), [], tmp_path / "quiet")
    assert saved(run) == expected(*saves)

    # It returns to 16 from 21 and to 32 from 36: what is modified since is the same.
    hit = [(21.0, servers_hit(0)), (41.0, servers_hit(1))]
    assert saved(landed(differing(variant, 8.0), hit, tmp_path / "hit")) == expected(*saves)


def test_a_baseline_is_due_by_what_was_written(tmp_path):
    run = landed(differing("intermittent", 4.0), [], tmp_path)

    dense = next((tmp_path / "dense").glob("*.npys")).stat().st_size
    saves, sizes = [(4, None)], []
    for step in range(8, STEPS, 4):
        base = next(at for at, since in reversed(saves) if since is None)
        if sizes and rebaseline_pays(len(sizes), sum(sizes), sizes[-1]):
            saves.append((step, None))
            sizes = []
            continue
        saves.append((step, base))
        difference, whole = (
            dense + sum(size for *_, size in expected(each))
            for each in ((step, base), (step, None))
        )
        sizes.append(difference / whole)
    assert saved(run) == expected(*saves, (STEPS, None))
    assert sum(since is None for _, since in saves) > 1


@pytest.mark.parametrize(
    ("spoilt", "found", "after"),
    [(3, 16, [(24, None), (32, 24)]), (1, 0, [(8, None), (16, 8), (24, 8), (32, 8)])],
)
def test_a_spoilt_difference_or_baseline_sends_the_job_back_to_what_is_sound(
    clean, tmp_path, spoilt, found, after
):
    done = []

    def spoil(_cluster, step):
        if step == 26 and not done:
            folder = tmp_path / "server-1"
            wait_until((folder / "00000003.json").exists, "the save of step 24 is not stored")
            path = folder / f"{spoilt:08d}.npys"
            done.append(path)
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)

    run = landed(differing("one-shot", 8.0), [(28.0, servers_hit(0))], tmp_path, stepped=spoil)

    assert run.predictions == clean.predictions
    assert run.digests == clean.digests
    assert [each.to for each in run.job.row_events if isinstance(each, JobSetBack)] == [found]
    before = expected((8, None), (16, 8), (24, 8))
    assert saved(run) == sorted(before + expected(*after, (STEPS, None)), key=in_order)


# --- Which rows, with nothing real ---


def test_any_checkpoint_that_may_be_built_on_is_told_from_what_came_after_it():
    rows = ModifiedRows(6)
    rows.note(0, np.array([0]))
    assert rows.select(1, None, [0]) is None
    rows.note(1, np.array([1, 2]))
    assert rows.select(2, "baseline", [1]).tolist() == [1, 2]
    rows.note(2, np.array([3]))

    # That of step 2 is under way, and then void.
    assert rows.select(3, "save", [1, 2]).tolist() == [1, 2, 3]
    assert rows.select(4, "save", [1]).tolist() == [1, 2, 3]

    rows.note(4, np.array([4]))
    assert rows.select(5, "save", [4]).tolist() == [4]
    assert rows.select(6, "baseline", [4]).tolist() == [1, 2, 3, 4]


def test_rows_of_a_checkpoint_that_was_returned_to_count_from_its_baseline_on():
    rows = ModifiedRows(6)
    rows.note(7, np.array([0, 1, 2, 3]))
    rows.return_to(5, np.array([3]))
    rows.note(5, np.array([4]))

    assert rows.select(6, "save", [5]).tolist() == [4]
    assert rows.select(7, "baseline", [5]).tolist() == [3, 4]


def test_rows_that_came_from_another_server_are_in_no_checkpoint():
    state = ShardState(Shard(4, 2, 0, 0.5, 0.1))
    state.modified = ModifiedRows(4)
    state.become(3, (np.zeros((1, 2), np.float32), np.zeros(1, np.float32)), np.array([2]))

    assert state.modified.select(3, "save", [0]).tolist() == [2]
