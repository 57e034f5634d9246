"""Metrics as instruments of OpenTelemetry."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from cprsim.metrics.catalogue import METRICS, Metric, Reading, needed


def observe(read: Callable[[], Reading], provider: Any = None) -> None:
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


def _observations(
    api: Any, read: Callable[[], Reading], metric: Metric, _options: Any
) -> Iterator[Any]:
    for found, labels, value in read().measured():
        if found is metric:
            yield api.Observation(value, labels)
