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
        plans, draws, own = borrow(tables), borrow(drawn), borrow(room)
        (all_ledgers,) = borrow((ledgers,))
        for place in range(first, last):
            number = runs[place, 2]
            # The fields of `Running`, in order: of all plans and draws, those of this run.
            of_plan = (plans[0][runs[place, 0]], *plans[1:])
            of_draws = (draws[0][runs[place, 1]], *draws[1:])
            fields: Any = (*of_plan, *of_draws, own[0][0], *own, NO_OUTSIDE)
            job = together(Running(*fields))
            _start(job)
            while _is_under_way(job):
                _happen(job)
            _write(job, all_ledgers[number])
            statuses[number] = job.run.status

    return play_runs


play_runs = _entry(SOURCES)
