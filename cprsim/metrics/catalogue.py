"""Metrics of a job, each once, with its unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Final, Literal, NamedTuple, Protocol

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


def needed(module: str, package: str) -> ModuleType:
    """A module of the extra; raise `UsageError`, saying what to install, where it is absent."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise UsageError(
            f"{package} is not installed, and exporting metrics needs it: "
            'pip install "cprsim[metrics]"'
        ) from None
