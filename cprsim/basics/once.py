"""Values of frozen objects that are worked out when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  (a decorator, named as `functools.cached_property` is)
    """As `functools.cached_property`, without its lock.

    Up to Python 3.11 that takes longer than most of what is kept so. Threads that ask at the same
    time may both work a value out, which is the same.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...
    def __get__(self, owner: object, kind: type | None = None) -> Self | T:
        if owner is None:
            return self
        value = vars(owner)[self._name] = self._function(owner)
        return value
