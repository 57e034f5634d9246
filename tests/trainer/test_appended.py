"""Saves of chosen rows, counted beforehand, and in real runs."""

from types import SimpleNamespace

import numpy as np
import pytest

from cprsim.contract import Tracking
from cprsim.failures.hit import Hit
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.training import train
from cprsim.trainer.validation.appended import (
    Appended,
    appended,
    chosen_size,
    lengths,
    whole_size,
)
from cprsim.trainer.validation.pinned import Kill
from cprsim.trainer.validation.predicted import predict
from tools.pages.counted import CALIBRATION, Asked, read


class Sampled:
    """Batches of 50 samples of two tables: 300 rows, of which few are used, and 20."""

    tables = (SimpleNamespace(rows=300, dim=4), SimpleNamespace(rows=20, dim=4))

    def batch(self, step):
        rng = np.random.default_rng(step)
        sparse = np.stack([rng.integers(0, 40, 50), rng.integers(0, 20, 50)], axis=1)
        return SimpleNamespace(sparse=sparse)


def played(fraction, kills=()):
    """Saves at steps 4, 8, ..., 100; the small table is saved whole."""
    return appended(Sampled(), Tracking("mfu", fraction), [0], 2, 4, 101, kills)


def used_by(first, last, server):
    batches = [Sampled().batch(step).sparse[:, 0] for step in range(first, last)]
    return np.count_nonzero(np.unique(np.concatenate(batches)) % 2 == server)


@pytest.mark.parametrize("fraction", [0.5, 0.1])
def test_rows_are_saved_that_were_used_and_no_more_than_asked_for(fraction):
    found = played(fraction).rows

    expected = [
        [min(used_by(first, first + 4, server), round(fraction * 150)) + 10 for server in (0, 1)]
        for first in range(0, 97, 4)
    ]
    if fraction == 0.5:  # else there are more than may be saved, and some are saved later
        assert found.tolist() == expected
    assert found.mean() == pytest.approx(np.mean(expected), rel=0.02)


def test_who_is_struck_saves_what_was_used_since_and_reads_what_was_appended():
    """Server 1 before the first save, and after the third; both with the trainer after the 25th."""
    hits = [(3, Hit((1,), ())), (14, Hit((1,), ())), (16, Hit((), (0,))), (100, Hit((0, 1), ()))]
    whole, found = played(0.5), played(0.5, [Kill(*each) for each in hits])

    different = np.argwhere(found.rows != whole.rows).tolist()
    assert different == [[0, 1], [3, 1], [24, 0], [24, 1]]
    assert found.rows[3, 1] == used_by(14, 16, 1) + 10
    assert found.rows[24].tolist() == [10, 10]
    assert found.read[:3] == [0, 3, 0]
    assert found.read[3] == found.lengths[23].max()


def test_a_server_merges_once_what_is_appended_is_more_than_twice_as_long_as_everything():
    assert list(lengths([1, 1, 1, 1, 3, 1], 1)) == [1, 2, 0, 1, 0, 1]
    assert list(lengths([], 1)) == []


def test_files_are_as_long_as_the_store_writes_them(tmp_path):
    rows, dim, ids = 160, 4, np.arange(80)
    weights, squares = np.zeros((rows, dim), np.float32), np.zeros(rows, np.float32)
    store = CheckpointStore(tmp_path)

    assert store.write(0, (weights, squares)) == whole_size(rows, dim)
    assert store.write(1, (weights[ids], squares[ids]), ids) == chosen_size(len(ids), dim)


def test_after_how_many_saves_a_server_merges_were_all_as_long():
    """Of 160 rows: three saves of 80 are twice as long as everything, and no longer."""
    found = Appended(np.array([[79, 80], [80, 81]]), np.array([[1, 1], [0, 2]]), [], 4)

    assert 3 * chosen_size(80, 4) == 2 * whole_size(160, 4)
    assert found.merges_after(160) == 4
    assert found.merges_after(10**9) == 100_000  # the most that a scenario may say
    assert found.merging == 1


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["cpr-mfu", "cpr-ssu", "cpr-scar"])
def test_real_runs_save_as_many_rows(policy):
    """So when their stores merge is known; of servers that are killed, and SCAR's rows as well."""
    changes = ["job.samples=40_960", 'job.useful_time="0.8 s"', "failures.exactly=5"]
    asked = Asked("", policy, [*changes, f'policies.{policy}.interval="0.16 s"'], 4)
    scenario, section = read(asked)
    plan, servers = scenario.plan(policy), scenario.cluster.parameter_servers
    it = predict(scenario, section, [policy], {policy: CALIBRATION}, 4).of[policy]
    data = section.data(scenario, 4)
    found = appended(
        *(data, plan.tracking, scenario.context.rows.tracked_tables, servers, it.period),
        *(data.steps, it.kills, 4),
    )
    trained = train(scenario, section, policy, 4)

    assert trained.failures == len(it.kills) == 5
    saves = sorted({part.step for part in trained.parts})
    rows = {(part.step, part.server): part.rows for part in trained.parts}
    assert found.rows.tolist() == [[rows[step, each] for each in range(servers)] for step in saves]
    sizes = [part.size for part in trained.parts]
    assert sizes == [chosen_size(part.rows, found.dim) for part in trained.parts]
    assert (found.merging > 0) == (policy != "cpr-ssu")  # whose saves are short
