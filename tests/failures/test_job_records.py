"""Tables of jobs: which of them their nodes interrupted, and how often nodes do."""

import io
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import cprsim
from cprsim.cli import command as cli
from cprsim.errors import UsageError
from cprsim.failures.logs.job_table import read_jobs
from tests.failures.played import job_of

SACCT = (Path(__file__).parent / "log_cases/jobs_of_sacct.txt").read_text(encoding="utf-8")
#: Of it: 64 x 10 + 64 x 48 + 1 + 8 x 24 + 128 x 5 + 128 x 30.
NODE_HOURS = 8385


@pytest.fixture
def sacct(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return path


def drawn(rng, jobs, mtbf_h, power=0.0):
    """Jobs on 1 to 256 nodes that their nodes interrupt, each so often at one node.

    `power`: with which power of its size a node of a job fails more often.
    """
    nodes = 2 ** rng.integers(0, 9, jobs)
    wanted_h = rng.exponential(20.0, jobs)
    struck_h = rng.exponential(mtbf_h / (nodes * nodes**power))
    hours = np.minimum(wanted_h, struck_h)
    state = np.where(struck_h < wanted_h, "NODE_FAIL", "COMPLETED")
    return pd.DataFrame(
        {"job_id": np.arange(jobs), "state": state, "node_num": nodes, "duration": 3600 * hours}
    )


def test_node_hours_of_all_jobs_count_and_steps_do_not(sacct):
    found = read_jobs(sacct)

    assert (found.interruptions, found.node_hours) == (2, NODE_HOURS)
    assert found.dropped == {
        "of steps of a job": 1,
        "of jobs that never ran, or whose end is unknown": 1,
    }
    assert found.ended == {
        "NODE_FAIL": 2,
        "COMPLETED": 1,
        "FAILED": 1,
        "CANCELLED": 1,
        "RUNNING": 1,
    }
    mean_s, low_s, high_s = found.mtbf_s()
    assert mean_s / 3600 == pytest.approx(NODE_HOURS / 2)
    # Garwood's interval of 2 events: half of quantiles of chi-square with 6 and 4 degrees.
    assert low_s / 3600 == pytest.approx(NODE_HOURS / (chi2.ppf(0.975, 6) / 2))
    assert high_s / 3600 == pytest.approx(NODE_HOURS / (chi2.ppf(0.025, 4) / 2))
    assert found.mtbf_s(64)[0] == pytest.approx(mean_s / 64)
    by_nodes = found.by_nodes
    assert by_nodes.least.tolist() == [1, 8, 64, 128]
    assert by_nodes.node_hours.sum() == pytest.approx(NODE_HOURS)
    assert by_nodes.low.tolist()[:2] == [0, 0]


def test_without_elapsed_a_job_ran_from_its_start_to_its_end(tmp_path):
    with_dates = pd.read_csv(io.StringIO(SACCT), sep="|", dtype=str).drop(columns="Elapsed")
    path = tmp_path / "jobs.csv"
    with_dates.to_csv(path, index=False)

    found = read_jobs(path)
    assert found.node_hours == pytest.approx(NODE_HOURS - 128 * 30)  # of one the end isn't known
    assert found.interruptions == 2


@pytest.mark.parametrize(
    ("head", "row", "unit"),
    [
        ("job_id,state,node_num,duration", "7.2026.1,NODE_FAIL,4,2", "h"),
        ("job_id;state;node_num;start;end", "7;NODE_FAIL;4;1772323200000;1772330400000", "ms"),
        ("job_id;state;node_num;start;end", "7;NODE_FAIL;4;1772323200000;1772330400000", None),
        ("job_id,state,node_num,duration", "7.0,NODE_FAIL,4.0,7200", None),
        ("job_id,status,nodes,start,end", "7,node_fail,4,2026-03-01 00:00,2026-03-01 02:00", None),
        ("JobID|State|NNodes|Elapsed|", "7_1|NODE_FAIL|4|02:00:00|", "s"),
    ],
)
def test_tables_are_read_as_they_come(tmp_path, head, row, unit):
    path = tmp_path / "jobs.csv"
    path.write_text(f"\n{head}\n{row}\n{head}\n")

    found = read_jobs(path, time_unit=unit)
    assert (found.node_hours, found.interruptions, found.dropped) == (8, 1, {})


@pytest.mark.parametrize("seed", range(5))
def test_a_known_rate_is_found_from_jobs_most_of_which_end_before_a_failure(tmp_path, seed):
    """Within 3.5 standard errors, 1 / sqrt(interruptions) of the rate: 5 seeds, 1 in 400."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "jobs.csv"
    drawn(rng, 3000, 2000.0).to_csv(path, index=False)

    found = read_jobs(path)
    assert 200 < found.interruptions < 1500
    error = 2000.0 / found.interruptions**0.5
    assert found.mtbf_s()[0] / 3600 == pytest.approx(2000.0, abs=3.5 * error)
    assert abs(found.size_z) < 3.5


def test_nodes_of_larger_jobs_that_fail_more_often_are_told(tmp_path):
    path = tmp_path / "jobs.csv"
    drawn(np.random.default_rng(1), 3000, 4000.0, power=0.3).to_csv(path, index=False)

    found = read_jobs(path)
    assert found.size_z > 4
    assert any("larger jobs interrupt more often" in note for note in found.notes)
    assert found.toml().startswith("# Nodes of larger jobs")


def test_sacct_hides_runs_before_a_requeue_and_that_is_said(sacct, tmp_path):
    assert not any("--duplicates" in note for note in read_jobs(sacct).notes)
    path = tmp_path / "alone.txt"
    path.write_text("".join(line for line in SACCT.splitlines(True) if "100|NODE_FAIL" not in line))
    assert any("--duplicates" in note for note in read_jobs(path).notes)


def test_the_command_tells_sizes_and_makes_a_block(sacct, capsys):
    assert cli._main(["fit", str(sacct)]) == 0
    shown = capsys.readouterr().out
    assert "6 jobs, 8,385 node-hours, 2 interruptions" in shown
    assert "Left out: 1 row of steps of a job." in shown
    assert cli._main(["fit", str(sacct), "--toml"]) == 0
    failures = tomllib.loads(capsys.readouterr().out)["failures"]
    assert failures == {"distribution": "exponential", "per": "node", "mean": "4192.5 h"}
    mtbf_s = job_of(failures, 4, 0).context.mtbf_s
    assert mtbf_s == pytest.approx(read_jobs(sacct).mtbf_s(4)[0])


def test_a_quote_is_a_letter_where_bars_part_cells(tmp_path):
    path = tmp_path / "jobs.txt"
    rows = '1|"a|NODE_FAIL|4|10:00:00\n2|"b|COMPLETED|4|1-00:00:00\n'
    path.write_text(f"JobID|JobName|State|NNodes|Elapsed\n{rows}")

    found = read_jobs(path)
    assert (len(found.jobs), found.interruptions) == (2, 1)


def test_what_two_dumps_both_have_counts_once(sacct):
    once = read_jobs(sacct)
    sacct.write_text(SACCT + SACCT)

    twice = read_jobs(sacct)
    assert twice.jobs.equals(once.jobs)
    assert twice.dropped == once.dropped | {"told again": 8}


@pytest.mark.parametrize("nodes", [1, 48, 1000])
def test_jobs_of_one_size_tell_nothing_of_sizes(tmp_path, nodes):
    path = tmp_path / "jobs.csv"
    drawn(np.random.default_rng(2), 300, 2000.0).assign(node_num=nodes).to_csv(path, index=False)

    found = read_jobs(path)
    assert found.interruptions > 10
    assert np.isnan(found.size_z)
    assert not any("larger jobs" in note for note in found.notes)


def test_jobs_are_not_taken_for_failures(sacct):
    with pytest.raises(UsageError, match="table of jobs"):
        cprsim.fit(sacct)
