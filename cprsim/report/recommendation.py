"""Which policy to take, and how sure that is."""

import math
from dataclasses import dataclass
from itertools import combinations

from cprsim.basics.units import format_bytes
from cprsim.runs.result import Result
from cprsim.runs.summaries import half_width_of

#: Shares of learning below which lies only rounding.
_NOTHING = 1e-12
#: Shares of the useful time, likewise.
_SAME = 1e-9
_MISS = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """What `policy` has of a measure less what another has on the same failures; half its interval.

    Overheads as shares of the useful time, with lost updates trained again or without, or costs in
    their currency. The half width is not a number for a single replication. Intervals hold for all
    comparisons of a result together, at 95 % (Bonferroni).
    """

    policy: str
    mean: float
    half: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves 0 out."""
        return abs(self.mean) > self.half

    @property
    def is_none(self) -> bool:
        """Whether both take the same time in every replication."""
        return max(abs(self.mean), self.half) <= _SAME

    def words(self) -> str:
        """In percentage points."""
        if math.isnan(self.half):
            return f"{100 * self.mean:.2f} points"
        return f"{100 * self.mean:.2f} ± {100 * self.half:.2f} points"


def ranked(result: Result, measure: str = "overhead") -> list[str]:
    """The policies by their means, the least first; equal ones in the scenario's order."""
    return sorted(result.plans, key=lambda name: _of(result, name, measure))


def quickest(result: Result) -> str:
    """The policy with the least mean overhead; of equal ones the first."""
    return ranked(result)[0]


def differences(result: Result, policy: str, measure: str = "overhead") -> list[Difference]:
    """What every other policy has more of a measure than this one, the least first.

    `measure`: of `COMPARED`, or where all replications are kept, any column of them.
    """
    others = [name for name in result.plans if name != policy]
    pairs = [result.kept.paired_difference(other, policy, measure) for other in others]
    wider, n = 1.0, result.count
    if others and n > 1:
        wider = float(half_width_of(1.0, n, _MISS / len(others)) / half_width_of(1.0, n, _MISS))
    found = [
        Difference(other, mean, half * wider)
        for other, (mean, half) in zip(others, pairs, strict=True)
    ]
    return sorted(found, key=lambda each: each.mean)


def recommendation(result: Result) -> list[str]:
    """Sentences: the policy that takes the least time, how sure that is, and what it costs."""
    best = quickest(result)
    said = [_choice(result, best)]
    if differences(result, best):
        said.append(_certainty(result, best))
    if _loses(result, best):
        said.append(_without_loss(result, best))
    return [
        *said,
        *filter(None, (_retrained(result, best), _taken(result, best), _cheapest(result))),
    ]


def _choice(result: Result, best: str) -> str:
    overhead = _of(result, best, "overhead")
    others = differences(result, best)
    if not others:
        return f"{best} is the only policy that was run; its overhead is {overhead:.2%}."
    return f"Least time: {best}, {overhead:.2%} overhead{_though(others)}."


def _though(others: list[Difference]) -> str:
    """From which of the others the best can't be told apart."""
    tied = [
        each.policy
        for each in others
        if not each.is_sure and not each.is_none and not math.isnan(each.half)
    ]
    return f", though these replications can't tell it apart from {_and(tied)}" if tied else ""


def _certainty(result: Result, best: str) -> str:
    nearest = differences(result, best)[0]
    if math.isnan(nearest.half):
        return f"One replication tells nothing of chance; {nearest.policy} took " + (
            f"{nearest.words()} more in it. Run more of them."
        )
    if nearest.is_none:
        return f"{nearest.policy} takes just as long in every replication."
    sure = "" if nearest.is_sure else ", which chance may well explain: more replications may tell"
    return (
        f"On the same failures {nearest.policy}, the next, takes {nearest.words()} more of the "
        f"useful time (95 % interval for all comparisons together, {result.count:,} paired "
        f"differences){sure}."
    )


def _without_loss(result: Result, best: str) -> str:
    """What the quickest policy loses of learning, and the quickest that loses none."""
    lost = (
        f"{best} pays in learning: {_of(result, best, 'updates_lost'):.2%} of all updates are lost "
        f"for good (PLS {_of(result, best, 'pls'):.2%}), {_accuracy(result, best)}."
    )
    keeping = [name for name in result.plans if not _loses(result, name)]
    if not keeping:
        return lost
    safe = min(keeping, key=lambda name: _of(result, name, "overhead"))
    more = next(each for each in differences(result, best) if each.policy == safe)
    return (
        f"{lost} Of the policies that lose none, {safe} takes the least time: "
        f"{_of(result, safe, 'overhead'):.2%} overhead, {more.words()} more."
    )


def _retrained(result: Result, best: str) -> str:
    """What lost updates do to the answer if they are all trained again; empty if nothing."""
    least, *others = by_worth = ranked(result, "overhead_retrained")
    turned = _turned(result)
    if not (turned or _loses(result, best)):
        return ""
    overhead = f"{_of(result, least, 'overhead_retrained'):.2%}"
    again = "If every lost update were trained again,"
    if not others:
        return f"{again} its overhead would be {overhead}."
    takes = f"{_of(result, best, 'overhead_retrained'):.2%}"
    than = "" if least == best else f", where {best} would take {takes}"
    though = _though(differences(result, least, "overhead_retrained"))
    said = f"{again} {least} would take the least time: {overhead} overhead{than}{though}."
    if turned:
        said += f" The order would be {_and(by_worth)}; by overhead it is {_and(ranked(result))}."
    return said


def _turned(result: Result) -> bool:
    """Whether some two policies change places once lost updates are trained again."""
    return any(
        _of(result, other, "overhead") - _of(result, one, "overhead") > _SAME
        and _of(result, one, "overhead_retrained") - _of(result, other, "overhead_retrained")
        > _SAME
        for one, other in combinations(ranked(result), 2)
    )


def _accuracy(result: Result, best: str) -> str:
    """What lost learning does to accuracy, as far as somebody has measured it."""
    drop = result.auc_drops.get(best)
    if drop is None or math.isnan(drop.mean):
        return "and what that does to accuracy is not simulated"
    return f"which by the slope measured with {drop.source} makes AUC lower by {drop.mean:.4f}"


def _taken(result: Result, best: str) -> str:
    """What it takes beside time."""
    memory, sent = _of(result, best, "memory_overhead"), _of(result, best, "peer_bytes")
    spares = _of(result, best, "spares")
    things = []
    if memory > 0:
        things.append(f"{memory:.3g} times the memory of the rows on top of it")
    if sent > 0:
        things.append(f"{format_bytes(sent)} sent between servers")
    if spares > 0:
        things.append(f"{spares:.0f} spare machines")
    return f"Beside time, {best} takes {_and(things)}." if things else ""


def _cheapest(result: Result) -> str:
    """Which policy costs the least money, and how much more the next takes; empty if unpriced."""
    if "cost" not in result.summary:
        return ""
    least, *others = ranked(result, "cost")
    cost = _of(result, least, "cost")
    paid = f"Least money: {least}, {cost:,.2f} {result.currency}"
    if not others:
        return f"{paid}."
    nearest = differences(result, least, "cost")[0]
    if max(abs(nearest.mean), nearest.half) <= _SAME * cost:
        return f"{paid}; {nearest.policy} costs just as much in every replication."
    half = "" if math.isnan(nearest.half) else f" ± {nearest.half:,.2f}"
    sure = "" if nearest.is_sure or not half else ", which chance may well explain"
    return f"{paid}; {nearest.policy}, the next, costs {nearest.mean:,.2f}{half} more{sure}."


def _loses(result: Result, policy: str) -> bool:
    lost = (_of(result, policy, measure) for measure in ("updates_lost", "pls"))
    return max(lost) > _NOTHING


def _of(result: Result, policy: str, measure: str) -> float:
    """A mean of the summary."""
    return float(result.summary[measure].to_dict()[policy])


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
