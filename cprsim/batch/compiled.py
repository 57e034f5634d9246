"""The compiler: Numba where it is installed and not switched off, or none."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from cprsim.batch import support

_Function = TypeVar("_Function", bound=Callable[..., Any])

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

    def part(rows: Any, first: int, count: int) -> Any:
        """So many elements from one on."""
        return rows[first : first + count]

else:
    from cprsim.batch.borrowed import borrow, part, together  # noqa: F401


def compiled(function: _Function) -> _Function:
    """The function as machine code that holds no lock; it does the same in Python."""
    return _made(function, {})


def inlined(function: _Function) -> _Function:
    """As `compiled`, put into its caller: each function by itself takes long to compile."""
    return _made(function, {"inline": "always"})


def kept(function: _Function) -> _Function:
    """As `compiled`, and kept on disk with all that it calls.

    Numba looks whether the function has changed, and no further: so it must have `SOURCES` in its
    closure, which change with all that is compiled. Where nothing may be written, it isn't kept.
    """
    try:
        return _made(function, {"cache": True})
    except RuntimeError:  # "no locator available"
        return _made(function, {})


def _made(function: _Function, options: dict[str, Any]) -> _Function:
    if _REASON:
        return function
    # "numpy": a division checks for no zero, which nothing here divides by.
    made: _Function = numba.njit(nogil=True, error_model="numpy", **options)(function)
    return made


SOURCES = support.sources()
