"""The machine, compiled by Numba where that is installed and not switched off.

`cprsim.machine` is plain Python. Here each of its functions is made anew with a twin of its module
in place of its globals: what it calls there is compiled as well, when it is first called. In a twin
whole numbers are NumPy's, since Numba compiles a function anew for each one of Python's.
"""

import dis
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from cprsim.batch import support
from cprsim.machine import outside, rows
from cprsim.machine.codes import NONE

#: Why nothing is compiled; empty where Numba compiles.
_REASON = ""
try:
    import numba
except ImportError:
    _REASON = "Numba can't be imported"
else:
    # Numba leaves functions uncompiled then, but not intrinsics, which have no Python.
    if numba.config.DISABLE_JIT:
        _REASON = "NUMBA_DISABLE_JIT is set"

if _REASON:
    warnings.warn(
        f"{_REASON}: the batch engine runs uncompiled, and slowly", RuntimeWarning, stacklevel=2
    )

    def borrow(array: Any) -> Any:
        """The array itself (see `cprsim.batch.borrowed`)."""
        return array

    def together(bundle: Any) -> Any:
        """The bundle itself."""
        return bundle

    part = rows.part

else:
    from cprsim.batch.borrowed import borrow, part, together  # noqa: F401


def kept(function: Callable[..., Any]) -> Any:
    """The function compiled, and kept on disk with all that it calls.

    Numba looks whether the function has changed, and no further: so it must have `SOURCES` in its
    closure, which change with all that is compiled. Where nothing may be written, it isn't kept.
    """
    try:
        return _made(function, cache=True)
    except RuntimeError:  # "no locator available"
        return _made(function)


def _made(function: Callable[..., Any], **options: Any) -> Any:
    if _REASON:
        return function
    # "numpy": a division checks for no zero, which nothing here divides by.
    made = numba.njit(nogil=True, error_model="numpy", **options)(function)
    resolve = made.get_call_template

    def resolved(arguments: Any, keywords: Any) -> Any:
        """As the dispatcher's own, but compiled once for all numbers, not anew for each."""
        unliteral = numba.types.unliteral
        named = {name: unliteral(each) for name, each in keywords.items()}
        return resolve(tuple(map(unliteral, arguments)), named)

    made.get_call_template = resolved
    return made


def _twins(names: Iterable[str], replaced: dict[Any, Any]) -> dict[str, ModuleType]:
    """Modules by name, and what stands in place of some of their functions."""
    modules = {name: import_module(name) for name in names}
    twins = {name: ModuleType(name) for name in modules}
    own = {
        function: function.__module__
        for module in modules.values()
        for function in vars(module).values()
        if isinstance(function, FunctionType) and function.__module__ in modules
    }
    once = _called_once(own)
    made = dict(replaced)
    for function, name in own.items():
        if function not in made:
            twin = FunctionType(
                function.__code__, vars(twins[name]), function.__name__, function.__defaults__
            )
            twin.__module__, twin.__qualname__ = name, function.__qualname__
            made[function] = _made(twin, inline="always" if function in once else "never")
    for name, module in modules.items():
        for key, value in vars(module).items():
            vars(twins[name])[key] = _of_twin(value, made, twins, modules)
    return twins


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


def _called_once(functions: Iterable[FunctionType]) -> set[FunctionType]:
    """What is named in one place: it is put there, since each function takes long to compile."""
    named = Counter(
        instruction.argval
        for function in functions
        for instruction in dis.get_instructions(function)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD")
    )
    return {function for function in functions if named[function.__name__] == 1}


def _close_up(rows: Any, place: int, count: int) -> None:
    for later in range(place, count - 1):
        rows[later] = rows[later + 1]


def _nothing(*_told: Any) -> None:
    """In place of what tells those outside: there are none."""


def _no_number(*_asked: Any) -> Any:
    return np.int64(NONE)


def _silent() -> dict[Any, Any]:
    """What stands in place of each function that speaks to those outside."""
    nothing, no_number = _made(_nothing), _made(_no_number)
    told = [each for each in vars(outside).values() if isinstance(each, FunctionType)]
    numbers = {outside.answer: no_number, outside.by_rule: no_number}
    return dict.fromkeys(told, nothing) | numbers


SOURCES = support.sources()
machine = (
    {name: import_module(name) for name in support.COMPILED}
    if _REASON
    else _twins(support.COMPILED, {rows.part: part, rows.close_up: _made(_close_up), **_silent()})
)
