"""The network and the store as fluid: who moves how fast when several transfers share links.

Fairness. The level of a flow is rate x unit / weight: bytes per second of one member of the group
it stands for, per unit of weight. Rates are max-min fair in levels: every flow runs at its own
limit, or uses a full link on which no flow has a higher level. Nothing is fairer: to raise the
second kind, its full link must take from another flow, whose level is no higher to begin with.
A group is fair as its members: by symmetry n like flows get one level, so together they draw on a
shared link what the group draws, n x rate; the group has n shares, and no member more than one.

Filling: D. Bertsekas, R. Gallager, Data Networks, 2nd ed. (1992), 6.5.2. That such rates exist and
are unique with coefficients too: B. Radunovic, J.-Y. Le Boudec, IEEE/ACM ToN 15(5) (2007).
"""

import math
from collections.abc import Mapping

from cprsim.job.transfer import Transfer, uncontended_rate


class Flow:
    """A transfer on its way; read it, the fabric writes it.

    `done` is the volume moved by the last `advance` or change of rate, `rate` the volume per
    second, `volume` what there is to move, and `ends_at` the absolute second of its end if nothing
    changes until then.
    """

    # A line from (_since, _done_then) on, not a sum of steps: however often it is looked at, an
    # undisturbed flow ends at exactly its opening + volume / rate.
    __slots__ = (
        *("_done_then", "_limit", "_share", "_since"),
        *("done", "ends_at", "rate", "transfer", "volume"),
    )

    def __init__(self, transfer: Transfer, volume: float, limit: float, now: float) -> None:
        self.transfer, self.volume, self.done = transfer, volume, 0.0
        self._limit = limit
        self._share = transfer.weight / transfer.unit  # rate per level
        self._set_rate(limit, now)

    def _move(self, now: float) -> None:
        volume = self.volume
        if now >= self.ends_at:  # asked of the time, so that rounding leaves no crumb to move
            self.done = volume
        else:
            self.done = min(volume, self._done_then + (now - self._since) * self.rate)

    def _set_rate(self, rate: float, now: float) -> None:
        self._since, self._done_then, self.rate = now, self.done, rate
        left = self.volume - self.done
        self.ends_at = (now + left / rate if rate else math.inf) if left > 0 else now


_Users = list[tuple[Flow, float]]  # of one link: flow and coefficient


class Fabric:
    """Links and the flows on them; rates change only when a flow starts or ends.

    `capacities` are in the links' units per second (bytes/s), infinite for no limit; `next_end_s`
    is the absolute second at which the next flow ends, infinite if none does. There is no clock
    and no event here: the one caller passes `now`, which never decreases, and calls `advance` at
    `next_end_s` at the latest.
    """

    __slots__ = ("_capacities", "_flows", "_linked", "next_end_s")

    def __init__(self, capacities: Mapping[str, float]) -> None:
        for link, capacity in capacities.items():
            if not capacity > 0:
                raise ValueError(f"capacity of {link} must be > 0, but got {capacity}")
        self._capacities = dict(capacities)
        self._flows: list[Flow] = []  # in order of opening
        self._linked: list[Flow] = []  # those of them that can meet others
        self.next_end_s = math.inf

    def open(self, transfer: Transfer, now: float, volume: float | None = None) -> Flow:
        """Start `transfer`, or only `volume` of it, at `now`.

        Raises `ValueError` for a link that the fabric hasn't.
        """
        self._check_up_to_date(now)
        limit = uncontended_rate(transfer, self._capacities)
        flow = Flow(transfer, transfer.volume if volume is None else volume, limit, now)
        self._flows.append(flow)
        # What ends at once takes nothing from others, even if its rate is infinite.
        if transfer.uses and flow.ends_at > now:
            self._linked.append(flow)
            if len(self._linked) > 1:
                self._share_out(now)
        self._find_next_end()
        return flow

    def close(self, flow: Flow, now: float) -> None:
        """Abandon `flow` at `now`; its `done` says how far it came."""
        self._check_up_to_date(now)
        if flow not in self._flows:
            raise ValueError(f"{flow.transfer} is not open: it has ended or was closed")
        flow._move(now)
        flow._set_rate(0.0, now)
        self._remove([flow], now)

    def advance(self, now: float) -> list[Flow]:
        """Move every flow on to `now`; remove and return those that ended by then.

        They come in order of ending, and those that end together in order of opening. One long
        step does what many short ones do: rates change at each end on the way.
        """
        finished: list[Flow] = []
        while self.next_end_s <= now:  # each turn removes a flow, so there is no endless loop
            at = self.next_end_s
            ended = [flow for flow in self._flows if flow.ends_at <= at]
            for flow in ended:
                flow._move(at)
            self._remove(ended, at)
            finished += ended
        for flow in self._flows:
            flow._move(now)
        return finished

    def _check_up_to_date(self, now: float) -> None:
        if self.next_end_s < now:
            raise ValueError(f"a flow ended at {self.next_end_s}; call advance({now}) first")

    def _remove(self, flows: list[Flow], now: float) -> None:
        linked = len(self._linked)
        for flow in flows:
            self._flows.remove(flow)
            if flow in self._linked:
                self._linked.remove(flow)
        if 0 < len(self._linked) < linked:  # a linked flow left others behind
            self._share_out(now)
        self._find_next_end()

    def _share_out(self, now: float) -> None:
        rates = _fill(self._contended())
        for flow in self._linked:
            rate = rates.get(flow, flow._limit)
            if rate != flow.rate:  # else it stays on its line, and keeps its exact end
                flow._move(now)
                flow._set_rate(rate, now)

    def _contended(self) -> list[tuple[float, _Users]]:
        """Capacity and users of the links that can't carry all flows at their own limits."""
        users: dict[str, _Users] = {}
        for flow in self._linked:
            for link, coefficient in flow.transfer.uses:
                if coefficient:
                    users.setdefault(link, []).append((flow, coefficient))
        # A lone user always fits: its limit is the rate at which it has its links to itself.
        return [
            (self._capacities[link], flows)
            for link, flows in users.items()
            if len(flows) > 1 and _wanted(flows) > self._capacities[link]
        ]

    def _find_next_end(self) -> None:
        self.next_end_s = min([flow.ends_at for flow in self._flows], default=math.inf)


def _wanted(users: _Users) -> float:
    """What all of them would take at their own limits; not by `sum`, which compensates since 3.12.

    `cprsim.batch` adds the same terms in the same order.
    """
    total = 0.0
    for flow, coefficient in users:
        total += coefficient * flow._limit
    return total


def _fill(links: list[tuple[float, _Users]]) -> dict[Flow, float]:
    """Rates of the flows on `links`: all levels rise together, each until something stops it."""
    rates: dict[Flow, float] = {}
    rising = {flow: flow._limit / flow._share for _, users in links for flow, _ in users}
    level = 0.0
    while rising:
        full_at = [_full_at(capacity, users, rates) for capacity, users in links]
        # Rounding must not make a later level lower than an earlier one.
        level = max(level, min([*full_at, *rising.values()]))
        full = [users for (_, users), at in zip(links, full_at, strict=True) if at <= level]
        stopped = {flow for users in full for flow, _ in users}
        for flow, limit_level in list(rising.items()):
            if limit_level <= level or flow in stopped:
                rates[flow] = flow._limit if limit_level <= level else level * flow._share
                del rising[flow]
    return rates


def _full_at(capacity: float, users: _Users, rates: Mapping[Flow, float]) -> float:
    """Level at which a link is full, if its users that have no rate yet rise together."""
    per_level = 0.0
    for flow, coefficient in users:
        if flow in rates:
            capacity -= coefficient * rates[flow]
        else:
            per_level += coefficient * flow._share
    return capacity / per_level if per_level else math.inf
