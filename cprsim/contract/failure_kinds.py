"""Kinds of failures, as plans are made for them: how often, and what each takes."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from cprsim.contract.actions import Loss
from cprsim.failures.hits import MeanHit
from cprsim.job.costs import CostModel
from cprsim.job.severity import Severity

if TYPE_CHECKING:
    from cprsim.contract.policy import Context

#: Whether the nodes of a failure restart in place.
Restart = Literal["none", "in place", "fails"]
_NOT_ALL: tuple[Severity, ...] = ("process", "node")


class FailureKind(NamedTuple):
    """A kind of failure: its share of all failures, and what it takes down.

    `servers_hit`: mean servers that it takes down, over all failures. `repair_s`: mean time until
    its nodes are back where no spare is ready, s. `restart`: whether its nodes are replaced,
    restart in place, or fail to and are replaced after all.
    """

    share: float
    servers_hit: float
    loss: Loss
    repair_s: float = 0.0
    restart: Restart = "none"

    def away_s(self, costs: CostModel, replaced_s: float) -> float:
        """Mean time for which its nodes are away after it was noticed, s.

        `replaced_s`: until other machines are in their places.
        """
        if self.restart == "in place":
            return costs.restart_mean_s
        return replaced_s + (costs.restart_mean_s if self.restart == "fails" else 0.0)


def kinds(context: "Context") -> tuple[FailureKind, ...]:
    """One failure of each kind, those that take down several servers with these lying apart."""
    if math.isinf(context.mtbf_s):
        return ()
    nodes, struck = (context.servers, context.trainers), list[FailureKind]()
    if not context.causes:
        hit = MeanHit(context.servers_hit, context.trainers_hit, context.server_failure_share)
        for each in _of_severities(nodes, hit, context.severities):
            struck.append(each._replace(repair_s=context.reschedule_s))
    for share, severity, hit, repair_s in context.causes:
        back_s = context.costs.reschedule_mean_s if repair_s is None else repair_s
        for each in _of_severities(nodes, hit, {severity: 1.0}):
            struck.append(_part(each, share)._replace(repair_s=back_s))
    return tuple(each for kind in struck for each in _outcomes(kind, context.costs))


def mean_delay_s(context: "Context") -> float:
    """Mean time for which the nodes hit are away after their failure was noticed, s.

    Without spares, which are ready at once.
    """
    costs = context.costs
    if not costs.restarts_in_place:
        return context.reschedule_s
    return math.fsum(each.share * each.away_s(costs, each.repair_s) for each in kinds(context))


def _outcomes(kind: FailureKind, costs: CostModel) -> Iterator[FailureKind]:
    """Yield the kind as its restarts in place end, if its nodes restart there."""
    if kind.loss.severity not in costs.restarts_in_place:
        yield kind
        return
    fails = costs.costs.restart_fails or 0.0
    yield _part(kind, 1 - fails)._replace(restart="in place")
    if fails:
        severity: Severity = "cluster" if kind.loss.severity == "cluster" else "node"
        loss = kind.loss._replace(severity=severity)
        yield _part(kind, fails)._replace(loss=loss, restart="fails")


def _part(kind: FailureKind, share: float) -> FailureKind:
    return kind._replace(share=share * kind.share, servers_hit=share * kind.servers_hit)


def _of_severities(
    nodes: tuple[int, int], hit: MeanHit, severities: Mapping[Severity, float]
) -> Iterator[FailureKind]:
    """Yield failures by severity, of a server and of trainers; `hit`: the mean of them all."""
    (all_servers, all_trainers), whole = nodes, severities.get("cluster", 0.0)
    if whole:
        servers, trainers = frozenset(range(all_servers)), frozenset(range(all_trainers))
        yield FailureKind(whole, whole * all_servers, Loss(servers, trainers, "cluster"))
    if whole == 1:
        return
    # What failures take down that aren't of the whole cluster.
    rest = 1 - whole
    servers_hit = max(hit.servers - whole * all_servers, 0.0) / rest
    trainers_hit = max(hit.trainers - whole * all_trainers, 0.0) / rest
    share = max(hit.server_share - whole, 0.0) / rest
    for severity in _NOT_ALL:
        part = severities.get(severity, 0.0)
        if part and share > 0:
            # Servers that fail together lie apart from each other, as random ones mostly do.
            count = max(1, round(servers_hit / share))
            servers = frozenset(i * all_servers // count for i in range(count))
            together = round(trainers_hit) if share == 1 else 0
            loss = Loss(servers, frozenset(range(together)), severity)
            yield FailureKind(part * share, part * servers_hit, loss)
        if part and share < 1:
            count = max(1, round(trainers_hit / (1 - share)))
            loss = Loss(frozenset(), frozenset(range(count)), severity)
            yield FailureKind(part * (1 - share), 0.0, loss)
