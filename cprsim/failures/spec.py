"""The scenario's `[failures]` section: when nodes fail, and which."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from cprsim.basics.distributions import Distribution, Durations, Name, Positive, check_keys
from cprsim.basics.schema import PositiveSeconds, Section, a_list
from cprsim.failures.bursts import Bursts
from cprsim.failures.causes import FailureCause, SeverityWeights, as_shares, cause_faults
from cprsim.failures.hits import Hits
from cprsim.failures.logs.options import Columns, Dates, Rules, parse_window, written
from cprsim.failures.logs.readers import READERS
from cprsim.failures.notices import Notices
from cprsim.failures.presets import PRESETS

Window = Annotated[
    tuple[float, float] | Dates,
    BeforeValidator(parse_window),
    PlainSerializer(written),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": ":",
            "x-unit": "shares of the log's time, or dates",
            "examples": ["0.5:1", "2025-03-01:2025-06-01"],
        }
    ),
]


if TYPE_CHECKING:
    from cprsim.failures.frailty import Frailty

    ReaderName = str
    PresetName = str
else:
    ReaderName, PresetName = Literal[tuple(READERS)], Literal[tuple(PRESETS)]

Ages = Literal["new", "stationary"]
#: Whose a factor of frailty is: of all machines that come into a place, or of one machine.
Stays = Literal["place", "machine"]
#: Of the gamma factors: beyond it most nodes hardly ever fail, and a few at once again and again.
_MOST_FRAILTY = 20
_MOST_EXCLUDED = 100_000
#: The keys that say when failures come, each with the keys that go with it alone.
SOURCES: dict[str, tuple[str, ...]] = {
    "distribution": (
        "mean",
        "shape",
        "cv",
        "durations",
        "per",
        "ages",
        "bursts",
        "frailty",
        "frailty_of",
        "log",
    ),
    "exactly": (),
    "trace": ("reader", "system", "columns", "rules", "window", "coalesce"),
    "preset": (),
}
_TIMES = [key for key in SOURCES if key != "preset"]  # a preset sets keys of the others


class SilentLaw(Distribution):
    """Faults that corrupt training, and that nobody notices.

    The time between them is training, that which is done again included. `distribution`: its law,
    exponential if not given; the other keys are those of any law.
    """

    distribution: Name = "exponential"


_MOST_TIMES: Final = 1000.0
_MOST_REPAIRS: Final = 50


class Offenders(Section):
    """Machines that fail again and again, as AIReSim has them (arXiv 2603.07041).

    `share`: of all machines, those that are bad when they come into the job. `times`: how many
    times as often as a good one a bad one fails; `failures.mean` is the life of good ones. `cured`:
    share of the repairs of bad machines that make them good. `misdiagnosed`: share of the failures
    after which another machine is repaired, so that this one stays as it is. `retired_after`: at
    that repair a machine leaves for good, and one that is new to the job takes its place; never if
    not given. A machine that is repaired comes back into its place. A restart in place repairs
    nothing.
    """

    share: Annotated[float, Field(ge=0, le=1, examples=[0.15])]
    times: Annotated[float, Field(ge=1, le=_MOST_TIMES, examples=[6.0])]
    cured: Annotated[float, Field(ge=0, le=1, examples=[0.76])] = 1.0
    misdiagnosed: Annotated[float, Field(ge=0, lt=1, examples=[0.1])] = 0.0
    retired_after: Annotated[int, Field(ge=1, le=_MOST_REPAIRS, examples=[3])] | None = None


class Failures(Section):
    """When failures come: a law (`distribution`), a number (`exactly`), or a log (`trace`).

    `distribution`: the name of the law of the time between failures. `mean`: mean time between
    failures of what `per` names. `shape`: k of gamma and Weibull (1 = exponential, below 1 = early
    failures, above 1 = wear-out). `cv`: standard deviation / mean of the lognormal. `durations`:
    times between failures that an empirical law draws from. `exactly`: in place of a law, so many
    failures, uniform over the useful time. `preset`: a known law, with its keys; see
    docs/failures.md. `trace`: in place of a law, the file of a log that is replayed. `reader`:
    format of that log; CSV if not given. `system`: which one of a log with several systems.
    `columns`: what the columns of a CSV log are called. `rules`: which of its records are failures.
    `window`: the part of the log that is
    replayed. `coalesce`: failures of a log so close in time are one. `hits`: who fails together,
    where a law or a number says when. `bursts`: failures of several nodes of a rack at once.

    `per = "job"`: the law is of the time between failures of the job; `per = "node"`: of each
    node's life, and bursts may take down several nodes of a rack at once. `ages`: whether the
    first gap between failures, or the lives of the nodes, begin when the job starts (`new`), or are
    under way then, as in a cluster that has long run (`stationary`, the default). `frailty`: the
    variance of a gamma factor on the pace of each node's lives. `frailty_of`: whether the frailty
    stays with the `"place"`, so that a replacement has it too, or goes with the `"machine"`.
    `exclude_worst`: how many of the nodes that fail most often are left out, of a frailty or of a
    log of a whole system. `offenders`: machines that fail again and again until a repair cures
    them; `mean` is then the life of the others. `log`: which log the law was fitted to, for `cprsim
    fit --for`; the keys that go with a trace say what was taken of it. Nothing is played of it.
    `severity`: how often what is in the memory of the nodes hit survives, by weights; every failure
    is `node` without them. `causes`: in its place causes of failures, each with its share (or with
    a `mean`, in place of a law), severity, detection and nodes hit. `silent`: faults
    that nobody notices. `notice`: how failures are announced.
    `during_recovery`: whether a failure can strike while loading. `while_waiting`: whether a
    failure can strike also while the job holds nodes that are up and waits for others. See
    docs/semantics.md.
    """

    distribution: Name | None = None
    mean_s: PositiveSeconds | None = Field(None, alias="mean")
    shape: Positive | None = None
    cv: Positive | None = None
    durations_s: Durations | None = Field(None, alias="durations")
    per: Literal["job", "node"] = "job"
    ages: Ages | None = None
    bursts: (
        Annotated[
            Bursts, Field(examples=[{"mean": "90 d", "rack": 16, "sizes": {"2": 0.8, "3": 0.2}}])
        ]
        | None
    ) = None
    frailty: Annotated[float, Field(ge=0, le=_MOST_FRAILTY)] = 0.0
    frailty_of: Stays | None = None
    exclude_worst: Annotated[int, Field(ge=0, le=_MOST_EXCLUDED)] = 0
    offenders: (
        Annotated[Offenders, Field(examples=[{"share": 0.15, "times": 6.0, "cured": 0.76}])] | None
    ) = None
    hits: Hits = Hits()
    severity: Annotated[SeverityWeights, Field(examples=[{"process": 0.6, "node": 0.4}])] | None = (
        None
    )
    causes: (
        Annotated[
            tuple[FailureCause, ...],
            a_list("give each cause as [[failures.causes]] with name and share, or mean"),
            Field(examples=[[{"name": "hang", "share": 1.0, "detect": "30 min"}]]),
        ]
        | None
    ) = None
    silent: Annotated[SilentLaw, Field(examples=[{"mean": "10 d"}])] | None = None
    notice: Annotated[Notices, Field(examples=[{"lead": "120 s", "recall": 0.9}])] | None = None
    during_recovery: bool = True
    while_waiting: bool = True
    exactly: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    trace: str | None = None
    log: Annotated[str, Field(examples=["failures.csv"])] | None = None
    reader: ReaderName | None = None
    system: int | None = None
    columns: Annotated[Columns, Field(examples=[{"time": "started"}])] | None = None
    rules: Annotated[Rules, Field(examples=[{"failure_when": "failure=1"}])] | None = None
    window: Window | None = None
    coalesce_s: PositiveSeconds | None = Field(None, alias="coalesce")
    preset: PresetName | None = None

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, keys: object) -> object:
        """Fill in a preset, whose keys lose against those given, and a law for means of causes."""
        if not isinstance(keys, dict):
            return keys
        name = keys.get("preset")
        preset = PRESETS[name].keys if isinstance(name, str) and name in PRESETS else {}
        for source in (SOURCES.keys() - {"preset"}) if preset else ():
            if source in keys and keys[source] != preset.get(source):
                raise ValueError(
                    f"preset {name!r} says itself when failures come; leave {source!r} out, or "
                    "leave preset out"
                )
        return as_shares({**preset, **keys})

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [key for key in _TIMES if self._has(key)]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"give one of {', '.join(SOURCES)}; found {found}")
        if self.distribution is not None:
            check_keys(self.law)
        else:
            for key in filter(self._has, ("mean", "shape", "cv", "durations", "ages")):
                raise ValueError(
                    f"{key!r} goes with distribution, not with {given[0]}; leave it out"
                )
        for fault in (
            *self._trace_faults(),
            *self._node_faults(),
            *self._frailty_faults(),
            *self._cause_faults(),
        ):
            raise ValueError(fault)
        return self

    def _has(self, key: str) -> bool:
        """Return whether the file gives that key."""
        return vars(self)[_FIELDS[key]] is not None

    def _trace_faults(self) -> Iterator[str]:
        """Yield which keys go with a log, or with a log of another format."""
        if self.log is not None and self.distribution is None:
            yield "'log' goes with a law that was fitted to it; leave it out"
        if self.trace is None:
            for key in filter(self._has, SOURCES["trace"] if self.log is None else ()):
                yield f"{key!r} goes with trace or log; leave it out"
            return
        reader = READERS[self.reader or "csv"]
        if reader.needs_system and self.system is None:
            yield f"reader {self.reader!r} needs 'system': {reader.system}"
        if not reader.system and self.system is not None:
            known = " or ".join(repr(name) for name, each in READERS.items() if each.system)
            yield f"'system' goes with reader = {known}; leave it out"
        if not reader.named and self.columns is not None:
            yield "'columns' goes with reader = 'csv'; leave it out"
        for name in () if self.rules is None else self.rules.given:
            if name not in reader.rules:
                takers = " or ".join(repr(each) for each, it in READERS.items() if name in it.rules)
                yield f"'rules.{name}' goes with reader = {takers}; leave it out"

    def _node_faults(self) -> Iterator[str]:
        """Yield which keys go with lives of nodes alone, or with failures of the job."""
        if self.per == "node" and self.distribution is None:
            yield "per = 'node' goes with distribution; leave it out"
        for key in ("bursts", "frailty", "offenders"):
            if vars(self)[key] and self.per != "node":
                way_out = (
                    "leave it out" if self.distribution is None else "set that, or leave it out"
                )
                yield f"{key!r} goes with distribution and per = 'node'; {way_out}"
        said = self.per == "node" or self.trace is not None
        if said and self.hits not in (Hits(), Hits(parameter_servers=1)):
            given = "a trace" if self.trace is not None else "per = 'node'"
            yield (
                f"'hits' does not go with {given}, which says itself which nodes fail; leave it out"
            )

    def _frailty_faults(self) -> Iterator[str]:
        if self.frailty_of is not None and not self.frailty:
            yield "'frailty_of' goes with frailty; leave it out"
        if self.offenders is not None and self.frailty_of == "machine":
            yield (
                "'offenders' goes with frailty_of = 'place'; of machines, a repair would change "
                "the frailty: leave one of them out"
            )
        if not self.exclude_worst:
            return
        whole = self.trace is not None and not READERS[self.reader or "csv"].of_the_job
        if not self.frailty and not whole:
            yield (
                "'exclude_worst' goes with frailty, or with the trace of a whole system; leave it "
                "out"
            )
        if self.frailty_of == "machine":
            yield (
                "'exclude_worst' goes with frailty_of = 'place': of machines, replacements are as "
                "bad as those that were left out; leave one of them out"
            )

    def _cause_faults(self) -> Iterator[str]:
        if self.causes is None:
            return
        yield from cause_faults(self.causes)
        if self.severity is not None:
            yield "'severity' does not go with causes, which have severities of their own"
        if self.trace is not None:
            yield (
                "'causes' does not go with trace; fit a law to the log (cprsim fit --toml), and "
                "give the causes with it"
            )
        if self.per == "node" and any(each.hits is not None for each in self.causes):
            yield "'causes.hits' does not go with per = 'node', which says itself which nodes fail"

    @cached_property
    def frail(self) -> "Frailty | None":
        """The frailty of nodes; None where all are alike."""
        if not self.frailty:
            return None
        from cprsim.failures.frailty import Frailty  # noqa: PLC0415  (draws)

        return Frailty(self.frailty, self.frailty_of or "place", self.exclude_worst)

    @property
    def aged(self) -> bool:
        """Return whether the job starts in the midst of the first gap or lives, and it matters.

        Under an exponential law it doesn't, and nothing else is drawn: it has no memory.
        """
        return self.ages != "new" and self.distribution not in ("exponential", None)

    @cached_property
    def law(self) -> Distribution:
        """The law of times between failures (per job) or of lives (per node)."""
        return Distribution.model_construct(
            distribution=self.distribution or "exponential",
            mean_s=self.mean_s,
            shape=self.shape,
            cv=self.cv,
            durations_s=self.durations_s,
        )


#: Fields by their keys: what is in seconds says so in its field's name.
_FIELDS = {field.alias or name: name for name, field in Failures.model_fields.items()}
