"""Metrics as Prometheus scrapes them."""

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from cprsim.metrics.catalogue import Metric, Readable, Reading, needed


class PrometheusExporter:
    """A collector of prometheus_client, and its text.

    To serve it: `prometheus_client.REGISTRY.register(exporter)`, then
    `prometheus_client.start_http_server(8000)`.

    Parameters
    ----------
    read
        Returns the state of the job; called at each scrape, in whatever thread that is.

    Raises
    ------
    UsageError
        Where prometheus-client is not installed.
    """

    def __init__(self, read: Callable[[], Readable]) -> None:
        self._client = needed("prometheus_client", "prometheus-client")
        self._families = needed("prometheus_client.core", "prometheus-client")
        self._read = read

    def collect(self) -> Iterator[Any]:
        """The families of metrics as they are now; prometheus_client calls it."""
        families: dict[Metric, Any] = {}
        for metric, labels, value in self._read().measured():
            if metric not in families:
                families[metric] = _family(self._families, metric, labels)
            families[metric].add_metric(list(labels.values()), value)
        yield from families.values()

    def text(self) -> str:
        """In Prometheus' text format."""
        registry = self._client.CollectorRegistry()
        registry.register(self)
        text: bytes = self._client.generate_latest(registry)
        return text.decode()


def _family(families: ModuleType, metric: Metric, labels: Iterable[str]) -> Any:
    """One of prometheus_client's, still empty."""
    kind = getattr(families, f"{metric.kind.capitalize()}MetricFamily")
    return kind(metric.prometheus, metric.help, labels=list(labels))


class _Series:
    """A collector of readings at times: one metric after the other, and of it label by label."""

    def __init__(self, readings: Iterable[tuple[float, Reading]]) -> None:
        self._families = needed("prometheus_client.core", "prometheus-client")
        self._found: dict[Metric, dict[tuple[tuple[str, str], ...], list[tuple[float, float]]]] = {}
        for at_s, reading in readings:
            for metric, labels, value in reading.measured():
                series = self._found.setdefault(metric, {})
                series.setdefault(tuple(labels.items()), []).append((at_s, value))

    def collect(self) -> Iterator[Any]:
        """The families of metrics, each sample with its time; prometheus_client calls it."""
        for metric, series in self._found.items():
            family = _family(self._families, metric, dict(next(iter(series))))
            for labels, samples in series.items():
                for at_s, value in samples:
                    family.add_metric([label for _, label in labels], value, timestamp=at_s)
            yield family


def openmetrics(readings: Iterable[tuple[float, Reading]]) -> str:
    """Readings of a job at times, in seconds since it began, in the text format of OpenMetrics.

    `promtool tsdb create-blocks-from openmetrics` takes this format.

    Raises `UsageError` where prometheus-client is not installed.
    """
    client = needed("prometheus_client", "prometheus-client")
    exposition = needed("prometheus_client.openmetrics.exposition", "prometheus-client")
    registry = client.CollectorRegistry()
    registry.register(_Series(readings))
    text: bytes = exposition.generate_latest(registry)
    return text.decode()
