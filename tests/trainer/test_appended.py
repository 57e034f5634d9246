"""Saves of chosen rows, counted beforehand, and in real runs."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cprsim.basics.units import parse_duration
from cprsim.contract import Tracking
from cprsim.contract.ledger import CAUSES
from cprsim.failures.hit import Hit
from cprsim.scenario import Scenario
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.training import train
from cprsim.trainer.validation import appended
from cprsim.trainer.validation.appended import (
    Appended,
    Chain,
    ReadingTime,
    chains,
    chosen_size,
    of_scenario,
    sharing,
    whole_size,
)
from cprsim.trainer.validation.longness import USUAL, Newness, longness
from cprsim.trainer.validation.modelled import _chosen, calibrated, period_of
from cprsim.trainer.validation.pinned import Kill
from cprsim.trainer.validation.predicted import predict
from tools.pages.counted import CALIBRATION, Asked, read

SCENARIO = Scenario(
    job={"useful_time": "1 s", "samples": 5000},
    model={"tables": [{"rows": 300, "dim": 4}, {"rows": 20, "dim": 4}], "tracked_tables": 1},
    cluster={"parameter_servers": 2, "trainers": 1},
    costs={"save": "1 s", "load": "1 s"},
    failures={"exactly": 0},
    policies={"full": {"system": "full", "interval": "1 s"}},
)


class Sampled:
    """Batches of 50 samples of two tables: 300 rows, of which few are used, and 20."""

    tables = (SimpleNamespace(rows=300, dim=4), SimpleNamespace(rows=20, dim=4))

    def batch(self, step):
        rng = np.random.default_rng(step)
        sparse = np.stack([rng.integers(0, 40, 50), rng.integers(0, 20, 50)], axis=1)
        return SimpleNamespace(sparse=sparse)


def played(fraction, kills=()):
    """Saves at steps 4, 8, ..., 100; the small table is saved whole."""
    return of_scenario(SCENARIO, Tracking("mfu", fraction), Sampled(), 4, 101, kills)


def used_by(first, last, server):
    batches = [Sampled().batch(step).sparse[:, 0] for step in range(first, last)]
    return np.count_nonzero(np.unique(np.concatenate(batches)) % 2 == server)


@pytest.mark.parametrize("share", [75, 15])
def test_rows_are_saved_that_were_used_and_no_more_than_asked_for(share):
    """Of so many of a server's 150, and all 10 of the small table's."""
    found = played(share / 150).rows

    assert found.tolist() == [
        [min(used_by(0 if share == 15 else end - 4, end, server), share) + 10 for server in (0, 1)]
        for end in range(4, 101, 4)
    ]
    assert len(set(found.ravel())) == (1 if share == 15 else 3)


def test_who_is_struck_saves_what_was_used_since_and_reads_what_was_appended():
    """Server 1 before the first save, and after the third; both with the trainer after the 25th."""
    hits = [(3, Hit((1,), ())), (14, Hit((1,), ())), (16, Hit((), (0,))), (100, Hit((0, 1), ()))]
    whole, found = played(0.5), played(0.5, [Kill(*each) for each in hits])

    different = np.argwhere(found.rows != whole.rows).tolist()
    assert different == [[0, 1], [3, 1], [24, 0], [24, 1]]
    assert found.rows[3, 1] == used_by(14, 16, 1) + 10
    assert found.rows[24].tolist() == [10, 10]
    of_three = Chain(3, int(found.rows[:3, 1].sum()))
    assert found.read[:3] == [[Chain(0, 0)], [of_three], []]
    files, rows = zip(*found.read[3], strict=True)
    assert found.reading_s(ReadingTime(any_s=1.0)) == 2
    assert found.reading_s(ReadingTime(file_s=1.0)) == 3 + max(files)
    assert found.reading_s(ReadingTime(row_s=1.0)) == of_three.rows + max(rows)


def test_a_server_merges_once_what_is_appended_is_more_than_twice_as_long_as_everything():
    saves = [(1, 5), (1, 5), (1, 5), (1, 7), (3, 9), (1, 2)]
    left = [(1, 5), (2, 10), (0, 0), (1, 7), (0, 0), (1, 2)]
    merged = [None, None, (3, 15), None, (2, 16), None]
    assert list(chains(saves, 1)) == list(zip(left, merged, strict=True))
    assert not list(chains([], 1))


def test_files_are_as_long_as_the_store_writes_them(tmp_path):
    rows, dim, ids = 160, 4, np.arange(80)
    weights, squares = np.zeros((rows, dim), np.float32), np.zeros(rows, np.float32)
    store = CheckpointStore(tmp_path)

    assert store.write(0, (weights, squares)) == whole_size(rows, dim)
    assert store.write(1, (weights[ids], squares[ids]), ids) == chosen_size(len(ids), dim)


def test_after_how_many_saves_a_server_merges_were_all_as_long():
    """Of 160 rows: three saves of 80 are twice as long as everything, and no longer."""
    found = Appended(np.array([[79, 80], [80, 81]]), [[], [Chain(2, 159)]], [], 4)

    assert 3 * chosen_size(80, 4) == 2 * whole_size(160, 4)
    assert found.merges_after(160) == 4
    assert found.merges_after(10**9) == 100_000  # the most that a scenario may say
    assert found.of_fullest == 80.5


@pytest.mark.parametrize(("number", "shared"), [(1, 2), (2, 1), (8, 1)])
def test_servers_that_merge_at_once_share_cores_and_the_slowest_reads(monkeypatch, number, shared):
    merged = [[], [Chain(2, 159)], [Chain(3, 10), Chain(1, 500)]]
    found = Appended(np.zeros((3, 2), np.int64), merged, [], 4)

    monkeypatch.setattr(appended, "cores", lambda: number)

    assert found.merging_s(10.0, ReadingTime()) == 10 + shared * 10
    assert found.merging_s(0.0, ReadingTime(file_s=1.0)) == 2 + shared * 3
    assert found.merging_s(0.0, ReadingTime(row_s=1.0)) == 159 + shared * 500
    assert found.merging_s(0.0, ReadingTime(any_s=1.0)) == 1 + shared


def test_three_servers_take_half_as_long_again_on_two_cores(monkeypatch):
    monkeypatch.setattr(appended, "cores", lambda: 2)

    assert [sharing(servers) for servers in range(5)] == [0, 1, 1, 1.5, 2]
    read = [[Chain(2, 0), Chain(1, 0), Chain(3, 0)], [Chain(5, 0)]]
    found = Appended(np.zeros((0, 3), np.int64), [], read, 4)
    assert found.reading_s(ReadingTime(file_s=1.0)) == 1.5 * 3 + 5


def asked_for(policy, interval="0.16 s"):
    """Of 80 steps, with 5 failures: the scenario, its section and its samples."""
    changes = ["job.samples=40_960", 'job.useful_time="0.8 s"', "failures.exactly=5"]
    asked = Asked("", policy, [*changes, f'policies.{policy}.interval="{interval}"'], 4)
    scenario, section = read(asked)
    return scenario, section, section.data(scenario, 4)


def counted(scenario, policy, data, it):
    """What saves come to, by the run's own failures."""
    return of_scenario(
        scenario, scenario.plan(policy).tracking, data, it.period, data.steps, it.kills, 4
    )


def newness(it):
    """Of all saves: the period is that of steps done, and partial recovery does none again."""
    of, kills, found = Newness(2), list(it.kills), 0.0
    for step in range(it.period, 80, it.period):
        while kills and kills[0].executed <= step:
            of.failed(kills.pop(0).hit)
        found += of.saved()
    return found


def test_merging_and_what_is_read_is_charged_as_often_as_it_is_counted():
    scenario, section, data = asked_for("cpr-mfu", "0.08 s")

    def told(**more_s):
        calibration = replace(CALIBRATION, **more_s)
        return predict(scenario, section, ["cpr-mfu"], {"cpr-mfu": calibration}, 4).of["cpr-mfu"]

    more_s = {"merge_s": 1.1, "new_s": 0.001}
    reads_s = {"appended_s": 10.0, "append_s": 1.0, "append_row_s": 0.01}
    plain, charged = told(), told(**more_s, **reads_s)
    found = counted(scenario, "cpr-mfu", data, plain)
    reading = ReadingTime(10.0, 1.0, 0.01)
    merging_s = found.merging_s(1.1, reading)
    assert merging_s >= 12.1
    assert len(found.read) == 5
    more = {
        cause: getattr(charged.ledger, cause) - getattr(plain.ledger, cause) for cause in CAUSES
    }
    assert more.pop("save") - merging_s == pytest.approx(0.001 * newness(plain), abs=1e-9)
    assert more.pop("load") == pytest.approx(found.reading_s(reading))
    assert not any(more.values())


def test_saves_after_short_stretches_take_less():
    """Beside what they take in a scenario, where all follow stretches of usual length."""
    scenario, section, data = asked_for("cpr-mfu", "0.08 s")
    plain, less = (
        predict(scenario, section, ["cpr-mfu"], {"cpr-mfu": each}, 4).of["cpr-mfu"]
        for each in (CALIBRATION, replace(CALIBRATION, long_s=0.001))
    )
    saves, period = len(counted(scenario, "cpr-mfu", data, plain).rows), plain.period

    less_s = saves * 0.001 * (longness(USUAL) - longness(period))
    assert plain.ledger.save - less.ledger.save == pytest.approx(less_s, abs=1e-9)
    assert less_s > 0.01


def test_steps_of_a_written_scenario_have_their_share_of_what_stretches_take():
    """Whoever runs it knows of steps alone."""
    scenario, section, _ = asked_for("cpr-mfu", "0.08 s")
    costs = {"cpr-mfu": replace(CALIBRATION, step_s=0.01, stretch_s=0.8, slow_s=0.4)}
    told = predict(scenario, section, ["cpr-mfu"], costs, 4).scenario

    step_s = 0.01 + (0.8 + 0.4 * longness(USUAL)) / USUAL
    assert told.job.useful_time_s == pytest.approx(80 * step_s, rel=1e-12)


def test_a_written_scenario_charges_files_for_their_rows_and_for_being_there():
    scenario, _, data = asked_for("cpr-mfu", "0.08 s")
    plans = {"cpr-mfu": scenario.plan("cpr-mfu")}
    costs = replace(CALIBRATION, append_s=0.1, append_row_s=1e-3, appended_s=0.5, merge_s=2.0)

    written = calibrated(scenario, plans, data, costs).mapping()

    period = period_of(plans["cpr-mfu"], scenario.job.useful_time_s / data.steps)
    chosen = _chosen(scenario, plans["cpr-mfu"], data, period)
    assert chosen.merge_after == written["policies"]["cpr-mfu"]["merge_after"] > 2
    append_s = 0.1 + 1e-3 * chosen.rows + 0.5 / (chosen.merge_after / 2)
    assert parse_duration(written["costs"]["append"]) == pytest.approx(append_s)
    # All servers merge at once, which read as many rows as the fullest.
    read = [Chain(chosen.merge_after, round(chosen.merge_after * chosen.rows))]
    servers = scenario.cluster.parameter_servers
    merge_s = sharing(servers) * (2.0 + costs.reading.of(read))
    assert parse_duration(written["costs"]["merge"]) == pytest.approx(merge_s)


@pytest.mark.parametrize("interval", ["0.16 s", "3.2 s", "10 s"])
def test_a_save_takes_what_was_measured_of_as_many_rows(interval):
    """However rarely they come, and also where the job ends before the first."""
    scenario, section, data = asked_for("cpr-mfu", interval)
    of_chosen = {"chosen_s": 0.1, "row_s": 1e-4, "select_s": {"mfu": 0.01}}
    costs = replace(CALIBRATION, save_s=0.05, gather_s=5.0, **of_chosen)
    plan = scenario.plan("cpr-mfu")
    model = calibrated(scenario, {"cpr-mfu": plan}, data, costs)
    policy = model.policies["cpr-mfu"]

    assert policy.slowdown == 0
    if interval == "10 s":
        return
    (schedule,) = model.plan("cpr-mfu").schedules
    save = schedule.save
    transfer = model.cost_model.save(
        plan.tier("remote"), save.portion, save.writes, besides_s=save.extra_s
    )
    it = predict(scenario, section, ["cpr-mfu"], {"cpr-mfu": costs}, 4).of["cpr-mfu"]
    rows = counted(scenario, "cpr-mfu", data, it._replace(kills=())).of_fullest
    assert model.cost_model.seconds(transfer) == pytest.approx(0.1 + 1e-4 * rows, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["cpr-mfu", "cpr-ssu", "cpr-scar"])
def test_real_runs_save_as_many_rows(policy):
    """So when their stores merge is known; of servers that are killed, and SCAR's rows as well."""
    scenario, section, data = asked_for(policy)
    it = predict(scenario, section, [policy], {policy: CALIBRATION}, 4).of[policy]
    found = counted(scenario, policy, data, it)
    trained = train(scenario, section, policy, 4)

    assert trained.failures == len(it.kills) == 5
    saves = sorted({part.step for part in trained.parts})
    rows = {(part.step, part.server): part.rows for part in trained.parts}
    servers = range(scenario.cluster.parameter_servers)
    assert found.rows.tolist() == [[rows[step, each] for each in servers] for step in saves]
    sizes = [part.size for part in trained.parts]
    assert sizes == [chosen_size(part.rows, found.dim) for part in trained.parts]
    assert any(found.merged) == (policy != "cpr-ssu")  # whose saves are short
