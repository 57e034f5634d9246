"""What a rehearsal took, by what its script did when."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from cprsim.job.costs import GATHERED, Rollback
from cprsim.trainer.coordinator.accounts import ShardSave
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.appended import Chain, chains
from cprsim.trainer.validation.pace import at_one_pace
from cprsim.trainer.validation.quantile import quantile
from cprsim.trainer.validation.rehearsal import (
    BEFORE,
    Rehearsal,
    first_struck,
    strikes,
    struck,
)


class _Stretch(NamedTuple):
    """What a stretch of training takes: each step, any, one before a failure, and one after it."""

    step_s: float
    stretch_s: float
    struck_s: float
    resumed_s: float


class _Load(NamedTuple):
    """What a load takes: whole files, any of chosen rows, each such file, and each of its rows."""

    whole_s: float = 0.0
    any_s: float = 0.0
    file_s: float = 0.0
    row_s: float = 0.0


class _Save(NamedTuple):
    """What a save takes: any, one that follows a recovery besides, each row of the fullest server.

    `merge_s`: besides, where servers merge, and `merging_s` of each of them.
    """

    save_s: float = 0.0
    resaved_s: float = 0.0
    row_s: float = 0.0
    merge_s: float = 0.0
    merging_s: float = 0.0


class RehearsalTimes:
    """Seconds of each kind of thing that a rehearsal does, carried out once or again and again.

    Each time counts with its quantile at one level over all runs, all at one pace, as do those of
    the runs that are predicted. What each of several causes adds is fitted by least squares.
    """

    def __init__(
        self, ran: Sequence[Trained], plan: Rehearsal, level: float, servers: int, hit: int = 1
    ) -> None:
        self._ran, self._script, self._level = at_one_pace(ran, level), plan.script, level
        self._strikes, self._servers, self._hit = strikes(plan.script), servers, hit
        chooses = any(each.save.portion < 1 for each in plan.script)
        self._parts = list(self._parts_of_saves()) if chooses else []
        self._chains = _chains(self._parts)

    def _parts_of_saves(self) -> Iterator[ShardSave]:
        """In order of steps and servers; all runs have the same where training waits for them."""
        runs = [sorted(run.parts, key=attrgetter("step", "server")) for run in self._ran]
        for same in zip(*runs, strict=True):
            yield same[0]._replace(
                select_s=self._counting(each.select_s for each in same),
                gather_s=self._counting(each.gather_s for each in same),
                write_s=self._counting(each.write_s for each in same),
            )

    def _seconds_of(self, cause: str) -> list[float]:
        """All times that went to one cause, in order."""
        runs = [[span.lasted_s for span in run.spans if span.cause == cause] for run in self._ran]
        return list(map(self._counting, zip(*runs, strict=True)))

    def _counting(self, values: Iterable[float]) -> float:
        """What counts of the same in each run."""
        return quantile(list(values), self._level)

    # --- Training ---------------------------------------------------------------------------------

    @property
    def step_s(self) -> float:
        """Of a step."""
        return self._training.step_s

    @property
    def stretch_s(self) -> float:
        """Of a stretch besides its steps."""
        return self._training.stretch_s

    @property
    def struck_s(self) -> float:
        """Of a stretch that ends in a failure besides."""
        return self._training.struck_s

    @property
    def resumed_s(self) -> float:
        """Of a stretch after a recovery besides."""
        return self._training.resumed_s

    @cached_property
    def _training(self) -> _Stretch:
        """What stretches take, but for the first, which warms up."""
        causes, start = [], 0
        for each in self._script:
            steps, start = each.end - start, each.end
            if each.returns is None:
                causes.append((steps, 1, 0, 0))
            else:
                again = BEFORE if each.returns == "all" else 0
                causes += [(BEFORE, 1, 1, 0), (steps - BEFORE + again, 1, 0, 1)]
        took_s = self._seconds_of("train")[
            : len(causes)
        ]  # the last step of the job is in no stretch
        return _Stretch(*_each_s(took_s[1:], causes[1:]))

    # --- Recovery ---------------------------------------------------------------------------------

    @property
    def reschedule_s(self) -> float:
        """Until replacements are there."""
        return self._of_servers("reschedule")

    @property
    def detect_s(self) -> float:
        """Until a loss is noticed."""
        return self._of_servers("detect")

    def _of_servers(self, cause: str) -> float:
        """The mean over the servers that were lost: who they are makes a difference."""
        by_server: dict[int, list[float]] = {}
        for number, took_s in enumerate(self._seconds_of(cause)):
            by_server.setdefault(first_struck(number, self._servers), []).append(took_s)
        return fmean(map(fmean, by_server.values()))

    @property
    def load_full_s(self) -> float:
        """Of a load of everything, with nothing appended."""
        return self._load("all").whole_s

    @property
    def load_partial_s(self) -> float:
        """Of a load of the lost shards, with nothing appended."""
        return self._load("lost").whole_s

    @property
    def appended_s(self) -> float:
        """What loads of lost shards take longer that read any files of chosen rows."""
        return self._load("lost").any_s

    @property
    def append_s(self) -> float:
        """What each file of chosen rows adds to them, but for its rows."""
        return self._load("lost").file_s

    @property
    def append_row_s(self) -> float:
        """What each row in such files adds."""
        return self._load("lost").row_s

    def _load(self, returns: Rollback) -> _Load:
        """What loads after losses that were so answered take."""
        took_s, read = [], []
        loads_s = zip(self._seconds_of("load"), self._strikes, strict=True)
        for number, (load_s, each) in enumerate(loads_s):
            if each.returns == returns:
                all_ = returns == "all"
                whose = range(self._servers) if all_ else struck(number, self._servers, self._hit)
                of_each = [self._chains[server][each.appended] for server in whose if self._chains]
                longest = max(of_each, key=attrgetter("rows"), default=Chain(0, 0))
                took_s.append(load_s)
                read.append((1, longest.files > 0, *longest))
        return _Load(*_each_s(took_s, read))

    # --- Saves ------------------------------------------------------------------------------------

    @property
    def save_s(self) -> float:
        """Of a save of everything that training waits for."""
        return self._whole.save_s

    @property
    def stall_s(self) -> float:
        """What a save in the background holds training up for: longer than before a failure."""
        runs = [
            sorted(span.lasted_s for span in run.spans if span.cause == "stall")
            for run in self._ran
        ]
        longest = [run_s[-len(self._script) :] for run_s in runs]
        return fmean(map(self._counting, zip(*longest, strict=True))) if all(longest) else 0.0

    @property
    def beside_s(self) -> float:
        """Of a load that training would go on beside, were it not pinned to steps."""
        return self._load("none").whole_s or self._load("lost").whole_s

    @property
    def chosen_s(self) -> float:
        """Of a save of chosen rows, but for what each row takes, where no server merges."""
        return self._chosen.save_s

    @property
    def row_s(self) -> float:
        """What each row of the fullest server adds to a save of chosen rows."""
        return self._chosen.row_s

    @property
    def resaved_s(self) -> float:
        """What the first save after a recovery takes longer than others of as many rows."""
        return self._chosen.resaved_s if self._chains else self._whole.resaved_s

    @property
    def merge_s(self) -> float:
        """What a save takes longer at which servers merge, but for what each of them takes.

        Where none has, it is what they would have to read and to write.
        """
        if not self._chains:
            return 0.0
        if any(self._merging):
            return self._chosen.merge_s
        read = max((chain for of in self._chains.values() for chain in of), key=attrgetter("rows"))
        load = self._load("lost")
        appended_s = load.any_s + read.files * load.file_s + read.rows * load.row_s
        return load.whole_s + appended_s + self.save_s

    @property
    def merging_s(self) -> float:
        """What each server that merges adds to a save: they share cores, and the disk."""
        return self._chosen.merging_s

    @cached_property
    def _whole(self) -> _Save:
        return self._saved(chosen=False)

    @cached_property
    def _chosen(self) -> _Save:
        return self._saved(chosen=True)

    @cached_property
    def _merging(self) -> list[int]:
        """Servers that merge at each save of chosen rows."""
        of_saves = zip(*self._chains.values(), strict=True)
        return [sum(not chain.files for chain in of_servers) for of_servers in of_saves][1:]

    def _saved(self, *, chosen: bool) -> _Save:
        """What saves of everything take, or of chosen rows, but for the first save of all."""
        rows, merging = self._of_slowest(lambda part: part.rows or 0), iter(self._merging)
        took_s, causes = [], []
        for save_s, each in zip(self._seconds_of("save"), self._script, strict=False):
            if (each.save.portion < 1) == chosen:
                servers = next(merging) if chosen else 0
                after = each.returns is not None
                took_s.append(save_s)
                causes.append((1, after, rows.get(each.end, 0), servers > 0, servers))
        return _Save(*_each_s(took_s, causes))

    @property
    def select_s(self) -> float:
        """What choosing the rows of a save takes."""
        return fmean(self._of_slowest(lambda part: part.select_s).values())

    @property
    def gather_s(self) -> float:
        """What collecting a million rows takes on one server."""
        gathered_s = self._of_slowest(lambda part: part.gather_s)
        rows = self._of_slowest(lambda part: part.rows or 0)
        return fmean(gathered_s.values()) / fmean(rows.values()) * GATHERED

    def _of_slowest(self, stage: Callable[[ShardSave], float]) -> dict[int, float]:
        """Of the slowest server's part of each save of chosen rows, by its step."""
        slowest: dict[int, float] = {}
        for part in self._parts:
            if part.rows is not None:
                slowest[part.step] = max(stage(part), slowest.get(part.step, 0.0))
        return slowest


def _each_s(took_s: Sequence[float], causes: Sequence[tuple[float, ...]]) -> list[float]:
    """What each cause adds, never less than nothing, by least squares (Lawson and Hanson 1974).

    `causes`: how often each was there, of each time. Nothing of nothing.
    """
    if not took_s:
        return []
    counts = np.array(causes, float)
    largest = np.maximum(counts.max(axis=0), 1.0)
    found, _ = nnls(counts / largest, np.array(took_s))
    return [float(each) for each in found / largest]


def _chains(parts: Iterable[ShardSave]) -> dict[int, list[Chain]]:
    """What loads read beside a whole file before all saves of chosen rows, and after each.

    By server; whole saves come before those.
    """
    whole: dict[int, int] = {}
    chosen: dict[int, list[tuple[int, int]]] = {}
    for part in parts:
        if part.rows is None:
            whole[part.server] = part.size
        else:
            chosen.setdefault(part.server, []).append((part.size, part.rows))
    return {server: list(chains(of, whole[server])) for server, of in chosen.items()}
