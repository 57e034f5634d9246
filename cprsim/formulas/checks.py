"""Argument checks shared by the closed forms; each names the parameter and shows the value."""

import math


def check_positive(**values: float) -> None:
    """Refuse values that aren't > 0; infinity passes, for "never fails" and "never saves"."""
    for name, value in values.items():
        # Negated, so that NaN, which compares false with everything, is refused too.
        if not value > 0:
            raise ValueError(f"{name} must be > 0, got {value}")


def check_duration(**values: float) -> None:
    """Refuse durations that are negative, NaN or infinite; zero passes, for "costs nothing"."""
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name} must be >= 0, got {value}")
        if math.isinf(value):
            raise ValueError(f"{name} must be finite, got {value}")


def hit_fraction(servers: int, servers_hit: float) -> float:
    """Share of the parameter servers that a failure takes down, 0 to 1, both numbers checked.

    `servers`: embedding parameter servers that share the model evenly, >= 1. `servers_hit`: servers
    down at once, a count for one failure, a mean over many; 0 to `servers`.
    """
    if not servers >= 1:
        raise ValueError(f"servers must be >= 1, got {servers}")
    if not 0 <= servers_hit <= servers:
        raise ValueError(f"servers_hit must be from 0 to servers={servers}, got {servers_hit}")
    return servers_hit / servers
