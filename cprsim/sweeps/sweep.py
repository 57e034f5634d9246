"""`cprsim.sweep`: simulate the points of a design, resume where an earlier call was stopped."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cprsim.basics.files import check_writable
from cprsim.basics.manifest import versions
from cprsim.errors import CprsimError, RunError, UsageError
from cprsim.runs.engines import Engine, check_engine, chosen, prepare, waits
from cprsim.runs.runner import check_replications, check_whole, check_workers
from cprsim.runs.workers import imports_main
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import leaves, load_mapping, parts_of, scenario_tables
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.design import Given, IsWhole, SweepBlock, flat
from cprsim.sweeps.driver import Driver, Tell, pool_of
from cprsim.sweeps.points import VariedScenario, own_code, points_hash, read_points, scenario_key
from cprsim.sweeps.store import NAME, SweepStore, writing
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.tasks import Task


@dataclass(frozen=True)
class SweepProgress:
    """Points of a sweep that are finished, failed ones among them."""

    points: int
    of: int
    failed: int

    @property
    def share(self) -> float:
        """Share of the points that are finished."""
        return self.points / self.of


#: Called as results come, and about twice a second while none do.
Listener = Callable[[SweepProgress], None]

_REPLICATIONS = 1000
_MOST_REPLICATIONS = 100_000  # where a half-width says when they are enough
_COMMIT_S = 1.0
_READER_S = 0.2  # to wait for a reader; else with the next commit
_SIZES = frozenset({"cluster.parameter_servers", "cluster.trainers"})


def sweep(
    scenario: Scenario | str | Path,
    out: str | Path,
    vary: Mapping[str, Given] | None = None,
    policies: Sequence[str] | None = None,
    replications: int | None = None,
    half_width: float | None = None,
    seed: int = 0,
    engine: str = "auto",
    workers: int = 1,
    scheduler: str | None = None,
    overrides: Sequence[str] = (),
    progress: Listener | None = None,
    tell: Tell | None = None,
) -> Sweep:
    """Simulate a scenario at many points, every policy of a point on the same failure timelines.

    What is in `out` already is not done again: a sweep that was stopped resumes when it is called
    again, and ends with the same numbers.

    Parameters
    ----------
    scenario
        From `load_scenario`, or the path of a file, whose `[sweep]` counts then.
    out
        Folder of the results, one file `sweep.db`.
    vary
        Dotted keys to their values: `{"failures.mean": ["14 h", "28 h"]}`, or text as on the
        command line, `"log(1 h, 100 h, 9)"`. All combinations are points.
    policies
        Names of policies; all of the scenario's by default.
    replications
        At each point: 1,000 by default; with `half_width` at most so many, by default 100,000.
    half_width
        Replications go on until the 95 % interval of the mean overhead of every policy reaches at
        most this share of the mean to either side.
    seed
        Of all random streams.
    engine
        As of `cprsim.run`; what it can't play is a point that failed.
    workers
        Processes; the numbers are the same whatever their number. With more than one, a script
        needs its `if __name__ == "__main__":`.
    scheduler
        Instead, the address of a dask.distributed scheduler, `tcp://HOST:PORT`.
    overrides
        `dotted.key=value`, set in the file before anything is varied.
    progress
        Called in this process as results come.
    tell
        Called with a line for the user when something happened.

    Returns
    -------
    Sweep
        The points that are in `out`, with a table of them.

    Raises
    ------
    ScenarioError
        If the scenario, or a value that is varied, can't be read.
    UsageError
        For arguments that make no sense, and a folder that can't be used or holds another sweep.
    RunError
        If the disk is full, or the workers are lost for good.

    Examples
    --------
    >>> vary = {"failures.mean": "10 h,20 h"}
    >>> done = cprsim.sweep("quickstart", "out", vary, ["full"], 5, engine="sim")
    >>> done.table["policy"].tolist()
    ['full', 'full']
    """
    check_whole("seed", seed, 0)
    check_workers(workers)
    check_engine(engine)
    out = Path(out)
    check_writable(out, [NAME])
    mapping = _mapping(scenario, overrides)
    block = SweepBlock.from_table(mapping.pop("sweep", {}))
    mapping = scenario_tables(mapping)
    most, width = _rule(block, replications, half_width)
    base = Scenario.read(mapping)
    names = tuple(base.select(policies))
    if engine == "batch":
        chosen(base, names, engine)
    resolved = base.mapping()
    design = block.design(vary or {}, _whole_in(resolved))
    tell = tell or (lambda _: None)
    varied = VariedScenario(mapping, names, design.keys)
    points, currency = read_points(varied, design, tell)
    pool = pool_of(workers, scheduler)
    if pool is not None:
        _check_known_to_workers(base, names, scheduler)
    definition = {
        "title": base.title,
        "currency": currency,
        "zipped": [*flat(block.zipped)],
        "scenario": scenario_key(base),
        "points": points_hash(points),
        "count": len(points),
        "keys": design.keys,
        "policies": names,
        "seed": seed,
        "rule": {"replications": most, "half_width": width},
        "engine": engine,
        "model_version": MODEL_VERSION,
        "code": own_code(base, names),
    }
    warning = _size_without_failures(base, design.keys, block)
    if warning:
        tell(warning)
    with writing(out, definition, points, versions()) as store:
        if store.lost:
            tell(f"{out / NAME}: was damaged; running again what is lost")
        engines = _engines(base, names, engine, len(points) * most)
        if waits(engine):
            tell("compiling the batch engine, once")
        prepare(engines, engine)
        engine = engine if "batch" in engines else "sim"
        tasks = (
            Task(each.number, varied.at(each.values), names, most, width, seed, engine)
            for each in points
            if each.key and each.number not in store.done
        )
        failed = sum(not each.key for each in points)
        start = SweepProgress(len(store.done) + failed, len(points), failed)
        _work(Driver(pool, tasks, tell), store, start, progress or (lambda _: None))
    return Sweep(out)


def _work(driver: Driver, store: SweepStore, now: SweepProgress, progress: Listener) -> None:
    committed_s = time.monotonic()
    try:
        with closing(driver.outcomes()) as outcomes:
            for each in outcomes:
                if each is not None:
                    task, result = each
                    store.add(task.point, result)
                    now = replace(
                        now, points=now.points + 1, failed=now.failed + bool(result.error)
                    )
                if time.monotonic() - committed_s > _COMMIT_S:
                    store.commit(_READER_S)
                    committed_s = time.monotonic()
                progress(now)
    except BaseException:
        with suppress(RunError):  # if the store itself is at fault, that is the error to raise
            store.commit()
        raise
    if not store.commit():
        raise RunError("somebody reads the sweep without end; give the same command again")
    progress(now)


def _engines(base: Scenario, names: Sequence[str], engine: str, runs: int) -> set[Engine]:
    """Return the engines of policies; the simulator if some can be planned at some points only."""
    try:
        return {*chosen(base, names, engine, runs).values()}
    except (CprsimError, ValueError):
        return {"sim"}


def _mapping(scenario: Scenario | str | Path, overrides: Sequence[str]) -> dict[str, Any]:
    if not isinstance(scenario, Scenario):
        return load_mapping(scenario, overrides)
    if overrides:
        raise UsageError("overrides go with the path of a file; change the scenario instead")
    return scenario.as_given()


def _rule(
    block: SweepBlock, replications: int | None, half_width: float | None
) -> tuple[int, float | None]:
    """Return the most replications of a point, and the half-width that ends them earlier."""
    width = block.half_width if half_width is None else half_width
    if width is not None and not 0 < width < 1:
        raise UsageError(f"half_width {width!r} is not a share between 0 and 1, e.g. 0.02")
    most = block.replications if replications is None else replications
    if most is None:
        most = _REPLICATIONS if width is None else _MOST_REPLICATIONS
    if width is None:
        check_replications(most)
    else:
        check_whole("replications", most, 1)  # the most that a point may get
    return most, width


def _whole_in(resolved: dict[str, Any]) -> IsWhole:
    """Return a test: whether a scenario, and so what is varied, has a whole number at a key."""
    types = {tuple(map(str, parts)): type(value) for parts, value in leaves(resolved)}
    return lambda key: types.get(tuple(parts_of(key))) is int


def _check_known_to_workers(base: Scenario, policies: Sequence[str], scheduler: str | None) -> None:
    """Raise `UsageError` for a policy that is defined where workers don't look, as a notebook."""
    for name in policies:
        is_here = type(base.policies[name]).__module__ == "__main__"
        if is_here and (scheduler is not None or not imports_main()):
            raise UsageError(
                f"policies.{name}: workers can't import its class; write that into a module, or do "
                "without workers"
            )


def _size_without_failures(base: Scenario, keys: Sequence[str], block: SweepBlock) -> str:
    """Return a warning where a cluster's size is varied, and failures don't depend on it."""
    failures, zipped = base.failures, flat(block.zipped)
    sizes = [key for key in keys if key in _SIZES]
    if not sizes or failures.per == "node" or failures.distribution is None:
        return ""
    if any(key.startswith("failures.") for key in zipped) and {*sizes} <= {*zipped}:
        return ""
    return (
        f"{', '.join(sizes)}: the law of failures is that of the whole job, so that larger "
        'clusters fail as often; with failures.per = "node", and the mean of a node, they fail '
        "more often"
    )
