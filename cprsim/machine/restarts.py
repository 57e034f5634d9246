"""Detection and cure of failures: by a restart on the same nodes, or by other machines.

Rules 7, 40 and 42 of docs/semantics.md.
"""

from cprsim.job.severity import SEVERITIES
from cprsim.machine import attempts, offenders
from cprsim.machine.codes import MORE_RESTARTS, NONE
from cprsim.machine.node_lists import SEVERITY, STRUCK
from cprsim.machine.rows import Running, drawn

#: What becomes of the nodes hit by the last failure: they are replaced, or they restart in place,
#: or that fails and they are replaced after all.
_REPLACED, _IN_PLACE, _FAILED = range(3)
_NODE = SEVERITIES.index("node")


def decide(job: Running) -> None:
    """Decide how the failure in `STRUCK` is cured; a failed restart makes it one of the node."""
    _decide(job)
    if job.draws.states != NONE:
        offenders.strike(job, STRUCK, job.run.restart == _IN_PLACE)


def _decide(job: Running) -> None:
    run, plan, draws = job.run, job.plan, job.draws
    run.restart = _REPLACED
    severity = job.lists[STRUCK][SEVERITY]
    if not plan.restarts & (1 << severity):
        return
    run.restart = _IN_PLACE
    if not plan.restart_fails:
        return
    tried = drawn(job, draws.tries + run.failures, run.failures, draws.restart_count, MORE_RESTARTS)
    if tried < plan.restart_fails:
        run.restart = _FAILED
        job.lists[STRUCK][SEVERITY] = max(severity, _NODE)


def wait_s(job: Running, nodes: int, takeover_s: float) -> float:
    """Return how long `nodes` nodes hit by the last failure are away, s.

    `takeover_s`: what it takes to put other machines into their places.
    """
    if job.run.restart == _IN_PLACE:
        return _restart_s(job)
    tried_s = _restart_s(job) if job.run.restart == _FAILED else 0.0
    return tried_s + attempts.replacement_s(job, nodes) + takeover_s


def _restart_s(job: Running) -> float:
    """Return the duration of a restart in place, s."""
    return _of_last_failure(job, job.draws.restarts, job.plan.restart_s)


def regroup_s(job: Running) -> float:
    """Return how long the processes take to form their group again after the last failure, s."""
    return _of_last_failure(job, job.draws.regroups, job.plan.regroup_s)


def _of_last_failure(job: Running, first: int, constant_s: float) -> float:
    """Return the duration drawn for the last failure, or the constant one, s."""
    if first == NONE:
        return constant_s
    return drawn(
        job,
        first + job.run.failures - 1,
        job.run.failures - 1,
        job.draws.restart_count,
        MORE_RESTARTS,
    )


def detection_s(job: Running) -> float:
    """Return how long the last failure takes to be noticed, s."""
    if job.draws.detections == NONE:
        return job.plan.detect_s
    return job.numbers[job.draws.detections + job.run.last_struck]
