"""Measure what lost learning is worth: train under every condition, and keep what came out.

Run `python -m tools.validation.learning.measured [MOVIELENS]`, `MOVIELENS` being the folder of
`ml-100k.inter` (of the package recbole without): 512 runs of one or two seconds.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd
import torch

from cprsim.basics.files import write_all
from cprsim.trainer.config import opened
from cprsim.trainer.data import Data
from cprsim.trainer.data.contract import Batch
from tools.paths import SCENARIOS
from tools.validation.learning.conditions import CONDITIONS
from tools.validation.learning.lab import RULES, trained

TABLE: Final = Path(__file__).with_name("runs.csv")
SEEDS: Final = 8
#: Of the planted samples, half of the study's.
_SAMPLES: Final = 150_000


class _Kept:
    """Samples whose batches are made once, for all conditions."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._made = [data.batch(step) for step in range(data.steps + data.test_steps)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        return self._made[step]


def measured(name: str, scenario: str, overrides: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a row a run: what was lost, and the drop of AUC from the same seed without losses."""
    with opened(SCENARIOS / scenario, overrides) as (job, section):
        for seed, rule in product(range(SEEDS), RULES):
            data: Any = _Kept(section.data(job, seed))
            whole = trained(data, rule, seed)
            for each in CONDITIONS:
                losses, every = each.drawn(data.steps, seed), each.every(data.steps)
                lost = trained(data, rule, seed, losses, every, each.priority)
                facts = {"data": name, "rule": rule, "seed": seed, "condition": each.name}
                yield facts | asdict(lost) | {"auc_drop": whole.auc - lost.auc}


def main(movielens: str | None) -> None:
    """Train all, and write the table."""
    torch.set_num_threads(1)
    source = [] if movielens is None else [f"trainer.data.movielens={movielens}"]
    rows = [
        *measured("planted samples", "train-study.toml", [f"job.samples={_SAMPLES}"]),
        *measured("MovieLens-100K", "train-movielens.toml", source),
    ]
    text = pd.DataFrame(rows).to_csv(index=False, float_format="%.6g")
    write_all(TABLE.parent, {TABLE.name: text.encode()})


if __name__ == "__main__":
    main(*sys.argv[1:] or [None])
