"""`ecrm-overhead` and `ecrm-recovery`: erasure coding beside checkpoints, in ECRec's set-up."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from cprsim.gallery import ecrec
from cprsim.gallery.ecrec import CKPT, ECREC, FIGURE_5, FIGURE_12, MINUTE_S, SIZES
from cprsim.gallery.picture import Picture, Titled, drawn_by

_EVERY = (60, 30)  # min, in the order of figures 5 and 12
_PARITIES = (4, 2)


def overhead_table() -> pd.DataFrame:
    """A row a size and policy, as `cprsim.figures.ecrm_overhead.ecrm_overhead` takes it."""
    policies: dict[str, dict[str, Any]] = {
        **{f"checkpoints every {every} min": CKPT[every] for every in _EVERY},
        **{f"ECRec k = {k}": ECREC[k] for k in _PARITIES},
    }
    rows = [
        {
            "model": model,
            "size_gb": size_gb,
            "policy": name,
            "system": policy["system"],
            "overhead": ecrec.overhead(size_gb, policy) / 100,
            "published": FIGURE_5[model][column] / 100,
        }
        for column, (name, policy) in enumerate(policies.items())
        for model, size_gb in SIZES.items()
    ]
    return pd.DataFrame(rows)


def recovery_table() -> pd.DataFrame:
    """A row a size and policy, as `cprsim.figures.ecrm_recovery.ecrm_recovery` takes it."""
    return pd.DataFrame([row for model in SIZES for row in _recoveries(model)])


def _recoveries(model: str) -> Iterator[dict[str, Any]]:
    size_gb = SIZES[model]
    every_60, every_30, k4, k2 = FIGURE_12[model]
    for every, minutes in zip(_EVERY, (every_60, every_30), strict=True):
        mine = [ecrec.recovery(size_gb, every, case) for case in ecrec.CASES]
        yield _row(model, f"checkpoints every {every} min", "full", mine, minutes)
    for k, filled in zip(_PARITIES, (k4, k2), strict=True):
        mine = [ecrec.rebuilt(size_gb, k).filled] * 3
        yield _row(model, f"ECRec k = {k}", "ecrm", mine, [filled] * 3)


def _row(
    model: str, policy: str, system: str, mine: Sequence[float], published: Sequence[float]
) -> dict[str, Any]:
    """Of minutes at best, on average and at worst."""
    names = ("best_s", "recovery_s", "worst_s")
    theirs = ("published_best_s", "published_s", "published_worst_s")
    return {
        "model": model,
        "size_gb": SIZES[model],
        "policy": policy,
        "system": system,
        **{name: minutes * MINUTE_S for name, minutes in zip(names, mine, strict=True)},
        **{name: minutes * MINUTE_S for name, minutes in zip(theirs, published, strict=True)},
    }


_SET_UP = "in ECRec's cluster (PVLDB 2023)"

OVERHEAD = Picture(
    "ecrm-overhead",
    "overhead of erasure coding and of checkpoints against model size, beside ECRec's figure 5",
    "nothing",
    "",
    lambda _: Titled(f"Overhead without failures, {_SET_UP}", overhead_table()),
    drawn_by("ecrm_overhead:ecrm_overhead"),
    one_axes=True,
)
RECOVERY = Picture(
    "ecrm-recovery",
    "time to recover a server from parities and from checkpoints, beside ECRec's figure 12",
    "nothing",
    "",
    lambda _: Titled(f"Recovery from a failure, {_SET_UP}", recovery_table()),
    drawn_by("ecrm_recovery:ecrm_recovery"),
)
