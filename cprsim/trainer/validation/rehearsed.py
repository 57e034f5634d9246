"""What a rehearsal took, by what its script did when."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from operator import attrgetter
from statistics import fmean, median
from typing import NamedTuple

from cprsim.job.costs import GATHERED, Rollback
from cprsim.trainer.coordinator.accounts import ShardSave
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.appended import files_read
from cprsim.trainer.validation.quantile import midmean, quantile
from cprsim.trainer.validation.rehearsal import (
    BEFORE,
    LONG,
    SHORT,
    STRUCK,
    Rehearsal,
    Stretch,
    first_struck,
    strikes,
    struck,
)


class _Save(NamedTuple):
    """One that training waited for: of chosen rows or of everything, which counts as no rows.

    `rows`: of the fullest server. `after`: whether it follows a recovery. `merging`: servers that
    merge.
    """

    took_s: float
    rows: int
    chosen: bool
    after: bool
    merging: int


class RehearsalTimes:
    """Seconds of each kind of thing that a rehearsal does, carried out once or again and again.

    Each time counts with its quantile at one level over all runs, as do those of the runs that are
    predicted; of all of a kind counts the mean of the middle half.
    """

    def __init__(
        self, ran: Sequence[Trained], plan: Rehearsal, level: float, servers: int, hit: int = 1
    ) -> None:
        self._ran, self._script, self._level = ran, plan.script, level
        self._strikes, self._servers, self._hit = strikes(plan.script), servers, hit
        chooses = any(each.save.portion < 1 for each in plan.script)
        self._parts = list(self._parts_of_saves()) if chooses else []
        self._chains = _chains(self._parts)
        self._saves = list(self._all_saves())

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
        """Of a step: what long stretches take longer than short ones."""
        return max(self._quiet_s(LONG) - self._quiet_s(SHORT), 0.0) / (LONG - SHORT)

    @property
    def stretch_s(self) -> float:
        """Of a stretch besides its steps, where no failure is near."""
        return max(self._quiet_s(SHORT) - SHORT * self.step_s, 0.0)

    @property
    def struck_s(self) -> float:
        """Of a stretch that ends in a failure besides."""
        struck_s = midmean(spans[0] for each, _, spans in self._stretches() if each.returns)
        return max(struck_s - BEFORE * self.step_s - self.stretch_s, 0.0)

    @property
    def resumed_s(self) -> float:
        """Of a stretch after a recovery besides."""
        more_s = midmean(
            spans[1] - (STRUCK - (0 if each.returns == "all" else BEFORE)) * self.step_s
            for each, _, spans in self._stretches()
            if each.returns
        )
        return max(more_s - self.stretch_s, 0.0)

    def _stretches(self) -> Iterator[tuple[Stretch, int, list[float]]]:
        """Each with its steps and the spans of training in it: two if there is a failure."""
        spans, start = iter(self._seconds_of("train")), 0
        for each in self._script:
            yield each, each.end - start, [next(spans) for _ in range(1 + bool(each.returns))]
            start = each.end

    def _quiet_s(self, steps: int) -> float:
        """Of stretches without failures, but the first, which warms up."""
        first = self._script[0]
        return midmean(
            span_s
            for each, of, (span_s, *_) in self._stretches()
            if of == steps and each.returns is None and each is not first
        )

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
        return fmean(map(midmean, by_server.values()))

    @property
    def load_full_s(self) -> float:
        """Of a load of everything, with nothing appended."""
        return self._load_s("all")

    @property
    def load_partial_s(self) -> float:
        """Of a load of the lost shards, with nothing appended."""
        return self._load_s("lost")

    def _load_s(self, returns: Rollback) -> float:
        return _besides(self._loads(returns), _slope_s(self._loads(returns)))

    @property
    def append_s(self) -> float:
        """What each save of chosen rows that was appended has added to loads of lost shards."""
        return _slope_s(self._loads("lost"))

    def _loads(self, returns: Rollback) -> list[tuple[float, int]]:
        """Those that were so answered, each with how many saves were appended to what it read."""
        found = []
        read = {
            server: [0, *(files for _, files in chain)] for server, chain in self._chains.items()
        }
        loads_s = zip(self._seconds_of("load"), self._strikes, strict=True)
        for number, (took_s, each) in enumerate(loads_s):
            if each.returns == returns:
                lost = struck(number, self._servers, self._hit) if returns != "all" else read
                of_lost = [read[server][each.appended] for server in lost if read]
                found.append((took_s, max(of_lost, default=0)))
        return found

    # --- Saves ------------------------------------------------------------------------------------

    @property
    def save_s(self) -> float:
        """Of a save of everything that training waits for."""
        return _besides(self._plain(chosen=False, after=False), 0.0)

    @property
    def stall_s(self) -> float:
        """What a save in the background holds training up for: longer than before a failure."""
        runs = [
            sorted(span.lasted_s for span in run.spans if span.cause == "stall")
            for run in self._ran
        ]
        longest = [run_s[-len(self._script) :] for run_s in runs]
        return midmean(map(self._counting, zip(*longest, strict=True))) if all(longest) else 0.0

    @property
    def beside_s(self) -> float:
        """Of a load that training would go on beside, were it not pinned to steps."""
        return self._load_s("none") or self._load_s("lost")

    @property
    def chosen_s(self) -> float:
        """Of a save of chosen rows, but for what each row takes, where no server merges."""
        return _besides(self._plain(chosen=True, after=False), self.row_s)

    @property
    def row_s(self) -> float:
        """What each row of the fullest server adds to a save of chosen rows."""
        return _slope_s(self._plain(chosen=True, after=False))

    @property
    def resaved_s(self) -> float:
        """What the first save after a recovery takes longer than others of as many rows."""
        chosen = bool(self._chains)
        later, others = (self._plain(chosen=chosen, after=after) for after in (True, False))
        if not later:
            return 0.0
        return max(_besides(later, self.row_s) - _besides(others, self.row_s), 0.0)

    @property
    def merge_s(self) -> float:
        """What a save takes longer at which servers merge, but for what each of them takes.

        Where none has, it is what they would have to read and to write.
        """
        if not self._chains:
            return 0.0
        if merging := self._merging():
            return max(_besides(merging, self.merging_s), 0.0)
        files = max(files for chain in self._chains.values() for _, files in chain)
        return self.load_partial_s + files * self.append_s + self.save_s

    @property
    def merging_s(self) -> float:
        """What each server that merges adds to a save: they share cores, and the disk."""
        return _slope_s(self._merging())

    def _merging(self) -> list[tuple[float, int]]:
        """What saves take longer at which servers merge, and how many do."""
        chosen_s, row_s, resaved_s = self.chosen_s, self.row_s, self.resaved_s
        return [
            (each.took_s - chosen_s - each.rows * row_s - each.after * resaved_s, each.merging)
            for each in self._saves
            if each.merging
        ]

    def _plain(self, *, chosen: bool, after: bool) -> list[tuple[float, int]]:
        """Saves at which no server merges, and rows of the fullest server; see `_Save`."""
        return [
            (each.took_s, each.rows)
            for each in self._saves
            if each.chosen == chosen and each.after == after and not each.merging
        ]

    def _all_saves(self) -> Iterator[_Save]:
        """Those that training waited for, in order."""
        merging = Counter(
            part.step for chain in self._chains.values() for part, files in chain if not files
        )
        rows, saves_s = self._of_slowest(lambda part: part.rows or 0), self._seconds_of("save")
        for took_s, each in zip(saves_s, self._script, strict=bool(saves_s)):
            yield _Save(
                took_s=took_s,
                rows=int(rows.get(each.end, 0)),
                chosen=each.save.portion < 1,
                after=each.returns is not None,
                merging=merging[each.end],
            )

    @property
    def select_s(self) -> float:
        """What choosing the rows of a save takes."""
        return midmean(self._of_slowest(lambda part: part.select_s).values())

    @property
    def gather_s(self) -> float:
        """What collecting a million rows takes on one server."""
        gathered_s = self._of_slowest(lambda part: part.gather_s)
        rows = self._of_slowest(lambda part: part.rows or 0)
        return midmean(gathered_s.values()) / midmean(rows.values()) * GATHERED

    def _of_slowest(self, stage: Callable[[ShardSave], float]) -> dict[int, float]:
        """Of the slowest server's part of each save of chosen rows, by its step."""
        slowest: dict[int, float] = {}
        for part in self._parts:
            if part.rows is not None:
                slowest[part.step] = max(stage(part), slowest.get(part.step, 0.0))
        return slowest


def _slope_s(points: Sequence[tuple[float, int]]) -> float:
    """What each of something adds to what takes longer by it, seconds and how many; never less.

    The median slope of all pairs (Theil 1950; Sen 1968), which outliers leave alone.
    """
    slopes = [
        (later_s - sooner_s) / (more - fewer)
        for (sooner_s, fewer), (later_s, more) in combinations(points, 2)
        if more != fewer
    ]
    return max(median(slopes), 0.0) if slopes else 0.0


def _besides(points: Sequence[tuple[float, int]], each_s: float) -> float:
    """What is left of what takes `each_s` longer by each of something; 0 of none."""
    return midmean(took_s - count * each_s for took_s, count in points) if points else 0.0


def _chains(parts: Iterable[ShardSave]) -> dict[int, list[tuple[ShardSave, int]]]:
    """Saves of chosen rows by server, each with how many files a load reads beside a whole one.

    Whole saves come before those.
    """
    whole: dict[int, int] = {}
    chosen: dict[int, list[ShardSave]] = {}
    for part in parts:
        if part.rows is None:
            whole[part.server] = part.size
        else:
            chosen.setdefault(part.server, []).append(part)
    return {
        server: list(zip(of, files_read((each.size for each in of), whole[server]), strict=True))
        for server, of in chosen.items()
    }
