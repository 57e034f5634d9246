"""Lanes: the job, its trainers, the servers that were never down, and those that were."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from cprsim.sim.history.phases import WAIT, Phase, joined, overlaid
from cprsim.sim.history.recorder import Background, History


class Lane(NamedTuple):
    """The activities of some nodes, or of the job; `failures_s`: when any of them was hit."""

    name: str
    phases: list[Phase]
    failures_s: list[float]


def lanes(history: History, most: int) -> list[Lane]:
    """The job, the trainers, the servers that aren't shown by themselves, and up to `most` others.

    All trainers act alike, and so do all servers that are up. Those that were hit are
    shown by themselves, those that were hit most often first of all; they come in order of their
    numbers.
    The job's lane adds up to the ledger by cause; on the others healthy nodes that wait for lost
    ones do `WAIT`, as trainers do while anything is saved or loaded.
    """
    job = Lane("job", joined(history.phases), [each.at_s for each in history.failures])
    found = [job]
    if history.trainers:
        hit_s = [each.at_s for each in history.failures if each.hit.trainers]
        found.append(Lane(_count(history.trainers, "trainer"), _trainers(history.phases), hit_s))
    shown = _most_hit(history, most)
    up = _servers_up(history)
    others = history.servers - len(shown)
    if others:
        hit_s = [each.at_s for each in history.failures if set(each.hit.servers) - shown]
        name = _count(others, "other server" if shown else "parameter server")
        found.append(Lane(name, up, hit_s))
    for server in sorted(shown):
        hit_s = [each.at_s for each in history.failures if server in each.hit.servers]
        down = _down(server, history)
        found.append(Lane(f"server {server}", overlaid(up, down), hit_s))
    return found


def rows(tasks: Iterable[Background]) -> list[list[Background]]:
    """Tasks in as few rows as they need so that none covers another; earlier ones come first."""
    found: list[list[Background]] = []
    for each in sorted(tasks, key=lambda each: each.start_s):
        for row in found:
            if row[-1].end_s <= each.start_s:
                row.append(each)
                break
        else:
            found.append([each])
    return found


def background_lanes(history: History) -> dict[str, list[list[Background]]]:
    """Rows of saves in the background by tier, and of nodes that are replaced and filled."""
    kinds: dict[str, list[Background]] = {}
    for each in history.background:
        if each.end_s > each.start_s:
            of_save = each.task.kind == "save"
            kind = f"saves to {each.task.tier}" if of_save else "rebuilds"
            kinds.setdefault(kind, []).append(each)
    return {kind: rows(tasks) for kind, tasks in kinds.items()}


def _count(nodes: int, kind: str) -> str:
    return f"{nodes:,} {kind}s" if nodes > 1 else f"1 {kind}"


def _most_hit(history: History, most: int) -> set[int]:
    hits = Counter(server for each in history.failures for server in each.hit.servers)
    return set(sorted(hits, key=lambda server: (-hits[server], server))[:most])


def _trainers(phases: Iterable[Phase]) -> list[Phase]:
    return joined(
        phase if phase.doing in ("train", "lost") else phase._replace(doing=WAIT)
        for phase in phases
    )


def _servers_up(history: History) -> list[Phase]:
    """The stages of servers that are never down: they load what all load, from the store alone."""
    stored = {tier.name for tier in history.plan.tiers if tier.medium == "store"}
    recovering = [
        phase if phase.doing == "load" and loads_from & stored else phase._replace(doing=WAIT)
        for phase, _, loads_from in history.recoveries
    ]
    return overlaid(list(history.phases), recovering)


def _down(server: int, history: History) -> list[Phase]:
    """The stages of a server while it is down."""
    waited_for = [each.phase for each in history.recoveries if server in each.down]
    rebuilt = [
        Phase(each.task.kind, each.start_s, each.end_s)
        for each in history.background
        if server in each.task.servers
    ]
    return overlaid(waited_for, rebuilt)
