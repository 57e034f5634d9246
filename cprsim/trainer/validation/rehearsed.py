"""What a rehearsal took, by what its script did when."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from statistics import fmean, median

from cprsim.job.costs import GATHERED, Rollback
from cprsim.trainer.coordinator.accounts import ShardSave
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.appended import lengths
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
)


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
        self._parts = list(self._parts_of_saves())

    def _parts_of_saves(self) -> Iterator[ShardSave]:
        """Those that all runs have, in order of steps and servers."""
        runs = [{(part.step, part.server): part for part in run.parts} for run in self._ran]
        for key in sorted(set(runs[0]).intersection(*runs)):
            same = [run[key] for run in runs]
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
        if not self._loads(returns):  # of that kind there are none
            return 0.0
        slope_s = self._slope_s(returns)
        return midmean(took_s - length * slope_s for took_s, length in self._loads(returns))

    @property
    def append_s(self) -> float:
        """What each save of chosen rows that was appended has added to loads of lost shards."""
        return self._slope_s("lost")

    def _slope_s(self, returns: Rollback) -> float:
        """The median slope of all pairs (Theil 1950; Sen 1968), which outliers leave alone."""
        slopes = [
            (later_s - sooner_s) / (longer - shorter)
            for (sooner_s, shorter), (later_s, longer) in combinations(self._loads(returns), 2)
            if longer != shorter
        ]
        return max(median(slopes), 0.0) if slopes else 0.0

    def _loads(self, returns: Rollback) -> list[tuple[float, int]]:
        """Those that were so answered, each with how many saves were appended to what it read."""
        found = []
        appended = {server: _lengths(chain) for server, chain in _chains(self._parts).items()}
        loads_s = zip(self._seconds_of("load"), self._strikes, strict=True)
        for number, (took_s, each) in enumerate(loads_s):
            if each.returns == returns:
                loaded = self._struck_by(number) if returns != "all" else appended
                read = [appended[server][each.appended] for server in loaded if appended]
                found.append((took_s, max(read, default=0)))
        return found

    def _struck_by(self, number: int) -> list[int]:
        """Servers that the strike of that number kills."""
        first = first_struck(number, self._servers)
        return [(first + other) % self._servers for other in range(min(self._hit, self._servers))]

    # --- Saves ------------------------------------------------------------------------------------

    @property
    def save_s(self) -> float:
        """Of a save of everything that training waits for."""
        return self._plain_save_s(whole=True)

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
    def resaved_s(self) -> float:
        """What the first save after a recovery takes longer than others."""
        whole = self._script[-1].save.portion == 1
        later_s = self._plain_save_s(whole=whole, after=True)
        return max(later_s - self._plain_save_s(whole=whole), 0.0)

    def _plain_save_s(self, *, whole: bool, after: bool = False) -> float:
        """Of everything, or of chosen rows that no server merges; just after a recovery or not.

        0 where there are none, or servers merge at each of them.
        """
        merging, saves_s = _merging(self._parts), self._seconds_of("save")
        found = [
            took_s
            for took_s, each in zip(saves_s, self._script, strict=bool(saves_s))
            if (each.save.portion == 1) == whole
            and (each.returns is not None) == after
            and each.end not in merging
        ]
        return midmean(found) if found else 0.0

    @property
    def select_s(self) -> float:
        """What choosing the rows of a save takes."""
        return self._slowest(lambda part: part.select_s)

    @property
    def gather_s(self) -> float:
        """What collecting a million rows takes on one server."""
        gathered_s = self._slowest(lambda part: part.gather_s)
        return gathered_s / self._slowest(lambda part: part.rows or 0) * GATHERED

    @property
    def save_fixed_s(self) -> float:
        """What saves of chosen rows take beside choosing, collecting, and their share of the bytes.

        The share is of what they really wrote.
        """
        rows = self._slowest(lambda part: part.rows or 0)
        collecting_s = self.gather_s * rows / GATHERED
        whole = max(part.size for part in self._parts if part.rows is None)
        by_bytes_s = self.save_s * self._slowest(lambda part: part.size) / whole
        chosen_s = self._plain_save_s(whole=False)
        return max(chosen_s - by_bytes_s - self.select_s - collecting_s, 0.0)

    @property
    def merge_s(self) -> float | None:
        """What merging takes one server; None where none has."""
        written: dict[bool, list[float]] = {False: [], True: []}
        for chain in _chains(self._parts).values():
            for part, length in chain:
                written[length == 0].append(part.write_s)
        if not written[True] or not written[False]:
            return None
        return max(midmean(written[True]) - midmean(written[False]), 0.0)

    def _slowest(self, stage: Callable[[ShardSave], float]) -> float:
        """Of the slowest server's part of a save of chosen rows."""
        slowest: dict[int, float] = {}
        for part in self._parts:
            if part.rows is not None:
                slowest[part.step] = max(stage(part), slowest.get(part.step, 0.0))
        return midmean(slowest.values())


#: Of one server: saves of chosen rows, each with how many a load reads once it is there; 0 if it
#: was merged with those before it.
Chain = list[tuple[ShardSave, int]]


def _chains(parts: Iterable[ShardSave]) -> dict[int, Chain]:
    """Of each server that saves chosen rows; whole saves come before those."""
    whole: dict[int, int] = {}
    chosen: dict[int, list[ShardSave]] = {}
    for part in parts:
        if part.rows is None:
            whole[part.server] = part.size
        else:
            chosen.setdefault(part.server, []).append(part)
    return {
        server: list(zip(of, lengths((each.size for each in of), whole[server]), strict=True))
        for server, of in chosen.items()
    }


def _lengths(chain: Chain) -> list[int]:
    """What a load reads beside a whole save, after none, 1, 2, ... of chosen rows."""
    return [0, *(length for _, length in chain)]


def _merging(parts: Iterable[ShardSave]) -> set[int]:
    """Steps of the saves at which a server merges."""
    return {part.step for chain in _chains(parts).values() for part, length in chain if not length}
