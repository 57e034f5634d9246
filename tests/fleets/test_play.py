"""Runs of fleets: against jobs played one by one, and sums done by hand."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from cprsim.cli.command import _main
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import RunError, UsageError
from cprsim.figures import draw
from cprsim.report.tables import fleet_notes, fleet_table
from cprsim.runs.fleet import Fleet
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.restarts import restarts
from cprsim.runs.vocabulary import vocabulary
from cprsim.sim.engine import COLUMNS, simulate
from tests.figures.reading import boxes_apart, rendered
from tests.fleets.test_fleet import DELAY, SERVERS, TIME, mapping

#: Once in four jobs an MTBF so short that a rollback of all that was trained never ends.
HOPELESS = {"distribution": "empirical", "values": ["8 h", "9 h", "10 h", "6 min"]}


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet.of(
        mapping(job__useful_time=TIME, cluster__parameter_servers=SERVERS, costs__reschedule=DELAY)
    )


@pytest.fixture(scope="module")
def result(fleet):
    return run_fleet(fleet, replications=120, seed=4)


def test_a_replication_is_the_job_of_that_number(fleet, result):
    for number in (0, 71, 119):
        job = fleet.job(4, number)
        expected = simulate(job, ["full", "cpr"], [number], 4)[0, :, COLUMNS.index("wall")]
        rows = result.replications[result.replications["replication"] == number]

        assert rows["policy"].tolist() == ["full", "cpr"]
        assert rows["wall_s"].tolist() == expected.tolist()
        useful_s = job.job.useful_time_s
        assert rows["overhead"].tolist() == (expected / useful_s - 1).tolist()
        assert rows["ettr"].tolist() == (useful_s / expected).tolist()
        assert rows["interval_s"].tolist() == [job.plan(p).interval_s for p in ("full", "cpr")]
        assert rows["job.useful_time_s"].tolist() == [useful_s] * 2
        assert rows["cluster.parameter_servers"].tolist() == [job.cluster.parameter_servers] * 2
        assert rows["costs.reschedule_s"].tolist() == [job.costs.reschedule] * 2


def test_terms_of_others_share_the_wall_clock_of_all_jobs_together(result):
    words = vocabulary("ett")
    own = result.of("full")
    shares = result.document(words)["policies"]["full"]["wall_shares"]
    wall_s = own["wall_s"].sum()
    assert shares["effective training"] == pytest.approx(own["useful_s"].sum() / wall_s)
    assert shares["unsaved training"] == pytest.approx(own["lost_s"].sum() / wall_s)
    assert sum(shares.values()) == pytest.approx(1)
    # Jobs of several lengths: their mean share is another.
    assert shares["effective training"] != pytest.approx(own["ettr"].mean(), rel=1e-4)


def test_a_job_is_the_same_whatever_their_number_policies_and_workers(fleet, result):
    few = run_fleet(fleet, ["cpr"], replications=60, seed=4, workers=2)

    expected = result.of("cpr").iloc[:60].reset_index(drop=True)
    pd.testing.assert_frame_equal(few.replications, expected, check_exact=True)


def test_means_are_over_jobs_and_machine_time_is_weighted_by_it(result):
    table = result.of("cpr")
    row = result.summary.loc["cpr"]
    nodes = table["cluster.parameter_servers"] + 4
    beyond_s = (nodes * (table["wall_s"] - table["useful_s"])).sum()

    assert row["overhead"] == pytest.approx(table["overhead"].mean())
    again = row["overhead"] + table["updates_lost"].mean()
    assert row["updates_lost"] > 0
    assert row["overhead_retrained"] == pytest.approx(again)
    assert result.document()["policies"]["cpr"]["overhead_retrained"]["mean"] == pytest.approx(
        again
    )
    assert sum(row[cause] for cause in OVERHEAD_CAUSES) == pytest.approx(row["overhead"])
    assert row["machine_s"] == pytest.approx(beyond_s)
    useful_s = (nodes * table["useful_s"]).sum()
    assert row["machine_overhead"] == pytest.approx(beyond_s / useful_s)
    assert row["overhead_p90"] == np.percentile(table["overhead"], 90)
    full_s = result.summary.loc["full", "machine_s"]
    assert row["given_back_s"] == pytest.approx(full_s - beyond_s)
    assert result.summary.loc["full", "given_back_s"] == 0


def test_jobs_at_a_percentile_are_those_within_one_of_it(result):
    jobs = result.of("full").sort_values("overhead").reset_index(drop=True)
    row = result.percentiles.set_index(["policy", "percentile"]).loc["full", 75]
    # Of 120 jobs, ranks (i + 1/2) / 120 from 74 % to 76 % are those of places 89 and 90.
    near = jobs.loc[[89, 90]]

    for cause in OVERHEAD_CAUSES:
        assert row[cause] == pytest.approx((near[f"{cause}_s"] / near["useful_s"]).mean())
    assert sum(row[c] for c in OVERHEAD_CAUSES) == pytest.approx(near["overhead"].mean())


@pytest.mark.slow
def test_a_job_that_gets_nowhere_is_left_out_under_all_policies_and_counted():
    # Under partial recovery, which loses no progress, none is given up.
    tables = mapping(
        failures__mean=HOPELESS,
        job__useful_time="2 h",
        costs__reschedule="0 s",
        costs__load="6 min",
    )
    tables["policies"] = {
        "full": {"system": "full", "interval": "3 h"},
        "partial": {"system": "partial", "interval": "3 h"},
    }
    fleet = Fleet.of(tables)
    draws = [draw["failures", "mean"] for draw in fleet.draws(0, range(12))]
    nowhere = tuple(i for i, mean in enumerate(draws) if mean == "6 min")
    kept = [i for i in range(12) if i not in nowhere]
    result = run_fleet(fleet, replications=12)

    assert 0 < len(nowhere) < 12
    assert result.given_up == {"full": nowhere, "partial": ()}
    for policy in ("full", "partial"):
        assert result.of(policy)["replication"].tolist() == kept
    assert result.document()["given_up"] == {"full": len(nowhere), "partial": 0}
    assert list(fleet_notes(result)) == [
        f"Left out under all policies: jobs that do not finish, {len(nowhere)} under full."
    ]
    with pytest.raises(
        RunError, match=r"^every job of the fleet makes no progress under some policy$"
    ):
        run_fleet(Fleet.of(tables | {"failures": tables["failures"] | {"mean": "6 min"}}), None, 2)


def test_jobs_in_which_a_policy_falls_back_are_counted():
    # To keep to it saves would take a third of the time where failures come every hour.
    tables = mapping(
        failures__mean={"distribution": "empirical", "values": ["1 h", "30 h"]}, costs__save="1 min"
    )
    tables["policies"] = {"it": {"system": "cpr-vanilla", "target_pls": 0.005}}
    result = run_fleet(Fleet.of(tables), replications=12)
    often = result.of("it")["failures.mean_s"] == 3600.0

    assert 0 < often.sum() < 12
    assert result.of("it")["fell_back"].tolist() == often.tolist()
    assert list(fleet_notes(result)) == [
        f"it: full recovery in {often.sum()} of 12 jobs, where it is expected to cost no more, or "
        "no interval meets the target"
    ]


def test_arguments_that_make_no_sense(fleet):
    with pytest.raises(UsageError, match=r"^replications 0 is not a whole number >= 1$"):
        run_fleet(fleet, replications=0)
    with pytest.raises(UsageError, match=r"^engine 'fast' is not one of auto, sim, batch$"):
        run_fleet(fleet, engine="fast")


def test_jobs_are_the_same_whoever_plays_them(fleet):
    by_batch, by_sim = (run_fleet(fleet, replications=30, engine=each) for each in ("batch", "sim"))

    assert set(by_batch.engines.values()) == {"batch"}
    assert by_batch.replications.equals(by_sim.replications)


@pytest.mark.slow
def test_the_command_prints_and_writes_what_the_result_says(fleet, tmp_path, capsys):
    path = tmp_path / "fleet.toml"
    path.write_text(fleet.to_toml(), encoding="utf-8")
    options = ["--replications", "60", "--json", "--out", str(tmp_path)]
    assert _main(["run", str(path), *options]) == 0
    document = json.loads(capsys.readouterr().out)
    result = run_fleet(fleet, replications=60)
    assert document == json.loads(json.dumps(result.document()))
    assert (
        document["policies"]["cpr"]["overhead"]["p90"] == result.summary.loc["cpr", "overhead_p90"]
    )
    written = pd.read_csv(tmp_path / "results.csv")
    assert written["job.useful_time_s"].tolist() == result.replications["useful_s"].tolist()
    assert (tmp_path / "scenario.toml").read_text(encoding="utf-8") == fleet.to_toml()
    assert (tmp_path / "fleet-breakdown.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_has_a_row_or_a_column_a_policy(result, width):
    console = Console(width=width, file=io.StringIO())
    console.print(fleet_table(result))
    text = console.file.getvalue()

    assert "120 jobs, seed 4" in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    for name, row in result.summary.iterrows():
        shown = (
            text if width == 80 else next(x for x in text.splitlines() if x.split()[:1] == [name])
        )
        for share in (row["overhead"], row["machine_overhead"], row["overhead_p99"], row["save"]):
            assert f"{100 * share:.2f}"[:4] in shown
        assert f"{row['given_back_s'] / 3600:,.0f}" in shown


def test_what_is_watched_of_one_job_is_refused(result):
    with pytest.raises(UsageError, match="causes are of one job"):
        _ = result.causes
    with pytest.raises(UsageError, match="restarts are of one job"):
        restarts(result, 3)


@pytest.mark.slow
@pytest.mark.parametrize("policies", [1, 2, 4, 7])
def test_the_picture_stacks_the_causes_of_each_percentile(result, policies):
    shown = result.percentiles[result.percentiles["policy"] == "full"]
    table = pd.concat([shown.assign(policy=f"policy {i}") for i in range(policies)])
    figure = rendered(draw("fleet-breakdown", table, "A fleet"))

    shown_axes = [axes for axes in figure.axes if axes.axison]
    assert len(shown_axes) == policies
    ends = [max(bar.get_x() + bar.get_width() for bar in bars) for bars in _bars(shown_axes[-1])]
    assert ends == pytest.approx(shown[list(OVERHEAD_CAUSES)].sum(axis=1).tolist())
    boxes_apart(figure)


def _bars(axes) -> list[list]:
    """The segments of each bar."""
    bars = [bar for bar in axes.patches if bar.get_height()]
    places = sorted({bar.get_y() for bar in bars})
    return [[bar for bar in bars if bar.get_y() == place] for place in places]
