"""The machine, compiled by Numba.

`cprsim.machine` is plain Python. Each of its functions is copied here, with a twin of its module
for its globals, in which the functions that it calls are compiled as well, at their first call. In
a twin integers are NumPy's: Numba would compile a function again for each Python integer constant.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from cprsim.batch import readiness
from cprsim.batch.borrowed import borrow, part, together
from cprsim.batch.inner import EntryCompiler, Inner
from cprsim.machine import rows
from cprsim.machine.codes import NONE
from cprsim.machine.rows import Running
from cprsim.sim.outside import Outside, OwnController


def kept(function: Callable[..., Any]) -> Any:
    """Return the function compiled, and cached on disk with all that it calls.

    Numba's cache notices only a change of the function itself. So its closure must hold a digest of
    all sources that are compiled. Where no folder is writable, nothing is cached.
    """
    made = partial(
        numba.njit,
        pipeline_class=EntryCompiler,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
    )
    try:
        return made(cache=True)(function)
    except RuntimeError:  # "no locator available"
        return made()(function)


def _twins(names: Iterable[str], replaced: dict[Any, Any]) -> dict[str, ModuleType]:
    """Return twins of modules by name; `replaced` has substitutes for some of their functions."""
    modules = {name: import_module(name) for name in names}
    twins = {name: ModuleType(name) for name in modules}
    made = dict(replaced)
    for module in modules.values():
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function not in made:
                made[function] = _in_twin(function, twins)
    for name, module in modules.items():
        for key, value in vars(module).items():
            vars(twins[name])[key] = _of_twin(value, made, twins, modules)
    return twins


def _in_twin(function: FunctionType, twins: dict[str, ModuleType]) -> Any:
    name = function.__module__
    if name not in twins:
        return function
    twin = FunctionType(function.__code__, vars(twins[name]), function.__name__)
    twin.__module__, twin.__qualname__ = name, function.__qualname__
    return Inner(twin)


def _of_twin(
    value: Any, made: dict[Any, Any], twins: dict[str, ModuleType], modules: dict[str, ModuleType]
) -> Any:
    if isinstance(value, FunctionType):
        return made.get(value, value)
    if isinstance(value, ModuleType):
        return twins[value.__name__] if value.__name__ in modules else value
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int64(value) if isinstance(value, int) else value


def _put(rows: Any, place: int, row: Any) -> None:
    rows[place] = row


def _close_up(rows: Any, place: int, count: int) -> None:
    for later in range(place, count - 1):
        rows[later] = rows[later + 1]


def _nothing(*_told: Any) -> None:
    pass


def _no_number(*_asked: Any) -> Any:
    return np.int64(NONE)


def _no(*_asked: Any) -> bool:
    return False


def _no_outside() -> Any:
    """Return methods without effect: no observer, controller or other job."""
    names = [name for each in (Outside, OwnController) for name in vars(each) if name[0] != "_"]
    nothing, no_number = Inner(_nothing), Inner(_no_number)
    answers = {"answer": no_number, "by_rule": no_number, "must_wait": Inner(_no)}
    methods = {name: answers.get(name, nothing) for name in names}
    return namedtuple("NoOutside", methods)(**methods)


_NO_OUTSIDE = _no_outside()
_OF_RECORDS = {rows.part: part, rows.put: Inner(_put), rows.close_up: Inner(_close_up)}
_machine = _twins(readiness.COMPILED, _OF_RECORDS)
_step, _ledger = (_machine[f"cprsim.machine.{name}"] for name in ("step", "ledger"))
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
            fields: Any = (*of_plan, *of_draws, own[0][0], *own, _NO_OUTSIDE)
            job = together(Running(*fields))
            _start(job)
            while _is_under_way(job):
                _happen(job)
            _write(job, all_ledgers[number])
            statuses[number] = job.run.status

    return play_runs


play_runs = _entry(readiness.sources())
