"""`cprsim sweep` and `cprsim export` as a user meets them."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

import cprsim
from cprsim.cli import command as cli
from cprsim.runs.selection.bounds import Quality
from cprsim.sweeps.display import best_table
from tests.sweeps.processes import SCENARIO

VARY = ["--vary", "failures.mean=20 h,30 h"]


@pytest.fixture(autouse=True)
def scenario_file(folder) -> None:
    Path("s.toml").write_text(SCENARIO)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = cli._main(list(arguments))
    return code, *capsys.readouterr()


def swept(capsys, *arguments: str) -> tuple[int, str, str]:
    few = [] if "--replications" in arguments else ["--replications", "5"]
    return run(capsys, "sweep", "s.toml", "--out", "out", "--workers", "1", *few, *arguments)


def test_a_sweep_prints_a_row_a_point_and_a_column_a_policy(capsys):
    code, out, err = swept(capsys, *VARY)
    summary = cprsim.run(cprsim.load_scenario("s.toml"), replications=5).summary  # at 20 h
    cell = f"{100 * summary.loc['full', 'overhead']:.2f}"

    assert (code, err) == (0, "")
    assert "2 points, 5 replications, seed 0" in out
    (row,) = (line.split() for line in out.splitlines() if line.split()[:3] == ["0", "20", "h"])
    assert row[3] == cell
    assert "cprsim export out --format csv" in out


def test_json_is_one_document_and_says_what_the_table_of_run_says(capsys):
    code, out, err = swept(capsys, *VARY, "--json", "--policy", "partial", "--seed", "3")
    document = json.loads(out)
    run_of = cprsim.run(cprsim.load_scenario("s.toml"), ["partial"], 5, seed=3).document()
    first, second = document.pop("points")

    assert (code, err) == (0, "")
    assert document == {
        "scenario": "", "seed": 3, "replications": 5, "half_width": None, "out": "out", "failed": 0,
        "failed_in_part": 0,
    }  # fmt: skip
    assert (first["point"], first["values"], first["error"]) == (0, {"failures.mean": "20 h"}, None)
    policy = first["policies"]["partial"]
    assert policy.pop("replications") == 5
    assert policy["overhead"] == run_of["policies"]["partial"]["overhead"]
    assert policy.keys() | {"engine", "costs"} == run_of["policies"]["partial"].keys()
    assert second["values"] == {"failures.mean": "30 h"}


def test_best_prints_a_row_for_all_circumstances(capsys):
    vary = [*VARY, "--vary", "policies.full.interval=1 h,3 h"]
    code, out, err = swept(capsys, *vary, "--best")
    rows = [
        line.split() for line in out.splitlines() if line.split()[:2] in (["20", "h"], ["30", "h"])
    ]
    best = cprsim.Sweep("out").best()

    assert (code, err) == (0, "")
    assert "4 points, 5 replications, seed 0" in out
    assert [row[2] for row in rows] == best["policy"].tolist() == ["partial"] * 2
    assert [float(row[5]) for row in rows] == [
        pytest.approx(100 * each, abs=0.005) for each in best["overhead"]
    ]
    assert "though learning is lost; --max-pls and --max-updates-lost bound that." in out
    # Full recovery alone loses nothing; which of its intervals is better, five may not tell.
    _, out, _ = swept(capsys, *vary, "--best", "--max-updates-lost", "0")
    assert "Only candidates with updates lost <= 0 %, as far as that is known." in out
    assert "partial" not in out
    _, out, _ = swept(capsys, *vary, "--best", "--max-pls", "0", "--policy", "full", "--out", "one")
    assert "partial" not in out


def test_a_narrow_terminal_gets_the_table_in_parts(capsys):
    swept(capsys, *VARY, "--vary", "costs.save=0 s,5 min", "--policy", "full")
    told = io.StringIO()
    Console(file=told, width=60).print(best_table(cprsim.Sweep("out"), Quality()))

    assert told.getvalue().count("failures.") >= 2
    assert "the only one" in told.getvalue()
    assert max(map(len, told.getvalue().splitlines())) <= 60


def test_the_document_has_the_best_if_asked_for(capsys):
    code, out, _ = swept(
        capsys, *VARY, "--replications", "60", "--best", "--max-pls", "0.5", "--json"
    )
    document, best = json.loads(out), cprsim.Sweep("out").best(max_pls=0.5)

    assert code == 0
    assert [each["policy"] for each in document["best"]] == best["policy"].tolist()
    assert document["best"][0]["values"] == {"failures.mean": "20 h"}
    assert (
        document["best"][1]["margin"]["ci95"] == best.loc[1, ["margin_low", "margin_high"]].tolist()
    )
    assert len(document["points"]) == 2


def test_no_candidate_within_a_bound_and_a_failed_point_are_told(capsys):
    code, out, _ = swept(
        capsys, "--vary", "costs.save=0 s,5 min", "--policy", "full", "--policy", "partial",
        "--best", "--max-pls", "0",
    )  # fmt: skip
    failed, good = (line for line in out.splitlines() if line.split()[1:2] in (["s"], ["min"]))

    assert code == 1
    assert failed.split() == ["0", "s", "failed"]
    assert good.split()[2:3] == ["full"]
    assert good.rstrip().endswith("the only one")
    _, out, _ = swept(
        capsys, *VARY, "--policy", "partial", "--best", "--max-pls", "0", "--out", "b"
    )
    assert out.count("no policy meets the limits") == 2


def test_csv_goes_to_stdout_or_to_a_file(capsys):
    swept(capsys, *VARY)
    code, out, err = run(capsys, "export", "out", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    table = cprsim.Sweep(Path("out")).table

    assert (code, err) == (0, "")
    assert [row["policy"] for row in rows] == ["full", "partial"] * 2
    assert [row["failures.mean_s"] for row in rows] == ["72000.0"] * 2 + ["108000.0"] * 2
    assert [float(row["overhead"]) for row in rows] == table["overhead"].tolist()
    assert run(capsys, "export", "out", "--format", "csv", "--out", "t.csv") == (
        0,
        "",
        "cprsim: wrote t.csv\n",
    )
    assert Path("t.csv").read_text() == out


NEITHER = (
    "holds no sweep and no run; name a folder given to cprsim sweep --out, or to cprsim run --out"
)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["out"], "Missing option '--format'."),
        (["none", "--format", "csv"], f"none: {NEITHER}"),
        (
            ["out", "--format", "xml"],
            "format 'xml' is not one of csv, parquet, prometheus, opentelemetry",
        ),
        (["out", "--format", "parquet"], "--format parquet is no text; give --out FILE"),
        (
            ["out", "--format", "csv", "--out", "s.toml/t.csv"],
            "--out s.toml: s.toml is a file, not a folder",
        ),
    ],
)
def test_an_export_that_can_not_be_is_refused(capsys, arguments, fault):
    swept(capsys, *VARY)

    assert run(capsys, "export", *arguments) == (2, "", f"cprsim: {fault}\n")


@pytest.mark.parametrize(
    ("library", "asked", "told"),
    [
        (
            "pyarrow",
            ["export", "out", "--format", "parquet", "--out", "t.parquet"],
            "format parquet needs pyarrow: pip install 'cprsim[parquet]'",
        ),
        (
            "distributed",
            ["sweep", "s.toml", *VARY, "--out", "out", "--scheduler", "tcp://localhost:1"],
            "--scheduler needs dask.distributed: pip install 'cprsim[cluster]'",
        ),
    ],
)
def test_without_its_library_it_says_what_to_install(capsys, monkeypatch, library, asked, told):
    swept(capsys, *VARY)
    monkeypatch.setitem(sys.modules, library, None)

    assert run(capsys, *asked) == (2, "", f"cprsim: {told}\n")


def test_more_replications_than_anything_needs_are_refused(capsys):
    many = "1000000000000"
    assert swept(capsys, *VARY, "--replications", many) == (
        2, "", "cprsim: replications 1,000,000,000,000: would take 5.79 d a policy where it is "
        "fastest; the most are 1,000,000,000, which give a mean to a 16,000th of the spread\n",
    )  # fmt: skip
    assert not Path("out").exists()
    # Where a half-width ends it, they are only the most that a point may get.
    assert swept(capsys, *VARY, "--replications", many, "--half-width", "90%")[0] == 0


def said_in(svg: str) -> str:
    """The words of a picture, whose lines may break anywhere."""
    return " ".join(" ".join(re.findall(r"<text[^>]*>([^<]*)<", svg)).split())


@pytest.mark.slow
def test_a_map_is_drawn_within_the_bounds_of_the_table(capsys):
    more = ("--vary", "costs.load=1 min,2 min", "--vary", "costs.save=1 min,9 min")
    *_, err = swept(capsys, *VARY, *more, "--best", "--map", "map.svg", "--at", "costs.load=60 s")

    assert err == "cprsim: wrote map.svg\n"
    drawn = Path("map.svg").read_text()
    assert "updates lost &lt;= 0 %" not in said_in(drawn)
    assert cli._main(["sweep", "out", "--map", "lossless.svg", "--at", "costs.load=1 min",
                 "--max-updates-lost", "0"]) == 0  # fmt: skip
    assert "updates lost &lt;= 0 %" in said_in(Path("lossless.svg").read_text())
    assert cli._main(["sweep", "out", "--map", "map.svg", "--at", "costs.load=1 min"]) == 0
    assert Path("map.svg").read_text() == drawn


def test_what_failed_is_told_where_no_map_can_be_drawn_too(capsys):
    free = ("--vary", "costs.save=0 s,5 min", "--policy", "full", "--map", "map.svg")
    code, _, err = swept(capsys, *free, "--at", "costs.load=2020-01-01")

    assert (code, len(err.splitlines())) == (1, 3)
    assert err.splitlines()[0] == "cprsim: 1 of 2 points failed:"
    assert err.splitlines()[2] == (
        "cprsim: figure phase: at costs.load: is not varied; varied: costs.save"
    )
    given = ("--map", "map.svg", "--at", "failures.mean=2020-01-01", "--out", "other")
    code, _, err = swept(capsys, *VARY, *given)
    told = 'at failures.mean = "2020-01-01": the sweep has 20 h, 30 h'
    assert (code, err) == (2, f"cprsim: figure phase: {told}\n")


NO_PLAN = (
    "policies.full: the save takes no time, so no interval is optimal; give one, e.g. interval = "
    '"10 min"'
)


@pytest.mark.parametrize(
    ("saves", "policies", "told"),
    [
        (
            "0 s,5 min",
            ["full"],
            ["1 of 2 points failed:", f"point 0 (costs.save = 0 s): {NO_PLAN}"],
        ),
        # Of policies that all fail the first says why.
        ("0 s,5 min", [], ["1 of 2 points failed:", f"point 0 (costs.save = 0 s): {NO_PLAN}"]),
        (
            ",".join(["0 s"] * 8),
            ["full"],
            [
                "8 of 8 points failed:",
                *(f"point {number} (costs.save = 0 s): {NO_PLAN}" for number in range(5)),
                "and 3 more; cprsim export has them all",
            ],
        ),
    ],
)
def test_points_that_fail_are_summed_up_at_the_end_with_exit_code_1(capsys, saves, policies, told):
    asked = ["--vary", f"costs.save={saves}", *(f"--policy={name}" for name in policies)]
    code, out, err = swept(capsys, *asked)

    assert code == 1
    assert [line.split()[3] for line in out.splitlines() if line.split()[:1] == ["0"]] == ["failed"]
    assert err.splitlines() == [f"cprsim: {line}" for line in told]
    code, out, _ = swept(capsys, *asked, "--json")
    assert code == 1
    assert json.loads(out)["failed"] == len(saves.split(",")) - saves.count("min")


def test_a_policy_that_fails_at_a_point_is_told_at_the_end_and_the_others_are_there(capsys):
    free = ("--vary", "costs.save=0 s,5 min", "--set", "policies.partial.interval=1 h")
    code, out, err = swept(capsys, *free)
    (row,) = (line.split() for line in out.splitlines() if line.split()[:1] == ["0"])

    assert code == 1
    assert row[3] == "failed"
    assert float(row[4]) > 0
    assert err == (
        "cprsim: 1 of 2 points failed under some policies:\n"
        "cprsim: point 0 (costs.save = 0 s), under full: policies.full: the save takes no time, so "
        'no interval is optimal; give one, e.g. interval = "10 min"\n'
    )
    document = json.loads(swept(capsys, *free, "--json")[1])
    first, second = document["points"]
    assert (document["failed"], document["failed_in_part"], first["error"]) == (0, 1, None)
    assert list(first["errors"]) == ["full"]
    assert list(first["policies"]) == ["partial"]
    assert (second["errors"], list(second["policies"])) == ({}, ["full", "partial"])


def test_what_is_set_holds_at_every_point(capsys):
    swept(capsys, *VARY, "--set", "costs.save=1 min")
    table = cprsim.Sweep(Path("out")).table
    direct = cprsim.load_scenario("s.toml", ["costs.save=1 min", "failures.mean=30 h"])

    assert (
        table["overhead"].tolist()[2:]
        == cprsim.run(direct, replications=5).summary["overhead"].tolist()
    )


def test_a_sweep_that_is_shown_again_takes_no_options_that_would_play_it_otherwise(capsys):
    swept(capsys, *VARY)
    shown = run(capsys, "sweep", "out", "--best", "--max-pls", "1%")
    assert (shown[0], shown[2]) == (0, "")
    assert "Only candidates with PLS <= 1 %" in shown[1]

    code, out, err = run(capsys, "sweep", "out", "--policy", "full", "--seed", "9", "--set", "a=1")
    assert (code, out) == (2, "")
    assert err == (
        "cprsim: out: is a sweep that was played, which is shown as it is; --policy, --seed, "
        "--set go with a scenario: leave them out, or sweep that\n"
    )


def test_how_much_is_still_to_be_done_is_told_in_tables_and_the_map(capsys, monkeypatch):
    def update(_, done, _total):
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr("cprsim.cli.common.ProgressBar.update", update)
    swept(capsys, *VARY)

    for more in ([], ["--best"]):
        _, out, _ = run(capsys, "sweep", "out", *more)
        assert out.splitlines()[1].startswith(
            "2 points, 1 of them still to be done, 5 replications"
        )
    assert "1 point still to be done" in cprsim.Sweep("out").figure().get_supxlabel()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--vary", "cluster.trainers=8,16"], 1),
        (["--vary", "cluster.trainers=8,16", "--set", "failures.per=node"], 0),
        (VARY, 0),
    ],
)
def test_a_size_that_is_varied_without_its_failures_is_told(capsys, more, told):
    _, _, err = swept(capsys, *more)

    line = (
        "cprsim: cluster.trainers: the law of failures is that of the whole job, so that larger "
        'clusters fail as often; with failures.per = "node", and the mean of a node, they fail '
        "more often\n"
    )
    assert err.count(line) == told


def test_ctrl_c_says_how_to_go_on(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cprsim.sweeps.driver.perform", interrupted)

    told = "interrupted; what is done is in out: give the same command again to go on"
    assert swept(capsys, *VARY) == (1, "", f"cprsim: {told}\n")
    assert run(capsys, "export", "out", "--format", "csv")[2] == (
        "cprsim: 2 of 2 points are still to be done\n"
    )
