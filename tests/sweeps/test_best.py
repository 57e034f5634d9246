"""`Sweep.best`: candidates of choices and circumstances, bounds, what is left out."""

import math
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy import stats

import cprsim
from cprsim.runs.measures import MEASURES, Basis
from cprsim.runs.selection.bounds import Quality
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping
from cprsim.sweeps.best import (
    Played,
    SweepVerdict,
    choices,
    entries,
    sweep_verdicts,
    tabulated,
)
from cprsim.sweeps.display import _notes, best_table
from cprsim.sweeps.points import Point
from cprsim.sweeps.sweep import sweep
from cprsim.sweeps.tasks import PointPlan
from tests.sweeps.cases import MEANS, SCENARIO, scenario

INTERVALS = {"policies.full.interval": ["1 h", "3 h"]}


@dataclass
class Told:
    """A sweep whose results are told: overheads, or overheads with what is lost, of each policy.

    They are those of so many `times` as many replications, with a failure in each.
    """

    times: int = 20
    points: list[Point] = field(default_factory=list)
    results: list[list[Played]] = field(default_factory=list)

    @property
    def definition(self) -> dict[str, Any]:
        return {"keys": list(self.points[0].values)}

    def played(self, point: int) -> list[Played]:
        return self.results[point]

    def add(self, values: dict[str, Any], error: str | None = None, done: bool = True,
            errors: dict[str, str] | None = None,
            **policies: list[float] | tuple[list[float], float]) -> "Told":  # fmt: skip
        count = 9 if done and not error else None
        self.points.append(Point(
            len(self.points), values, 1.0, count, error, errors or {}))  # fmt: skip
        told = [self._told(self.points[-1], name, each) for name, each in policies.items()]
        self.results.append(told)
        return self

    def _told(self, point: Point, policy: str, told: Any) -> Played:
        overheads, lost = told if isinstance(told, tuple) else (told, 0.0)
        overheads = np.tile(overheads, self.times)
        none = np.zeros(len(overheads))
        measures = dict.fromkeys(MEASURES, none) | {"overhead": overheads, "failures": none + 1}
        measures |= {"pls": none + 2 * lost, "updates_lost": none + lost}
        plan = PointPlan(policy, "full", "full", 3600.0, 0.0, not lost, Basis(*[math.nan] * 6))
        return Played(plan, point.number, choices(point, policy), measures)


def found(told: Told, *bounds: float | None) -> list[SweepVerdict]:
    keys = told.definition["keys"]
    return list(sweep_verdicts(keys, told.points, told.played, Quality(*bounds)))


def table(told: Told, *bounds: float | None) -> pd.DataFrame:
    return tabulated(found(told, *bounds), [point.values for point in told.points])


# Real sweeps


def test_who_looks_for_no_silent_faults_is_the_best_by_time_and_that_is_told(out):
    silent = {"distribution": "exponential", "mean": "5 h"}
    law = {"distribution": "exponential", "mean": "10 h"}
    verified = {"system": "full", "verify_every": 1}
    done = sweep(
        scenario(
            costs={"save": "1 min", "load": "1 min", "verify": "2 min"},
            failures=law | {"silent": silent},
            policies={"blind": {"system": "full"}, "verified": verified},
        ),
        out,
        {"costs.reschedule": ["1 min", "5 min"]},
        replications=20,
    )
    for verdict in done.verdicts(Quality()):
        assert verdict.best is not None
        assert verdict.best.plan.policy == "blind"
        of = {each.plan.policy: each.corrupt for each in verdict.candidates}
        table = done.replications(verdict.point)
        assert of["blind"] == table[table["policy"] == "blind"]["corrupt"].mean() > 0.9
        assert of["verified"] == 0
    assert entries(done.verdicts(Quality()))[0]["corrupt"] == of["blind"]
    written = StringIO()
    Console(file=written, width=300).print(best_table(done, Quality()))
    told = " ".join(written.getvalue().split())
    assert (
        "blind: ended with a silent fault in what was trained in up to 100.00 % "
        "of the replications, and nobody knows; verify_every of a policy has it looked for." in told
    )


def test_what_no_replication_met_is_allowed_for_by_how_a_policy_recovers(out):
    job = load_mapping("scenarios/all-systems.toml")
    job["failures"] = {"distribution": "exponential", "mean": "1000 d"}
    done = sweep(Scenario.read(job), out, {"costs.reschedule": ["5 min"]}, replications=4)
    played = {each.plan.policy: each for each in done.played(0)}
    lost = {name: each.measures["updates_lost"].max() for name, each in played.items()}

    assert max(lost.values()) == 0  # so that none of it is seen
    losing = {name for name, each in played.items() if not each.plan.lossless}
    assert losing == {"partial-experts", "partial", "cpr", "cpr-mfu", "accepted-loss"}
    taken = {name: each.plan.unmet_s for name, each in played.items() if each.plan.unmet_s}
    assert taken == {
        "tiered": 21_600.0,
        **dict.fromkeys(("replication", "ecrm", "ecrec", "peer-memory", "hot-swap"), 86_400.0),
    }
    (verdict,) = done.verdicts(Quality(max_updates_lost=1e-6))
    kept = dict(zip(verdict.labels, verdict.certificate.kept, strict=True))
    assert {name for name, each in kept.items() if each is None} == losing


def test_margins_allow_for_a_loss_that_no_replication_met():
    def margin(*unmet_s: float) -> tuple[float, float]:
        told = Told(times=20).add({"a": 1}, one=[0.01, 0.02, 0.015], two=[0.03, 0.05, 0.04])
        told.results[0] = [
            replace(each, plan=replace(each.plan, unmet_s=its))
            for each, its in zip(told.results[0], unmet_s, strict=True)
        ]
        rival = found(told)[0].certificate.runner_up
        assert rival is not None
        return rival.low, rival.high

    low, high = margin(0.0, 0.0)
    assert margin(0.5, 0.0)[0] < low == margin(0.0, 0.5)[0]
    assert margin(0.0, 0.5)[1] > high == margin(0.5, 0.0)[1]
    # Of a job of one useful second, which can't lose more than all.
    assert margin(0.0, math.inf) == margin(0.0, 1.0)


@pytest.mark.slow
def test_machine_time_is_told_where_another_takes_less_of_it(out):
    job = load_mapping("scenarios/all-systems.toml")
    job["policies"] = {name: job["policies"][name] for name in ("hot-swap", "replication")}
    done = sweep(Scenario.read(job), out, {"costs.reschedule": ["5 min"]}, replications=300)
    means = done.table.set_index("policy")["machine_overhead"]
    (verdict,) = done.verdicts(Quality())
    written = StringIO()
    Console(file=written, width=300).print(best_table(done, Quality()))
    told = " ".join(written.getvalue().split())

    assert verdict.best is not None
    assert verdict.best.plan.policy == "hot-swap"
    assert dict(zip(verdict.labels, verdict.machine_overhead, strict=True)) == pytest.approx(
        means.to_dict()
    )
    assert (
        "By machine time, spares counted, another takes less in 1 of 1 row, e.g. "
        f"costs.reschedule = 5 min: replication {100 * means['replication']:.2f} %, "
        f"not {100 * means['hot-swap']:.2f} %." in told
    )


def test_updates_that_pls_does_not_count_are_told_beside_a_bound_on_pls():
    told = Told().add({"a": 1}, full=[0.2, 0.3, 0.4], lossy=([0.1, 0.1, 0.1], 0.0))
    losing = told.results[0][1]
    losing.measures["updates_lost"] += 0.2
    told.results[0][1] = replace(losing, plan=replace(losing.plan, lossless=False))
    verdicts = found(told, 0.01)

    assert _notes(verdicts, Quality(0.01))[-2:] == [
        "lossy: up to 20.00 % of the updates are lost, which PLS doesn't count; "
        "--max-updates-lost bounds them.",
        "Only candidates with PLS <= 1 %, as far as that is known.",
    ]
    assert len(_notes(verdicts, Quality(0.01, 0.5))) == 2


def test_what_is_still_to_be_done_and_too_wide_is_told(out):
    done = sweep(scenario(), out, MEANS, replications=16, half_width=0.001)

    assert done.too_wide == 2
    written = StringIO()
    Console(file=written, width=300).print(best_table(done, Quality()))
    assert (
        "a half-width of 0.10 % of every mean isn't reached at 2 points: --replications 16 are "
        "too few" in written.getvalue()
    )


def test_the_best_is_what_the_table_says_and_margins_are_paired(out):
    done = sweep(scenario(), out, MEANS, replications=60)
    best, means = done.best(), done.table.set_index(["point", "policy"])

    assert best["point"].tolist() == [0, 1]
    assert best["failures.mean_s"].tolist() == [36_000.0, 108_000.0]
    for row in best.to_dict("records"):
        one, other = (means.loc[(row["point"], name)] for name in (row["policy"], row["runner_up"]))
        for column in ("overhead", "overhead_low", "pls_high", "updates_lost", "interval_s"):
            assert row[column] == pytest.approx(one[column], rel=1e-12)
        rows = done.replications(row["point"]).set_index("policy")["overhead"]
        interval = stats.ttest_rel(
            rows[row["runner_up"]], rows[row["policy"]]
        ).confidence_interval()
        assert row["margin"] == pytest.approx(other["overhead"] - one["overhead"])
        # Not skewed by much, so Student's interval is the half of it; the other end lies farther.
        assert row["margin_low"] == pytest.approx(interval.low)
        assert interval.high <= row["margin_high"] < interval.high + 0.02 * interval.high
        assert (row["verdict"], row["why"]) == ("best", None)
        assert row["told"] == f"{row['policy']} is best at 95 % over simulation noise"


def test_choices_of_a_policy_are_candidates_on_the_same_timelines(out):
    done = sweep(scenario(), out, MEANS | INTERVALS, replications=40)
    best = done.best(max_updates_lost=0.0)
    # The same in one run, in which both intervals are policies of their own.
    at_30 = {"failures": {"distribution": "exponential", "mean": "30 h"}}
    both = {name: {"system": "full", "interval": name} for name in ("1 h", "3 h")}
    run = cprsim.run(scenario(**at_30, policies=both), replications=40)
    one, other = (run.of(name)["overhead"].to_numpy() for name in ("1 h", "3 h"))
    less = "1 h" if one.mean() < other.mean() else "3 h"

    assert len(done.points) == 4
    assert best["failures.mean_s"].tolist() == [36_000.0, 108_000.0]
    row = best.iloc[1]
    assert (row["policy"], row["candidates"]) == ("full", 2)
    assert row["policies.full.interval_s"] == row["interval_s"] == 3600.0 * int(less[0])
    assert row["point"] == 2 + ["1 h", "3 h"].index(less)
    assert row["margin"] == pytest.approx(abs((one - other).mean()))
    assert row["runner_up"] == f"full ({'1 h' if less == '3 h' else '3 h'})"
    # With no bound partial recovery is a candidate as well, once: nothing of it is varied.
    assert done.best()["candidates"].tolist() == [3, 3]
    assert done.best()["policy"].tolist() == ["partial"] * 2
    assert done.best()["policies.full.interval_s"].isna().all()


def test_a_policy_that_is_there_twice_is_the_same_and_not_tied(out):
    twins = SCENARIO["policies"] | {"twin": {"system": "partial"}}
    row = sweep(scenario(policies=twins), out, MEANS, replications=20).best().iloc[0]

    assert (row["policy"], row["same_as"], row["tied_with"]) == ("partial", ("twin",), ())
    assert (row["verdict"], row["runner_up"], row["candidates"]) == ("best", "full", 3)


# Told results


def test_choices_of_several_policies_are_candidates_once_each():
    told = Told()
    for a, one in (("1 h", [2.0, 2.4]), ("2 h", [4.0, 5.0])):
        for b, two in ((0.1, [1.0, 3.1]), (0.2, [3.0, 4.0])):
            told.add({"policies.full.interval": a, "policies.cpr.target_pls": b}, full=one, cpr=two)
    (answer,) = found(told)

    assert [each.label for each in answer.candidates] == [
        "full (1 h)", "cpr (target_pls 0.1)",
        "cpr (target_pls 0.2)", "full (2 h)",
    ]  # fmt: skip
    assert answer.best is not None
    assert (answer.best.label, answer.best.point) == ("cpr (target_pls 0.1)", 0)
    assert entries([answer])[0]["rivals"] == ["full"]
    assert (answer.values, table(told).columns[:4].tolist()) == (
        {}, ["point", "policy", "policies.full.interval_s", "policies.cpr.target_pls"],
    )  # fmt: skip


def test_a_policy_is_clear_though_its_choices_are_tied():
    told = Told()
    told.add({"policies.a.interval": "1 h"}, a=[0.1, 0.2, 0.3], b=[2.1, 2.2, 2.31])
    told.add({"policies.a.interval": "2 h"}, a=[0.2, 0.1, 0.35], b=[2.1, 2.2, 2.31])
    (answer,) = found(told)

    assert (answer.verdict, answer.certificate.why) == ("undecided", "margin")
    (entry,) = entries([answer])
    assert (entry["tied_with"], entry["rivals"]) == (["a (2 h)"], [])


def test_candidates_beyond_a_bound_are_none():
    told = Told().add({"x": 1}, a=[3.0, 3.1, 3.2], b=([2.0, 2.1, 2.2], 0.02), c=([0.1] * 3, 0.05))

    assert table(told)["policy"].tolist() == ["c"]
    assert table(told, None, 0.02)["policy"].tolist() == ["b"]
    assert table(told, 0.04, None)["policy"].tolist() == ["b"]  # its PLS is twice that
    assert table(told, 0.02, 0.05)["policy"].tolist() == ["a"]
    assert table(told, None, 0.0)["told"].tolist() == ["a is the only one"]


def test_too_few_failures_decide_nothing_but_where_the_sweep_lets_none_happen():
    told = Told()
    for number in (0, 1):
        told.add({"failures.exactly": number}, a=[0.02, 0.02], b=[0.01, 0.01])
        for each in told.results[number]:
            each.measures["failures"][:] = 0.0

    assert table(told)["told"].tolist() == [
        "b is best at 95 % over simulation noise",
        "undecided: only 0 of 40 replications met a failure that makes a difference; increase "
        "--replications to at least 800",
    ]
    assert table(told)["margin_low"].isna().tolist() == [False, True]


def test_choices_that_failed_are_no_candidates():
    told = Told()
    told.add({"x": 1, "policies.a.interval": "1 s"}, "gets nowhere", a=[0.0])
    told.add({"x": 1, "policies.a.interval": "1 h"}, a=[1.0, 1.5], b=[2.0, 3.0])
    (row,) = table(told).to_dict("records")

    assert (row["point"], row["policy"], row["failed"], row["error"]) == (1, "a", 1, "")
    assert row["candidates"] == 2


def test_who_failed_at_a_point_is_no_candidate_there_and_that_is_told():
    told = Told()
    key = "policies.a.interval"
    for x in (1, 2):
        told.add({"x": x, key: "1 s"}, errors={"a": "nowhere", "c": "nowhere"}, b=[2.0, 2.4])
        told.add({"x": x, key: "1 h"}, errors={"c": "nowhere"}, a=[1.0, 1.5], b=[2.0, 2.4])
    told.add({"x": 3, key: "1 s"}, a=[2.0, 2.1], b=[1.0, 1.1], c=[3.0, 3.1])
    told.add({"x": 3, key: "1 h"}, a=[2.0, 2.1], b=[1.0, 1.1], c=[3.0, 3.1])

    assert table(told)["candidates"].tolist() == [2, 2, 4]
    assert table(told)["failed"].tolist() == [0, 0, 0]
    assert table(told)["left_out"].tolist() == [("a (1 s)", "c"), ("a (1 s)", "c"), ()]
    assert entries(found(told))[0]["left_out"] == ["a (1 s)", "c"]
    assert "Left out in rows where they failed: a (1 s) (in 2), c (in 2)." in _notes(
        found(told), Quality()
    )


def test_who_failed_at_one_point_of_a_row_is_no_candidate_by_another():
    told = Told()
    told.add({"x": 1, "policies.a.interval": "1 s"}, a=[1.0, 1.5], c=[0.5, 0.6])
    told.add({"x": 1, "policies.a.interval": "1 h"}, errors={"c": "nowhere"}, a=[1.0, 1.2])
    (row,) = table(told).to_dict("records")

    assert (row["policy"], row["candidates"], row["left_out"]) == ("a", 2, ("c",))
    alone = Told().add({"x": 1, "policies.a.interval": "1 h"}, errors={"a": "nowhere"}, c=[1.0])
    alone.add({"x": 1, "policies.a.interval": "2 h"}, errors={"c": "later"}, a=[1.0])
    alone.add({"x": 1, "policies.a.interval": "3 h"}, "out of memory", errors={"a": "no memory"})
    (row,) = table(alone).to_dict("records")
    assert (row["policy"], row["left_out"]) == ("a", ("a (1 h)", "c"))
    nobody = Told().add({"x": 1, "policies.a.interval": "1 h"}, errors={"a": "nowhere"}, c=[1.0])
    nobody.add({"x": 1, "policies.a.interval": "1 h"}, errors={"c": "later"}, a=[1.0])
    (row,) = table(nobody).to_dict("records")
    assert (row["verdict"], row["error"], row["failed"]) == ("failed", "nowhere", 0)


def test_what_is_still_to_be_done_is_left_out():
    told = Told()
    told.add({"x": 1, "policies.a.interval": "1 h"}, a=[1.0, 1.5])
    told.add({"x": 1, "policies.a.interval": "2 h"}, done=False)
    told.add({"x": 2, "policies.a.interval": "1 h"}, a=[1.0, 1.5])

    assert table(told)["x"].tolist() == [2]
    assert table(Told().add({"x": 1}, done=False)).empty


def test_replications_that_all_have_are_compared():
    told = Told(times=1)
    told.add({"policies.a.interval": "1 h"}, a=[1.0, 2.0, 3.0, 99.0], b=[1.5, 2.7, 3.6, 0.0])
    told.add({"policies.a.interval": "2 h"}, a=[2.0, 2.5, 3.3], b=[1.5, 2.7, 3.6])
    (answer,) = found(told)

    assert answer.best is not None
    assert (answer.best.label, answer.statistics["overhead"]) == ("a (1 h)", 2.0)
    assert table(told)["replications"].tolist() == [3]


def test_entries_for_json_have_lists_and_no_number_that_is_not_finite():
    told = Told(times=1)
    told.add({"x": 1, "policies.a.interval": "1 h"}, a=[1.0], b=([2.0], 0.1))
    told.add({"x": 2, "policies.a.interval": "1 h"}, "gets nowhere")
    first, second = entries(found(told))

    assert first == {
        "point": 0, "values": {"x": 1}, "verdict": "undecided", "why": "failures",
        "told": "undecided: one replication shows no simulation noise",
        "candidates": 2, "failed": 0,
        "left_out": [], "error": None, "policy": "a",
        "choices": {"policies.a.interval": "1 h"}, "corrupt": 0.0,
        "system": "full", "recovery": "full", "replications": 1, "interval_s": 3600.0,
        "overhead": {"mean": 1.0, "ci95": [None, None]},
        "pls": {"mean": 0.0, "ci95": [None, None]},
        "updates_lost": {"mean": 0.0, "ci95": [None, None]},
        "learning_lost": {"mean": 0.0, "ci95": [None, None]},
        "runner_up": "b", "margin": {"mean": 1.0, "ci95": [None, None]},
        "tied_with": ["b"], "same_as": [], "rivals": ["b"],
    }  # fmt: skip
    assert second == {
        "point": 1, "values": {"x": 2}, "verdict": "failed", "why": None, "told": "gets nowhere",
        "candidates": 0, "failed": 1,
        "left_out": [], "error": "gets nowhere",
    }  # fmt: skip
