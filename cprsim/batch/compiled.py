"""The compiler: Numba where it is there, or none."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import os
INL=os.environ.get("INL","always")
_Function = TypeVar("_Function", bound=Callable[..., Any])
#: What is said, once, where Numba can't be imported.
WITHOUT_NUMBA = "Numba can't be imported: the batch engine runs uncompiled, and slowly"

try:
    import numba
except ImportError:
    numba = None
    warnings.warn(WITHOUT_NUMBA, RuntimeWarning, stacklevel=2)

if numba is None:

    def borrow(array: Any) -> Any:
        """The array itself (see `cprsim.batch.borrowed`)."""
        return array

    def part(rows: Any, first: int, count: int) -> Any:
        """So many elements from one on."""
        return rows[first : first + count]

else:
    from cprsim.batch.borrowed import borrow, part  # noqa: F401


def compiled(function: _Function) -> _Function:
    """The function as machine code that holds no lock; it does the same in Python."""
    if numba is None:
        return function
    # "numpy": a division checks for no zero, which nothing here divides by.
    made: _Function = numba.njit(nogil=True, error_model="numpy")(function)
    return made


def inlined(function: _Function) -> _Function:
    """As `compiled`, put into its one caller: each function by itself takes long to compile."""
    if numba is None:
        return function
    made: _Function = numba.njit(nogil=True, error_model="numpy", inline=INL)(function)
    return made
