"""The interpreter of each policy: `cprsim.batch` where that ends sooner, else `cprsim.sim`.

They give the same numbers to the last bit, so which of them plays is a matter of time alone.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.batch import readiness
from cprsim.errors import NowhereError, UsageError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS

#: What `engine` may be.
ENGINES = ("auto", "sim", "batch")
Engine = Literal["sim", "batch"]

# What a run takes in the simulator, s: to set it up, a save, a failure, a node's life. Measured on
# a machine of two cores; which engine ends sooner needs no more than the order of magnitude.
_RUN_S, _SAVE_S, _FAILURE_S, _NODE_S = 5e-5, 1e-5, 3e-5, 1e-6
#: Replications that the simulator plays before it looks again whether the engine is compiled.
_MEANWHILE = 64
#: It takes 0.6 s to load the compiled engine, s.
_WORTH_LOADING_S = 2.0


def check_engine(engine: str) -> None:
    """Raise `UsageError` where there is no such engine."""
    if engine not in ENGINES:
        raise UsageError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")


def chosen(
    scenario: Scenario, policies: Sequence[str], engine: str, replications: float = math.inf
) -> dict[str, Engine]:
    """The engine of each policy: `"auto"` takes `"batch"` where so many replications end sooner.

    Raises
    ------
    UsageError
        If there is no such engine, or `"batch"` can't play one of the policies.
    """
    check_engine(engine)
    if engine == "sim":
        return dict.fromkeys(policies, "sim")
    why_not = readiness.refusals(scenario, policies)
    if engine == "batch":
        for name, reason in why_not.items():
            if reason is not None:
                raise UsageError(
                    f"engine 'batch' can't play policy {name!r}: {reason}; "
                    "take engine 'auto' or 'sim'"
                )
    able = [name for name, reason in why_not.items() if reason is None]
    if engine == "auto" and not _worth_loading(scenario, able, replications):
        able = []
    return {name: "batch" if name in able else "sim" for name in policies}


def prepare(engines: Iterable[Engine], asked: str = "auto") -> None:
    """Begin to compile the engine if it is going to be used, and never was.

    Until it is compiled the simulator plays in its place. Who asks for `"batch"` waits for it.
    """
    if "batch" not in engines or not _is_missing():
        return
    if asked == "batch":
        from cprsim.batch.engine import make_ready  # noqa: PLC0415  (loads Numba)

        make_ready()
    else:
        readiness.start_compiling()


def waits(asked: str) -> bool:
    """Return whether a run has to wait, once, until the engine is compiled, some 20 s."""
    return asked == "batch" and _is_missing()


def _is_missing() -> bool:
    """Return whether the engine can be compiled, and isn't."""
    return readiness.why_uncompiled() is None and not readiness.is_compiled()


def simulate(
    scenario: Scenario, engines: dict[str, Engine], replications: Sequence[int], seed: int
) -> NDArray[np.float64]:
    """Play replications under policies, each by its engine, all on the same failure timelines.

    Returns an array of shape (replications, policies, len(COLUMNS)), as `sim.engine.simulate`.
    """
    values = np.empty((len(replications), len(engines), len(COLUMNS)))
    for engine in ("sim", "batch"):
        names = [name for name, each in engines.items() if each == engine]
        if names:
            places = [place for place, each in enumerate(engines.values()) if each == engine]
            values[:, places] = _play(engine)(scenario, names, replications, seed)
    return values


def _play(engine: str) -> Callable[..., NDArray[np.float64]]:
    if engine == "sim":
        return sim.simulate
    why_not = readiness.why_uncompiled()
    if why_not:
        note = f"{why_not}: the simulator plays in place of the batch engine"
        warnings.warn(note, RuntimeWarning, stacklevel=4)
    return _compiled


def _compiled(
    scenario: Scenario, names: Sequence[str], replications: Sequence[int], seed: int
) -> NDArray[np.float64]:
    """Play by the compiled engine, and by the simulator as long as that isn't compiled."""
    found = []
    for start in range(0, len(replications), _MEANWHILE):
        if is_ready():
            from cprsim.batch import engine as compiled  # noqa: PLC0415  (loads Numba)

            found.append(compiled.simulate(scenario, names, replications[start:], seed))
            break
        block = replications[start : start + _MEANWHILE]
        found.append(sim.simulate(scenario, names, block, seed))
    return np.concatenate(found)


def is_ready() -> bool:
    """Return whether the compiled engine can play at once."""
    return readiness.why_uncompiled() is None and readiness.is_compiled()


def attempt(
    parts: Sequence[tuple[Scenario, Sequence[int]]], engines: dict[str, Engine], seed: int
) -> NDArray[np.float64]:
    """Play replications of each of some scenarios, given by number, as `simulate` does.

    Returns an array of shape (replications of all, policies, len(COLUMNS)); not a number where a
    run makes no progress. The simulator plays all of them where the compiled engine can't play one.
    """
    runs = [(scenario, number) for scenario, numbers in parts for number in numbers]
    values = np.empty((len(runs), len(engines), len(COLUMNS)))
    names = [name for name, engine in engines.items() if engine == "batch" and is_ready()]
    # Of one scenario alone the caller has chosen the engine.
    if len(parts) > 1 and any(_is_refused(each, names) for each, _ in parts):
        names = []
    if names:
        from cprsim.batch.engine import Part, simulate_all  # noqa: PLC0415  (loads Numba)

        compiled = [Part(each, names, np.asarray(numbers, np.intp)) for each, numbers in parts]
        places = [place for place, name in enumerate(engines) if name in names]
        values[:, places] = np.concatenate(simulate_all(compiled, seed))
    for place, name in enumerate(engines):
        if name not in names:
            values[:, place] = [_alone(scenario, name, number, seed) for scenario, number in runs]
    return values


def _is_refused(scenario: Scenario, policies: Sequence[str]) -> bool:
    """Return whether the compiled engine can't play one of the policies."""
    return any(readiness.refusals(scenario, policies).values())


def _alone(scenario: Scenario, policy: str, number: int, seed: int) -> NDArray[np.float64]:
    try:
        values: NDArray[np.float64] = sim.simulate(scenario, [policy], [number], seed)[0, 0]
    except NowhereError:
        return np.full(len(COLUMNS), np.nan)
    return values


def _worth_loading(scenario: Scenario, policies: Sequence[str], replications: float) -> bool:
    """Return whether the simulator takes so long that it pays to load the compiled engine."""
    if not policies or readiness.why_uncompiled():
        return False
    return replications * sum(_run_s(scenario, name) for name in policies) > _WORTH_LOADING_S


def _run_s(scenario: Scenario, policy: str) -> float:
    """Return roughly how long the simulator takes for a run, s."""
    model, useful_s = scenario.failure_model, scenario.job.useful_time_s
    saves = sum(each.saves_in(useful_s) for each in scenario.plan(policy).schedules)
    failures = useful_s / model.mtbf_s
    return _RUN_S + _SAVE_S * saves + _FAILURE_S * failures + _NODE_S * model.nodes
