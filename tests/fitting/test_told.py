"""What `fit` tells beside the law: causes, planned outages, what was left out."""

import json
import math
import tomllib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.failures.logs.log import FailureLog
from cprsim.fitting.log_notes import left_out_lines
from cprsim.fitting.repairs import planned_document, planned_note, repair_fit
from cprsim.job.delays import mean_s
from cprsim.runs.cautions import not_given
from tests.failures.generated_logs import WRITERS, drawn
from tests.failures.logs_by_hand import log_of
from tests.survival.cases import STEPFUN, needs_stepfun

HOUR_S, DAY_S = 3600.0, 86_400.0

pytestmark = pytest.mark.usefixtures("folder")


# Repairs by cause


def by_cause(found) -> list[str]:
    """The lines on causes."""
    (first,) = (at for at, note in enumerate(found.notes) if note.startswith("Outages by cause"))
    return found.notes[first:]


def of_causes(seed: int, means_h: dict[str | None, float], count: int) -> FailureLog:
    """Each of `count` nodes fails once, by a cause of its own; repairs are exponential."""
    rng = np.random.default_rng(seed)
    names = [*means_h]
    which = rng.integers(len(names), size=count)
    times = np.sort(rng.uniform(0, 1e7, count))
    lasted = rng.exponential([means_h[names[each]] * HOUR_S for each in which])
    return FailureLog(
        times,
        np.arange(count),
        0.0,
        1e7,
        repaired_s=times + lasted,
        causes=tuple(names[each] for each in which),
        until_s=1e9,
    )


def test_causes_that_differ_are_told_from_those_that_dont():
    found = repair_fit(of_causes(1, {"GPU": 20, "NIC": 2, None: 20}, 300))
    assert found.test.is_sure
    assert found.causes.keys() == {"GPU", "NIC", "no cause told"}
    assert sum(each.sample.n for each in found.causes.values()) == 300
    means = {cause: each.mean_s / HOUR_S for cause, each in found.causes.items()}
    assert means["GPU"] == pytest.approx(20, rel=0.4)
    assert means["NIC"] == pytest.approx(2, rel=0.4)
    assert by_cause(found)[0] == (
        "Outages by cause; repair times differ beyond chance (log-rank test, p < 0.0001):"
    )
    alike = repair_fit(of_causes(2, {"GPU": 5, "NIC": 5, "Fan": 5}, 300))
    assert not alike.test.is_sure
    assert "differ no more than by chance" in by_cause(alike)[0]


@pytest.mark.parametrize("view", ["gaps", "uptime"])
def test_the_block_has_the_repair_of_each_cause_that_differs(view):
    """As a scenario takes it; their means are those that were drawn, within 4 standard errors.

    The whole block runs in a job that gives no costs.reschedule; there, nothing is left to give.
    """
    means, log = {"GPU": 20, "NIC": 2}, of_causes(1, {"GPU": 20, "NIC": 2}, 600)
    log = replace(log, nodes=log.nodes % 40)  # each fails again
    fitted = cprsim.fit(log, view=view, population=40)
    job = {
        "job": {"useful_time": "30 d"},
        "cluster": {"parameter_servers": 40},
        "costs": {"save": "1 min", "load": "1 min", "detect": "1 min"},
        "policies": {"full": {"system": "full", "interval": "1 h"}},
    }
    scenario = cprsim.Scenario(**job | tomllib.loads(fitted.toml()))
    causes = {each.name: each for each in scenario.failures.causes}
    assert causes.keys() == means.keys()
    for cause, mean_h in means.items():
        told_h = mean_s(causes[cause].repair) / HOUR_S
        assert told_h == pytest.approx(mean_h, rel=4 / math.sqrt(300))
    waits = cprsim.run(scenario, replications=64).summary
    per_failure_h = waits.loc["full", "reschedule"] * 30 * 24 / waits.loc["full", "failures"]
    assert per_failure_h == pytest.approx(11, rel=0.2)
    assert not not_given(scenario)


def test_a_cause_whose_outages_have_no_end_gets_no_repair_of_others():
    log = of_causes(1, {"GPU": 20, "NIC": 2, "SW": 5}, 600)
    is_sw = np.array([each == "SW" for each in log.causes])
    log = replace(log, repaired_s=np.where(is_sw, np.nan, log.repaired_s))
    causes = tomllib.loads(cprsim.fit(log).toml())["failures"]["causes"]
    assert {each["name"]: "repair" in each for each in causes} == {
        "GPU": True,
        "NIC": True,
        "SW": False,
    }


def test_a_job_that_says_how_long_it_waits_gets_no_repairs(tmp_path, capsys):
    """Under --for the block is what was compared: the job's own costs.reschedule."""
    log = tmp_path / "log.csv"
    starts = np.cumsum(np.random.default_rng(1).exponential(9e4, 60))
    log.write_text(
        "time_s,node,end_s\n"
        + "".join(f"{at:.0f},{i % 4},{at + 7200:.0f}\n" for i, at in enumerate(starts))
    )
    for told in (True, False):
        waits = 'reschedule = "3 min"' if told else ""
        path = tmp_path / "job.toml"
        path.write_text(
            f"""
            job.useful_time = "2 d"
            cluster.parameter_servers = 4
            failures = {{ distribution = "exponential", mean = "1 d" }}
            policies.full = {{ system = "full", interval = "1 h" }}
            [costs]
            save = "1 min"
            load = "1 min"
            {waits}
            """
        )
        assert cli._main(["fit", str(log), "--for", str(path), "--toml"]) == 0
        assert ("repair = " in capsys.readouterr().out) is not told


def test_outages_by_cause_by_hand():
    """The first failure of an outage gives its cause; one goes on when the watch ends."""
    nan = math.nan
    times, ends = (np.array(each) * HOUR_S for each in ([0, 1, 10, 20, 30], [2, 5, 11, nan, 33]))
    log = log_of(times, [0, 0, 1, 2, 3], ends, 40 * HOUR_S, causes=("a", "b", "b", "b", "b"))
    found = repair_fit(log)
    # Of b: 1 h, 3 h, and 20 h that go on; the mean up to there is (1 + 3 + 20) / 3.
    assert by_cause(found) == [
        "Outages by cause:",
        "  3 b: median 3 h, mean 8 h",
        "  1 a: median 5 h, mean 5 h",
    ]
    assert found.document()["by_cause"]["causes"][0] == {
        "cause": "b",
        "n": 3,
        "censored": 1,
        "median_s": 3 * HOUR_S,
        "mean_s": 8 * HOUR_S,
    }
    assert found.document()["by_cause"]["log_rank"] is None


def test_rare_causes_are_pooled_and_long_ones_cut_short():
    means = {f"reason {'x' * 70} {i}": 5.0 for i in range(9)}
    found = repair_fit(of_causes(3, means, 200))
    assert len(found.causes) == 7
    assert [*found.causes][-1] == "other causes"
    assert all(len(line.split(":")[0]) < 70 for line in by_cause(found)[1:-1])


def test_nodes_that_come_back_together_are_one_outage_for_the_test():
    """Each fault takes 30 nodes: causes drawn alike don't differ for all that."""
    sure = 0
    for seed in range(40):
        one = of_causes(seed, {"GPU": 5, "NIC": 5}, 24)
        rows = np.repeat(np.arange(24), 30)
        log = FailureLog(
            one.times_s[rows],
            np.arange(len(rows)),
            0.0,
            1e7,
            repaired_s=one.repaired_s[rows],
            causes=tuple(one.causes[row] for row in rows),
            until_s=1e9,
        )
        test = repair_fit(log).test
        assert test == repair_fit(one).test
        sure += test.is_sure
    assert sure <= 1  # at 0.27 %, 0.1 of 40


def test_a_log_of_one_cause_or_none_tells_nothing_by_cause():
    log = of_causes(1, {"GPU": 5}, 30)
    assert not repair_fit(log).causes
    assert cprsim.fit(log).document()["repairs"]["by_cause"] is None


@needs_stepfun
def test_the_real_causes_of_stepfun():
    fitted = cprsim.fit(STEPFUN)
    causes = fitted.document()["repairs"]["by_cause"]["causes"]
    assert [each["cause"] for each in causes[:2]] == ["GPU", "Unknown Error"]
    assert sum(each["n"] for each in causes) == fitted.document()["repairs"]["n"] == 329
    assert sum(each["n"] for each in fitted.document()["causes"]) == 335


def test_causes_are_told_where_there_are_no_repairs():
    write = WRITERS["xid"]
    write(drawn(60, 1), Path("log"), 2)
    (note,) = (each for each in cprsim.fit("log").notes if each.startswith("Causes: "))
    counts = cprsim.fit("log").document()["causes"]
    assert note.startswith(f"Causes: {counts[0]['cause']} {counts[0]['n']} x, ")
    assert sum(each["n"] for each in counts) == 60


# Planned outages


def slurm_rows() -> str:
    text = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    rng = np.random.default_rng(1)
    for i in range(40):
        day, hour = divmod(i, 2)
        end = f"2024-05-{day + 1:02}T{8 + 10 * hour + 1:02}:{rng.integers(60):02}:00"
        start = f"2024-05-{day + 1:02}T{8 + 10 * hour:02}:{rng.integers(60):02}:00"
        text += f"c|n{i % 5}|{start}|{end}|DOWN*|no ping|root\n"
    for day in (3, 9, 12):
        text += (
            f"c|n7|2024-05-{day:02}T01:00:00|2024-05-{day:02}T0{day % 5 + 2}:00:00|DRAIN|maint|x\n"
        )
    return text + "c|n8|2024-05-20T01:00:00|Unknown|DRAIN|planned|x\n"


def test_planned_outages_are_told_beside_the_repairs():
    """Four, one of which goes on: 3, 4, 5 h, and until the last instant of the log."""
    Path("log").write_text(slurm_rows())
    fitted = cprsim.fit("log", "slurm")
    (note,) = (each for each in fitted.notes if each.startswith("Planned: "))
    assert note.startswith("Planned: 4 outages of nodes, median 4 h, mean ")
    assert note.endswith("; left out of the failures.")
    found = fitted.document()["planned"]
    last = datetime.fromisoformat(max(row.split("|")[3] for row in slurm_rows().split("\n")[1:41]))
    going_on_s = (last - datetime(2024, 5, 20, 1)).total_seconds()
    # Of four, the longest is cut short: the area under the curve is their mean all the same.
    assert found["n"] == 4
    assert found["mean_s"] == pytest.approx(((3 + 4 + 5) * HOUR_S + going_on_s) / 4)
    assert fitted.notes[-1] == "  1 rows of planned outages (planned)"


def test_planned_outages_that_nobody_saw_end_are_counted():
    log = log_of([1], repaired=[math.nan], span=2.0, until_s=9.0)
    assert planned_note(log) == "Planned: 1 outage of nodes; left out of the failures."
    assert planned_document(log) == {"n": 1, "median_s": None, "mean_s": None}


# What was left out


def test_the_lines_of_what_was_left_out():
    left_out = {
        "rows of other systems": 5439,
        "failures outside the window": 12,
        "failures coalesced with the one before them": 7,
        "durations of 0 s": 3,
        "outages of 0 s": 1,
    }
    log = log_of([0], rows=("rows", 7917), dropped={"rows of other systems": 5439})
    assert left_out_lines(log, left_out) == [
        "Read 7,917 rows, kept 2,466. Left out:",
        "  5,439 rows of other systems (--system)",
        "     12 failures outside the window (--window)",
        "      7 failures coalesced with the one before them (--coalesce)",
        "      3 durations of 0 s (--ties keep)",
        "      1 outages of 0 s",
    ]
    whole, never_a_file = log_of([0], rows=("events", 8)), log_of([0])
    assert left_out_lines(whole, {}) == ["Read 8 events, kept all of them."]
    assert left_out_lines(never_a_file, {"durations of 0 s": 1})[0] == "Left out:"
    assert left_out_lines(never_a_file, {}) == []


@pytest.mark.parametrize("reader", WRITERS)
def test_a_generated_log_ends_with_what_was_left_out(reader):
    WRITERS[reader](drawn(60, 1), Path("log"), 2)
    fitted = cprsim.fit("log", window="0:0.5", ties="drop")
    document = fitted.document()
    rows = document["rows"]
    of_rows = {why: n for why, n in document["dropped"].items() if why in fitted.dropped}
    in_rows = sum(n for why, n in of_rows.items() if why.split()[0] in ("rows", "lines", "ends"))
    assert rows["kept"] + in_rows == rows["read"]
    lines = fitted.notes
    (start,) = (i for i, line in enumerate(lines) if line.startswith(f"Read {rows['read']:,} "))
    assert len(lines) - start - 1 == len(fitted.left_out)
    # About half lie outside the window; its first and last failure count.
    assert 0 < document["dropped"]["failures outside the window"] < 60
    assert document["notes"] == lines
    assert document["told"] == [each for each in lines if each.startswith("Read as")]
    assert json.dumps(document, allow_nan=False)


def test_durations_count_their_lines():
    Path("log").write_text("duration_s,censored\n" + "5,0\n7,1\n,1\n" * 12 + "# no row\n\n")
    fitted = cprsim.fit("log", "intervals")
    assert fitted.document()["rows"] == {"what": "lines", "read": 36, "kept": 24}
    assert fitted.notes[-2:] == [
        "Read 36 lines, kept 24. Left out:",
        "  12 lines without a duration",
    ]


def test_more_nodes_are_no_trend_of_a_node() -> None:
    """Half of the nodes come in the midst: failures of the system double, those of a node don't."""
    rng = np.random.default_rng(6)
    came_s = np.repeat([0.0, 50_000_000.0], 20)
    end_s = 100_000_000.0
    lives = [
        (node, came + np.cumsum(rng.exponential(1e6, 200))) for node, came in enumerate(came_s)
    ]
    found = sorted((at, node) for node, times in lives for at in times if at < end_s)
    times, nodes = zip(*found, strict=True)
    log = log_of(times, nodes, span=end_s, came_s=came_s, left_s=np.full(40, end_s))
    assert cprsim.fit(log).trend.z > 3
    assert abs(cprsim.fit(log, view="uptime").trend.z) < 3
