"""Metrics as Prometheus scrapes them."""

from collections.abc import Callable, Iterator
from typing import Any

from cprsim.metrics.catalogue import Metric, Reading, needed


class PrometheusExporter:
    """A collector of prometheus_client, and the text that it comes to.

    To serve it: `prometheus_client.REGISTRY.register(exporter)`, then
    `prometheus_client.start_http_server(8000)`.

    Parameters
    ----------
    read
        Gives what is known of the job; asked at each scrape, in whatever thread that is.

    Raises
    ------
    UsageError
        Where prometheus-client is not installed.
    """

    def __init__(self, read: Callable[[], Reading]) -> None:
        self._client = needed("prometheus_client", "prometheus-client")
        self._families = needed("prometheus_client.core", "prometheus-client")
        self._read = read

    def collect(self) -> Iterator[Any]:
        """The families of metrics as they are now; prometheus_client calls it."""
        families: dict[Metric, Any] = {}
        for metric, labels, value in self._read().measured():
            if metric not in families:
                kind = f"{metric.kind.capitalize()}MetricFamily"
                families[metric] = getattr(self._families, kind)(
                    metric.prometheus, metric.help, labels=list(labels)
                )
            families[metric].add_metric(list(labels.values()), value)
        yield from families.values()

    def text(self) -> str:
        """In Prometheus' text format."""
        registry = self._client.CollectorRegistry()
        registry.register(self)
        text: bytes = self._client.generate_latest(registry)
        return text.decode()
