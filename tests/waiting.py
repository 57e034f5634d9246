"""Waiting for a condition, never for a duration: the one loop that looks again and again."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: A wait that takes so long hangs. Nothing else depends on it: a slow machine may take minutes.
HANGS_S = 240.0
_AGAIN_S = 0.02


def wait_until(true: Callable[[], T], what: str = "") -> T:
    """Call `true` until it gives something that is true, and give that."""
    deadline_s = time.monotonic() + HANGS_S
    while not (found := true()):
        assert time.monotonic() < deadline_s, f"waited for {HANGS_S:.0f} s: {what or true}"
        time.sleep(_AGAIN_S)
    return found
