"""The batch engine beside `cprsim.sim`, replication by replication and bit for bit."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from cprsim.batch import support
from cprsim.contract import Draining, Growing, Plan, Recover, Rotations
from cprsim.contract.ledger import Ledger
from cprsim.errors import RunError
from cprsim.machine import attempts
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from cprsim.sim.observer import BackgroundTask
from cprsim.testing import Recording

Values = NDArray[np.float64]
#: How often something happened, by its name.
Seen = Counter[str]


def compare(tables: dict[str, Any], seen: Seen, replications: Sequence[int], seed: int = 0) -> None:
    """Hold the two engines to the same ledgers, or the same error, and note what happened."""
    scenario = Scenario(**tables)
    seen["scenarios"] += 1
    for policy in scenario.policies:
        assert support.why_unsupported(scenario, policy) is None
        compare_policy(scenario, policy, seen, replications, seed)


def compare_policy(
    scenario: Scenario, policy: str, seen: Seen, replications: Sequence[int], seed: int = 0
) -> None:
    """The same for one of its policies."""
    seen["policies"] += 1
    seen[scenario.policies[policy].system] += 1
    from cprsim.batch.engine import simulate

    found = _played(simulate, scenario, policy, replications, seed)
    if isinstance(found, str):
        assert found == _played(sim.simulate, scenario, policy, replications, seed)
        seen["hopeless"] += 1
        return
    for row, replication in zip(found, replications, strict=True):
        ledger = watched(scenario, policy, replication, seen, seed)
        assert unlike(row, entries(ledger)) == {}, f"replication {replication}"


def watched(scenario: Scenario, policy: str, replication: int, seen: Seen, seed: int = 0) -> Ledger:
    """A run by the simulator, and what happens in it counted."""
    watcher = Watcher(scenario, scenario.plan(policy))
    with watcher.attempts():
        ledger = sim.play(scenario, policy, seed, replication, watcher)
    seen.update(watcher.counted(ledger))
    return ledger


def entries(ledger: Ledger) -> Values:
    """A ledger as the engines give it."""
    return np.array([getattr(ledger, column) for column in COLUMNS])


def unlike(found: Values, expected: Values) -> dict[str, tuple[float, float]]:
    """Entries that differ at all, by name, found and expected; what is no number differs."""
    pairs = zip(COLUMNS, found.tolist(), expected.tolist(), strict=True)
    return {name: (one, two) for name, one, two in pairs if one != two}


def assert_often(seen: Seen, **least: int) -> None:
    """Each of these happened so often; spaces are written as underscores.

    A third as often as when this was written, or less: what is drawn depends on the version of
    Hypothesis and on the strategies, and a change of these that meets them no more is to be seen.
    """
    found = {name: seen[name.replace("_", " ")] for name in least}
    rare = {name: count for name, count in found.items() if count < least[name]}
    assert rare == {}, f"too rare: {rare}"


class Watcher(Recording):
    """Counts what happens in a run of a policy."""

    def __init__(self, scenario: Scenario, plan: Plan) -> None:
        super().__init__()
        self._scenario, self._plan = scenario, plan
        self._tasks: list[tuple[BackgroundTask, float, float, bool]] = []
        self._paces: list[float] = []  # of each span of training, by how much it is slowed
        self._seen: Seen = Counter()

    # --- As it goes ------------------------------------------------------------------------------

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Time went to `cause`."""
        super().span(cause, start_s, end_s)
        if cause == "train":
            self._paces.append(0.0)

    def slowed(self, by_s: float) -> None:
        """The last span of training took that much longer."""
        last = self.spans[-1]
        self._paces[-1] = round(by_s / (last.end_s - last.start_s), 6)

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """What a failure is answered."""
        self._seen[f"returns of {answer.rollback} to {answer.source}"] += 1
        self._seen["healthy nodes return to fresher rows"] += answer.healthy is not None
        self._seen["training goes on degraded"] += answer.degraded > 0
        self._seen["pauses until others serve"] += answer.pause_s > 0

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        """A task in the background."""
        self._tasks.append((task, start_s, end_s, completed))
        self._seen[f"{task.kind}s in the background"] += completed
        self._seen[f"{task.kind}s in the background given up"] += not completed

    def attempts(self) -> ExitStack:
        """Counts what turns out to be in vain, while it is open."""
        stack = ExitStack()
        for owner, name, what in (
            (attempts, "save_has_failed", "void saves"),
            (attempts, "load_has_failed", "failed loads"),
            (attempts, "_was_away", "of an outage"),
        ):
            stack.enter_context(patch.object(owner, name, self._counting(owner, name, what)))
        return stack

    def _counting(self, owner: Any, name: str, what: str) -> Callable[..., bool]:
        asked = getattr(owner, name)

        def ask(*arguments: Any) -> bool:
            answer: bool = asked(*arguments)
            self._seen[what] += answer
            return answer

        return ask

    # --- In the end ------------------------------------------------------------------------------

    def counted(self, ledger: Ledger) -> Seen:
        """How often what happened in the run."""
        seen = self._seen
        seen["runs"] += 1
        for name in ("failures", "absorbed", "saves"):
            seen[name] += int(getattr(ledger, name))
        seen["runs that lose learning"] += ledger.updates_lost > 0
        self._count_cut(seen)
        self._count_hits(seen)
        self._count_beside(seen)
        self._count_plan(seen, ledger)
        return +seen

    def _count_cut(self, seen: Seen) -> None:
        struck = {at_s for at_s, _ in self.failures}
        in_a_row = 0
        for span in self.spans:
            cut = span.end_s in struck
            seen[f"failures in a {span.cause}"] += cut
            if span.cause == "load":
                in_a_row = in_a_row + 1 if cut else 0
                seen["three in a row while loading"] += in_a_row == 3
            elif span.cause in ("train", "save"):
                in_a_row = 0

    def _count_hits(self, seen: Seen) -> None:
        for _, hit in self.failures:
            seen[f"failures of severity {hit.severity}"] += 1
            seen["failures of several servers"] += len(hit.servers) > 1
            seen["failures of trainers alone"] += not hit.servers
            seen["failures with spares"] += self._scenario.cluster.spares > 0

    def _count_beside(self, seen: Seen) -> None:
        """What went on at once."""
        for (one, *first, _), (two, *second, _) in itertools.combinations(self._tasks, 2):
            if min(first[1], second[1]) <= max(first[0], second[0]):
                continue
            kinds = " and ".join(sorted({one.kind, two.kind}))
            seen[f"{kinds} at once"] += 1
        seen["runs at several paces"] += len(set(self._paces)) > 1
        alike = self._plan.sequence is None or isinstance(self._plan.sequence, Growing)
        lengths = {
            round(end_s - start_s, 6)
            for task, start_s, end_s, completed in self._tasks
            if completed and task.kind == "save" and alike
        }
        seen["runs with saves at several paces"] += len(lengths) > 1

    def _count_plan(self, seen: Seen, ledger: Ledger) -> None:
        plan, job = self._plan, self._scenario.job
        seen[type(plan.sequence).__name__] += 1
        seen["runs under a mirror"] += plan.mirror is not None
        seen[type(plan.on_notice).__name__] += plan.on_notice is not None
        if isinstance(plan.on_notice, Draining):
            seen["drains"] += sum(
                span.cause == "reschedule"
                and math.isclose(span.end_s - span.start_s, plan.on_notice.takes_s)
                for span in self.spans
            )
        seen["runs with a last save"] += job.final_save
        seen["runs with a last save in the background"] += (
            job.final_save and not plan.last_save.blocking
        )
        if self._scenario.cluster.updates is not None:
            seen["runs that lose unequal shares"] += ledger.updates_lost > 0
        if plan.tracking is not None and plan.tracking.left is not None:
            seen["runs that leave unequal shares"] += ledger.updates_lost > 0
        sequence = plan.sequence
        if isinstance(sequence, Growing):
            seen["saves rarer than at first"] += (
                ledger.saves + ledger.failures < job.useful_time_s / sequence.first_s - 2
            )
        if isinstance(sequence, Rotations):
            first = sequence.rotations[0].stored.writes
            seen["more experts than at first"] += ledger.stored > ledger.saves * first * (1 + 1e-9)


def _played(
    simulate: Callable[[Scenario, Sequence[str], Sequence[int], int], Values],
    scenario: Scenario,
    policy: str,
    replications: Sequence[int],
    seed: int,
) -> Values | str:
    """Ledgers, or the error that came instead."""
    try:
        return simulate(scenario, [policy], replications, seed)[:, 0]
    except RunError as error:
        return str(error)
