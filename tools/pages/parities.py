"""Write docs/parities.md: what parities cost on real processes of this machine, beside `full`.

Run `python -m tools.pages.parities` on a quiet machine (some seven minutes). All policies are
trained in turns, several times, so that what else the machine does meets all of them alike.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cprsim.basics.files import write_all
from cprsim.basics.machine import cores
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.members import forking
from cprsim.trainer.section import trainer_section
from cprsim.trainer.training import Trained, train
from tools.paths import DOCS, SCENARIOS

PAGE = "parities.md"
_SERVERS, _DIM, _ROWS = 5, 16, (400_000, 200_000, 100_000, 50_000)
_SAMPLES, _USEFUL_S = 200_000, 2.0
_BATCH = 512
POLICIES = {
    "full": {"system": "full", "interval": "0.2 s"},
    "replication, 2 copies": {"system": "replication", "copies": 2},
    **{
        f"ecrm, parity = {parity}": {"system": "ecrm", "parity": parity, "resume": "0 s"}
        for parity in (2, 4)
    },
}


@dataclass(frozen=True)
class Run:
    """A run, and when its steps were done, by the clock that its spans are of."""

    trained: Trained
    steps_s: Sequence[float]

    @property
    def step_s(self) -> float:
        """A step of training: the median, so that neither failures nor saves are in it."""
        return float(np.median(np.diff(self.steps_s)))


class Measured(NamedTuple):
    """Of one policy, the lower quartile over all repeats of each, s.

    `step_s`: without failures. `beside`: in each turn, that as a share of `full`'s. `stopped_s`:
    from a kill until training goes on. `again_s`: training that was done once more. `rebuilt_s`:
    from then until all is rebuilt beside it. `degraded`: steps a second meanwhile, as a share of
    those without failures; none where nothing is rebuilt.
    """

    step_s: float
    beside: Sequence[float]
    stopped_s: float
    again_s: float
    rebuilt_s: float
    degraded: float


def run(policy: str, seed: int, killed: bool) -> Run:
    """Train a job of one of the policies, and kill a server in it, if so."""
    stamps: list[float] = []
    trained = train(
        _scenario(policy, killed),
        trainer_section({"batch": _BATCH, "test_samples": _BATCH, "failures": "at-time"}),
        "policy",
        seed,
        lambda *_: stamps.append(time.monotonic()),
    )
    # The last step ends the last stretch of training, but for an answer of all servers.
    end_s = max(each.end_s for each in trained.spans if each.cause == "train")
    return Run(trained, [stamp - stamps[-1] + end_s for stamp in stamps])


def _scenario(policy: str, killed: bool) -> Scenario:
    tables = scenario_tables(load_mapping(SCENARIOS / "train-quick.toml"))
    tables["job"] = {"useful_time": f"{_USEFUL_S} s", "samples": _SAMPLES}
    rows = [{"rows": each, "dim": _DIM, "skew": "dlrm-production"} for each in _ROWS]
    tables["model"] = {"tables": rows}
    tables["cluster"] = {"trainers": 1, "parameter_servers": _SERVERS}
    tables["failures"] = {"exactly": int(killed), "while_waiting": False}
    tables["policies"] = {"policy": POLICIES[policy]}
    return Scenario(**tables)


def seeds(count: int) -> list[int]:
    """Those whose kill is neither too early nor too late to look at what follows it."""
    model, found = _scenario("full", killed=True).failure_model, list[int]()
    while len(found) < count:
        seed = found[-1] + 1 if found else 0
        while not 0.25 < cursor_of(model.timeline(seed, 0)).next_s / _USEFUL_S < 0.5:
            seed += 1
        found.append(seed)
    return found


def after_kill(killed: Run) -> tuple[float, float, float]:
    """How long training stopped, how long it then went on beside a rebuild, and its steps a second.

    The rest of the job, where nothing is rebuilt beside training.
    """
    spans = killed.trained.spans
    first = next(i for i, each in enumerate(spans) if each.cause in ("detect", "reschedule"))
    on = next(i for i, each in enumerate(spans) if i > first and each.cause == "train")
    stopped, on_s = spans[first].start_s, spans[on].start_s
    loads = (each.start_s for each in spans[on:] if each.cause == "load")
    rebuilt_s = next(loads, spans[on].end_s)
    steps = sum(on_s < each <= rebuilt_s for each in killed.steps_s)
    return on_s - stopped, rebuilt_s - on_s, steps / (rebuilt_s - on_s)


def measured(
    policy: str, clean: Sequence[Run], killed: Sequence[Run], full: Sequence[Run]
) -> Measured:
    """What runs of a policy without and with a kill have taken, and those of `full` without."""
    beside = [mine.step_s / its.step_s for mine, its in zip(clean, full, strict=True)]
    step_s = _quartile([each.step_s for each in clean])
    after = np.array([after_kill(each) for each in killed])
    again_s = _quartile([each.trained.seconds["lost"] for each in killed])
    if policy == "full":
        return Measured(step_s, beside, _quartile(after[:, 0]), again_s, 0.0, 1.0)
    return Measured(
        step_s,
        beside,
        _quartile(after[:, 0]),
        again_s,
        _quartile(after[:, 1]),
        float(np.median(after[:, 2])) * step_s,
    )


def _quartile(values: Sequence[float]) -> float:
    return float(np.quantile(values, 0.25))


def page(found: dict[str, Measured], repeats: int, load: float) -> str:
    """The page."""
    lines = [
        _HEAD,
        ["---"] * len(_HEAD),
        *(_line(name, each) for name, each in found.items()),
    ]
    return _PAGE.format(
        servers=_SERVERS,
        rows=sum(_ROWS),
        dim=_DIM,
        steps=_SAMPLES // _BATCH,
        batch=_BATCH,
        repeats=repeats,
        cores=cores(),
        load=load,
        table="\n".join(f"| {' | '.join(each)} |" for each in lines),
    )


def _line(name: str, each: Measured) -> list[str]:
    of_turns = [100 * (share - 1) for share in (np.median(each.beside), *each.beside)]
    beside = f"{of_turns[0]:+.0f} % ({min(of_turns):+.0f} to {max(of_turns):+.0f})"
    rebuilt = [f"{1e3 * each.rebuilt_s:.0f}", f"{100 * each.degraded:.0f} %"]
    return [
        name,
        f"{1e3 * each.step_s:.2f}",
        beside if name != "full" else "",
        f"{1e3 * each.stopped_s:.0f}",
        f"{1e3 * each.again_s:.0f}",
        *(rebuilt if each.rebuilt_s else ("", "")),
    ]


_HEAD = (
    "policy",
    "a step, ms",
    "relative to `full`",
    "stopped by a kill, ms",
    "trained again, ms",
    "rebuilt during training, ms",
    "throughput meanwhile",
)
_PAGE = """# Parities on real processes

The cost of `ecrm` on servers that are really killed, compared with `full` and `replication` in the
same runs. `python -m tools.pages.parities` trains and writes this page; seconds are of this
machine: {cores} cores, and on average {load:.1f} processes that ran or waited.

A job of {steps} steps of {batch} samples, {rows:,} rows of {dim} numbers on {servers} servers, one
trainer; a server is killed at the same instants under each policy. Policies are trained in turns,
{repeats} times each without a kill and with one. Times are lower quartiles, the throughput is a
median.

{table}

- *A step*: without failures, the median of a run, without saves of `full`. *Relative to `full`*:
  the median over the turns, and its range; a wide range means that other processes kept the machine
  busy.
- *Stopped*: from the kill until training resumes.
- *Rebuilt*: from then until the server has all its rows again, and its parity or its copies. The
  throughput meanwhile is a share of the same policy's without failures.

Processes of one machine share its cores, and what servers send each other crosses no network. So
the work of parities takes the trainer's time here; the paper's 2.6 % for coding can't be expected.
"""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--docs", type=Path, default=DOCS)
    given = parser.parse_args()
    forking.context()
    runs = {(name, killed): list[Run]() for name in POLICIES for killed in (False, True)}
    loads = list[float]()
    for seed in seeds(given.repeats):
        for (name, killed), done in runs.items():
            done.append(run(name, seed, killed))
            loads.append(os.getloadavg()[0])
        sys.stdout.write(f"seed {seed}\n")
        sys.stdout.flush()
    found = {
        name: measured(name, runs[name, False], runs[name, True], runs["full", False])
        for name in POLICIES
    }
    write_all(given.docs, {PAGE: page(found, given.repeats, float(np.mean(loads))).encode()})


if __name__ == "__main__":
    main()
