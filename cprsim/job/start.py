"""Costs of starting a job, of ending it, and of restarts in place."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from cprsim.basics.distributions import Distribution
from cprsim.basics.schema import Seconds, Section
from cprsim.basics.streams import Cause
from cprsim.basics.units import format_duration
from cprsim.job.delays import Delay, mean_s

if TYPE_CHECKING:
    from cprsim.job.costs import Costs


class Start(Section):
    """The parts of a start, before the first step is trained at full speed.

    `schedule`: until the job has its nodes; after a failure `costs.reschedule` in its place.
    `initialise`: processes, connections, data loaders. `compile`: with nothing in the compile
    cache. `compile_warm`: with it; without this key each start compiles again. `cache`: where the
    cache lies, in a place that outlives the nodes (`"store"`) or on their own disks (`"node"`).
    `warmup`: for so long training is slower at first. `warmup_rate`: its speed then, as a share of
    full speed.
    """

    schedule: Annotated[Delay, Field(examples=["5 min"])] = 0.0
    initialise: Annotated[Delay, Field(examples=["2 min"])] = 0.0
    compile: Annotated[Delay, Field(examples=["10 min"])] = 0.0
    compile_warm: Annotated[Delay | None, Field(examples=["1 min"])] = None
    cache: Literal["store", "node"] = "store"
    warmup_s: Seconds = Field(0.0, alias="warmup")
    warmup_rate: Annotated[float, Field(gt=0, le=1, examples=[0.5])] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.compile_warm is not None and "compile" not in self.model_fields_set:
            raise ValueError("'compile_warm' goes with compile, what it takes without a cache")
        if self.cache == "node" and self.compile_warm is None:
            raise ValueError("'cache' goes with compile_warm; leave it out")
        cold, warm = self.compile, self.compile_warm
        if isinstance(cold, float) and isinstance(warm, float) and warm > cold:
            raise ValueError(
                f"'compile_warm' = {format_duration(warm)} is longer than 'compile' = "
                f"{format_duration(cold)}, which has no cache to read; give at most that"
            )
        has_rate, has_length = self.warmup_rate is not None, "warmup_s" in self.model_fields_set
        if (self.warmup_s > 0 and not has_rate) or (has_rate and not has_length):
            raise ValueError("'warmup' and 'warmup_rate' go together; give both, or neither")
        return self

    @property
    def slow_s(self) -> float:
        """Time that a warm-up costs: what it trains meanwhile counts as trained at full speed."""
        return self.warmup_s * (1 - (self.warmup_rate or 1.0))

    @property
    def on_node(self) -> bool:
        """Return whether a node takes its compile cache with it."""
        return self.cache == "node"


#: A start that takes no time.
_NONE = Start()


class StartCosts(NamedTuple):
    """Seconds of one start and one end: waiting for nodes, the rest cold or warm, the end."""

    schedule_s: float
    cold_s: float
    warm_s: float
    shutdown_s: float


def start_of(costs: "Costs", seconds: Callable[[Delay, Cause], Any]) -> StartCosts:
    """Return the parts of a start and an end; `seconds`: of a delay of that cause, s."""
    found = (seconds(delay, cause) for delay, cause in _parts(costs))
    schedule, initialise, cold, warm, end = found
    slow_s = 0.0 if costs.start is None else costs.start.slow_s
    return StartCosts(schedule, initialise + cold + slow_s, initialise + warm + slow_s, end)


def mean_start(costs: "Costs") -> StartCosts:
    """Expected seconds of each part."""
    return start_of(costs, lambda delay, _: mean_s(delay))


def has_starts(costs: "Costs") -> bool:
    """Return whether starts or ends take any time."""
    if costs.start is None and not costs.shutdown:
        return False
    return starts_vary(costs) or any(mean_start(costs))


def starts_vary(costs: "Costs") -> bool:
    """Return whether any part is drawn."""
    if costs.start is None:
        return isinstance(costs.shutdown, Distribution)
    return any(isinstance(delay, Distribution) for delay, _ in _parts(costs))


def _parts(costs: "Costs") -> Iterator[tuple[Delay, Cause]]:
    start = costs.start or _NONE
    yield start.schedule, Cause.START_SCHEDULE
    yield start.initialise, Cause.START_INITIALISE
    yield start.compile, Cause.START_COMPILE
    warm = start.compile if start.compile_warm is None else start.compile_warm
    yield warm, Cause.START_COMPILE if start.compile_warm is None else Cause.START_COMPILE_WARM
    yield costs.shutdown, Cause.SHUTDOWN
