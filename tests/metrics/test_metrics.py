"""What exporters say, read by parsers that are not ours."""

import json
import re
from dataclasses import asdict

import pytest

from cprsim.contract.ledger import CAUSES, Ledger
from cprsim.errors import UsageError
from cprsim.metrics import METRICS, PrometheusExporter, Reading, observe
from cprsim.metrics.catalogue import COUNTED
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


def test_prometheus_reads_every_metric_with_its_unit_and_labels():
    pytest.importorskip("prometheus_client", reason="needs cprsim[metrics]")
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
    assert scraped(PrometheusExporter(lambda: READING).text()) == expected


def test_prometheus_asks_anew_at_each_scrape():
    pytest.importorskip("prometheus_client", reason="needs cprsim[metrics]")
    steps = iter((1, 2))
    exporter = PrometheusExporter(lambda: Reading({}, {"step": next(steps)}))
    assert [scraped(exporter.text()) for _ in range(2)] == [
        {("cprsim_step", ()): 1},
        {("cprsim_step", ()): 2},
    ]


def test_opentelemetry_collects_the_same():
    sdk = pytest.importorskip("opentelemetry.sdk.metrics", reason="needs cprsim[metrics]")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    observe(lambda: READING, provider)
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    found = {
        (metric.name, metric.unit, tuple(sorted(point.attributes.items()))): point.value
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    provider.shutdown()
    assert scope.scope.name == "cprsim"
    assert found == {
        (metric.opentelemetry, metric.unit, tuple(sorted(labels.items()))): value
        for metric, labels, value in READING.measured()
    }
    assert found["cprsim.goodput", "1", (("policy", "cpr"),)] == 0.75


def test_a_simulated_run_is_told_by_the_same_code():
    ledger = Ledger(train=90.0, save=10.0, wall=100.0, failures=3, saves=4, pls=0.1)
    counts = {name: value for name, value in asdict(ledger).items() if name in COUNTED}
    reading = Reading({cause: getattr(ledger, cause) for cause in CAUSES}, counts)
    told = {metric.name: value for metric, _, value in reading.measured() if metric.name != "time"}
    assert told == {
        "goodput": 0.9,
        "badput": pytest.approx(0.1),
        "failures": 3,
        "saves": 4,
        "pls": 0.1,
        "updates_lost": 0.0,
    }


@pytest.mark.parametrize(
    ("call", "package"),
    [(PrometheusExporter, "prometheus-client"), (observe, "opentelemetry-sdk")],
)
def test_without_the_extra_it_is_said_what_to_install(call, package, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("cprsim.metrics.catalogue.import_module", absent)
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
        UsageError,
        match=r"^labels: cause = 'mine' is what seconds went to; name it otherwise$",
    ):
        Reading({"train": 1.0}, {}, {"cause": "mine"})
