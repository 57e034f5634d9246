"""The accounts of a job: what a process has to know to continue from a checkpoint.

They are stored with the dense part, as one document.
"""

from collections.abc import Sequence
from typing import Any

from cprsim.trainer.hooks.running_job import RunningJob, UsableCheckpoint, UsableCheckpoints

#: Counts of a job in each process.
COUNTS = ("failures", "saves", "saves_failed", "bytes_saved", "bytes_loaded")


def document(
    job: RunningJob, usable: UsableCheckpoints, counts: dict[str, int], shards: int
) -> dict[str, Any]:
    """Return the accounts of a checkpoint, which lack the counts of updates.

    `usable`: the usable checkpoints, it among them. `counts`: by the names of `COUNTS`. `shards`:
    those of the job.
    """
    return {
        "seconds": dict(job.watch.seconds),
        "executed": job.executed,
        "lost_steps": job.lost_steps,
        "shards": shards,
        "usable": [tuple(each) for each in usable],
        "portions": usable.portions,
        "counts": dict(counts),
    }


def joined(all_said: Sequence[dict[str, Any]], takes_counts: bool) -> dict[str, Any]:
    """Return the accounts of the job, for one process to continue from.

    Each process counts for itself what `TrainerHooks.job_summary` adds up, so one takes the counts
    of all, and the others begin at 0. All know what the lost updates are worth, in steps of the
    job: they may count in another unit.
    """
    job, counted = all_said[0], all_said if takes_counts else []
    updates, counts = dict(job["updates"]), dict(job["counts"])
    made = sum(each["updates"]["made"] for each in all_said)
    gone = sum(each["updates"]["lost"] + each["updates"]["unsaved"] for each in all_said)
    updates["worth"] = updates.get("earlier_steps", 0.0) + gone * updates["steps"] / max(made, 1)
    for name in ("made", "lost", "unsaved"):
        updates[name] = sum(each["updates"][name] for each in counted)
    for name in ("bytes_saved", "bytes_loaded"):
        counts[name] = sum(each["counts"][name] for each in counted)
    lost = sum(each["lost_steps"] for each in counted)
    return job | {"lost_steps": lost, "updates": updates, "counts": counts}


def go_on(before: dict[str, Any], job: RunningJob, counts: dict[str, int], shards: int) -> None:
    """Continue from the accounts of another process."""
    job.usable = UsableCheckpoints(UsableCheckpoint(*each) for each in before["usable"])
    job.usable.portions = before.get("portions", 0.0)  # 0.1.0 wrote none
    job.lost_steps = lost_steps(before, shards)
    job.watch.go_on(before["seconds"])
    job.executed += before.get("executed", before["usable"][-1][0])  # nor these
    for name, number in before["counts"].items():
        counts[name] += number


def lost_steps(before: dict[str, Any], shards: int) -> float:
    """Return those of accounts; (E4) counts steps of shards, of which there may be others now."""
    found: float = before["lost_steps"] * shards / before["shards"]
    return found
