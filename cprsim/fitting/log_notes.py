"""Notes on a fit of a log, in the order in which one reads them."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from cprsim.basics.units import format_duration, rough_percent
from cprsim.failures.logs.log import OF_WORST, OUTSIDE, FailureLog
from cprsim.failures.logs.table import OTHERS
from cprsim.failures.logs.views import ZERO
from cprsim.fitting.job_lengths import length_notes
from cprsim.fitting.repairs import MOST_CAUSES, count_lines, planned_note, shortened
from cprsim.fitting.strikes import mean_nodes

if TYPE_CHECKING:
    from cprsim.fitting.log_fit import LogFit

#: Failures that are no gaps of their own.
COALESCED: Final = "failures coalesced with the one before them"
#: What is somebody's choice: the option that changes it.
_OPTIONS: Final = {
    OTHERS: " (--system)",
    OUTSIDE: " (--window)",
    OF_WORST: " (--exclude-worst)",
    COALESCED: " (--coalesce)",
    ZERO: " (--ties keep)",
}
_GUESS = 0.05  # of a mean, from which on it is said that no data show it


def left_out_lines(log: FailureLog, left_out: Mapping[str, int]) -> list[str]:
    """Return lines on the rows of the file that were read, kept and left out."""
    told = ["Left out:"] if left_out else []
    if log.rows is not None:
        what, read = log.rows
        count = log.kept - sum(left_out.get(why, 0) for why in (OUTSIDE, OF_WORST))
        kept = "all of them" if count == read else f"{count:,}"
        told = [" ".join([f"Read {read:,} {what}, kept {kept}.", *told])]
    return told + count_lines(
        (count, why + _OPTIONS.get(why, "")) for why, count in left_out.items()
    )


def too_little(path: str, log: FailureLog, left_out: Mapping[str, int], why: str) -> str:
    """Return the fault of a log with too little left: first what was read, kept and left out."""
    if not path or log.rows is None:
        return why
    what, read = log.rows
    every = (f"{count:,} {each}{_OPTIONS.get(each, '')}" for each, count in left_out.items())
    gone = f"; left out {', '.join(every)}" if left_out else ""
    return f"{path}: of {read:,} {what} kept {log.kept:,}{gone}: {why}"


def notes(fitted: "LogFit") -> list[str]:
    """Return sentences or lines to read before one uses the best law.

    The law and its mean, how failures come, repairs, how the log was understood, and last what
    was left out.
    """
    return [
        *_law(fitted),
        *_mean(fitted),
        *length_notes(fitted.job_lengths, fitted.law.distribution),
        *_coming(fitted),
        *_repairs(fitted),
        *fitted.source.notes,
        *fitted.log.notes,
        *left_out_lines(fitted.log, fitted.left_out),
    ]


def _law(fitted: "LogFit") -> list[str]:
    best, reason = fitted.law.distribution, fitted.verdict.reason
    if not fitted.verdict.adequate:
        return [f"No law is adequate; of the best, {best}: {reason}."]
    said = [f"{reason[0].upper()}{reason[1:]}."]
    if fitted.wanted_frailty is not None:
        return said
    passed_over = [each.verdict.reason for each in fitted.fits[1:] if each.verdict.reason]
    return said + [f"Passed over, with a smaller AIC: {each}." for each in passed_over]


def _repairs(fitted: "LogFit") -> list[str]:
    """Return notes on outages, and on the commonest causes, where there is more than one."""
    repairs, restarts, causes = fitted.repairs, fitted.restarts, fitted.causes
    said = [] if repairs is None else repairs.notes
    if restarts is not None:
        restarted = f"Outages of processes alone: {restarts.sample.n:,}"
        said.append(f"{restarted}; {restarts.typical}.")
    if fitted.log.planned is not None:
        said.append(planned_note(fitted.log.planned))
    if (repairs is None or not repairs.causes) and len(causes) > 1:
        most = Counter(causes).most_common(MOST_CAUSES)
        told = ", ".join(f"{shortened(cause or 'none told')} {count:,} x" for cause, count in most)
        said.append(f"Causes: {told}{', ...' * (len(causes) > MOST_CAUSES)}.")
    return said


def _coming(fitted: "LogFit") -> list[str]:
    """Return notes on how failures come: on which nodes, in clusters, ever rarer, together."""
    nodes, frailty, follow = fitted.node_failures, fitted.frailty, fitted.dependence
    trend, bursts = fitted.trend, fitted.bursts
    said = [] if nodes is None else [nodes.rate]
    if frailty is not None:
        said += frailty.notes
    elif nodes is not None:
        said.append(nodes.worst)
    is_clustered = follow is not None and follow.clustered
    if follow is not None and is_clustered:
        said.append(
            "Failures come in clusters: short gaps follow short ones (rank correlation "
            f"{follow.correlation:.2f}, {follow.z:.1f} standard errors). --coalesce makes one "
            "failure of those close in time; a replay of the log keeps its clusters."
        )
    if trend is not None and trend.is_sure:
        way = "rarer" if trend.z < 0 else "more frequent"
        clusters = ", unless that is a long cluster" * is_clustered
        later = "; take a later window, e.g. --window 0.5:1" * (fitted.source.window is None)
        said.append(
            f"Failures become {way} over the log (Crow-AMSAA shape {trend.shape:.2f}, Lewis and "
            f"Robinson's z {trend.z:.1f}){clusters}: a law of the whole is one of its middle"
            f"{later}."
        )
    if bursts is not None:
        said.append(
            f"{bursts.count} bursts took down several nodes of a rack; {bursts.by_chance:.2g} "
            "would by chance."
        )
    many = {size: count for size, count in sorted(fitted.at_once.items()) if size > 1}
    if many:
        often = ", ".join(f"{size} nodes {count:,} x" for size, count in list(many.items())[:6])
        mean = mean_nodes(fitted.strikes)
        said.append(
            f"Down at one instant: {often}{', ...' if len(many) > 6 else ''}; {mean:.3g} in the "
            "mean."
        )
    return said if nodes is None else said + nodes.bursts.notes


def _mean(fitted: "LogFit") -> list[str]:
    """Return notes on the mean of the best law, and how far it is from that of the gaps."""
    said, law, time = [], fitted.law, fitted.view.node_time
    sample = fitted.view.sample
    off = law.expected_s / fitted.mean_s - 1
    if off:
        said.append(
            f"The mean of the {law.distribution} law is {rough_percent(abs(off))} "
            f"{'above' if off > 0 else 'below'} that of the log, "
            f"{format_duration(sample.mtbf_s)}, since it follows the longest durations less than "
            f"they count: a job would meet {rough_percent(abs(1 / (1 + off) - 1))} too "
            f"{'few' if off > 0 else 'many'} failures. [failures] has the mean of the log."
        )
    if time is not None:
        after, of_all = map(format_duration, (time.after_first_s, time.of_all_s))
        nodes = f"all {time.nodes:,} nodes"
        if not time.is_counted:
            nodes = f"{time.nodes - time.unseen:,} nodes that failed and an estimated "
            nodes += f"{time.unseen:,} that never did (--population says it)"
        said.append(
            f"A node failed every {after} of its up time after its first failure; counting "
            f"{nodes} from the start of the log, every {of_all}."
        )
    longest_s = float(sample.durations_s.max())
    beyond = 1 - law.within(longest_s)[1] / law.expected_s
    if sample.censored and beyond > _GUESS:
        said.append(
            f"{rough_percent(beyond)} of the mean of the {law.distribution} law is what it says of "
            f"durations beyond {format_duration(longest_s)}, the longest that was "
            "watched: a guess."
        )
    return said
