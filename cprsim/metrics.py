"""Seconds by cause and counts of a job, for monitoring: Prometheus' text and OpenTelemetry.

    exporter = PrometheusExporter(lambda: hooks.summary.reading)
    exporter.text()

Whatever has seconds by cause can be a `Reading`: a training loop with hooks, a run of the
simulator. docs/metrics.md lists the metrics with their units. Exporters need the extra:
`pip install "cprsim[metrics]"`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple, Protocol

from cprsim.errors import UsageError

#: The cause of seconds that count; all others are badput.
_GOODPUT = "train"
#: What a unit of UCUM, as OpenTelemetry has it, is called at the end of a name of Prometheus.
_WORDS = {"s": "_seconds", "By": "_bytes", "1": "_ratio"}


class Metric(NamedTuple):
    """One metric: `unit` in UCUM (`"1"`: a share between 0 and 1, `"{save}"`: a number of saves).

    A counter only grows while a process lives; a gauge may go down.
    """

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    help: str

    @property
    def prometheus(self) -> str:
        """Its name for Prometheus: with the unit, and `_total` for a counter."""
        end = "_total" if self.kind == "counter" else ""
        return f"cprsim_{self.name}{_WORDS.get(self.unit, '')}{end}"

    @property
    def opentelemetry(self) -> str:
        """Return its name for OpenTelemetry, which has the unit in a field."""
        return f"cprsim.{self.name}"


#: Seconds are a gauge: a rollback takes them from `train` and gives them to `lost`.
TIME: Final = Metric("time", "gauge", "s", "Wall-clock time by cause; all causes add up to it")
GOODPUT: Final = Metric("goodput", "gauge", "1", "Share of the time that is training that counts")
BADPUT: Final = Metric("badput", "gauge", "1", "Share of the time that goes to all other causes")
#: Those of a count, by its key in `Reading.counts`.
COUNTED: Final = {
    "step": Metric("step", "gauge", "{step}", "Steps done that count"),
    "steps": Metric("steps", "gauge", "{step}", "Steps of the whole job"),
    "checkpoint": Metric("checkpoint_step", "gauge", "{step}", "Step of the last checkpoint"),
    "saves": Metric("saves", "counter", "{save}", "Saves that are stored"),
    "saves_failed": Metric("saves_failed", "counter", "{save}", "Saves that came to nothing"),
    "failures": Metric("failures", "counter", "{failure}", "Failures, restarts among them"),
    "bytes_saved": Metric("saved", "counter", "By", "Bytes of checkpoints written"),
    "bytes_loaded": Metric("loaded", "counter", "By", "Bytes of checkpoints read"),
    "pls": Metric("pls", "gauge", "1", "Portion of lost samples, (E4) of CPR"),
    "updates_lost": Metric("updates_lost", "gauge", "1", "Share of updates of rows lost for good"),
    "learning_lost": Metric("learning_lost", "gauge", "1", "Mean of -ln(1 - lost) over shards"),
}
METRICS: Final = (TIME, GOODPUT, BADPUT, *COUNTED.values())


#: Each metric, its labels, and its value.
Measured = Iterator[tuple[Metric, dict[str, str], float]]


class Readable(Protocol):
    """A `Reading`, or several: the input of exporters."""

    def measured(self) -> Measured:
        """Each metric, its labels, and its value."""


@dataclass(frozen=True)
class Reading:
    """The state of a job now, as metrics.

    `seconds`: by cause, as in `cprsim.contract.ledger`. `counts`: by keys of `COUNTED`; what isn't
    in it is no metric of this job. `labels`: what all its metrics carry, such as the policy; not
    `cause`, that of seconds. `words`: terms in place of causes; without one a cause
    has its own name.

    Raises `UsageError` for such a label.
    """

    seconds: Mapping[str, float]
    counts: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "cause" in self.labels:
            raise UsageError(
                f"labels: cause = {self.labels['cause']!r} is a cause of seconds; name it otherwise"
            )

    def measured(self) -> Measured:
        """Each metric, its labels, and its value; those of one metric one after the other."""
        for word, spent_s in self._by_word().items():
            yield TIME, {**self.labels, "cause": word}, spent_s
        whole_s = sum(self.seconds.values())
        if whole_s > 0:
            goodput = self.seconds.get(_GOODPUT, 0.0) / whole_s
            yield GOODPUT, dict(self.labels), goodput
            yield BADPUT, dict(self.labels), 1 - goodput
        for key, metric in COUNTED.items():
            if key in self.counts:
                yield metric, dict(self.labels), self.counts[key]

    def _by_word(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for cause, spent_s in self.seconds.items():
            word = self.words.get(cause, cause)
            found[word] = found.get(word, 0.0) + spent_s
        return found


@dataclass(frozen=True)
class Readings:
    """Readings of several policies, or jobs, whose labels have the same names and differ."""

    each: Sequence[Reading]

    def measured(self) -> Measured:
        """Each metric, its labels, and its value, reading by reading."""
        for reading in self.each:
            yield from reading.measured()


def _needed(module: str, package: str) -> ModuleType:
    """A module of the extra; raise `UsageError`, saying what to install, where it is absent."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise UsageError(
            f"{package} is not installed, and exporting metrics needs it: "
            'pip install "cprsim[metrics]"'
        ) from None


#: A metric, its labels, its value, and when it had that, s; None for now.
_Sample = tuple[Metric, dict[str, str], float, float | None]

_Labels = tuple[tuple[str, str], ...]


class _Collector:
    """A collector of prometheus_client: one metric after the other, and of it label by label."""

    def __init__(self, sample: Callable[[], Iterable[_Sample]]) -> None:
        self._client = _needed("prometheus_client", "prometheus-client")
        self._core = _needed("prometheus_client.core", "prometheus-client")
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
    exposition = _needed("prometheus_client.openmetrics.exposition", "prometheus-client")
    samples = [(*each, at_s) for at_s, reading in readings for each in reading.measured()]
    return _Collector(lambda: samples)._written(exposition.generate_latest)


def observe(read: Callable[[], Readable], provider: Any = None) -> None:
    """Make an observable instrument for each metric, with the meter `cprsim`.

    `read`: gives what is known of the job, whenever a reader of metrics collects. `provider`: a
    `MeterProvider`; the global one if none is given.

    Raises `UsageError` where opentelemetry-sdk is not installed.
    """
    api = _needed("opentelemetry.metrics", "opentelemetry-sdk")
    meter = api.get_meter("cprsim") if provider is None else provider.get_meter("cprsim")
    for metric in METRICS:
        make = getattr(meter, f"create_observable_{metric.kind}")
        called = partial(_observations, api, read, metric)
        make(metric.opentelemetry, [called], unit=metric.unit, description=metric.help)


def collected(read: Callable[[], Readable]) -> str:
    """Return the metrics that a reader collects now, as the JSON of OpenTelemetry's SDK.

    Raises `UsageError` where opentelemetry-sdk is not installed.
    """
    sdk = _needed("opentelemetry.sdk.metrics", "opentelemetry-sdk")
    export = _needed("opentelemetry.sdk.metrics.export", "opentelemetry-sdk")
    resources = _needed("opentelemetry.sdk.resources", "opentelemetry-sdk")
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
