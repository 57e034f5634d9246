"""Which policy to take, and how sure that is."""

import math
from itertools import combinations

from cprsim.basics.units import format_bytes, format_percent
from cprsim.runs.result import Result
from cprsim.selection.certificate import WITHIN, Certificate, Rival, judge
from cprsim.selection.words import Unit, interval, listed, sentence

#: Shares of learning below which lies only rounding.
_NOTHING = 1e-12
#: Shares of the useful time, likewise.
_SAME = 1e-9


def ranked(result: Result, measure: str = "overhead") -> list[str]:
    """The policies by their means, the least first; equal ones in the scenario's order."""
    return sorted(result.plans, key=lambda name: _of(result, name, measure))


def certified(result: Result, measure: str = "overhead", within: float = WITHIN) -> Certificate:
    """Which policy has the least of a measure of `COMPARED`, and how sure that is.

    Candidates are the policies in the order of the result.
    """
    can_fail = math.isfinite(result.scenario.context.mtbf_s)
    share = within / WITHIN / result.scenario.job.useful_time_s  # of the measure, for a second
    unmet = {
        name: min(plan.unmet_s * share, within / WITHIN) for name, plan in result.plans.items()
    }
    return judge(result.kept.evidence(unmet, measure, can_fail), (), within=within)


def recommendation(result: Result) -> list[str]:
    """Sentences: the policy that takes the least time, how sure that is, and what it costs."""
    found, names = certified(result), list(result.plans)
    best = names[found.best or 0]
    said = [_choice(result, best, found)]
    if found.runner_up:
        said.append(_margin(found.runner_up, names, result.count))
    if _corrupt(result, best):
        said.append(_sound(result, best))
    if _loses(result, best):
        said.append(_without_loss(result, best, found))
    more = _retrained(result, best), _taken(result, best), _cheapest(result)
    return [*said, *filter(None, more)]


def _choice(result: Result, best: str, found: Certificate) -> str:
    overhead = _of(result, best, "overhead")
    if not found.rivals:
        return (
            f"{best} is the only policy that was run; its overhead is {format_percent(overhead)}."
        )
    least = f"Least time of these policies: {best}, {format_percent(overhead)} overhead"
    return f"{least}; {sentence(found, list(result.plans))}."


def _margin(rival: Rival, names: list[str], count: int) -> str:
    together = "95 % interval for all comparisons together, " * math.isfinite(rival.low)
    return (
        f"On the same failures {names[rival.candidate]}, the next, takes {interval(rival)} more of "
        f"the useful time ({together}{count:,} paired differences)."
    )


def _sound(result: Result, best: str) -> str:
    """What the quickest policy may end with, and the quickest of those that ended sound."""
    ends = (
        f"{best} ends with a silent fault in what was trained in "
        f"{format_percent(_corrupt(result, best))} of the replications, and nobody knows"
    )
    sound = [name for name in ranked(result) if not _corrupt(result, name)]
    if not sound:
        return f"{ends}; verify_every of a policy has it looked for."
    overhead = format_percent(_of(result, sound[0], "overhead"))
    return f"{ends}; of the policies that never did, {sound[0]} takes the least time: {overhead}."


def _without_loss(result: Result, best: str, found: Certificate) -> str:
    """What the quickest policy loses of learning, and the quickest that loses none."""
    updates, pls = (format_percent(_of(result, best, each)) for each in ("updates_lost", "pls"))
    lost = (
        f"{best} pays in learning: {updates} of all updates are lost for good (PLS {pls}), "
        f"{_accuracy(result, best)}."
    )
    keeping = [
        name for name in result.plans if not (_loses(result, name) or _corrupt(result, name))
    ]
    if not keeping:
        return lost
    safe = min(keeping, key=lambda name: _of(result, name, "overhead"))
    more = next(each for each in found.rivals if each.candidate == list(result.plans).index(safe))
    return (
        f"{lost} Of the policies that lose none, {safe} takes the least time: "
        f"{format_percent(_of(result, safe, 'overhead'))} overhead, {interval(more)} more."
    )


def _retrained(result: Result, best: str) -> str:
    """What lost updates do to the answer if they are all trained again; empty if nothing."""
    least, *others = by_worth = ranked(result, "overhead_retrained")
    turned = _turned(result)
    if not (turned or _loses(result, best)):
        return ""
    overhead = format_percent(_of(result, least, "overhead_retrained"))
    again = "If every lost update were trained again,"
    if not others:
        return f"{again} its overhead would be {overhead}."
    takes = format_percent(_of(result, best, "overhead_retrained"))
    than = "" if least == best else f", where {best} would take {takes}"
    found = certified(result, "overhead_retrained")
    though = "" if found.verdict == "best" else f"; {sentence(found, list(result.plans))}"
    said = f"{again} {least} would take the least time: {overhead} overhead{than}{though}."
    if turned:
        said += (
            f" The order would be {listed(by_worth)}; by overhead it is {listed(ranked(result))}."
        )
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
    return f"Beside time, {best} takes {listed(things)}." if things else ""


def _cheapest(result: Result) -> str:
    """Which policy costs the least money, and how sure that is; empty if unpriced."""
    if "cost" not in result.summary:
        return ""
    names = list(result.plans)
    least = _of(result, ranked(result, "cost")[0], "cost")
    found = certified(result, "cost", WITHIN * least)
    best = names[found.best or 0]
    paid = f"Least money: {best}, {_of(result, best, 'cost'):,.2f} {result.currency}"
    if not found.rivals:
        return f"{paid}."
    return f"{paid}; {sentence(found, names, Unit(str(result.currency), 1.0))}."


def _loses(result: Result, policy: str) -> bool:
    lost = (_of(result, policy, measure) for measure in ("updates_lost", "pls"))
    return max(lost) > _NOTHING


def _corrupt(result: Result, policy: str) -> float:
    """Share of the replications that end with a silent fault that nobody has found."""
    return _of(result, policy, "corrupt") if "corrupt" in result.summary else 0.0


def _of(result: Result, policy: str, measure: str) -> float:
    """A mean of the summary."""
    return float(result.summary[measure].to_dict()[policy])
