"""Write docs/batch.md: what the batch engine is, and its runs beside the simulator's.

Run `python -m tools.pages.batch`, or `make pages`. A test compares the page with it.
"""

from pathlib import Path

import numpy as np

from cprsim.errors import ScenarioError
from cprsim.runs.engines import chosen
from cprsim.runs.engines import simulate as by_engines
from cprsim.scenario import load_scenario
from cprsim.sim import engine as sim
from tools.paths import DOCS, SCENARIOS

PAGE = DOCS / "batch.md"
#: Those that are not of a fleet, whose every job is another scenario.
SHIPPED = sorted(path for path in SCENARIOS.glob("*.toml") if "fleet" not in path.stem)
#: Of each policy; fewer where one of `sim` takes a good part of a second.
REPLICATIONS, FEWER = 64, {"airesim": 4}

_PAGE = """\
# The batch engine

`cprsim.batch` plays thousands of replications in the time that `cprsim.sim` takes for some dozens.
It is the same simulation a second time: `sim` is written to be read, in SimPy, and `batch` for
speed, as one state machine over numbers that [Numba](https://numba.pydata.org) compiles. Both go
from event to event by the rules of [semantics.md](semantics.md), on the same draws. `make pages`
computes the table below, and a test compares it with this page.

## The same runs, to the last bit

Both add up the same terms in the same order, so each entry of each ledger is the same number, not
one that is near. Nothing is approximated, and nothing is left to the other engine: there is no kind
of failure, tie or contention that only one of them plays, and a job that gets nowhere is given up
with the same words. So a result doesn't depend on the engine, and neither does anything that is
made of it.

Tests compare the two on random scenarios of every system, every source of failures and every key of
scenario files; where a new key is set by none of them, a test fails.

## Which engine plays what

`--engine auto`, the default, takes `batch` wherever that ends sooner, for every policy that is
shipped. Refused are policies of your own that bring a controller or a rule in Python, which can't
be compiled: `auto` plays these in `sim`, and `--engine batch` says why it can't.

- The first time on a machine compiles, which takes some 20 s; what is compiled is kept. A command
  that `sim` is done with in 2 s loads no Numba. Which engine plays depends on the work alone, so
  that it is the same on every machine: the first command that is longer waits for the compiler.
- Without Numba the same code runs uncompiled, which is slow and gives the same bytes. A line says
  so, once.
- What a replication gives depends on the seed and its number alone: not on how many others are
  played, in which order, in which process, or under which policies.

[performance.md](performance.md) has what it takes, beside `sim` and beside drawing the failures.

## Shipped scenarios

So many replications of each policy were played by both engines. *Difference* is the largest of any
entry of any ledger: seconds by cause, losses, counts, bytes.

| scenario | policy | system | played by | replications | difference |
|---|---|---|---|---|---|
{rows}"""


def is_there(path: Path) -> bool:
    """Whether a scenario can be read: one needs a log that is not part of the repository."""
    try:
        load_scenario(path)
    except ScenarioError as error:
        if "failures.trace" in str(error):
            return False
        raise
    return True


def rows(path: Path) -> str:
    """A line a policy of one scenario."""
    scenario, lines = load_scenario(path), []
    numbers = range(FEWER.get(path.stem, REPLICATIONS))
    engines = chosen(scenario, list(scenario.policies), "auto")
    for name, engine in engines.items():
        found = by_engines(scenario, {name: engine}, numbers, 0)
        difference = np.abs(found - sim.simulate(scenario, [name], numbers, 0)).max()
        system = scenario.policies[name].system
        cells = (path.stem, name, system, engine, str(len(numbers)), f"{difference:g}")
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def page() -> str:
    """All of it."""
    return _PAGE.format(rows="".join(map(rows, SHIPPED)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
