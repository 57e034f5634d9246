"""Kinds of failures: causes, or severities: how often each strikes, and what it takes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from cprsim.basics.schema import PositiveSeconds, Section
from cprsim.basics.units import SECONDS, format_exact, format_share, parse_duration
from cprsim.failures.hits import Hits, shares_of
from cprsim.job.delays import Delay
from cprsim.job.severity import SEVERITIES, Severity

#: Shares of all causes add up to 1 within so much: files have them in a few digits.
_ROUNDING: Final = 1e-3
Weight = Annotated[float, Field(ge=0)]
#: Times of a kind of failure: until it is noticed, and from then until its nodes are back.
Part = Literal["detect", "repair"]


class SeverityWeights(Section):
    """Weights of the severities of failures; only the ratios count.

    `process`: the processes of the nodes hit die, the memory of their hosts survives. `node`: the
    hosts' memory is lost, too. `cluster`: all servers and trainers are hit and lose everything.
    See docs/semantics.md.
    """

    process: Weight = 0.0
    node: Weight = 0.0
    cluster: Weight = 0.0

    @model_validator(mode="before")
    @classmethod
    def _is_a_table(cls, value: object) -> object:
        if not isinstance(value, dict | cls):
            raise ValueError(
                f"{value!r} is not a table; write e.g. {{ process = 0.6, node = 0.4 }}"
            )
        return value

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(getattr(self, name) for name in SEVERITIES):
            raise ValueError(f"at least one of {', '.join(SEVERITIES)} must be > 0")
        return self

    def shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""
        return shares_of({name: getattr(self, name) for name in SEVERITIES})


class FailureCause(Section):
    """A cause of failures, one of `[[failures.causes]]`.

    `name`: what tables call it. `share`: of all failures; shares add up to 1. `mean`: in place of
    the shares and of a law, the mean time between failures of this cause, of the job or with
    `per = "node"` of each node; they come at random (exponential). `detect`: from a failure until
    it is noticed, a duration or a distribution of it; `costs.detect` if not given. `repair`: from
    then until the nodes hit are back, likewise; `costs.reschedule` if not given. A job waits for
    that where it has no spare; else a spare takes over, and the repaired node joins the spares.
    `severity`: what survives of the memory of the nodes hit. `hits`: whom it takes down; as
    `failures.hits` if not given.
    """

    name: Annotated[str, Field(min_length=1, max_length=40, examples=["hang"])]
    share: Annotated[float, Field(gt=0, le=1, examples=[0.2])] | None = None
    mean_s: PositiveSeconds | None = Field(None, alias="mean", examples=["40 h"])
    detect: Annotated[Delay | None, Field(examples=["30 min"])] = None
    repair: Annotated[Delay | None, Field(examples=["8 h"])] = None
    severity: Severity = "node"
    hits: Annotated[Hits | None, Field(examples=[{"trainers": 1}])] = None


def as_shares(keys: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return keys of `[failures]` whose causes have shares, where they have means.

    Failures of independent causes at constant rates come at the sum of the rates, and each is of a
    cause with its share of that sum. So the keys get an exponential law of that mean; a `mean`
    next to the causes is that of all of them, in the proportions of theirs.
    """
    given = keys.get("causes")
    if not isinstance(given, list | tuple):
        return keys
    causes = [each.mapping() if isinstance(each, FailureCause) else each for each in given]
    if not all(isinstance(each, Mapping) for each in causes):
        return keys
    means = [each.get("mean") for each in causes]
    if all(mean is None for mean in means):
        return keys
    if None in means or any("share" in each for each in causes):
        raise ValueError("causes have either a mean each, or a share each; give one of the two")
    for key in ("exactly", "trace", "preset"):
        if key in keys:
            raise ValueError(f"{key!r} does not go with causes that have a mean each; leave it out")
    if keys.get("distribution", "exponential") != "exponential":
        raise ValueError(
            "causes that have a mean each come at random; leave distribution out, or give each "
            "cause a share"
        )
    rates = [_rate(mean) for mean in means]
    if None in rates:  # the fault is reported for the cause itself
        causes = [{**each, "share": 1 / len(causes)} for each in causes]
        return {"distribution": "exponential", "mean": "1 d", **keys, "causes": causes}
    total = math.fsum(rate or 0.0 for rate in rates)
    shared = [
        {**{key: value for key, value in each.items() if key != "mean"}, "share": rate / total}
        for each, rate in zip(causes, rates, strict=True)
        if rate is not None
    ]
    mean = keys.get("mean", format_exact(1 / total, SECONDS))
    return {**keys, "distribution": "exponential", "mean": mean, "causes": shared}


def _rate(mean: object) -> float | None:
    """Return failures a second of a mean time between them; None for what is none."""
    if not isinstance(mean, str):
        return None
    try:
        mean_s = parse_duration(mean)
    except ValueError:
        return None
    return 1 / mean_s if 0 < mean_s < math.inf else None


def total_share(causes: Sequence[FailureCause]) -> float:
    """Return the sum of the shares of causes: 1, but for rounding."""
    return math.fsum(each.share or 0.0 for each in causes)


def cause_faults(causes: Sequence[FailureCause]) -> Iterator[str]:
    """Yield faults of causes: names that repeat, shares that do not add up to 1."""
    names = [each.name for each in causes]
    for name in names:
        if names.count(name) > 1:
            yield f"causes: two are called {name!r}; give each another name"
    for each in causes:
        if each.share is None:
            yield f"causes: {each.name!r} has neither share nor mean; give one of them"
        if each.severity == "cluster" and each.hits is not None:
            yield (
                f"causes: {each.name!r} is of severity cluster and hits all nodes; leave its hits "
                "out"
            )
    total = total_share(causes)
    if abs(total - 1) > _ROUNDING:
        yield f"causes: the shares add up to {format_share(total)}; they must add up to 100 %"
