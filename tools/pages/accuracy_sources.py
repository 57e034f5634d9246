"""The data that `make study` trains on, each with its scenario, its kept runs and its page."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from cprsim.studies import findings
from tools.paths import DOCS, SCENARIOS


class Source(NamedTuple):
    """Data of a study: `name`, as in `make study DATA=name`, and `label`, as texts have it.

    `caveat`: what to know of the predictors there. `suffix`: of the names of its page and pictures.
    """

    name: str
    label: str
    suffix: str
    caveat: str

    @property
    def scenario(self) -> Path:
        """What is trained; its slopes are kept there as well."""
        return SCENARIOS / f"train-{self.name}.toml"

    @property
    def runs(self) -> Path:
        """The runs that are kept."""
        return self.scenario.with_suffix(".csv")

    @property
    def page(self) -> Path:
        """What is said of them."""
        return DOCS / f"accuracy{self.suffix}.md"

    def picture(self, name: str) -> str:
        """The file of that picture of the gallery."""
        return f"{name}{self.suffix}.svg"

    def read(self) -> pd.DataFrame:
        """The runs, with their drops."""
        return findings.read_runs(self.runs)

    def about(self) -> dict[str, Any]:
        """What is kept beside the runs: what they are of, and the versions they were made with."""
        found: dict[str, Any] = json.loads(
            self.runs.with_suffix(".json").read_text(encoding="utf-8")
        )
        return found


PLANTED: Final = Source(
    "study",
    "planted samples",
    "",
    """\
Which form `change_lost` takes was chosen with the runs of the planted samples at hand. Lost updates
times the model's movement of one would do as well by its name, and gets the order of the policies
wrong there. So that it does well on these runs is no test of it; other data are.""",
)
MOVIELENS: Final = Source(
    "movielens",
    "MovieLens-100K",
    "-movielens",
    """\
The form of `change_lost` was chosen with the runs of the planted samples at hand, before these were
trained: here it is tested.""",
)
#: Of `make study`, by name; those whose data are at hand.
SOURCES: Final = {each.name: each for each in (PLANTED, MOVIELENS)}
