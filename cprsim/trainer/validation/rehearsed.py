"""What a rehearsal took, by what its script did when."""

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from statistics import fmean, median, pstdev
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from cprsim.failures.hit import Hit
from cprsim.job.costs import GATHERED
from cprsim.trainer.coordinator.accounts import ShardSave
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.appended import (
    NOTHING,
    AfterSave,
    Chain,
    ReadingTime,
    chains,
    sharing,
)
from cprsim.trainer.validation.longness import USUAL, Newness, longness
from cprsim.trainer.validation.pace import paces
from cprsim.trainer.validation.rehearsal import (
    BEFORE,
    ONE_SERVER,
    Rehearsal,
    Strike,
    strikes,
    struck,
)

#: Times that are off by more than so many median distances, 3.4 standard deviations of a normal
#: law, count for less. Huber's (1964) bound is 1.345 of those; but sums of runs have all times, and
#: what is long each time a rehearsal is repeated is so in runs, too.
_USUAL = 5.0
#: Of the largest time: what is off by less is rounding. Rounds of weighing, which soon settle.
_ROUNDING, _ROUNDS = 1e-9, 30
#: Of the mean: where rows of saves vary less, nothing tells what one takes. From the few saves that
#: had fewer rows than all others, what such saves take was predicted far too short.
_VARYING = 0.05


class _Stretch(NamedTuple):
    """What a stretch of training takes: each step; after a save or a recovery; the first of all.

    `slow_s`: beside its steps, times its `longness`.
    """

    step_s: float
    slow_s: float
    stretch_s: float
    resumed_s: float
    warm_s: float


class _Load(NamedTuple):
    """What a load takes: whole files, of lost servers, of all, or of none (filled beside training).

    Or, of a lost trainer alone, its dense part. And, of a lost server, each file of chosen rows,
    each of its rows, and any such file; and each server beyond the mean number that is lost.
    """

    lost_s: float = 0.0
    all_s: float = 0.0
    none_s: float = 0.0
    trainer_s: float = 0.0
    file_s: float = 0.0
    row_s: float = 0.0
    any_s: float = 0.0
    further_s: float = 0.0

    @property
    def reading(self) -> ReadingTime:
        """What appended files add."""
        return ReadingTime(self.any_s, self.file_s, self.row_s)


class _Save(NamedTuple):
    """What a save takes: `least_s`, and besides for each 1 of `Newness`, and of `longness`.

    `row_s`: besides, for each row of the fullest server. `merge_s`: besides, where no more servers
    merge than there are cores, but for reading.
    """

    least_s: float = 0.0
    new_s: float = 0.0
    row_s: float = 0.0
    merge_s: float = 0.0
    long_s: float = 0.0

    @property
    def usual_s(self) -> float:
        """Of one after a usual stretch of training, by servers that aren't new."""
        return self.least_s + self.long_s * longness(USUAL)


class RehearsalTimes:
    """Seconds of each kind of thing that a rehearsal does, carried out once or again and again.

    Each time counts with its median over all runs, all at one pace, as do those of the runs that
    are predicted. What each of several causes adds is fitted.
    """

    def __init__(
        self,
        ran: Sequence[Trained],
        plan: Rehearsal,
        servers: int,
        hits: Sequence[Hit] = (ONE_SERVER,),
    ) -> None:
        self._ran, self._paces = ran, paces(ran)
        self._script, self._strikes = plan.script, strikes(plan.script)
        self._servers = servers
        # Of the job's failures: the share of the trainer's; how many servers the others have.
        self._of_trainer = _mean(not hit.servers for hit in hits)
        self._hit = _mean(min(len(hit.servers), servers) for hit in hits if hit.servers)
        self._struck = [struck(number, servers, hits) for number in range(len(self._strikes))]
        # All runs have the same parts of saves where training waits for them.
        chooses = any(each.save.portion < 1 for each in plan.script)
        self._parts = [_in_order(run.parts) if chooses else [] for run in ran]
        self._stored = _stored(self._parts[0])

    def seconds(self) -> dict[str, float]:
        """All there are, by their names in `Calibration`."""
        load = self._load()
        whole = self._save(load.reading, chosen=False)
        found = {
            **self._stretch()._asdict(),
            "save_s": whole.usual_s,
            "new_s": whole.new_s,
            "long_s": whole.long_s,
            "stall_s": self._stall_s(),
            "load_full_s": load.all_s,
            "load_partial_s": load.lost_s if self._hit else load.all_s,
            "load_trainer_s": load.trainer_s,
            # What training would go on beside, were it not pinned to steps.
            "beside_s": load.none_s or load.lost_s,
            "reschedule_s": self._of_failures("reschedule"),
            "detect_s": self._of_failures("detect"),
        }
        if not self._stored:
            return found
        chosen = self._save(load.reading, chosen=True)
        merged = any(each.merged for of in self._stored.values() for each in of)
        # Who never merged would have to read and to write everything, as nobody beside it does.
        of_all_s = load.all_s / sharing(self._servers)
        of_one_s = load.lost_s - load.further_s * (self._hit - 1) if self._hit else of_all_s
        alone_s = of_one_s + whole.usual_s / sharing(self._servers)
        merge_s = chosen.merge_s if merged else alone_s
        return found | {
            "chosen_s": chosen.usual_s,
            "new_s": chosen.new_s if self._hit else whole.new_s,
            "long_s": chosen.long_s,
            "row_s": chosen.row_s,
            "merge_s": merge_s,
            "appended_s": load.any_s,
            "append_s": load.file_s,
            "append_row_s": load.row_s,
            "select_s": _usual_s(self._slowest("select_s").values()),
            "gather_s": self._gather_s(),
        }

    def _seconds_of(self, cause: str) -> list[float]:
        """All times that went to one cause, in order."""
        return self._counting(
            [span.lasted_s for span in run.spans if span.cause == cause] for run in self._ran
        )

    def _counting(self, runs: Iterable[Sequence[float]]) -> list[float]:
        """What counts of the same times in each run."""
        at_pace = [
            [took_s / pace for took_s in run] for run, pace in zip(runs, self._paces, strict=True)
        ]
        return [median(same) for same in zip(*at_pace, strict=True)]

    # --- Training and recovery --------------------------------------------------------------------

    def _stretch(self) -> _Stretch:
        causes, start, hits = list[tuple[float, ...]](), 0, iter(self._struck)
        for each in self._script:
            steps, first = each.end - start, not start
            if each.returns is None:
                causes.append((steps, longness(steps), 1, 0, 0, first))
            else:
                new = bool(next(hits).trainers)  # its caches are cold, too
                causes.append((BEFORE, longness(BEFORE), 1, 0, 0, first))
                rest = steps - BEFORE + each.again
                causes.append((rest, longness(rest), 0, not new, new, 0))
            start = each.end
        # The last step of the job is in no stretch.
        found = _each_s(self._seconds_of("train")[: len(causes)], causes)
        step_s, slow_s, stretch_s, of_servers_s, of_trainer_s, warm_s = found
        resumed_s = self._of_any(of_trainer_s, of_servers_s)
        return _Stretch(step_s, slow_s, stretch_s, resumed_s, warm_s)

    def _of_failures(self, cause: str) -> float:
        """The mean over failures like the job's: who is lost makes a difference, and how many."""
        firsts = sorted({hit.servers[:1] for hit in self._struck} - {()})
        causes = [
            (not hit.servers, self._further(hit), *(hit.servers[:1] == one for one in firsts))
            for hit in self._struck
        ]
        trainer_s, _, *of_servers_s = _each_s(self._seconds_of(cause), causes)
        return self._of_any(trainer_s, _mean(of_servers_s))

    def _of_any(self, trainer_s: float, servers_s: float) -> float:
        """The mean over the job's failures, those of the trainer and those of servers."""
        return self._of_trainer * trainer_s + (1 - self._of_trainer) * servers_s

    def _further(self, hit: Hit) -> float:
        """How many servers it has beyond the mean of those with any."""
        return len(hit.servers) - self._hit if hit.servers else 0.0

    def _load(self) -> _Load:
        causes = []
        for hit, each in zip(self._struck, self._strikes, strict=True):
            all_ = each.returns == "all"
            whose = range(self._servers) if all_ else hit.servers
            longest = max((self._appended(server, each) for server in whose), default=NOTHING)
            answers = [bool(whose) and each.returns == one for one in ("lost", "all", "none")]
            read = [sharing(len(whose)) * one for one in (*longest, longest.files > 0)]
            causes.append((*answers, not whose, *read, 0.0 if all_ else self._further(hit)))
        return _Load(*_each_s(self._seconds_of("load"), causes))

    def _appended(self, server: int, strike: Strike) -> Chain:
        """What a load of a server reads that is struck then."""
        if not self._stored or not strike.appended:
            return NOTHING
        return self._stored[server][strike.appended - 1].left

    # --- Saves ------------------------------------------------------------------------------------

    def _save(self, reading: ReadingTime, *, chosen: bool) -> _Save:
        """What saves of everything take, or of chosen rows, but for what is read to be merged."""
        rows, saves_s = self._rows(), self._seconds_of("save")
        if not _vary(rows.values()):
            rows = {}
        stored = zip(*self._stored.values(), strict=True)
        took_s, causes, start, hits = [], [], 0, iter(self._struck)
        newness = Newness(self._servers)
        for save_s, each in zip(saves_s, self._script, strict=bool(saves_s)):
            steps, start = each.end - start + each.again, each.end
            if each.returns is not None:
                newness.failed(next(hits))
            new = newness.saved()
            if (each.save.portion < 1) == chosen:
                of_servers = next(stored) if chosen else ()
                merged = [one.merged for one in of_servers if one.merged]
                took_s.append(save_s - reading.of(merged))
                of_merging = sharing(len(merged))
                causes.append((1, new, rows.get(each.end, 0), of_merging, longness(steps)))
        return _Save(*_each_s(took_s, causes))

    def _rows(self) -> dict[int, int]:
        """Of the fullest server, by the step of a save of chosen rows."""
        rows: dict[int, int] = {}
        for part in self._parts[0]:
            if part.rows is not None:
                rows[part.step] = max(part.rows, rows.get(part.step, 0))
        return rows

    def _stall_s(self) -> float:
        """What a save in the background holds training up for: longer than before a failure."""
        runs = [
            sorted(span.lasted_s for span in run.spans if span.cause == "stall")
            for run in self._ran
        ]
        longest = [run_s[-len(self._script) :] for run_s in runs]
        return _usual_s(self._counting(longest)) if all(longest) else 0.0

    def _gather_s(self) -> float:
        """What collecting a million rows takes on one server."""
        rows = fmean(self._rows().values())
        return _usual_s(self._slowest("gather_s").values()) / rows * GATHERED

    def _slowest(self, stage: str) -> dict[int, float]:
        """Of the slowest server's part of each save of chosen rows, by its step."""
        slowest: dict[int, float] = {}
        stages_s = self._counting([getattr(part, stage) for part in of] for of in self._parts)
        for part, took_s in zip(self._parts[0], stages_s, strict=True):
            if part.rows is not None:
                slowest[part.step] = max(took_s, slowest.get(part.step, 0.0))
        return slowest


def _each_s(took_s: Sequence[float], causes: Sequence[tuple[float, ...]]) -> list[float]:
    """What each cause adds, never less than nothing: by least squares, but for what is far off.

    Lawson and Hanson (1974), weighed as Huber (1964) does. `causes`: how often each was there, of
    each time. Nothing of nothing.
    """
    if not took_s:
        return []
    counts, took = np.array(causes, float), np.array(took_s)
    largest = np.maximum(counts.max(axis=0), 1.0)
    counts, root = counts / largest, np.ones(len(took))
    for _ in range(_ROUNDS):
        found, _ = nnls(counts * root[:, None], took * root)
        off = np.abs(took - counts @ found)
        bound = max(_USUAL * float(np.median(off)), _ROUNDING * float(took.max()), 1e-300)
        root = np.sqrt(bound / np.maximum(off, bound))
    return [float(each) for each in found / largest]


def _vary(rows: Collection[int]) -> bool:
    """Whether anything tells what a row takes from what a save does."""
    return bool(rows) and pstdev(rows) > _VARYING * fmean(rows)


def _mean(values: Iterable[float]) -> float:
    """Nothing of nothing."""
    found = list(values)
    return fmean(found) if found else 0.0


def _usual_s(times: Iterable[float]) -> float:
    """The mean, but for what is far off."""
    took_s = list(times)
    return _each_s(took_s, [(1,)] * len(took_s))[0]


def _in_order(parts: Sequence[ShardSave]) -> list[ShardSave]:
    return sorted(parts, key=attrgetter("step", "server"))


def _stored(parts: Iterable[ShardSave]) -> dict[int, list[AfterSave]]:
    """What is stored after each save of chosen rows, by server; whole saves come before those."""
    whole: dict[int, int] = {}
    chosen: dict[int, list[tuple[int, int]]] = {}
    for part in parts:
        if part.rows is None:
            whole[part.server] = part.size
        else:
            chosen.setdefault(part.server, []).append((part.size, part.rows))
    return {server: list(chains(of, whole[server])) for server, of in chosen.items()}
