"""The summary of a job with hooks."""

from dataclasses import asdict, dataclass

from cprsim.metrics import Reading


@dataclass(frozen=True)
class Summary:
    """The result of a job so far, in this process and in those that it continues from.

    `recovery`: what the policy plans for a lost shard, "full" or "partial"; CPR plans full recovery
    where partial recovery would cost no less. `seconds`: by cause, as in `cprsim.contract.ledger`.
    `pls`: (E4) of CPR, as far as shards of this process were lost. `updates_lost`: share of all
    updates of the rows of this process that was lost for good; by rows where lookups are known,
    else by steps. `failures`: losses that `on_failure` was called for, and starts from a checkpoint
    of a job that was not stopped by `save_now()`, a notice, or its end. `saves`: that are stored;
    `saves_failed`: that came to nothing. `bytes_saved`, `bytes_loaded`: of files. `checkpoint`: the
    step of the last usable one.
    """

    policy: str
    recovery: str
    step: int
    steps: int
    seconds: dict[str, float]
    pls: float
    updates_lost: float
    failures: int
    saves: int
    saves_failed: int
    bytes_saved: int
    bytes_loaded: int
    checkpoint: int

    @property
    def reading(self) -> Reading:
        """The same for exporters of metrics."""
        counts = asdict(self)
        seconds = counts.pop("seconds")
        labels = {name: counts.pop(name) for name in ("policy", "recovery")}
        return Reading(seconds, counts, labels)
