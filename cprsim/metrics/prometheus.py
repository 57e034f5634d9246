"""Metrics as Prometheus scrapes them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cprsim.metrics.catalogue import Metric, Readable, Reading, needed

#: A metric, its labels, its value, and when it had that, s; None for now.
_Sample = tuple[Metric, dict[str, str], float, float | None]

_Labels = tuple[tuple[str, str], ...]


class _Collector:
    """A collector of prometheus_client: one metric after the other, and of it label by label."""

    def __init__(self, sample: Callable[[], Iterable[_Sample]]) -> None:
        self._client = needed("prometheus_client", "prometheus-client")
        self._core = needed("prometheus_client.core", "prometheus-client")
        self._sample = sample

    def collect(self) -> Iterator[Any]:
        """The families of metrics as they are now; prometheus_client calls it."""
        found: dict[
            Metric, dict[tuple[tuple[str, str], ...], list[tuple[float, float | None]]]
        ] = {}
        for metric, labels, value, at_s in self._sample():
            series = found.setdefault(metric, {})
            series.setdefault(tuple(labels.items()), []).append((value, at_s))
        for metric, series in found.items():
            make = getattr(self._core, f"{metric.kind.capitalize()}MetricFamily")
            names = [name for name, _ in next(iter(series))]
            family = make(metric.prometheus, metric.help, labels=names)
            for labelled, samples in series.items():
                for value, at_s in samples:
                    family.add_metric([each for _, each in labelled], value, timestamp=at_s)
            yield family

    def _written(self, generate: Callable[[Any], bytes]) -> str:
        registry = self._client.CollectorRegistry()
        registry.register(self)
        return generate(registry).decode()


class PrometheusExporter(_Collector):
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
        super().__init__(lambda: ((*each, None) for each in read().measured()))

    def text(self) -> str:
        """In Prometheus' text format."""
        return self._written(self._client.generate_latest)


def openmetrics(readings: Iterable[tuple[float, Reading]]) -> str:
    """Readings of a job at times, in seconds since it began, in the text format of OpenMetrics.

    `promtool tsdb create-blocks-from openmetrics` takes this format.

    Raises `UsageError` where prometheus-client is not installed.
    """
    exposition = needed("prometheus_client.openmetrics.exposition", "prometheus-client")
    samples = [(*each, at_s) for at_s, reading in readings for each in reading.measured()]
    return _Collector(lambda: samples)._written(exposition.generate_latest)
