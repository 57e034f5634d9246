"""Seconds of `cprsim advise`: search and certificate, then perturbed scenarios."""

import time

import cprsim
from cprsim.advice.robustness import robustness

#: README promises an answer over every system of these in under 10 s on two cores.
_SCENARIOS = ("quickstart", "all-systems", "criteo-kaggle")
_ROUNDS = 3


def rows() -> list[tuple[str, ...]]:
    """Measure shipped scenarios; nothing is compiled meanwhile."""
    cprsim.advise(cprsim.load_scenario("scenarios/async.toml"), systems=["full"])  # loads all
    return [_row(name) for name in _SCENARIOS]


def _row(name: str) -> tuple[str, ...]:
    """Return the median of some rounds by the clock."""
    scenario = cprsim.load_scenario(f"scenarios/{name}.toml")
    rounds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        advice = cprsim.advise(scenario)
        answered = time.perf_counter()
        robustness(advice)
        done = time.perf_counter()
        rounds.append((done - start, answered - start, done - answered, len(advice.found)))
    whole_s, answer_s, perturbed_s, candidates = sorted(rounds)[_ROUNDS // 2]
    return name, str(candidates), *(f"{s:.1f}" for s in (answer_s, perturbed_s, whole_s))
