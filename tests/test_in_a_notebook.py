"""What Python shows of a result by itself: a line, a table in a notebook, labelled arrays."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.errors import UsageError
from cprsim.runs.notebook import notebook_html
from tools.paths import ROOT

LOG = ROOT / "scenarios/failures.csv"
KEYS = {"cluster.spares": [0, 1, 2], "failures.mean": ["20 h", "10 h"]}


@pytest.fixture(scope="module")
def result() -> cprsim.Result:
    return cprsim.run(cprsim.load_scenario("quickstart"), ["full", "cpr"], 4, seed=3, engine="sim")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> cprsim.Sweep:
    return cprsim.sweep("quickstart", tmp_path_factory.mktemp("a") / "s", KEYS, ["full", "cpr"], 2)


@pytest.fixture(scope="module")
def advice() -> cprsim.Advice:
    scenario = cprsim.load_scenario("quickstart", ["job.useful_time=1 d"])
    return cprsim.advise(scenario, systems=["full", "replication"], within=0.05)


class Tables(HTMLParser):
    """The rows of tables, by their cells; complains of tags that aren't closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data


def test_a_result_in_a_line(result: cprsim.Result) -> None:
    assert repr(result) == (
        "<Result 'Quickstart: a four-day job on 10 parameter servers': full, cpr; 4 replications, "
        "seed 3>"
    )


def test_a_result_in_a_notebook(result: cprsim.Result) -> None:
    head, *rows = Tables(result._repr_html_()).rows

    assert head[:4] == ["policy", "overhead", "95 %", "lost"]
    assert [row[0] for row in rows] == ["full", "cpr"]
    for row in rows:
        assert float(row[1]) == pytest.approx(
            100 * result.summary.loc[row[0], "overhead"], abs=6e-3
        )
        causes = sum(float(cell) for cell in row[3:10])  # seven, each rounded
        assert causes == pytest.approx(float(row[1]), abs=8 * 0.005)


def test_one_replication_has_no_interval_there() -> None:
    found = cprsim.run(cprsim.load_scenario("quickstart"), ["full"], 1)

    assert Tables(found._repr_html_()).rows[1][2] == ""


def test_what_is_shown_is_escaped() -> None:
    assert notebook_html("<a>", "&", ["b<"], [["<c>", "d&"]], ["<e>"]) == (
        "<div><strong>&lt;a&gt;</strong><br>&amp;<table><thead><tr><th>b&lt;</th></tr></thead><tbody>"
        "<tr><th>&lt;c&gt;</th><td>d&amp;</td></tr></tbody></table><ul><li>&lt;e&gt;</li></ul></div>"
    )


def test_an_answer_in_a_line_and_in_a_notebook(advice: cprsim.Advice) -> None:
    assert re.fullmatch(
        r"<Advice 'Quickstart: [^']*': \w+: replication[^,]*, \d\.\d\d%>", repr(advice)
    )

    text = advice._repr_html_()
    assert [row[0] for row in Tables(text).rows[1:]] == [*advice.table.index]
    for warning in advice.warnings:
        assert warning.split(":")[0] in text


def test_an_answer_that_nobody_keeps_to() -> None:
    scenario = cprsim.load_scenario("quickstart", ["job.useful_time=1 d"])
    found = cprsim.advise(scenario, systems=["partial"], max_pls=0, within=0.05)

    assert repr(found).endswith(": none: nobody>")
    assert "none: nobody, with 95%" in found._repr_html_()


def test_a_fleet_in_a_line_and_in_a_notebook() -> None:
    fleet = cprsim.load_fleet(
        "quickstart", ["cluster.spares={distribution='empirical',values=[0,1]}"]
    )
    found = cprsim.run_fleet(fleet, ["full"], 4)

    assert repr(found) == (
        "<FleetResult 'Quickstart: a four-day job on 10 parameter servers': full; 4 replications, "
        "seed 0>"
    )
    assert [row[0] for row in Tables(found._repr_html_()).rows] == ["policy", "full"]
    assert dict(found.to_xarray().sizes) == {"policy": 1, "replication": 4}


def test_a_fit_in_a_line_and_in_a_notebook() -> None:
    fitted = cprsim.fit(LOG, coalesce="5 min")

    assert repr(fitted) == (
        "<LogFit failures.csv, coalesced within 5 min: weibull, mean 20.3 h; 173 durations>"
    )
    rows = Tables(fitted._repr_html_()).rows
    of_mean, of_shape = "16.8 to 24.5 h", "0.711 to 0.897"
    assert rows[1] == ["weibull", "20.3 h", of_mean, "0.798", of_shape, "5.9", "1.3", "0.0"]
    assert len(rows) == 5


def test_a_sweep_in_a_line_and_in_a_notebook(sweep: cprsim.Sweep) -> None:
    assert repr(sweep) == (
        f"<Sweep 'Quickstart: a four-day job on 10 parameter servers' in {sweep.folder}: 6 points; "
        "full, cpr>"
    )
    rows = Tables(sweep._repr_html_()).rows
    assert rows[0][:3] == ["cluster.spares", "failures.mean_s", "policy"]
    assert rows[1][:3] == ["0", "72000", "full"]
    assert len(rows) == 1 + 6 * 2


# xarray


def test_a_result_as_labelled_arrays(result: cprsim.Result) -> None:
    found = result.to_xarray()

    assert dict(found.sizes) == {"policy": 2, "replication": 4}
    assert found.attrs == {"title": result.scenario.title, "seed": 3, "engine": "sim"}
    for name in ("full", "cpr"):
        assert found["overhead"].sel(policy=name).values.tolist() == (
            result.of(name)["overhead"].tolist()
        )


def test_a_sweep_of_all_combinations_is_a_cube(sweep: cprsim.Sweep) -> None:
    cube = sweep.to_xarray()

    assert dict(cube.sizes) == {"cluster.spares": 3, "failures.mean_s": 2, "policy": 2}
    assert cube["failures.mean_s"].values.tolist() == [72_000.0, 36_000.0]
    for row in sweep.table.to_dict("records"):
        at = {key: row[key] for key in ("cluster.spares", "failures.mean_s", "policy")}
        assert cube["overhead"].sel(at).item() == row["overhead"]


def test_another_sweep_is_over_its_points(tmp_path: Path) -> None:
    path = tmp_path / "zip.toml"
    path.write_text(
        (ROOT / "scenarios/quickstart.toml").read_text(encoding="utf-8")
        + '\n[sweep.zip]\ncluster.spares = [0, 1]\nfailures.mean = ["20 h", "10 h"]\n',
        encoding="utf-8",
    )
    found = cprsim.sweep(path, tmp_path / "s", policies=["full"], replications=2).to_xarray()

    assert dict(found.sizes) == {"point": 2, "policy": 1}
    assert found["failures.mean_s"].sel(policy="full").values.tolist() == [72_000.0, 36_000.0]


def test_what_a_sweep_still_has_to_do_is_no_number_there(sweep: cprsim.Sweep) -> None:
    half = cprsim.Sweep(sweep.folder)
    half.__dict__["table"] = sweep.table[sweep.table["cluster.spares"] < 2]
    cube = half.to_xarray()

    assert dict(cube.sizes) == {"cluster.spares": 3, "failures.mean_s": 2, "policy": 2}
    missing = np.isnan(cube["overhead"].values)
    assert missing[2].all()
    assert not missing[:2].any()


def test_without_xarray_it_says_what_to_install(
    result: cprsim.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cprsim.runs.notebook.util.find_spec", lambda _: None)
    with pytest.raises(UsageError) as raised:
        result.to_xarray()

    assert str(raised.value) == (
        'xarray is not installed, and to_xarray needs it: pip install "cprsim[xarray]"'
    )


@pytest.mark.slow
def test_xarray_is_imported_by_nothing_else() -> None:
    code = "import sys, cprsim; cprsim.run, cprsim.Sweep; sys.exit('xarray' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
