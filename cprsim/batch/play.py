"""The entry point that is compiled: plays runs one after the other."""

from typing import Any

from cprsim.batch.borrowed import borrow, together
from cprsim.batch.compiled import NO_OUTSIDE, SOURCES, kept, machine
from cprsim.machine.rows import Running

_step, _ledger = (machine[f"cprsim.machine.{name}"] for name in ("step", "ledger"))
_start, _happen, _is_under_way = _step.start, _step.happen, _step.is_under_way
_write = _ledger.write


def _entry(sources: str) -> Any:
    @kept
    def play_runs(
        runs: Any,
        first: int,
        last: int,
        tables: Any,
        drawn: Any,
        room: Any,
        ledgers: Any,
        statuses: Any,
    ) -> None:
        """Play runs `first` to `last`; write the ledger and the status of each.

        `runs`: for each run the numbers of its plan, of its random numbers, and of its ledger.
        """
        assert sources
        plans, schedule_rows, saves, transfers, answers, cases, whole, real = tables
        rows, numbers, choices = drawn
        (
            states,
            tiers,
            kept,
            links,
            spent,
            under_way,
            ended,
            comings,
            lists,
            nodes,
            shards,
            losses,
            tree,
            ready_s,
            rated,
        ) = room
        for place in range(first, last):
            number = runs[place, 2]
            job = together(
                Running(
                    borrow(plans)[runs[place, 0]],
                    borrow(schedule_rows),
                    borrow(saves),
                    borrow(transfers),
                    borrow(answers),
                    borrow(cases),
                    borrow(whole),
                    borrow(real),
                    borrow(rows)[runs[place, 1]],
                    borrow(numbers),
                    borrow(choices),
                    borrow(states)[0],
                    borrow(states),
                    borrow(tiers),
                    borrow(kept),
                    borrow(links),
                    borrow(spent),
                    borrow(under_way),
                    borrow(ended),
                    borrow(comings),
                    borrow(lists),
                    borrow(nodes),
                    borrow(shards),
                    borrow(losses),
                    borrow(tree),
                    borrow(ready_s),
                    borrow(rated),
                    NO_OUTSIDE,
                )
            )
            _start(job)
            while _is_under_way(job):
                _happen(job)
            _write(job, borrow(ledgers)[number])
            statuses[number] = job.run.status

    return play_runs


play_runs = _entry(SOURCES)
