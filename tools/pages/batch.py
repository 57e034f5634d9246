"""Write docs/batch.md: what the batch engine plays, computed here.

Run `python -m tools.pages.batch`, or `make pages`. A test compares the page with it.
"""

from pathlib import Path

from cprsim.batch import engine as batch
from cprsim.scenario import load_scenario
from tools.handed_over import watching
from tools.paths import DOCS, SCENARIOS

PAGE = DOCS / "batch.md"
#: Those that are not of a fleet, whose every job is another scenario.
SHIPPED = sorted(path for path in SCENARIOS.glob("*.toml") if "fleet" not in path.stem)
REPLICATIONS = 256

_PAGE = """\
# What the batch engine plays

`cprsim.batch` plays many replications at once in NumPy, from failure to failure in closed form.
Replication by replication it gives the ledger that `cprsim.sim` gives on the same failures, to 1e-9
of it. `--engine auto`, the default, takes it for every policy that it can play and `sim` for the
others; `--engine batch` refuses those with the reason. `make pages` computes the table, and a test
compares it with this page.

## Covered

- Saves that hold training up, to one tier, of everything or of portions of the rows, with a last
  one after the end; or saves of everything in the background, one under way at a time, that slow
  nothing.
- Rollback of the whole job, of lost shards alone, or of nobody. Lost nodes are waited for, or
  replaced while the others train on. Spares, and rescheduling delays by any law.
- Failures of the job by any law, as many as `exactly` says, lives of nodes by any law and of any
  age, and replayed logs. Severities by weights, or told by a log. No void saves, failed loads or
  outages of the store: `sim` plays those.

## Handed over

What the batch engine has begun and can't decide it hands over to `sim`, run by run: where two
things happen so close to each other that the rounding of sums would decide which comes first
(unless all sums are exact, as with a log in whole seconds and costs in whole seconds), where a
failure strikes while nodes are still replaced beside training, or while others are waited for
(`failures.while_waiting`), where lost shards are filled over
links that a save needs at the same time, and where a job seems to get nowhere. The last column
says how many of {replications} runs of each policy.

## Shipped scenarios

| scenario | policy | system | engine | why not batch | handed over |
|---|---|---|---|---|---|
{rows}"""


def rows(path: Path) -> str:
    """A line a policy of one scenario."""
    scenario, lines = load_scenario(path), []
    for name, policy in scenario.policies.items():
        reason, share = batch.why_unsupported(scenario, name), ""
        if reason is None:
            with watching() as masks:
                batch.simulate(scenario, [name], range(REPLICATIONS), 0)
            share = f"{sum(mask.sum() for mask in masks) / REPLICATIONS:.1%}"
        engine = "batch" if reason is None else "sim"
        cells = (path.stem, name, policy.system, engine, reason or "", share)
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def page() -> str:
    """All of it."""
    return _PAGE.format(replications=REPLICATIONS, rows="".join(map(rows, SHIPPED)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
