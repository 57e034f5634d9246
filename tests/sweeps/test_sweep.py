"""`cprsim.sweep`: the same numbers as `cprsim.run` at every point; points that fail; files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import cprsim
from cprsim.errors import LogError, NowhereError, ScenarioError, UsageError
from cprsim.rows.skew import read_curve
from cprsim.runs import engines
from cprsim.runs.measures import MEASURES
from cprsim.sweeps import driver, tasks
from cprsim.sweeps.sweep import sweep
from cprsim.sweeps.tasks import PointResult, perform
from tests.sweeps.cases import MEANS, SCENARIO, at, csv, scenario


@pytest.mark.slow
def test_every_point_has_the_numbers_of_a_run_of_its_scenario(out):
    done = cprsim.sweep(scenario(), out, MEANS, replications=230, seed=5)

    assert done.table["failures.mean_s"].tolist() == [36_000.0] * 2 + [108_000.0] * 2
    for point, mean in enumerate(MEANS["failures.mean"]):
        run = cprsim.run(at(mean), replications=230, seed=5)
        pd.testing.assert_frame_equal(done.replications(point), run.replications)
        rows = done.table[done.table["point"] == point].set_index("policy")
        for name, row in run.summary.iterrows():
            for column, value in row.items():
                if column in MEASURES or isinstance(value, str):
                    assert rows.loc[name, column] == value
                else:  # sums in another order
                    assert rows.loc[name, column] == pytest.approx(value, rel=1e-12, abs=1e-15)


def test_points_are_in_the_order_of_the_design_with_what_is_varied_in_columns(out):
    vary = {"costs.reschedule": ["1 min", {"distribution": "exponential", "mean": "2 min"}],
            "cluster.parameter_servers": "lin(4, 8, 2)"}  # fmt: skip
    table = sweep(scenario(), out, vary, policies=["full"], replications=3).table

    assert table.columns[:4].tolist() == [
        "point", "costs.reschedule", "cluster.parameter_servers", "policy",
    ]  # fmt: skip
    assert table["point"].tolist() == [0, 1, 2, 3]
    assert table["cluster.parameter_servers"].tolist() == [4, 8, 4, 8]
    other = '{"distribution": "exponential", "mean": "2 min"}'
    assert table["costs.reschedule"].tolist() == ["1 min", "1 min", other, other]


# Replications until a half-width is met


@pytest.mark.slow
def test_replications_go_on_until_every_mean_is_known_well_enough(out):
    means = {"failures.mean": ["10 h", "30 h"]}
    done = sweep(scenario(), out, means, half_width=0.03, replications=5000)
    counts = []
    for point, mean in enumerate(means["failures.mean"]):
        # Said in other words: the first multiple of 256 at which both intervals are that narrow.
        run = cprsim.run(at(mean), replications=2560)
        for count in range(256, 2561, 256):
            halves = []
            for name in ("full", "partial"):
                values = run.of(name)["overhead"].to_numpy()[:count]
                low, high = stats.t.interval(
                    0.95, count - 1, loc=values.mean(), scale=stats.sem(values)
                )
                halves.append((high - low) / 2 / values.mean())
            if max(halves) <= 0.03:
                counts.append(count)
                break
        rows = done.table[done.table["point"] == point]
        assert rows["replications"].tolist() == [counts[-1]] * 2
    assert counts[0] < counts[1]  # fewer failures, more noise


@pytest.mark.parametrize(
    ("job", "given", "replications"),
    [
        # Nothing fails, so nothing is saved, and one block is enough.
        (scenario(failures={"exactly": 0}), {"half_width": 0.01}, 256),
        # It is never met.
        (scenario(), {"half_width": 1e-6, "replications": 130}, 130),
    ],
)
def test_replications_end_after_a_block_or_at_their_number(out, job, given, replications):
    done = sweep(job, out, {"costs.save": "1 min,2 min"}, **given)

    assert done.table["replications"].tolist() == [replications] * 4


# Points that fail


def test_a_point_that_gets_nowhere_is_recorded_and_the_others_go_on(out):
    # Failures every 20 s, saves of 5 min: not one gets done.
    short = scenario(job={"useful_time": "1 h"})
    done = sweep(short, out, {"failures.mean": ["20 s", "30 h"]}, ["full"], 20)
    failed, good = done.table.to_dict("records")

    assert failed["error"].startswith("policy 'full': the job gets nowhere")
    assert np.isnan(failed["overhead"])
    assert good["error"] == ""
    assert good["overhead"] >= 0
    assert [point.number for point in done.failures] == [0]
    again = sweep(short, out, {"failures.mean": ["20 s", "30 h"]}, ["full"], 20)
    assert csv(again) == csv(done)
    for point in (0, 2, -1):
        told = f"^point {point} has no results; it failed, or there is none$"
        with pytest.raises(UsageError, match=told):
            done.replications(point)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sim", "batch"])
def test_a_policy_that_gets_nowhere_fails_alone(out, engine):
    # Failures every 20 s: of a save that takes 5 min nothing is ever done, and without one it is.
    policies = {"full": {"system": "full"}, "partial": {"system": "partial", "interval": "1000 d"}}
    law = {"distribution": "exponential", "mean": "20 s"}
    short = scenario(
        job={"useful_time": "1 h"},
        costs={"save": "5 min", "load": "1 s", "reschedule": "1 s"},
        failures=law,
        policies=policies,
    )
    vary = {"failures.mean": ["20 s", "30 h"]}
    done = sweep(short, out / "both", vary, replications=20, engine=engine)
    alone = sweep(short, out / "alone", vary, ["partial"], 20, engine=engine)
    failed, partial, *rest = done.table.to_dict("records")

    assert failed["error"].startswith("policy 'full': the job gets nowhere")
    assert (failed["system"], failed["interval_s"] > 0) == ("full", True)
    assert np.isnan(failed["overhead"])
    assert (partial["error"], [row["error"] for row in rest]) == ("", [""] * 2)
    pd.testing.assert_frame_equal(
        done.table[done.table["policy"] == "partial"].reset_index(drop=True),
        alone.table,
        check_dtype=False,
    )
    assert done.failures == []
    assert [(point.number, [*point.errors]) for point in done.failed_in_part] == [(0, ["full"])]
    assert done.replications(0)["policy"].unique().tolist() == ["partial"]
    assert [each.plan.policy for each in done.played(0)] == ["partial"]
    assert done.best()["policy"].tolist()[0] == "partial"
    assert done.best()["left_out"].tolist() == [("full",), ()]
    again = sweep(short, out / "both", vary, replications=20, engine=engine)
    assert csv(again) == csv(done)


def test_a_policy_without_a_plan_at_a_point_fails_alone(out):
    with_interval = {"full": {"system": "full"}, "hourly": {"system": "full", "interval": "1 h"}}
    free = {"costs.save": ["0 s", "5 min"]}
    done = sweep(scenario(policies=with_interval), out, free, replications=5)
    rows = done.table.set_index(["point", "policy"])

    assert [*rows["error"].astype(bool)] == [True, False, False, False]
    assert "no interval is optimal" in rows["error"][0, "full"]
    assert rows["system"].tolist() == ["full"] * 4
    assert rows["interval_s"].isna().tolist() == [True, False, False, False]
    assert rows["replications"].tolist() == [pd.NA, 5, 5, 5]


def test_a_policy_that_gets_nowhere_in_a_later_block_is_not_played_again(out, monkeypatch):
    played = []

    def simulate(scenario, engines, numbers, seed):
        played.append((numbers.start, tuple(engines)))
        if numbers.start >= 256 and "full" in engines:
            raise NowhereError(f"nowhere from {numbers.start} on", "full")
        return tasks_simulate(scenario, engines, numbers, seed)

    tasks_simulate = tasks.simulate
    monkeypatch.setattr(tasks, "simulate", simulate)
    monkeypatch.setattr(driver, "perform", tasks.perform)
    done = sweep(scenario(), out, {"failures.mean": ["30 h"]}, replications=1000)

    assert done.table["error"].tolist() == ["nowhere from 256 on", ""]
    assert done.table["replications"].tolist()[1] == 1000
    assert [each for each in played if each[0] >= 256] == [
        (256, ("full", "partial")),
        (256, ("partial",)),
        (512, ("partial",)),
        (768, ("partial",)),
    ]


def test_what_may_pass_fails_the_point_and_is_tried_again(out, tmp_path, monkeypatch):
    curve = tmp_path / "curve.csv"
    curve.write_text("rows_share,accesses_share\n0.01,0.5\n0.1,0.8\n1,1\n")
    table = {"rows": 10**6, "dim": 16, "skew": {"curve": str(curve)}}
    job = scenario(
        job=SCENARIO["job"] | {"samples": 10**9},
        model={"tables": [table]},
        policies={"full": {"system": "full"}, "mfu": {"system": "cpr-mfu", "target_pls": 0.05}},
    )
    vary = {"costs.save": ["1 min"]}
    good = sweep(job, out / "good", vary, replications=5)

    def without_it(task):
        with monkeypatch.context() as patched:
            patched.setattr("cprsim.rows.skew.read_curve", unreadable)
            return perform(task)

    curves = iter([LogError(f"{curve}: no such file")])  # the next time it is there

    def unreadable(path):
        for error in curves:
            raise error
        return read_curve(path)

    with monkeypatch.context() as patched:
        patched.setattr("cprsim.sweeps.driver.perform", without_it)
        failed = sweep(job, out / "again", vary, replications=5)
    assert failed.table["error"].tolist() == [f"{curve}: no such file"] * 2
    assert csv(sweep(job, out / "again", vary, replications=5)) == csv(good)


def test_a_cost_of_one_policy_that_is_missing_fails_it_alone_with_what_is_missing(out):
    notice = {"lead": "10 min", "recall": 0.5}
    job = scenario(
        model=None,
        cluster=SCENARIO["cluster"] | {"spares": 1},
        failures=SCENARIO["failures"] | {"notice": notice},
    )
    answers = {"policies.full.on_notice": ["save", "drain"]}
    done = sweep(job, out / "both", answers, replications=3)
    alone = sweep(job, out / "alone", answers, ["full"], 3)

    (error,) = {each for each in done.table["error"] if each}
    assert error.startswith("costs.drain: is missing")
    assert done.table["error"].tolist() == ["", "", error, ""]
    assert (alone.unfinished, alone.table["error"].tolist()) == (0, ["", error])


def test_an_interval_that_is_none_is_a_choice_like_others(out):
    done = sweep(scenario(), out, {"policies.full.interval": "2 h,never"}, ["full"], 3)

    assert done.table["policies.full.interval_s"].tolist() == [7200.0, np.inf]


def test_an_engine_that_can_not_play_a_policy_at_a_point_fails_it_alone(out, monkeypatch):
    def chosen(scenario, names, engine):
        if names == ["full"] and scenario.costs.save_s == 60:
            raise UsageError("engine 'batch' can't play policy 'full'")
        return engines.chosen(scenario, names, engine)

    monkeypatch.setattr("cprsim.sweeps.tasks.chosen", chosen)
    vary = {"costs.save": ["1 min", "2 min"]}
    table = sweep(scenario(), out, vary, replications=3, engine="batch").table

    assert table["error"].tolist() == ["engine 'batch' can't play policy 'full'", "", "", ""]


def test_values_that_can_be_read_at_no_point_are_faults_at_once(out):
    vary = {"failures.mean": ["10 h", "20"], "cluster.trainers": [8, -1], "costs.sav": ["1 h"]}
    with pytest.raises(ScenarioError) as error:
        sweep(scenario(), out, vary)

    assert sorted(error.value.args) == [
        "cluster.trainers: -1 is out of range: it must be >= 0",
        "costs.sav: unknown key; did you mean 'save'?",
        "failures.mean: '20' has no unit: write one, e.g. \"20 h\"",
    ]
    assert not out.exists()


def test_a_combination_that_can_not_be_read_is_that_points_failure(out):
    # A failure can hit 6 of 8 servers, but not 6 of 4.
    vary = {"failures.hits.parameter_servers": [1, 6], "cluster.parameter_servers": [4, 8]}
    errors = sweep(scenario(), out, vary, ["full"], 3).table["error"].tolist()

    assert [bool(error) for error in errors] == [False, False, True, False]
    assert errors[2] == (
        "failures.hits.parameter_servers: 6 is more than cluster.parameter_servers = 4; "
        "a failure can hit 4 at most"
    )


# Files


def test_the_block_of_a_file_is_what_is_swept_and_a_run_ignores_it(out, tmp_path):
    file = tmp_path / "s.toml"
    block = (
        '\n[sweep]\nreplications = 7\n[sweep.zip]\nfailures.mean = ["10 h", "30 h"]\n'
        'costs.save = ["1 min", "2 min"]\n[sweep.latin]\npoints = 3\n'
        'cluster.parameter_servers = "log(4, 64)"\n'
    )
    file.write_text(scenario().to_toml() + block)
    table = sweep(file, out, policies=["full"]).table

    assert cprsim.load_scenario(file) == scenario()
    assert len(table) == 6
    assert set(zip(table["failures.mean_s"], table["costs.save_s"], strict=True)) == {
        (36_000.0, 60.0), (108_000.0, 120.0),
    }  # fmt: skip
    assert table["cluster.parameter_servers"].dtype == "int64"
    assert table["replications"].tolist() == [7] * 6


def test_a_replayed_log_counts_by_what_is_in_it(out, tmp_path, monkeypatch):
    log = tmp_path / "log.csv"
    log.write_text("time_s,node\n40000,1\n90000,2\n")
    replayed = scenario(failures={"trace": str(log)})
    sweep(replayed, out, {"costs.save": ["1 min"]}, replications=2)

    log.rename(tmp_path / "moved.csv")
    moved = scenario(failures={"trace": str(tmp_path / "moved.csv")})
    sweep(moved, out, {"costs.save": ["1 min"]}, replications=2)  # goes on: nothing to do
    (tmp_path / "moved.csv").write_text("time_s,node\n40000,1\n90001,2\n")
    with pytest.raises(UsageError, match="holds another sweep: its scenario is another"):
        sweep(moved, out, {"costs.save": ["1 min"]}, replications=2)


def test_the_listener_is_told_how_far_it_is(out):
    seen = []
    sweep(scenario(), out, {"costs.save": ["5 min", "0 s"]}, ["full"], 150, progress=seen.append)

    assert [each.points for each in seen] == [1, 2, 2]
    assert (seen[-1].points, seen[-1].of, seen[-1].failed, seen[-1].share) == (2, 2, 1, 1.0)


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"half_width": 2}, "half_width 2 is not a share between 0 and 1, e.g. 0.02"),
        (
            {"overrides": ["job.final_save=true"]},
            "overrides go with the path of a file; change the scenario instead",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(out, asked, fault):
    with pytest.raises(UsageError) as error:
        sweep(scenario(), out, **({"vary": MEANS} | asked))

    assert str(error.value) == fault
    assert not out.exists()


def without_full(task):
    block = perform(task)
    packed = {"partial": block.packed["partial"]}
    return replace(block, packed=packed, errors={"full": "no file \udcff.csv"})


@pytest.mark.parametrize(
    ("play", "errors"),
    [
        (lambda _: PointResult(error="no file \udcff.csv"), ["no file ?.csv"] * 4),
        (without_full, ["no file ?.csv", ""] * 2),
    ],
)
def test_an_error_in_letters_that_no_file_holds_is_kept(out, monkeypatch, play, errors):
    monkeypatch.setattr("cprsim.sweeps.driver.perform", play)
    done = sweep(scenario(), out, MEANS, replications=3)

    assert done.table["error"].tolist() == errors
    assert csv(done).encode().count(b"no file ?.csv") == errors.count("no file ?.csv")


def test_a_whole_section_that_is_called_like_a_measure_is_varied(out):
    laws = [{"exactly": 0}, {"exactly": 2}]
    table = sweep(scenario(), out, {"failures": laws}, policies=["full"], replications=3).table

    assert table["failures (varied)"].tolist() == ['{"exactly": 0}', '{"exactly": 2}']
    assert table["failures"].tolist() == [0.0, 2.0]
