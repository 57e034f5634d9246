"""`cprsim fit` as a user meets it."""

import json
import tomllib
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.failures.test_malformed import CASES
from tests.survival.cases import LANL, needs_lanl

pytestmark = pytest.mark.usefixtures("folder")


def gamma_csv(failures: int = 300) -> str:
    rng = np.random.default_rng(0)
    times, nodes = np.cumsum(rng.gamma(0.7, 1000.0, failures)), rng.integers(8, size=failures)
    rows = zip(times, nodes, strict=True)
    Path("log.csv").write_text("time_s,node\n" + "".join(f"{at},{node}\n" for at, node in rows))
    return "log.csv"


def test_the_table_names_the_log_and_each_law(called):
    out, err = called("fit", gamma_csv())

    assert err == ""
    lines = out.splitlines()
    assert lines[0].rstrip() == "log.csv"
    assert lines[1].startswith("299 gaps between failures of the whole system; mean ")
    laws = [line.split()[0] for line in lines if line[1:4] in ("exp", "gam", "wei", "log")]
    assert sorted(laws) == ["exponential", "gamma", "lognormal", "weibull"]
    assert any(line.endswith("% in root mean square.") for line in lines)


def test_json_is_one_document_and_nothing_else(called):
    out, err = called("fit", gamma_csv(), "--json")

    assert err == ""
    assert json.loads(out)["n"] == 299


def test_a_table_of_hosts_and_dates_is_fitted_as_it_is(called):
    rows = [line.split(",") for line in Path(gamma_csv()).read_text().splitlines()[1:]]
    dates = [(datetime(2026, 5, 3) + timedelta(seconds=float(at)), node) for at, node in rows]
    dates.reverse()
    text = "".join(f"x,{at.isoformat()},gpu-{node}.example,boom\n" for at, node in dates)
    Path("found.csv").write_text("id,Started At,Hostname,type\n" + text)
    Path("named.csv").write_text("id,fell,box,type\n" + text)

    out, err = called("fit", "found.csv")
    own, found, named = (
        json.loads(called("fit", *arguments, "--json").out)
        for arguments in (
            ["log.csv"],
            ["found.csv"],
            ["named.csv", "--time-column", "fell", "--node-column", "box"],
        )
    )

    assert err == ""
    assert "Columns: time 'Started At' (ISO 8601, taken for UTC), node 'Hostname' (8 names" in out
    assert "Sorted by time; rows that stood behind a later one: 299." in out
    assert [each.pop("reader") for each in (own, found, named)] == ["csv"] * 3
    assert [each.pop("log") for each in (own, found, named)] == [
        "log.csv",
        "found.csv",
        "named.csv",
    ]
    assert found.pop("columns") == {"time": "Started At", "node": "Hostname", "kind": "type"}
    assert named.pop("columns") == {"time": "fell", "node": "box", "kind": "type"}
    for each in (found, named):  # which name the columns
        del each["told"], each["notes"]
    assert found == named
    assert found["mean_s"] == pytest.approx(own["mean_s"], abs=1e-5)  # dates end at 1e-6 s
    assert found["fits"][0]["mean_s"] == pytest.approx(own["fits"][0]["mean_s"], rel=1e-6)


def test_what_was_recognised_is_told(called):
    Path("times").write_text("".join(f"{5 + i * i % 7} h\n" for i in range(30)))

    out = called("fit", "times").out
    document = json.loads(called("fit", "times", "--json").out)

    assert "Read as intervals, which it looks like; else give --reader." in out
    assert document["reader"] == "intervals"
    assert "Read as" not in called("fit", "times", "--reader", "intervals").out


def test_a_log_that_looks_like_none_gets_one_line(called):
    Path("odd.csv").write_text("a,b\n1,2\n")

    out, err = called("fit", "odd.csv", code=2)

    assert out == ""
    assert err.startswith("cprsim: odd.csv: looks like none of the logs that are known: csv, lanl,")
    assert err.endswith("or name the columns of a table with --time-column and --node-column\n")
    assert err.count("\n") == 1


def test_toml_is_a_block_to_paste(called):
    out, err = called("fit", gamma_csv(), "--toml")

    assert err == ""
    assert tomllib.loads(out)["failures"]["per"] == "job"


def test_a_job_without_a_number_of_nodes_gets_the_mtbf_of_all_sizes(called):
    out = called("fit", gamma_csv(), "--view", "job", "--population", "8").out
    table = called("fit", "log.csv", "--view", "job", "--population", "8", "--json").out

    rows = json.loads(table)["mtbf_by_nodes"]
    assert [row["nodes"] for row in rows] == [1, 2, 4, 8]
    assert rows[0].keys() == {"nodes", "measured_s", "low_s", "high_s", "linear_s", "independent_s"}
    assert [line.split()[0] for line in out.splitlines()[6:10]] == ["1", "2", "4", "8"]


@pytest.mark.parametrize(
    ("suffix", "view"),
    [
        ("svg", ["--view", "job"]),
        pytest.param("PNG", [], marks=pytest.mark.slow),
        pytest.param("png", [], marks=pytest.mark.slow),
        pytest.param("pdf", [], marks=pytest.mark.slow),
    ],
)
def test_a_picture_is_drawn(called, suffix, view):
    err = called("fit", gamma_csv(), *view, "--plot", f"new/picture.{suffix}").err

    assert err == f"cprsim: wrote new/picture.{suffix}\n"
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix.lower()]
    assert Path(f"new/picture.{suffix}").read_bytes().startswith(magic)
    assert [path.name for path in Path("new").iterdir()] == [f"picture.{suffix}"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.reader}-{case.error[4:60]}")
def test_malformed_logs_get_one_line_and_exit_code_2(called, case):
    case.place()
    system = [] if case.system is None else ["--system", str(case.system)]

    said = called("fit", "log", "--reader", case.reader, *system, code=2)

    assert said == ("", f"cprsim: {case.error}\n")


@pytest.mark.slow
@needs_lanl
def test_a_real_log(called):
    arguments = [str(LANL), "--reader", "lanl", "--system", "20", "--window", "0.5:1"]

    out = called("fit", *arguments, "--toml").out

    keys = tomllib.loads(out)["failures"]
    causes = keys.pop("causes")
    assert keys == {
        "distribution": "gamma",
        "mean": "24.2374 h",
        "shape": 0.614068,
        "per": "job",
        "log": str(LANL),
        "reader": "lanl",
        "system": 20,
        "window": "0.5:1.0",
    }
    assert {each: causes[0][each] for each in ("name", "share")} == {
        "name": "CPU",
        "share": 0.373134,
    }
    assert all(each["repair"] for each in causes)
    assert causes[-1]["hits"] == {"parameter_servers": 3}
