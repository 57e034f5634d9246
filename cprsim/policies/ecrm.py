"""Erasure coding: servers hold parities of each other's entries, and nobody rolls back."""

import math
from collections.abc import Iterator
from dataclasses import astuple
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Part, Rate, Seconds
from cprsim.contract.actions import Recover
from cprsim.contract.answers import Answers, Case, Within
from cprsim.contract.plan import Plan, Redundancy, every
from cprsim.contract.policy import Context, Interval, Policy, Setting, whole_numbers
from cprsim.formulas.ecrec import RebuildConstants, rebuild_constants, rebuild_s
from cprsim.job.costs import time_of_throughput
from cprsim.job.derived import OwnCost, applied_again, committed, dense_copied, published
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.full import FULL_ROLLBACK, rare_interval_s

#: Where a lost server's shard is decoded from.
PARITIES = "parities"
#: Training stops for a lost server (ECRec, PVLDB 16(11), 2023).
_RESUME_S = 30.0
#: Of the throughput, while a server is rebuilt: ECRec measured 7 to 13 % (PVLDB 16(11), 2023).
_DEGRADED = 0.1

#: Entries to a parity that a search tries: ECRec's authors tried up to 4 (PVLDB 16(11), 2023).
_MOST_PARITY = 8

_Share = Annotated[float, Field(ge=0, examples=[0.02])]


def every_group_decodes(servers: int, parity: int, degraded: float, resume_s: float) -> Answers:
    """Train on while no parity group has lost two members; else return to the last checkpoint.

    A group is `parity` entries and their parity on as many consecutive servers and one more. One
    starts at every server and the place of the parity rotates, so two servers share a group if
    they are no more than `parity` apart on the ring. Without checkpoints the job's last one is its
    start. A lost trainer is waited for, with nothing to load.
    """
    decodes = Recover(
        rollback="none",
        keep_training=True,
        source=PARITIES,
        reads=float(parity),
        degraded=degraded,
        pause_s=resume_s,
    )
    return Answers(
        (
            Case(Recover("all"), gone=Within(servers, parity)),
            Case(decodes._replace(keep_training=False), trainers=(1, math.inf)),
            Case(decodes),
        )
    )


class Ecrm(Policy):
    """Keep parities of the shards on other servers, from which lost shards are rebuilt.

    Source: ECRM (arXiv 2104.01981) and ECRec (PVLDB 16(11), 2023).

    `parity` entries of as many servers are added up into one parity on a further server (0: none),
    optimiser state likewise: memory 1/`parity`. Every update is applied to its entry, and the
    difference sent on to its parity, so updates double and +200 % of the pushed bytes go between
    servers, whatever `parity` is. `two_phase_commit` and `nn_replication` (the dense part copied to
    another server) are ECRec's; without both this is ECRM. `coding`, `commit` and `replication` are
    the shares of time that these three add to every useful second; one that is off adds none. By
    default `coding` is the share of the servers' time that reading and writing the parities of all
    updated entries and their optimizer state takes of `cluster.memory_bandwidth`, or ECRec's
    measured 2.6 % where nothing says how many bytes are pushed; `commit` is as much again, as ECRec
    measured; `replication` is the share of the servers' cards that the dense part, once a batch,
    takes, where `model.dense`, `model.batch`, `job.samples` and `cluster.nic` are given, and else
    0. ECRec's own figures are those of `cprsim.formulas.ecrec`, calibrated at 220 GB on 5 servers.
    Without parities there is nothing to commit, and the job is one of `full`.

    A lost server stops training for `resume`; then reads are decoded while it is rebuilt from
    `parity` shards, at a throughput lower by the share `degraded`: ECRec's measured tenth, or what
    decoding takes of the cards if that is more. Rebuilding takes `rebuild_fixed + parity
    shard/rebuild_read + shard/rebuild_write`, calibrated too; without `[model]` it takes `parity`
    measured partial loads. Two losses in one group return the job to its last checkpoint,
    a second tier that is saved every `interval`; none by default.

    `parity`: entries that share a parity; 0 for no parities. `two_phase_commit`: whether updates of
    an entry and its parity are committed together. `nn_replication`: whether the dense part is
    copied to another server. `coding`: share of time that sending differences to parities adds.
    `commit`: share that two-phase commit adds. `replication`: share that copying the dense part
    adds. `resume`: time that a lost server stops training for. `degraded`: share of the throughput
    that is lost while it is rebuilt. `rebuild_fixed`: what rebuilding takes however small the
    shard. `rebuild_read`: bandwidth at which the other shards are read for that. `rebuild_write`:
    bandwidth at which the lost one is written. `interval`: training from one checkpoint to the
    next, in addition to the parities; none by default.
    """

    system: Literal["ecrm"]
    parity: Annotated[int, Field(ge=0)] = 2
    two_phase_commit: bool = True
    nn_replication: bool = True
    coding: _Share | None = None
    commit: _Share | None = None
    replication: _Share | None = None
    degraded: Annotated[float, Field(ge=0, lt=1, examples=[0.1]), Part] | None = None
    resume_s: Seconds = Field(_RESUME_S, alias="resume")
    rebuild_fixed_s: Seconds | None = Field(None, alias="rebuild_fixed")
    rebuild_read: Rate | None = None
    rebuild_write: Rate | None = None
    interval: Interval | None = None

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval, and how many entries share a parity."""
        most = min(context.servers - 1, _MOST_PARITY)
        return (*super().settings(context), *whole_numbers("parity", 1, most))

    def plan(self, context: Context) -> Plan:
        """Groups must fit on the servers; without parities this is `full`."""
        if self.parity + 1 > context.servers:
            raise ValueError(
                f"parity = {self.parity} needs {self.parity + 1} parameter servers for one group, "
                f"but there are {context.servers}; each member of a group needs its own server"
            )
        interval_s = rare_interval_s(self.interval, self.whole_save_s(context), context.mtbf_s)
        updates = tuple(self._updates(context))
        slowdown = math.fsum(each.value for each in updates)
        if not self.parity:
            schedules = every(interval_s)
            return Plan("full", schedules, FULL_ROLLBACK, slowdown=slowdown, own_costs=updates)
        sent_on = 2 * context.pushed_bytes_per_s
        in_time = self._degraded(context, slowdown, sent_on)
        return Plan(
            recovery="parity",
            schedules=every(interval_s),
            recover=every_group_decodes(context.servers, self.parity, in_time, self.resume_s),
            tiers=(self._parities(context), REMOTE),
            slowdown=slowdown,
            peer_bytes_per_s=sent_on,
            memory_overhead=1 / self.parity,
            redundancy=Redundancy(PARITIES, self.parity, 1),
            own_costs=(*updates, *self._rebuilding(in_time)),
        )

    def _degraded(self, context: Context, slowdown: float, sent_on: float) -> float:
        """Share of time that training takes longer while a server is rebuilt."""
        if self.degraded is not None:
            return time_of_throughput(self.degraded)
        # Each read of the lost server's entries is one of each of `parity` others of its groups,
        # which the place of the parity spreads over twice as many, as far as there are.
        near = min(2 * self.parity, context.servers - 1)
        by_cards = context.costs.slower_beside(slowdown, sent_on, 1 + self.parity / near)
        return max(time_of_throughput(_DEGRADED), by_cards)

    def _updates(self, context: Context) -> Iterator[OwnCost]:
        """Yield what updates of parities and of the copied dense part add to a useful second."""
        costs = context.costs
        if self.parity:
            coding = applied_again(costs, self.coding, 1.0, "coding")
            yield coding
            if self.two_phase_commit:
                yield committed(coding, self.commit)
        if self.nn_replication:
            yield dense_copied(costs, self.replication)

    def _rebuilding(self, degraded: float) -> Iterator[OwnCost]:
        """Yield what a lost server costs until it is rebuilt."""
        source = "ECRec, PVLDB 16(11), 2023"
        yield published("resume", self.resume_s, _RESUME_S, source)
        if self.degraded is not None:
            yield OwnCost("degraded", self.degraded, "share", "given")
        elif degraded > time_of_throughput(_DEGRADED):
            share = degraded / (1 + degraded)
            yield OwnCost("degraded", share, "share", "derived", "decoding over the cards")
        else:
            yield OwnCost("degraded", _DEGRADED, "share", "assumed", source)

    def _parities(self, context: Context) -> Tier:
        """Return the tier that reads `parity` shards in the whole time of a rebuild."""
        given = self.rebuild_fixed_s, self.rebuild_read, self.rebuild_write
        shard = _shard(context)
        if shard is None:
            if any(value is not None for value in given):
                raise ValueError(
                    "rebuild_fixed, rebuild_read and rebuild_write need the size of a shard: give "
                    "[model], or leave them out"
                )
            return Tier(PARITIES, "peers")
        pairs = zip(given, astuple(rebuild_constants()), strict=True)
        constants = RebuildConstants(*(mine if mine is not None else its for mine, its in pairs))
        seconds = rebuild_s(shard, self.parity, constants)
        return Tier(PARITIES, "peers", read=self.parity * shard / seconds if shard else math.inf)


def _shard(context: Context) -> float | None:
    """Return entries and optimiser state of one server, B; None where the scenario lacks them."""
    model = context.costs.model
    return None if model is None else model.shard_bytes / context.servers
