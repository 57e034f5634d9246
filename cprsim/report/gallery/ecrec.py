"""ECRec's evaluation, played again: 5 servers, 15 workers, Criteo models of 220 to 1760 GB.

Zhang et al. (PVLDB 16(11), 2023): what they measured is of figures 5 and 12, digitised to 0.3
points and 0.3 min, and of the text. Nothing here is random: normal runs have no failure, and the
others one at a given instant.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import pandas as pd

from cprsim.basics.files import locked_tempdir
from cprsim.contract.ledger import Ledger
from cprsim.formulas.ecrec import (
    coding_slowdown,
    commit_slowdown,
    load_s,
    replication_slowdown,
    save_s,
)
from cprsim.report.gallery.picture import Drawing, register
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.sim.observer import Observer

SIZES: Final = {"Original": 220, "2S": 440, "4S": 880, "8S": 1760}  # GB
CKPT: Final = {interval: {"system": "full", "interval": f"{interval} min"} for interval in (30, 60)}
ECREC: Final = {k: {"system": "ecrm", "parity": k} for k in (2, 4)}

#: Training-time overhead in %: Ckpt-60, Ckpt-30, ECRec k = 4, k = 2.
FIGURE_5: Final = {
    "Original": (4.6, 8.9, 18.2, 18.0),
    "2S": (8.0, 16.7, 20.4, 20.6),
    "4S": (15.4, 32.8, 21.9, 22.0),
    "8S": (31.4, 64.8, 22.0, 22.0),
}
#: Minutes until a lost server is recovered: Ckpt-60 and Ckpt-30 at best, on average and at worst,
#: ECRec k = 4 and k = 2. The last two of Original follow from the text's ratios.
FIGURE_12: Final = {
    "Original": ((1.1, 31.4, 61.2), (1.5, 16.4, 31.6), 4.7, 3.2),
    "2S": ((3.0, 33.3, 63.1), (2.8, 17.8, 32.8), 9.5, 5.5),
    "4S": ((5.7, 36.0, 65.8), (5.7, 21.0, 35.9), 18.1, 9.8),
    "8S": ((11.4, 41.6, 71.5), (11.1, 26.4, 41.2), 33.7, 17.8),
}
#: What a failure finds: it strikes just after a save, half an interval later, or just before one.
CASES: Final = ("best", "average", "worst")
MINUTE_S: Final = 60.0
_SET_UP: Final = "in ECRec's cluster (PVLDB 2023)"
_AT_S: Final = 15 * MINUTE_S  # when ECRec's server fails


class Rebuilt(NamedTuple):
    """Minutes from the failure until training continues, and until the server is whole again.

    `drop`: throughput lost between the two, as a share of the normal one.
    """

    resumed: float
    filled: float
    drop: float


def scenario(
    size_gb: float, policy: Mapping[str, Any], strikes_s: tuple[float, ...] = ()
) -> Scenario:
    """Return 2 h of training; server 0 fails at `strikes_s`. Checkpointing ends with a save.

    So a run has as many saves as intervals. Coding, commit and replication of `ecrm` cost what was
    measured there, unless `policy` gives them.
    """
    measured: dict[str, Any] = {}
    if policy["system"] == "ecrm":
        rows_scale = size_gb / SIZES["Original"]
        measured = {
            "coding": coding_slowdown(rows_scale),
            "commit": commit_slowdown(rows_scale),
            "replication": replication_slowdown(),
        }
    with locked_tempdir() as folder:
        failures: dict[str, Any] = {"exactly": 0}
        if strikes_s:
            log = folder / "log.csv"
            log.write_text("time_s,node\n" + "".join(f"{at_s!r},0\n" for at_s in strikes_s))
            failures = {"trace": str(log)}
        return Scenario(
            job={"useful_time": "2 h", "final_save": policy["system"] == "full"},
            model={"embedding": f"{size_gb / 2} GB", "optimizer": f"{size_gb / 2} GB"},
            cluster={"parameter_servers": 5, "trainers": 15},
            costs={"save": f"{save_s(size_gb * 1e9)!r} s", "load": f"{load_s(size_gb * 1e9)!r} s"},
            failures=failures,
            policies={"it": measured | dict(policy)},
        )


def overhead(size_gb: float, policy: Mapping[str, Any]) -> float:
    """Return that of a run without failures, % of the training time."""
    ledger = _played(scenario(size_gb, policy))
    return 100 * (ledger.wall / ledger.train - 1)


def recovery(size_gb: float, interval: int, case: str) -> float:
    """Return the minutes that one failure costs a job that saves every `interval` minutes."""
    interval_s = interval * MINUTE_S
    after_save_s = interval_s + save_s(size_gb * 1e9) + 1e-3
    at_s = {"best": after_save_s, "average": interval_s / 2, "worst": interval_s}[case]
    hit, unhit = (_played(scenario(size_gb, CKPT[interval], each)) for each in ((at_s,), ()))
    assert hit.failures == 1
    return (hit.wall - unhit.wall) / MINUTE_S


@cache
def rebuilt(size_gb: float, k: int) -> Rebuilt:
    """Play one failure under ECRec."""
    seen = _Training()
    hit = play(scenario(size_gb, ECREC[k], (_AT_S,)), "it", 0, 0, seen)
    extra_s = hit.wall - _played(scenario(size_gb, ECREC[k])).wall
    # Training is cut into spans by the failure and by the end of the rebuild.
    (_, before_s), (start_s, end_s), _ = seen.spans_s
    assert before_s == _AT_S
    paused_s, degraded_s = start_s - _AT_S, end_s - start_s
    return Rebuilt(
        resumed=paused_s / MINUTE_S,
        filled=(paused_s + degraded_s) / MINUTE_S,
        drop=(extra_s - paused_s) / degraded_s,
    )


class _Training(Observer):
    """An observer that writes down from when to when there was training."""

    def __init__(self) -> None:
        self.spans_s: list[tuple[float, float]] = []

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        if cause == "train":
            self.spans_s.append((start_s, end_s))


def _played(of: Scenario) -> Ledger:
    return play(of, "it", 0, 0)


@register("ecrm-overhead", "nothing", one_axes=True)
def overheads(_: object = None) -> Drawing:
    """Overhead of erasure coding and of checkpoints by model size, with ECRec's figure 5."""
    # In the order of figure 5.
    policies: list[tuple[str, dict[str, Any]]]
    policies = [(f"checkpoints every {every} min", CKPT[every]) for every in (60, 30)]
    policies += [(f"ECRec k = {k}", ECREC[k]) for k in (4, 2)]
    rows = [
        {
            "model": model,
            "size_gb": size_gb,
            "policy": name,
            "system": policy["system"],
            "overhead": overhead(size_gb, policy) / 100,
            "published": FIGURE_5[model][column] / 100,
        }
        for column, (name, policy) in enumerate(policies)
        for model, size_gb in SIZES.items()
    ]
    title = f"Overhead without failures, {_SET_UP}"
    return Drawing("curves:ecrm_overhead", pd.DataFrame(rows), title)


@register("ecrm-recovery", "nothing")
def recoveries(_: object = None) -> Drawing:
    """Time to recover a server from parities and checkpoints, with ECRec's figure 12."""
    rows = []
    for model, size_gb in SIZES.items():
        every_60, every_30, k4, k2 = FIGURE_12[model]
        # Minutes at best, on average and at worst: here, and as published.
        found: dict[str, tuple[str, list[float], Sequence[float]]] = {}
        for every, theirs in ((60, every_60), (30, every_30)):
            mine = [recovery(size_gb, every, case) for case in CASES]
            found[f"checkpoints every {every} min"] = "full", mine, theirs
        for k, filled in ((4, k4), (2, k2)):
            mine = [rebuilt(size_gb, k).filled] * 3
            found[f"ECRec k = {k}"] = "ecrm", mine, [filled] * 3
        for policy, (system, mine, published) in found.items():
            row = {"model": model, "size_gb": size_gb, "policy": policy, "system": system}
            ours = zip(("best_s", "recovery_s", "worst_s"), mine, strict=True)
            names = "published_best_s", "published_s", "published_worst_s"
            minutes = [*ours, *zip(names, published, strict=True)]
            rows.append(row | {name: MINUTE_S * each for name, each in minutes})
    title = f"Recovery from a failure, {_SET_UP}"
    return Drawing("curves:ecrm_recovery", pd.DataFrame(rows), title)
