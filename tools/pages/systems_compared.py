"""Which system wins where: the shipped comparison with one thing changed at a time."""

from collections.abc import Iterable, Sequence

import cprsim

SCENARIO = "scenarios/all-systems.toml"
REPLICATIONS = 20
#: What is changed, in words and as `--set` has it.
CHANGES: tuple[tuple[str, Sequence[str]], ...] = (
    ("nothing", ()),
    ("an MTBF of 4 h", ('failures.mean="4 h"',)),
    ("an MTBF of 100 h", ('failures.mean="100 h"',)),
    ("a store a tenth as fast", ('storage.write="400 MB/s"', 'storage.read="800 MB/s"')),
    ("three times the updates a second", ('job.network="36 GB/s"',)),
    ("one failure in ten is of the whole cluster", ("failures.severity.cluster=0.1",)),
    ("machines that come after 2 h", ('costs.reschedule="2 h"',)),
)
#: Shares of updates lost up to which a system is ranked.
LOSSES = (0.0, 1.0)
_SHOWN = 3


def table() -> str:
    """A row a change: the three systems with the least machine time, by what may be lost."""
    return "".join(row(words, overrides) for words, overrides in CHANGES)


def row(words: str, overrides: Iterable[str]) -> str:
    """One row."""
    summary = cprsim.run(
        cprsim.load_scenario(SCENARIO, overrides), replications=REPLICATIONS, seed=0
    ).summary
    ranked = summary.sort_values("machine_overhead")
    cells = []
    for most in LOSSES:
        able = ranked[ranked["updates_lost"] <= most].head(_SHOWN)
        costs = 100 * able["machine_overhead"]
        cells.append(", ".join(f"`{name}` {cost:.1f}" for name, cost in costs.items()))
    return f"| {words} | {' | '.join(cells)} |\n"
