"""What the failures of a log strike: how many nodes, by which cause, and how badly."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.severity import worst
from cprsim.fitting.repair_causes import MOST_CAUSES, NO_CAUSE, OTHERS
from cprsim.job.severity import Severity

_DIGITS: Final = 6  # of a share, far below what any log tells
_RARE: Final = 0.01  # share of failures below which those of a cause are of other causes
#: Letters of the name of a cause, of which its nodes and its severity may take some.
_LONGEST, _WITH_MORE = 40, 10


class StrikeKind(NamedTuple):
    """A kind of failure: its cause, what is left of the memory of its nodes, and their number.

    `cause` and `severity` are None where the log tells none.
    """

    cause: str | None
    severity: Severity | None
    nodes: int


def strikes(log: FailureLog) -> Counter[StrikeKind]:
    """Return how often failures of each kind struck; those of one instant are one failure.

    Its cause is that of its first record, its severity the worst of them. Rare causes are one.
    """
    told = Counter(log.causes or ())
    common = {each for each, _ in told.most_common(MOST_CAUSES)}
    starts = np.flatnonzero(np.diff(log.times_s, prepend=-math.inf))
    ends = np.append(starts[1:], len(log.times_s))
    found = Counter[StrikeKind]()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        cause = None
        if log.causes is not None and len(told) > 1:
            cause = log.causes[start]
            cause = (cause or NO_CAUSE) if cause in common else OTHERS
        severity = None if log.severities is None else worst(log.severities[start:end])
        nodes = len(np.unique(log.machines[start:end])) if log.of_nodes else 1
        found[StrikeKind(cause, severity, nodes)] += 1
    return found


def of_some_nodes(
    found: Mapping[StrikeKind, float], nodes: int, system: int
) -> dict[StrikeKind, float]:
    """Return how often failures of each kind are expected to strike a job on random nodes.

    Parameters
    ----------
    found
        How often they strike the system.
    nodes, system
        Nodes of the job, and of the system.
    """
    from scipy.stats import hypergeom  # noqa: PLC0415  (scipy is slow to import)

    fewer = defaultdict[StrikeKind, float](float)
    for strike, count in found.items():
        most = min(strike.nodes, nodes)
        shares = hypergeom.pmf(np.arange(most + 1), system, strike.nodes, nodes).tolist()
        for number in range(1, most + 1):
            fewer[strike._replace(nodes=number)] += count * shares[number]
    return dict(fewer)


def at_most(found: Mapping[StrikeKind, float], nodes: int) -> dict[StrikeKind, float]:
    """Return strikes of which none takes more than so many nodes."""
    fewer = defaultdict[StrikeKind, float](float)
    for strike, count in found.items():
        fewer[strike._replace(nodes=min(strike.nodes, nodes))] += count
    return dict(fewer)


def mean_nodes(found: Mapping[StrikeKind, float]) -> float:
    """Return the mean number of nodes that a failure takes down; 1 where there is none."""
    total = math.fsum(found.values())
    taken = math.fsum(count * strike.nodes for strike, count in found.items())
    return taken / total if total else 1.0


def failure_keys(found: Mapping[StrikeKind, float], kinds: Mapping[str, int]) -> dict[str, Any]:
    """Return `hits` and `severity` of `[failures]`, or `causes` where several are needed.

    Parameters
    ----------
    found
        How often failures of each kind struck.
    kinds
        How often each kind of node failed, as weights of `hits`; empty where nobody knows.
    """
    pooled = _without_rare(_pooled(found))
    if len({(each.cause, each.nodes) for each in pooled}) > 1:
        keys = {"hits": _hits(1, kinds), "causes": _causes(pooled, kinds)}
    else:
        nodes = max((each.nodes for each in pooled), default=1)
        severities = {each.severity: count for each, count in pooled.items() if each.severity}
        keys = {"hits": _hits(nodes, kinds), "severity": severities}
    return {name: each for name, each in keys.items() if each}


def without_hits(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return such keys where lives of nodes say which of them fail.

    Causes that then differ in nothing but their names are left out.
    """
    kept = {name: each for name, each in keys.items() if name != "hits"}
    causes = [
        {name: value for name, value in each.items() if name != "hits"}
        for each in kept.pop("causes", ())
    ]
    return kept | ({"causes": causes} if any("severity" in each for each in causes) else {})


def graded(keys: Mapping[str, Any], severities: Mapping[str, float]) -> dict[str, Any]:
    """Return keys of `[failures]` in which causes without a severity have these, by weights.

    Parameters
    ----------
    keys
        Keys without a `severity` of their own.
    severities
        Weights, as `severity` has them.
    """
    if "causes" not in keys:
        return {**keys, "severity": dict(severities)}
    total, causes = math.fsum(severities.values()), []
    for cause in keys["causes"]:
        for severity, weight in severities.items() if "severity" not in cause else ():
            entry = {**cause, "name": f"{cause['name']}, {severity}", "severity": severity}
            entry["share"] = cause["share"] * weight / total
            if severity == "cluster":
                entry.pop("hits", None)
            causes += [entry] if weight else []
        causes += [cause] if "severity" in cause else []
    return {**keys, "causes": causes}


def _pooled(found: Mapping[StrikeKind, float]) -> dict[StrikeKind, float]:
    """Return kinds whose numbers of nodes are 1, 2, the mean of those from 3 to 4, 5 to 8, ..."""
    among = defaultdict[StrikeKind, dict[int, float]](dict)
    for strike, count in found.items():
        counts = among[strike._replace(nodes=(strike.nodes - 1).bit_length())]
        counts[strike.nodes] = counts.get(strike.nodes, 0.0) + count
    pooled = {}
    for strike, counts in among.items():
        total = math.fsum(counts.values())
        mean = math.fsum(nodes * count for nodes, count in counts.items()) / total
        pooled[strike._replace(nodes=round(mean))] = total
    return pooled


def _without_rare(pooled: Mapping[StrikeKind, float]) -> dict[StrikeKind, float]:
    """Return kinds of failures in which rare ones are of other causes."""
    total = math.fsum(pooled.values())
    common = defaultdict[StrikeKind, float](float)
    for strike, count in pooled.items():
        is_rare = strike.cause is not None and count < _RARE * total
        common[strike._replace(cause=OTHERS) if is_rare else strike] += count
    return dict(sorted(common.items(), key=lambda each: -each[1]))


def _causes(pooled: Mapping[StrikeKind, float], kinds: Mapping[str, int]) -> list[dict[str, Any]]:
    total = math.fsum(pooled.values())
    graded = len({each.severity for each in pooled}) > 1
    names = Counter[str]()
    told = []
    for strike, count in pooled.items():
        name = _name(strike, graded)
        names[name] += 1
        entry: dict[str, Any] = {
            "name": name if names[name] == 1 else f"{name} {names[name]}",
            "share": round(count / total, _DIGITS),
        }
        if strike.severity is not None:
            entry["severity"] = strike.severity
        if strike.severity != "cluster" and strike.nodes > 1:
            entry["hits"] = _hits(strike.nodes, kinds)
        told.append(entry)
    return [each for each in told if each["share"]]


def _name(strike: StrikeKind, graded: bool) -> str:
    size = "1 node" if strike.nodes == 1 else f"{strike.nodes:,} nodes"
    more = [size] if strike.cause is None or strike.nodes > 1 else []
    more += [strike.severity] if graded and strike.severity else []
    if strike.cause is None:
        return ", ".join(more)
    cause = strike.cause[: _LONGEST - _WITH_MORE * (1 + len(more))].rstrip()
    return ", ".join([cause, *more])


def _hits(nodes: int, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Return `hits` for so many nodes; empty for one server, which is what it stands for."""
    names = tuple(kinds) or ("parameter_servers",)
    if len(names) > 1:
        return {"weights": dict(kinds)} | (dict.fromkeys(names, nodes) if nodes > 1 else {})
    return {} if nodes == 1 and names == ("parameter_servers",) else {names[0]: nodes}
