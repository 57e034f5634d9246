"""Which interpreter plays which policy: `cprsim.batch` where it can, else `cprsim.sim`."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.batch import engine as batch
from cprsim.errors import UsageError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS

#: What `engine` may be.
ENGINES = ("auto", "sim", "batch")
Engine = Literal["sim", "batch"]


def check_engine(engine: str) -> None:
    """Raise `UsageError` where there is no such engine."""
    if engine not in ENGINES:
        raise UsageError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")


def chosen(scenario: Scenario, policies: Sequence[str], engine: str) -> dict[str, Engine]:
    """The engine of each policy: `"auto"` takes `"batch"` for all that it can play.

    Raises
    ------
    UsageError
        If there is no such engine, or `"batch"` can't play one of the policies.
    """
    check_engine(engine)
    if engine == "sim":
        return dict.fromkeys(policies, "sim")
    why_not = {name: batch.why_unsupported(scenario, name) for name in policies}
    if engine == "batch":
        for name, reason in why_not.items():
            if reason is not None:
                raise UsageError(
                    f"engine 'batch' can't play policy {name!r}: {reason}; "
                    "take engine 'auto' or 'sim'"
                )
    return {name: "batch" if reason is None else "sim" for name, reason in why_not.items()}


def simulate(
    scenario: Scenario, engines: dict[str, Engine], replications: Sequence[int], seed: int
) -> NDArray[np.float64]:
    """Play replications under policies, each by its engine, all on the same failure timelines.

    Returns an array of shape (replications, policies, len(COLUMNS)), as `sim.engine.simulate`.
    """
    values = np.empty((len(replications), len(engines), len(COLUMNS)))
    for engine, play in (("sim", sim.simulate), ("batch", batch.simulate)):
        names = [name for name, each in engines.items() if each == engine]
        if names:
            places = [place for place, each in enumerate(engines.values()) if each == engine]
            values[:, places] = play(scenario, names, replications, seed)
    return values
