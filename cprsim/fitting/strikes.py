"""Kinds of failures in a log: the nodes that they take, their causes and severities."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.log import FailureLog
from cprsim.fitting.repairs import MOST_CAUSES, NO_CAUSE, OTHERS
from cprsim.job.severity import SEVERITIES, Severity

_DIGITS: Final = 6  # of a share, far below the precision of any log
_RARE: Final = 0.01  # share of failures below which those of a cause are of other causes
#: Letters of the name of a cause, of which its nodes and its severity may take some.
_LONGEST, _WITH_MORE = 40, 10


class StrikeKind(NamedTuple):
    """A kind of failure: its cause, what is left of the memory of its nodes, and their number.

    `cause` and `severity` are None where the log has none. `servers`: how many of several nodes
    are parameter servers; None of one node, and where the log has no kinds of nodes.
    """

    cause: str | None
    severity: Severity | None
    nodes: int
    servers: int | None = None

    @property
    def kinds(self) -> str:
        """The word for its nodes: servers or trainers, where the log says it, else nodes."""
        if self.servers is None or 0 < self.servers < self.nodes:
            return "nodes"
        return "servers" if self.servers else "trainers"

    def taking(self, nodes: int) -> "StrikeKind":
        """Return a failure of the kind that takes so many nodes, as many servers in proportion."""
        if self.servers is None or nodes == 1:
            return self._replace(nodes=nodes, servers=None)
        return self._replace(nodes=nodes, servers=round(self.servers * nodes / self.nodes))


def strikes(log: FailureLog, whole: FailureLog | None = None) -> Counter[StrikeKind]:
    """Return how often failures of each kind struck; those of one instant are one failure.

    Its cause is that of its first record, its severity the worst of them. Causes that are rare in
    `whole`, by default the log, are one.
    """
    told = Counter((whole or log).causes or ())
    common = {each for each, _ in told.most_common(MOST_CAUSES)}
    ends = np.flatnonzero(np.diff(log.times_s, append=math.inf)) + 1
    machines = (log.machines if log.of_nodes else log.nodes).tolist()
    found = Counter[StrikeKind]()
    for start, end in pairwise([0, *ends.tolist()]):
        cause = None
        if log.causes is not None and len(told) > 1:
            cause = log.causes[start]
            cause = (cause or NO_CAUSE) if cause in common else OTHERS
        severity = None
        if log.severities is not None:
            severity = max(log.severities[start:end], key=SEVERITIES.index)
        kinds = log.kinds[start:end] if log.kinds is not None else (None,) * (end - start)
        struck = dict(zip(machines[start:end], kinds, strict=True))
        servers = None
        if log.kinds is not None and len(struck) > 1:
            servers = sum(kind == "parameter_server" for kind in struck.values())
        found[StrikeKind(cause, severity, len(struck), servers)] += 1
    return found


def strikes_of_job(log: FailureLog, nodes: int) -> dict[StrikeKind, float]:
    """Return how often failures of each kind are expected to strike a job on random nodes.

    `nodes`: of the job, which is on some of those there, and waits while there are fewer.
    """
    from scipy.stats import hypergeom  # noqa: PLC0415  (scipy is slow to import)

    fewer = defaultdict[StrikeKind, float](float)
    for there, found in Attendance(log).logs.items():
        for strike, count in strikes(found, log).items() if there >= nodes else ():
            most = min(strike.nodes, nodes)
            shares = hypergeom.pmf(np.arange(most + 1), there, strike.nodes, nodes).tolist()
            for number in range(1, most + 1):
                fewer[strike.taking(number)] += count * shares[number]
    return dict(fewer)


def at_most(found: Mapping[StrikeKind, float], nodes: Mapping[str, int]) -> dict[StrikeKind, float]:
    """Return strikes of which none takes more nodes of a kind than there are.

    `nodes`: those of the job, by the names that `hits` has for their kinds.
    """
    fewest = min(nodes.values())
    fewer = defaultdict[StrikeKind, float](float)
    for strike, count in found.items():
        if strike.servers is None:
            fewer[strike.taking(min(strike.nodes, fewest))] += count
            continue
        servers = min(strike.servers, nodes.get("parameter_servers", 0))
        taken = servers + min(strike.nodes - strike.servers, nodes.get("trainers", 0))
        if taken:
            told = servers if taken > 1 else None
            fewer[strike._replace(nodes=taken, servers=told)] += count
    return dict(fewer)


def mean_nodes(found: Mapping[StrikeKind, float]) -> float:
    """Return the mean number of nodes that a failure takes down; 1 where there is none."""
    total = math.fsum(found.values())
    taken = math.fsum(count * strike.nodes for strike, count in found.items())
    return taken / total if total else 1.0


#: From a cause and a severity to its repair, as a scenario has it; empty where there is none.
RepairOf = Callable[[str | None, Severity | None], dict[str, Any] | str]


def failure_keys(
    found: Mapping[StrikeKind, float],
    kinds: Mapping[str, int],
    repair_of: RepairOf | None = None,
    of_lives: bool = False,
) -> dict[str, Any]:
    """Return `hits` and `severity` of `[failures]`, or `causes` where several are needed.

    `found`: how often failures of each kind struck. `kinds`: how often each kind of node failed, as
    weights of `hits`; empty where nobody knows. `repair_of`: how long repairs take, which only
    causes have. `of_lives`: whether lives of nodes say which of them fail: nothing then has `hits`,
    and causes that differ in nothing but their names are left out.
    """
    one = StrikeKind(None, None, 1)
    pooled = _pooled(found)
    causes = _causes(pooled or {one: 1.0}, kinds, repair_of, of_lives)
    are_several = len({each._replace(severity=None) for each in pooled}) > 1
    keys: dict[str, Any] = {"hits": _hits(one if are_several else next(iter(pooled), one), kinds)}
    if of_lives:
        keys.clear()
    if are_several or any("repair" in each for each in causes):
        told = not of_lives or any({"severity", "repair"} & each.keys() for each in causes)
        keys["causes"] = causes * told
    else:
        keys["severity"] = {each.severity: n for each, n in pooled.items() if each.severity}
    return {name: each for name, each in keys.items() if each}


def graded(keys: Mapping[str, Any], severities: Mapping[str, float]) -> dict[str, Any]:
    """Return keys of `[failures]` in which causes without a severity have these, by weights."""
    if "causes" not in keys:
        return {**keys, "severity": dict(severities)}
    total, causes, names = math.fsum(severities.values()), [], Counter[str]()
    for cause in keys["causes"]:
        for severity, weight in severities.items() if "severity" not in cause else ():
            name = f"{_cut(cause['name'], _LONGEST - len(severity) - 6)}, {severity}"
            entry = {**cause, "name": _own(name, names), "severity": severity}
            entry["share"] = cause["share"] * weight / total
            if severity == "cluster":
                entry.pop("hits", None)
            causes += [entry] if weight else []
        causes += [cause] if "severity" in cause else []
    return {**keys, "causes": causes}


def _pooled(found: Mapping[StrikeKind, float]) -> dict[StrikeKind, float]:
    """Return kinds whose numbers of nodes are 1, 2, the mean of those from 3 to 4, 5 to 8, ...

    Rare ones are of other causes; the commonest come first.
    """
    among = defaultdict[tuple[object, ...], dict[StrikeKind, float]](dict)
    for strike, count in found.items():
        size = (strike.nodes - 1).bit_length()
        among[strike.cause, strike.severity, size, strike.kinds][strike] = count
    every = math.fsum(found.values())
    common = defaultdict[StrikeKind, float](float)
    for counts in among.values():
        total, first = math.fsum(counts.values()), next(iter(counts))
        nodes, servers = (
            round(math.fsum((getattr(each, what) or 0) * n for each, n in counts.items()) / total)
            for what in ("nodes", "servers")
        )
        first = first._replace(nodes=nodes, servers=None if first.servers is None else servers)
        if first.cause is not None and total < _RARE * every:
            first = first._replace(cause=OTHERS)
        common[first] += total
    return dict(sorted(common.items(), key=lambda each: -each[1]))


def _causes(
    pooled: Mapping[StrikeKind, float],
    kinds: Mapping[str, int],
    repair_of: RepairOf | None,
    of_lives: bool,
) -> list[dict[str, Any]]:
    total = math.fsum(pooled.values())
    is_graded = len({each.severity for each in pooled}) > 1
    names = Counter[str]()
    told = []
    for strike, count in pooled.items():
        entry: dict[str, Any] = {
            "name": _own(_name(strike, is_graded), names),
            "share": round(count / total, _DIGITS),
        }
        if strike.severity is not None:
            entry["severity"] = strike.severity
        if strike.severity != "cluster" and strike.nodes > 1 and not of_lives:
            entry["hits"] = _hits(strike, kinds)
        repair = repair_of(strike.cause, strike.severity) if repair_of is not None else ""
        told.append(entry | ({"repair": repair} if repair else {}))
    return [each for each in told if each["share"]]


def _name(strike: StrikeKind, is_graded: bool) -> str:
    size = "1 node" if strike.nodes == 1 else f"{strike.nodes:,} {strike.kinds}"
    more = [size] if strike.cause is None or strike.nodes > 1 else []
    more += [strike.severity] if is_graded and strike.severity else []
    if strike.cause is None:
        return ", ".join(more)
    return ", ".join([_cut(strike.cause, _LONGEST - _WITH_MORE * (1 + len(more))), *more])


def _own(name: str, names: Counter[str]) -> str:
    """Return a name that none has had yet; `names` counts those given."""
    names[name] += 1
    return name if names[name] == 1 else f"{name} {names[name]}"


def _cut(name: str, letters: int) -> str:
    """Return a name of so many letters at most, all of them to be seen."""
    seen = "".join(each if each.isprintable() else " " for each in name)
    return " ".join(seen.split())[:letters].rstrip()


def _hits(strike: StrikeKind, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Return `hits` for such a failure; empty for one server, the default."""
    nodes, servers = strike.nodes, strike.servers
    if servers is not None:
        taken = {"parameter_servers": servers, "trainers": nodes - servers}
        return {kind: count for kind, count in taken.items() if count}
    names = tuple(kinds) or ("parameter_servers",)
    if len(names) > 1:
        return {"weights": dict(kinds)} | (dict.fromkeys(names, nodes) if nodes > 1 else {})
    return {} if nodes == 1 and names == ("parameter_servers",) else {names[0]: nodes}
