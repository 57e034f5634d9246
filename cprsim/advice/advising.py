"""`cprsim.advise`: ask every candidate, search its settings, and certify the best."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cprsim.advice.advice import Advice
from cprsim.advice.aims import MAX_INTERVAL, aim_of
from cprsim.advice.asking import Asking, Tell
from cprsim.advice.fleet_trials import FleetTrials
from cprsim.advice.trials import Trials
from cprsim.basics.units import parse_share
from cprsim.contract.memory import model_fault
from cprsim.errors import ScenarioError, UnitError, UsageError
from cprsim.estimates.decision import Quality, decide
from cprsim.fleets.fleet import Fleet, load_job
from cprsim.runs.runner import check_whole
from cprsim.scenario import Scenario

#: A share, or a percentage such as `"2%"`; None for no limit.
Share = float | str | None


def advise(
    scenario: Scenario | Fleet | str | Path,
    objective: str = "time",
    *,
    max_pls: Share = None,
    max_updates_lost: Share = None,
    max_learning_lost: Share = None,
    max_learning_lost_p95: Share = None,
    max_auc_drop: float | None = None,
    max_restarts: int | None = None,
    max_memory: Share = None,
    max_spares: int | None = None,
    deployable: bool = False,
    max_interval: str | float | None = MAX_INTERVAL,
    systems: Sequence[str] | None = None,
    sure: float = 0.95,
    within: float = 0.001,
    target_pls: float | None = None,
    quality: Quality = "pls",
    seed: int = 0,
    tell: Tell | None = None,
) -> Advice:
    """Find the best policy for a job among all systems and their settings, and how sure that is.

    Candidates are the scenario's policies as they are, each of them with its best settings, and
    every other system with its best settings. All meet the same failures; settings are searched on
    other failures than the certificate's.

    Without a limit on lost learning there are two answers: the best policy that loses none, and, as
    `Advice.allowing`, the best that loses no more than a mean learning lost of 1 %.

    Parameters
    ----------
    scenario
        The job, its file, or the name of a shipped scenario; it needs no policies. Or a fleet:
        systems are asked with the rules and defaults that they have, as no setting fits all its
        jobs, and the objective is its mean over them.
    objective
        What to minimise: `"time"`, the overhead; `"machine-time"`, with machines kept ready;
        `"cost"`, by the scenario's prices; `"retrained"`, time with every lost update trained
        again.
    max_pls, max_updates_lost, max_learning_lost, max_auc_drop
        Upper limits on means, shares from 0 to 1 or percentages such as `"2%"`.
    max_learning_lost_p95
        Upper limit on the 95th percentile over runs of the learning lost.
    max_restarts
        Restarts that the launcher allows: 95 % of all runs may need no more, one a failure.
    max_memory
        Extra memory allowed, as a share of that of the rows.
    max_spares
        Number of spare machines allowed.
    deployable
        Whether only policies are considered that common trainers carry out: loops with checkpoints,
        blocking or in the background (PyTorch's DCP), and loops with this project's hooks, TorchRec
        among them, which can keep healthy shards. Others need a trainer of one's own.
    max_interval
        The longest time between saves of everything, `"1 d"` or seconds; None or `"never"` for no
        limit. Without a limit the optimum is often never to save, as no model knows bad data, bugs,
        eviction and the publishing of models. Not for fleets.
    systems
        Names of the systems to compare; all by default.
    sure, within
        The certificate: its confidence, and the difference, as a share of the useful time (for
        `"cost"` of what that costs), that doesn't matter.
    target_pls, quality
        The share of learning that may be lost, and how it is counted, as of `decide`.
    seed
        Of all random streams.
    tell
        Called as it goes on.

    Raises
    ------
    UsageError
        For arguments that make no sense, and if nobody can be asked.
    ScenarioError
        If the scenario lacks a cost that everybody needs, or the model exceeds the cluster's
        memory under any policy.
    """
    check_whole("seed", seed, 0)
    if isinstance(scenario, str | Path):
        scenario = load_job(scenario)
    if isinstance(scenario, Fleet) and max_interval != MAX_INTERVAL:
        raise UsageError("max_interval: is not for a fleet, whose jobs save by rules; leave it out")
    example = scenario.example if isinstance(scenario, Fleet) else scenario
    too_large = model_fault(example.cost_model)
    if too_large is not None:
        raise ScenarioError(
            f"cluster: the model {too_large}, so no policy fits; use more machines, or larger ones"
        )
    shares = {
        "max_pls": max_pls,
        "max_updates_lost": max_updates_lost,
        "max_learning_lost": max_learning_lost,
        "max_learning_lost_p95": max_learning_lost_p95,
        "max_auc_drop": max_auc_drop,
        "max_memory": max_memory,
    }
    aim = aim_of(
        example,
        objective,
        max_restarts=max_restarts,
        max_spares=max_spares,
        deployable=deployable,
        target_pls=target_pls,
        quality=quality,
        confidence=sure,
        within=within,
        max_interval=None if isinstance(scenario, Fleet) else max_interval,
        **{name: _share(name, most) for name, most in shares.items()},
    )
    decision = None
    with suppress(UsageError, ScenarioError):  # it has none
        decision = decide(example, target_pls, quality)
    trials = Trials(example, aim, seed)
    if isinstance(scenario, Fleet):
        trials = FleetTrials(scenario, aim, seed)
    return Asking(trials, tell or (lambda *_: None), decision).answer(systems)


def _share(name: str, value: Share) -> float | None:
    try:
        return parse_share(value) if isinstance(value, str) else value
    except UnitError as error:
        raise UsageError(f"{name}: {error}") from None
