"""Metrics as instruments of OpenTelemetry."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from cprsim.metrics.catalogue import METRICS, Metric, Readable, needed


def observe(read: Callable[[], Readable], provider: Any = None) -> None:
    """Make an observable instrument for each metric, with the meter `cprsim`.

    `read`: gives what is known of the job, whenever a reader of metrics collects. `provider`: a
    `MeterProvider`; the global one if none is given.

    Raises `UsageError` where opentelemetry-sdk is not installed.
    """
    api = needed("opentelemetry.metrics", "opentelemetry-sdk")
    meter = api.get_meter("cprsim") if provider is None else provider.get_meter("cprsim")
    for metric in METRICS:
        make = getattr(meter, f"create_observable_{metric.kind}")
        called = partial(_observations, api, read, metric)
        make(metric.opentelemetry, [called], unit=metric.unit, description=metric.help)


def collected(read: Callable[[], Readable]) -> str:
    """Return the metrics that a reader collects now, as the JSON of OpenTelemetry's SDK.

    Raises `UsageError` where opentelemetry-sdk is not installed.
    """
    sdk = needed("opentelemetry.sdk.metrics", "opentelemetry-sdk")
    export = needed("opentelemetry.sdk.metrics.export", "opentelemetry-sdk")
    resources = needed("opentelemetry.sdk.resources", "opentelemetry-sdk")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(
        [reader], resources.Resource({"service.name": "cprsim"}), shutdown_on_exit=False
    )
    observe(read, provider)
    text: str = reader.get_metrics_data().to_json()
    provider.shutdown()
    return text + "\n"


def _observations(
    api: Any, read: Callable[[], Readable], metric: Metric, _options: Any
) -> Iterator[Any]:
    for found, labels, value in read().measured():
        if found is metric:
            yield api.Observation(value, labels)
