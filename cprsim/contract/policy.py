"""A policy: what a scenario file names, and what it may know when it plans."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import (
    Field,
    PlainSerializer,
    SerializationInfo,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from cprsim.basics import units
from cprsim.basics.schema import A_DURATION, Section, text_of
from cprsim.contract.actions import Answering, Loss
from cprsim.contract.plan import KEEP, AfterVoid, Plan, Verification
from cprsim.errors import CprsimError, PolicyError, told
from cprsim.failures.hits import MeanHit
from cprsim.failures.notices import Notices
from cprsim.job.costs import CostModel
from cprsim.job.severity import Severity
from cprsim.job.tiers import REMOTE, Tier

if TYPE_CHECKING:
    from cprsim.rows.model import RowModel

#: Of a job: the shortest interval that is searched; no save is worth more of them.
LEAST_SHARE = 1e-4
#: Checkpoints of one tier: what a run remembers of each takes some 100 B.
_MOST_KEPT = 1000


def _one(_waiting_s: float, _loading_s: float) -> float:
    return 1.0


@dataclass(frozen=True, slots=True)
class Context:
    """The knowledge that a policy plans with: the job and the cluster, never the timeline.

    `mtbf_s`: mean time between failures of the job, s (infinite for none). `servers_hit`: mean
    number of parameter servers that one failure takes down, `trainers_hit` of trainers.
    `server_failure_share`: share of the failures that take down at least one parameter server.
    `samples`: of the whole job, `rows`: those of its model; None where the scenario lacks them.
    `silent_mtbf_s`: mean training between silent faults, s. `notices`: how failures are announced.
    `severities`: shares of the failures by how much memory survives them (see `Loss`). `causes`:
    share, severity, mean hit and mean repair (s; None for `costs.reschedule`) of each cause, where
    the scenario has any. `detect_s`: mean time until a failure is noticed, s, and `reschedule_s`
    from then until its nodes are back.
    `failures_per_recovery`: mean failures in a recovery, its first included, which takes so many
    seconds of waiting and so many of loading after its last one.
    """

    useful_time_s: float
    servers: int
    trainers: int
    costs: CostModel
    mtbf_s: float
    servers_hit: float
    server_failure_share: float
    trainers_hit: float = 0.0
    samples: int | None = None
    rows: "RowModel | None" = None
    silent_mtbf_s: float = math.inf
    notices: Notices | None = None
    severities: Mapping[Severity, float] = field(default_factory=lambda: {"node": 1.0})
    causes: tuple[tuple[float, Severity, MeanHit, float | None], ...] = ()
    detect_s: float = 0.0
    reschedule_s: float = 0.0
    failures_per_recovery: Callable[[float, float], float] = field(default=_one, compare=False)

    @property
    def save_s(self) -> float:
        """One save of everything, unchecked, to the store with the links to itself, s."""
        return self.costs.seconds(self.costs.save(REMOTE))

    @property
    def a_loss(self) -> Loss:
        """Return the loss of one node, a server if there are any."""
        first = frozenset([0])
        return Loss(first, frozenset()) if self.servers else Loss(frozenset(), first)

    def overlooks_faults(self, plan: Plan) -> bool:
        """Return whether silent faults strike that this plan never looks for."""
        return plan.verifies is None and math.isfinite(self.silent_mtbf_s)

    @property
    def pushed_bytes_per_s(self) -> float:
        """Updates that the trainers push in a useful second, all together, B; 0 if not known."""
        from cprsim.job.derived import pushed_bytes_per_s  # noqa: PLC0415  (to plan)

        return pushed_bytes_per_s(self.costs) or 0.0


# --- Settings: keys of a policy that whoever runs the job is free to choose -----------------------


class DurationSpan(NamedTuple):
    """A duration within a range; neighbours differ by a ratio.

    `key`: as scenario files have it, `"interval"` or `"remote.interval"`. `least_s`, `most_s`: in
    seconds; an interval of `most_s`, the whole job, makes no save at all. `start_s`: where a search
    may begin, the value of a rule.
    """

    key: str
    least_s: float
    most_s: float
    start_s: float

    def at_least(self, seconds: float) -> "DurationSpan":
        """Without what is shorter, as far as anything is left."""
        least_s = min(max(self.least_s, seconds), self.most_s)
        return self._replace(least_s=least_s, start_s=max(self.start_s, least_s))


class Choice(NamedTuple):
    """One of few values, in an order in which neighbours are alike."""

    key: str
    values: tuple[Any, ...]


Setting = DurationSpan | Choice


def whole_numbers(key: str, least: int, most: int) -> tuple[Choice, ...]:
    """A choice of whole numbers; none where there is but one, or none."""
    return (Choice(key, tuple(range(least, most + 1))),) if most > least else ()


# --- The policy ----------------------------------------------------------------------------------


class Policy(Section):
    """A policy; one `[policies.NAME]` table of a scenario.

    A subclass names its `system` (a `Literal`), its own keys, and `plan`. Its docstring names the
    paper, the equations and the assumptions. `plan` must be pure: the same context, the same plan.

    `system`: which fault-tolerance system this is; each has further keys.

    `interval`: training from one save to the next: a duration, `"optimal"` (Young's formula),
    `"exact"` (the exact minimiser under exponential failures) or `"never"`.

    `after_void`: what follows a save to the store that failed (`storage.save_fails`): it
    is tried again at once ("retry"), or left out until the next is due ("skip"). Without it the
    blocking ones are tried again, those in the background left out (semantics 31).

    `verify_every`: before each save of that number, and at the end, it is verified that no silent
    fault is in what was trained, which takes `costs.verify`; without it nobody looks. `keep`: how
    many checkpoints the store keeps, for those that are torn or corrupt; 10 if not given.
    `checksum`: whether saves to the store are checked, which takes `costs.checksum`: torn ones are
    discarded at once (semantics 34 and 35).

    `on_notice`: what answers a failure that is announced (`failures.notice`, semantics 38), nothing
    if not given. `"save"`: everything is saved at once, where that gets done in time. `"drain"`:
    the nodes move to spare machines, where these are ready and that ends in time, and
    the failure takes nothing from the job; else it is saved. Systems whose saves are of portions,
    or that lose nothing that a save would hold, have no answer.

    Examples
    --------
    >>> policy = cprsim.load_scenario("quickstart").policies["full"]
    >>> isinstance(policy, cprsim.Policy), policy.system
    (True, 'full')
    """

    #: Which entry point of which distribution it came by, for its faults; empty for others.
    came_by: ClassVar[str] = ""
    #: What an answer that recommends it rests on and no cost can price; empty for nothing.
    unpriced: ClassVar[str] = ""

    system: str
    after_void: AfterVoid | None = None
    verify_every: Annotated[int, Field(ge=1, le=1_000_000, examples=[1])] | None = None
    keep: Annotated[int, Field(ge=1, le=_MOST_KEPT, examples=[3])] | None = None
    checksum: Annotated[bool, Field(examples=[True])] | None = None
    on_notice: Annotated[Answering, Field(examples=["save"])] | None = None

    @model_validator(mode="after")
    def _keeps_what_is_verified(self) -> Self:
        keep = KEEP if self.keep is None else self.keep
        if self.verify_every is not None and keep < self.verify_every:
            raise ValueError(
                f"keep = {keep} keeps no checkpoint that was verified with verify_every = "
                f"{self.verify_every}; give at least that many to keep, or verify more often"
            )
        return self

    def plan(self, context: Context) -> Plan:
        """Resolve every number for one scenario."""
        raise NotImplementedError(f"{type(self).__name__} must define plan(context)")

    @classmethod
    def known_as(cls) -> str:
        """Return its name in messages about faults of its code."""
        return cls.came_by or f"policy class {cls.__module__}.{cls.__qualname__}"

    @classmethod
    def does(cls) -> str:
        """Return what the policy does: the first paragraph of its docstring, or nothing."""
        if cls.__doc__ == Policy.__doc__:
            return ""
        first, _, _ = (cls.__doc__ or "").strip().partition("\n\n")
        return " ".join(first.replace("`", "").split())

    @classmethod
    def source(cls) -> str:
        """Return where the policy comes from: the paragraph "Source: ..." of its docstring."""
        paragraphs = (" ".join(each.split()) for each in (cls.__doc__ or "").split("\n\n"))
        found = (each for each in paragraphs if each.startswith("Source: "))
        return next(found, "").removeprefix("Source: ")

    @classmethod
    def first_tried(cls, _context: Context) -> dict[str, Any]:
        """The keys it is tried with where a scenario names none; the others have their defaults.

        Keys that depend on the cluster and have no default are left out: an error then says
        that they are missing.
        """
        return {}

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Return the settings that may be chosen in a job: by default its `interval`, if any."""
        names = {field.alias or name for name, field in type(self).model_fields.items()}
        if "interval" not in names:
            return ()
        return (self.span("interval", self.planned(context).interval_s, context),)

    @staticmethod
    def span(key: str, start_s: float, context: Context) -> DurationSpan:
        """Intervals from `LEAST_SHARE` of the job, or less, to all of it, which means none."""
        most_s = context.useful_time_s
        least_s = min(most_s * LEAST_SHARE, start_s / 4)
        return DurationSpan(key, least_s, most_s, min(max(start_s, least_s), most_s))

    def planned(self, context: Context) -> Plan:
        """Its plan, with the keys that all policies have.

        Raises `PolicyError` where the code of a policy fails, or what it returns is no plan; errors
        of cprsim's own, and `ValueError`, which say that it doesn't fit the job, are its answer.
        """
        from cprsim.contract.checks import flaw_of  # noqa: PLC0415  (to plan, not to read)

        try:
            plan = self.plan(context)
            flaw = flaw_of(plan, context.a_loss)
        except (CprsimError, ValueError) as error:
            if not self.came_by:
                raise
            raise PolicyError(f"{self.came_by}: {error}") from error
        except (Exception, SystemExit) as error:
            raise PolicyError(f"{self.known_as()}: its plan() raised {told(error)}") from error
        if flaw:
            raise PolicyError(f"{self.known_as()}: its plan() returned {flaw}")
        given = {name: getattr(self, name) for name in ("after_void", "keep", "checksum")}
        if self.verify_every is not None:
            verify_s = context.costs.costs.verify_s
            given["verifies"] = Verification(self.verify_every, verify_s)
        given = {name: value for name, value in given.items() if value is not None}
        return self.answered(replace(plan, **given) if given else plan, context)

    def answered(self, plan: Plan, context: Context) -> Plan:
        """That plan with what it answers notices with, if anything."""
        if self.on_notice is None:
            return plan
        from cprsim.contract.answering import answering  # noqa: PLC0415  (of few policies)

        return answering(plan, self.on_notice, context)

    def _save_s(
        self,
        context: Context,
        tier: Tier = REMOTE,
        portion: float = 1.0,
        writes: float = 1.0,
        besides_s: float = 0.0,
    ) -> float:
        """Return what one of its saves takes, as of `CostModel.save`, with its check, s."""
        costs = context.costs
        besides_s += costs.check_s(tier, bool(self.checksum))
        return costs.seconds(costs.save(tier, portion, writes, besides_s))

    def whole_save_s(self, context: Context) -> float:
        """Return what its save of everything to the store takes with the links to itself, s."""
        return self._save_s(context)

    def unannounced_s(self, context: Context) -> float:
        """Mean time between failures that its answer to notices leaves to checkpoints, s.

        What intervals follow from (Aupy, Robert, Vivien 2014).
        """
        notices, costs = context.notices, context.costs
        if self.on_notice is None or notices is None:
            return context.mtbf_s
        verify_s = 0.0 if self.verify_every is None else costs.costs.verify_s
        answered = 1.0 if self.whole_save_s(context) + verify_s <= notices.lead_s else 0.0
        if self.on_notice == "drain" and costs.drain_s <= notices.lead_s and not answered:
            from cprsim.contract.failure_kinds import kinds  # noqa: PLC0415  (likewise)

            ready = costs.cluster.spares
            answered = sum(kind.share for kind in kinds(context) if kind.loss.drains_to(ready))
        answered *= notices.recall
        return context.mtbf_s / (1 - answered) if answered < 1 else math.inf


_RULES = ("optimal", "exact")
_NEVER = "never"


def _parsed(value: object, checked: Any, *, rules: tuple[str, ...] = ()) -> str | float:
    """Return an interval; `rules`: what it may be but a duration or none."""
    if value in rules:
        return str(value)
    if value == _NEVER:
        return units.AsWritten(math.inf, _NEVER)
    try:
        interval_s = units.parse_duration(value)
    except ValueError as error:
        others = [", ".join(map(repr, rules)), repr(_NEVER)]
        raise ValueError(f"{error}; or {' or '.join(filter(None, others))}") from None
    if interval_s <= 0:
        raise ValueError(f"{value!r} is out of range: an interval must be > 0")
    return units.AsWritten(checked(interval_s), str(value))


def _interval_text(value: str | float, info: SerializationInfo) -> str:
    if isinstance(value, str):
        return value
    return _NEVER if value == math.inf else text_of(units.SECONDS, value, info)


#: A checkpoint interval: seconds of training, infinite for none, or the rule that finds it.
Interval = Annotated[
    str | float,
    WrapValidator(lambda value, checked: _parsed(value, checked, rules=_RULES)),
    PlainSerializer(_interval_text),
    WithJsonSchema({"anyOf": [{"enum": [*_RULES, _NEVER]}, A_DURATION]}),
]
#: One that no rule finds.
GivenInterval = Annotated[
    float,
    WrapValidator(_parsed),
    PlainSerializer(_interval_text),
    WithJsonSchema({"anyOf": [{"const": _NEVER}, A_DURATION]}),
]
