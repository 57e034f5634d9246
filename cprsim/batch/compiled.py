"""The machine, compiled by Numba.

`cprsim.machine` is plain Python. Here each of its functions is made anew with a twin of its module
in place of its globals: what it calls there is compiled as well, when it is first called. In a twin
whole numbers are NumPy's, since Numba compiles a function anew for each one of Python's.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from cprsim.batch import readiness
from cprsim.batch.borrowed import part
from cprsim.batch.inner import Inner, Nobody
from cprsim.machine import rows
from cprsim.machine.codes import NONE


def kept(function: Callable[..., Any]) -> Any:
    """The function compiled, and kept on disk with all that it calls.

    Numba looks whether the function has changed, and no further: so it must have `SOURCES` in its
    closure, which change with all that is compiled. Where nothing may be written, it isn't kept.
    """
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "no locator available"
        return numba.njit(**options)(function)


def _twins(names: Iterable[str], replaced: dict[Any, Any]) -> dict[str, ModuleType]:
    """Modules by name, and what stands in place of some of their functions."""
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


def _close_up(rows: Any, place: int, count: int) -> None:
    for later in range(place, count - 1):
        rows[later] = rows[later + 1]


def _nothing(*_told: Any) -> None:
    pass


def _no_number(*_asked: Any) -> Any:
    return np.int64(NONE)


#: Nobody is outside: none watches, and no plan has a controller of its own.
NOBODY = Nobody(Inner(_nothing), {"answer": Inner(_no_number), "by_rule": Inner(_no_number)})
SOURCES = readiness.sources()
machine = _twins(readiness.COMPILED, {rows.part: part, rows.close_up: Inner(_close_up)})
