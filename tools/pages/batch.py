"""Write docs/batch.md: what the batch engine is, and its runs compared with the simulator's.

Run `python -m tools.pages.batch`, or `make pages`. A test compares the page with it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cprsim.batch import engine as batch
from cprsim.errors import ScenarioError
from cprsim.scenario import load_scenario
from cprsim.sim import engine as sim
from tools.paths import DOCS, SCENARIOS
from tools.tables import write_csv

PAGE = DOCS / "batch.md"
#: CSV file of every scenario; the page links it.
TABLE = DOCS / "batch.csv"
_HEADS = ("scenario", "policies", "replications of each", "difference")
#: Those that are not of a fleet, whose every job is another scenario.
SHIPPED = sorted(path for path in SCENARIOS.glob("*.toml") if "fleet" not in path.stem)
#: Of each policy; fewer where one of `sim` takes a good part of a second.
REPLICATIONS, FEWER = 64, {"airesim": 4}

_PAGE = """\
# The batch engine

The batch engine plays thousands of runs in the time that the simulator takes for some dozens. Both
execute the same functions, those of `cprsim/machine/`
([architecture](architecture.md#one-machine)): SimPy drives them in the simulator, and
[Numba](https://numba.pydata.org) compiles them for the batch engine. Results are the same to the
last bit, so the choice of an engine is a matter of time only.

## When it is used

- `--engine auto`, the default, takes the batch engine where the simulator would need more than 2 s.
- `--engine sim` never takes it.
- `--engine batch` and `cprsim advise` wait until it is compiled.

The batch engine refuses policies of your own that decide in Python code while the job runs (a
controller, a rule for losses, a sequence of saves), and failure processes of a kind of your own.
`auto` plays these by the simulator; `--engine batch` ends with the reason.

## Compiling

Compiling takes some 20 s, once. With `auto` no run waits for it: another process compiles, at low
priority, and the simulator plays until that has ended. A later command finds the machine code.

The machine code is kept in `cprsim/batch/__pycache__`, or in `~/.cache/numba` where that folder
can't be written. Set `NUMBA_CACHE_DIR` to keep it elsewhere, for example between jobs of CI. After
an update of cprsim, Numba or Python it is compiled again.

Without Numba, or with `NUMBA_DISABLE_JIT=1`, the simulator plays everything. `--engine batch` then
prints a line that says so; the results are the same.

[batch.csv](batch.csv) has every shipped scenario under both engines: the largest difference over
all entries of all ledgers is {most:g}. [performance.md](performance.md) has times.
"""


def is_there(path: Path) -> bool:
    """Return whether a scenario can be read: one needs a log that is not in the repository."""
    try:
        load_scenario(path)
    except ScenarioError as error:
        if "failures.trace" in str(error):
            return False
        raise
    return True


def row(path: Path) -> tuple[str, ...]:
    """Play one scenario by both engines, and return its cells in `TABLE`."""
    scenario = load_scenario(path)
    policies, numbers = list(scenario.policies), range(FEWER.get(path.stem, REPLICATIONS))
    found, expected = (each.simulate(scenario, policies, numbers, 0) for each in (batch, sim))
    difference = np.abs(found - expected).max()
    return path.stem, str(len(policies)), str(len(numbers)), f"{difference:g}"


def page(rows: Sequence[Sequence[str]]) -> str:
    """Return the page, given the rows of `TABLE`."""
    return _PAGE.format(most=max(float(cells[-1]) for cells in rows))


if __name__ == "__main__":
    made = [row(path) for path in SHIPPED]
    write_csv(TABLE, _HEADS, made)
    PAGE.write_text(page(made), encoding="utf-8")
