"""Seconds by cause and counts of a job, for monitoring: Prometheus' text and OpenTelemetry.

    exporter = PrometheusExporter(lambda: hooks.summary.reading)
    exporter.text()

Whatever has seconds by cause can be a `Reading`: a training loop with hooks, a run of the
simulator. docs/metrics.md lists the metrics with their units. Exporters need the extra:
`pip install "cprsim[metrics]"`.
"""

from cprsim.metrics.catalogue import METRICS, Metric, Reading, Readings
from cprsim.metrics.opentelemetry import collected, observe
from cprsim.metrics.prometheus import PrometheusExporter, openmetrics

__all__ = [
    "METRICS",
    "Metric",
    "PrometheusExporter",
    "Reading",
    "Readings",
    "collected",
    "observe",
    "openmetrics",
]
