"""What exporters say, read by parsers that are not ours."""

import json
import re

import pytest

import cprsim
from cprsim.basics.files import write_all
from cprsim.contract.ledger import CAUSES
from cprsim.errors import UsageError
from cprsim.metrics import METRICS, PrometheusExporter, Reading, collected, observe, openmetrics
from cprsim.report import outputs
from cprsim.runs.vocabulary import VOCABULARIES, vocabulary
from cprsim.scenario import Scenario
from cprsim.sim.history.readings import readings
from cprsim.sim.history.recorder import record
from tools.paths import DOCS

SECONDS = {"train": 60.0, "save": 15.0, "lost": 5.0}
COUNTS = {"step": 7, "saves": 2, "pls": 0.25, "bytes_saved": 4096}
READING = Reading(SECONDS, COUNTS, {"policy": "cpr"})


def scraped(text):
    """Samples by name and labels, as Prometheus' own client reads them."""
    parser = pytest.importorskip("prometheus_client.parser", reason="needs cprsim[metrics]")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def exporter(read):
    """An exporter of what `read` gives; skips the test where Prometheus' client is absent."""
    pytest.importorskip("prometheus_client", reason="needs cprsim[metrics]")
    return PrometheusExporter(read)


def test_prometheus_reads_every_metric_with_its_unit_and_labels():
    policy = ("policy", "cpr")
    expected = {("cprsim_time_seconds", (("cause", c), policy)): s for c, s in SECONDS.items()}
    expected |= {
        ("cprsim_goodput_ratio", (policy,)): 0.75,
        ("cprsim_badput_ratio", (policy,)): 0.25,
        ("cprsim_step", (policy,)): 7,
        ("cprsim_saves_total", (policy,)): 2,
        ("cprsim_pls_ratio", (policy,)): 0.25,
        ("cprsim_saved_bytes_total", (policy,)): 4096,
    }
    assert scraped(exporter(lambda: READING).text()) == expected


def test_prometheus_asks_anew_at_each_scrape():
    steps = iter((1, 2))
    found = exporter(lambda: Reading({}, {"step": next(steps)}))
    assert [scraped(found.text()) for _ in range(2)] == [
        {("cprsim_step", ()): 1},
        {("cprsim_step", ()): 2},
    ]


@pytest.fixture(scope="module")
def result():
    """Of a job with starts, ends and failures, under two policies."""
    scenario = cprsim.load_scenario("ett-ladder")
    policies = scenario.mapping()["policies"] | {"cpr": {"system": "cpr-vanilla"}}
    return cprsim.run(Scenario(**scenario.mapping() | {"policies": policies}), replications=8)


def test_a_simulated_run_is_told_as_prometheus_reads_it(result):
    readings = result.readings()
    found = scraped(exporter(lambda: readings).text())
    scenario = ("scenario", result.scenario.title)
    for policy in ("job", "cpr"):
        labels = ("policy", policy), scenario
        own = result.of(policy)
        times = {c: found["cprsim_time_seconds", (("cause", c), *labels)] for c in CAUSES}
        assert times == pytest.approx({c: own[f"{c}_s"].mean() for c in CAUSES})
        assert sum(times.values()) == pytest.approx(own["wall_s"].mean())
        goodput = result.scenario.job.useful_time_s / own["wall_s"].mean()
        assert found["cprsim_goodput_ratio", labels] == pytest.approx(goodput)
        assert found["cprsim_badput_ratio", labels] == pytest.approx(1 - goodput)
        assert found["cprsim_failures_total", labels] == pytest.approx(own["failures"].mean())
        assert found["cprsim_pls_ratio", labels] == pytest.approx(own["pls"].mean())
    assert found["cprsim_pls_ratio", labels] > 0
    assert not [name for name, _ in found if name == "cprsim_saved_bytes_total"]  # no [model]


@pytest.mark.parametrize("name", VOCABULARIES)
def test_words_of_others_add_up_to_the_same(name, result):
    words = vocabulary(name)
    told = result.readings(words).each[0]
    times = {
        labels["cause"]: value for metric, labels, value in told.measured() if metric.name == "time"
    }
    shares = words.shares(result.summary.loc["job"])
    assert times.keys() == shares.keys()
    whole_s = sum(times.values())
    assert {term: each / whole_s for term, each in times.items()} == pytest.approx(shares)


def test_a_timeline_ends_with_its_ledger_as_openmetrics_reads_it():
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="needs cprsim[metrics]"
    )
    scenario = cprsim.load_scenario("ett-ladder")
    history = record(scenario, "job")
    text = openmetrics(readings(history, scenario.title))
    samples = [s for family in parser.text_string_to_metric_families(text) for s in family.samples]
    last = {}
    for sample in samples:
        key = sample.name, sample.labels.get("cause")
        assert key not in last or sample.timestamp > last[key].timestamp
        last[key] = sample
    assert {s.labels["policy"] for s in samples} == {"job"}
    for cause in CAUSES:
        spent = last["cprsim_time_seconds", cause]
        assert float(spent.timestamp) == pytest.approx(history.ledger.wall)
        assert spent.value == pytest.approx(getattr(history.ledger, cause), abs=1e-6)
    assert last["cprsim_failures_total", None].value == len(history.failures) > 0
    assert last["cprsim_saves_total", None].value == history.ledger.saves


def test_opentelemetrys_json_has_every_policy(result):
    pytest.importorskip("opentelemetry.sdk.metrics", reason="needs cprsim[metrics]")
    told = result.readings()
    (resource,) = json.loads(collected(lambda: told))["resource_metrics"]
    (scope,) = resource["scope_metrics"]
    found = {
        (metric["name"], metric["unit"], tuple(sorted(point["attributes"].items()))): point["value"]
        for metric in scope["metrics"]
        for point in metric["data"]["data_points"]
    }
    assert resource["resource"]["attributes"] == {"service.name": "cprsim"}
    assert scope["scope"]["name"] == "cprsim"
    assert found == {
        (metric.opentelemetry, metric.unit, tuple(sorted(labels.items()))): pytest.approx(value)
        for metric, labels, value in told.measured()
    }


@pytest.mark.slow
def test_the_folder_of_a_run_is_exported(result, tmp_path, called):
    told = result.readings()
    expected = scraped(exporter(lambda: told).text())
    run, out = tmp_path / "run", tmp_path / "run.prom"
    write_all(run, outputs.contents(result))
    asked = ["export", str(run), "--format", "prometheus"]
    called(*asked, "--out", str(out))
    assert scraped(out.read_text(encoding="utf-8")) == pytest.approx(expected)
    printed = called(*asked, "--vocabulary", "ett").out
    assert {dict(labels)["cause"] for name, labels in scraped(printed) if "time" in name} == {
        *vocabulary("ett").terms
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["none", "--format", "prometheus"],
            "none: holds no sweep and no run; name a folder given to cprsim sweep --out, or to "
            "cprsim run --out",
        ),
        (
            ["run", "--format", "csv"],
            "--format csv: run holds a run; give prometheus or opentelemetry",
        ),
        (
            ["sweep", "--format", "prometheus"],
            "--format prometheus: sweep holds a sweep; give csv or parquet",
        ),
        (
            ["sweep", "--format", "csv", "--vocabulary", "ett"],
            "--vocabulary goes with --format prometheus or opentelemetry",
        ),
        (
            ["run", "--format", "prometheus", "--vocabulary", "mine"],
            "vocabulary: 'mine' is none of cprsim, goodput, ett",
        ),
        (
            ["run", "--format", "prometheus"],
            "run has no scenario.toml; give a scenario, or the folder of a run",
        ),
    ],
)
def test_what_can_not_be_exported_is_said_in_a_line(asked, said, tmp_path, monkeypatch, called):
    monkeypatch.chdir(tmp_path)
    for name in ("run/results.csv", "sweep/sweep.db"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    assert called("export", *asked, code=2) == ("", f"cprsim: {said}\n")


@pytest.mark.parametrize(
    ("call", "package"),
    [
        (PrometheusExporter, "prometheus-client"),
        (openmetrics, "prometheus-client"),
        (observe, "opentelemetry-sdk"),
        (collected, "opentelemetry-sdk"),
    ],
)
def test_without_the_extra_it_is_said_what_to_install(call, package, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("cprsim.metrics.import_module", absent)
    with pytest.raises(
        UsageError,
        match=re.escape(
            f"{package} is not installed, and exporting metrics needs it: "
            'pip install "cprsim[metrics]"'
        ),
    ):
        call(lambda: READING)


def test_the_page_lists_every_metric():
    text = (DOCS / "metrics.md").read_text(encoding="utf-8")
    table = text[text.index("| Prometheus |") :].splitlines()[2:]
    assert table == [
        f"| `{m.prometheus}` | `{m.opentelemetry}` | {m.kind} | `{m.unit}` | {m.help} |"
        for m in METRICS
    ]


def test_the_dashboard_asks_for_metrics_that_there_are():
    board = json.loads((DOCS / "grafana/cprsim.json").read_text(encoding="utf-8"))
    asked = [each["expr"] for panel in board["panels"] for each in panel["targets"]]
    names = {name for expr in asked for name in re.findall(r"cprsim_\w+", expr)}
    assert names <= {metric.prometheus for metric in METRICS}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_a_label_that_seconds_have():
    with pytest.raises(
        UsageError, match=r"^labels: cause = 'mine' is a cause of seconds; name it otherwise$"
    ):
        Reading({"train": 1.0}, {}, {"cause": "mine"})
