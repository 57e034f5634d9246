"""Flows: transfers that share links max-min fairly (rule 27 of docs/semantics.md)."""

import math
from typing import Any

from cprsim.machine.codes import FOREGROUND, MORE_ROOM, NONE
from cprsim.machine.plan_rows import LINKS
from cprsim.machine.rows import Running, close_up, put

_LINKS = len(LINKS)


def open_flow(job: Running, kind: int, transfer: Any, volume: float) -> int:
    """Start a flow of `volume` of a transfer; return its place, which is the last.

    Flows are in order of opening. `volume`: bytes or seconds, as the transfer has it.
    """
    run, place = job.run, job.run.flows
    if place == len(job.flows):
        run.status = MORE_ROOM
        place -= 1  # the run stops, and starts over with more rows
    flow = job.flows[place]
    run.flows = place + 1
    flow.kind, flow.volume, flow.limit, flow.share = kind, volume, transfer.limit, transfer.share
    flow.done, flow.opened_s = 0.0, run.now
    flow.save = flow.answer = flow.down = flow.place = NONE
    _set_rate(flow, flow.limit, run.now)
    flow.linked = transfer.linked and flow.ends_at > run.now
    if kind == FOREGROUND:
        run.foreground = place
    if flow.linked:
        for link in range(_LINKS):
            flow.uses[link] = transfer.uses[link]
        _share_out(job, job.run.now)
    _find_next_end(job)
    return place


def close_flow(job: Running, place: int) -> float:
    """Abandon a flow; return the volume that it has moved."""
    flow = job.flows[place]
    _move(flow, job.run.now)
    done, linked = flow.done, flow.linked
    _remove(job, place)
    if linked:
        _share_out(job, job.run.now)
    _find_next_end(job)
    return done


def advance(job: Running) -> int:
    """Move every flow to now; return how many end by then, which are in `job.ended`."""
    run, flows, now = job.run, job.flows, job.run.now
    count = 0
    while run.next_end_s <= now:
        at, linked, place = run.next_end_s, False, 0
        while place < run.flows:
            flow = flows[place]
            if flow.ends_at <= at:
                _move(flow, at)
                linked = linked or flow.linked
                if count == len(job.ended):
                    run.status = MORE_ROOM
                    return 0
                put(job.ended, count, flow)
                count += 1
                _remove(job, place)
            else:
                place += 1
        if linked:
            _share_out(job, at)
        _find_next_end(job)
    for place in range(run.flows):
        _move(flows[place], now)
    return count


def _find_next_end(job: Running) -> None:
    """Set the time at which the next flow ends."""
    end_s = math.inf
    for place in range(job.run.flows):
        end_s = min(end_s, job.flows[place].ends_at)
    job.run.next_end_s = end_s


def _move(flow: Any, now: float) -> None:
    if now >= flow.ends_at:
        flow.done = flow.volume
    else:
        flow.done = min(flow.volume, flow.done_then + (now - flow.since_s) * flow.rate)


def _set_rate(flow: Any, rate: float, now: float) -> None:
    flow.since_s, flow.done_then, flow.rate = now, flow.done, rate
    left = flow.volume - flow.done
    if left > 0:
        flow.ends_at = now + left / rate if rate else math.inf
    else:
        flow.ends_at = now


def _remove(job: Running, place: int) -> None:
    """Remove a flow; later ones move up, since flows are in order of opening."""
    run = job.run
    run.flows -= 1
    if place == run.foreground:
        run.foreground = NONE
    elif place < run.foreground:
        run.foreground -= 1
    close_up(job.flows, place, run.flows + 1)


def _share_out(job: Running, now: float) -> None:
    """Set the rates of the flows on shared links, from `now` on."""
    tight, linked, crowded = job.plan.tight, 0, 0
    if job.plan.shared:
        job.outside.share_out()
        return
    if not tight:
        return
    for place in range(job.run.flows):
        linked += job.flows[place].linked
    if linked > 1:
        for link in range(_LINKS):
            if tight >> link & 1:
                crowded |= _is_crowded(job, link) << link
    for place in range(job.run.flows):
        job.flows[place].taken_rate = math.nan
    if crowded:
        fill(job, crowded)
    _take_rates(job, now)


def take_rates(job: Running, now: float) -> None:
    """Set the rates that the flows of a job have got among those of all jobs, from `now` on."""
    _take_rates(job, now)
    _find_next_end(job)


def _take_rates(job: Running, now: float) -> None:
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.linked:
            rate = flow.limit if math.isnan(flow.taken_rate) else flow.taken_rate
            if rate != flow.rate:  # a flow whose rate stays keeps its end to the last bit
                _move(flow, now)
                _set_rate(flow, rate, now)


def _is_crowded(job: Running, link: int) -> bool:
    """Return whether the flows of a link, each at its own limit, exceed its capacity."""
    users, wanted = 0, 0.0
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.linked and flow.uses[link]:
            users += 1
            wanted += flow.uses[link] * flow.limit
    return users > 1 and wanted > job.plan.capacity[link]


def fill(job: Running, crowded: int) -> None:
    """Find the rates of flows on crowded links by progressive filling.

    All flows rise together, in proportion to their shares; each stops at its own limit, or as soon
    as a link that it uses is full.
    """
    flows, full_at, count, rising, level = job.flows, job.run.full_at, job.run.flows, 0, 0.0
    for place in range(count):
        flow = flows[place]
        flow.rises = flow.linked and _is_on(flow, crowded)
        rising += flow.rises
    while rising:
        lowest = math.inf
        for link in range(len(job.plan.capacity)):
            if crowded >> link & 1:
                full_at[link] = _full_at(job, link)
                lowest = min(lowest, full_at[link])
        for place in range(count):
            if flows[place].rises:
                lowest = min(lowest, flows[place].limit / flows[place].share)
        level = max(level, lowest)
        full = 0
        for link in range(len(job.plan.capacity)):
            if crowded >> link & 1 and full_at[link] <= level:
                full |= 1 << link
        for place in range(count):
            flow = flows[place]
            at_limit = flow.limit / flow.share <= level
            if flow.rises and (at_limit or _is_on(flow, full)):
                flow.taken_rate = flow.limit if at_limit else level * flow.share
                flow.rises = False
                rising -= 1


def _is_on(flow: Any, links: int) -> bool:
    for link in range(len(flow.uses)):
        if links >> link & 1 and flow.uses[link]:
            return True
    return False


def _full_at(job: Running, link: int) -> float:
    """Return the level at which a link is full if its flows without a rate rise together."""
    capacity, per_level = job.plan.capacity[link], 0.0
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.linked and flow.uses[link]:
            if math.isnan(flow.taken_rate):
                per_level += flow.uses[link] * flow.share
            else:
                capacity -= flow.uses[link] * flow.taken_rate
    return capacity / per_level if per_level else math.inf
