"""The data that `make study` trains on, each with its scenario and its kept runs."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from cprsim.trainer.studies import findings
from tools.paths import SCENARIOS


class Source(NamedTuple):
    """Data of a study: `name`, as in `make study DATA=name`, and `label`, as texts have it.

    `suffix`: of the names of its pictures.
    """

    name: str
    label: str
    suffix: str

    @property
    def scenario(self) -> Path:
        """The scenario that is trained; its slopes are kept there as well."""
        return SCENARIOS / f"train-{self.name}.toml"

    @property
    def runs(self) -> Path:
        """The runs that are kept."""
        return self.scenario.with_suffix(".csv")

    def picture(self, name: str) -> str:
        """The file of that picture of the gallery."""
        return f"{name}{self.suffix}.svg"

    def read(self) -> pd.DataFrame:
        """The runs, with their drops."""
        return findings.read_runs(self.runs)

    def about(self) -> dict[str, Any]:
        """Return what is known of the runs: their data and settings, and versions of libraries."""
        found: dict[str, Any] = json.loads(
            self.runs.with_suffix(".json").read_text(encoding="utf-8")
        )
        return found


PLANTED: Final = Source("study", "planted samples", "")
MOVIELENS: Final = Source("movielens", "MovieLens-100K", "-movielens")
#: Data of `make study` by name, without those that a user has to bring.
SOURCES: Final = {each.name: each for each in (PLANTED, MOVIELENS)}
