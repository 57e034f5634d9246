"""The time of one run: work in the foreground, transfers in the background, failures that cut in.

One timeout at a time, for whatever comes first: the end of the work, of a background transfer, or
the next failure. So nothing is ever interrupted, and no dead event is left in SimPy's queue.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

import simpy

from cprsim.contract import Recover
from cprsim.contract.ledger import CAUSES
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import Cursor
from cprsim.job.transfer import Transfer
from cprsim.sim.fabric import Fabric, Flow
from cprsim.sim.observer import BackgroundTask, Observer

#: A wait that draws on no link; its volume is in seconds.
WAIT = Transfer(0.0, cap=1.0)
Process = Generator[simpy.Event, Any, Any]
#: What is done when a background transfer ends.
OnEnd = Callable[[Flow], None]
#: Told what was moved of the work in the foreground, before anything is done about those that end.
Moved = Callable[[float], None]


class _Background(NamedTuple):
    """A task in the background, if observers see it, since when, and what is done at its end."""

    task: BackgroundTask | None
    start_s: float
    on_end: OnEnd


class Work:
    """Work on the wall clock of one run.

    `now`: wall-clock seconds since the start, absolute (SimPy's own clock is the same but for the
    rounding of its timeouts). `spent`: foreground seconds by cause. `news`: set when a background
    transfer ends; whoever waits for that clears it. `cut`: whether a failure ended the last
    uncontended work.
    """

    def __init__(
        self,
        env: simpy.Environment,
        cursor: Cursor,
        capacities: Mapping[str, float],
        observer: Observer | None,
    ) -> None:
        self.now = 0.0
        self.spent = dict.fromkeys(CAUSES, 0.0)
        self.news = False
        self.cut = False
        self.background: dict[Flow, _Background] = {}
        self._timeout = env.timeout
        self._cursor = cursor
        self._capacities = capacities
        self._fabric: Fabric | None = None  # made for the first background transfer
        self._observer = observer

    def do(
        self,
        cause: str,
        transfer: Transfer,
        volume: float,
        rate: float,
        moved: Moved | None = None,
    ) -> Process:
        """Do `volume` of `transfer`, up to a failure; charge the time; return what was done.

        `rate` is what the transfer does per second with its links to itself. Training also stops
        when a background transfer ends, since that is news for the policy.
        """
        if not volume:
            return 0.0
        start = self.now
        if not self.background:
            yield self.uncontended(cause, volume / rate)
            return (self.now - start) * rate if self.cut else volume
        done = yield from self._share(cause, transfer, volume, moved)
        self._charge(cause, start)
        return done

    def uncontended(self, cause: str, seconds: float) -> simpy.Event:
        """The end of `seconds` of work with no transfer in the background, or a failure before it.

        Nothing else can come in between, so `now` and the account are moved on at once, before the
        event that is returned is waited for. `cut` says whether it is a failure.
        """
        start, strike = self.now, self._cursor.next_s
        end = start + seconds
        self.cut = end > strike  # at the same instant the end comes first
        if self.cut:
            end = strike
        self.now = end
        self.spent[cause] += end - start  # as `_charge` does; a call would show in every phase
        if self._observer is not None:
            self._observer.span(cause, start, end)
        return self._timeout(end - start)

    def await_background(self, cause: str) -> Process:
        """Wait for the next background transfer to end, or for a failure."""
        start = self.now
        yield from self._step()
        self._charge(cause, start)

    def start(
        self,
        task: BackgroundTask | None,
        transfer: Transfer,
        on_end: OnEnd,
        volume: float | None = None,
    ) -> Flow:
        """Start `transfer`, or only `volume` of it, in the background; observers see a `task`."""
        if self._fabric is None:
            self._fabric = Fabric(self._capacities)
        flow = self._fabric.open(transfer, self.now, volume)
        self.background[flow] = _Background(task, self.now, on_end)
        return flow

    def settle(self, foreground: Flow | None = None, moved: Moved | None = None) -> None:
        """Move all transfers on to now, and see off those in the background that end by then.

        Called after a start, it ends what takes no time before anything else happens.
        """
        assert self._fabric is not None
        ended = self._fabric.advance(self.now)
        if ended and foreground is not None and moved is not None:
            moved(foreground.done)
        while ended:  # what one of them starts may take no time either
            for flow in ended:
                if flow is not foreground:
                    self.news = True
                    self._leave(flow, completed=True).on_end(flow)
            ended = self._fabric.advance(self.now)

    def abandon(self, flow: Flow) -> None:
        """Give a background transfer up."""
        assert self._fabric is not None
        self._fabric.close(flow, self.now)
        self._leave(flow, completed=False)

    def end(self) -> None:
        """The job is done; what is still under way in the background is given up."""
        for flow in list(self.background):
            self.abandon(flow)

    def see_slowdown(self, by_s: float) -> None:
        """Show by how much the training that has just been done was slowed."""
        if self._observer is not None:
            self._observer.slowed(by_s)

    def see_answer(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """Show what is done about a failure, and what training counts from now on."""
        if self._observer is not None:
            self._observer.answered(answer, progress_s, slowdown_s)

    def see_failure(self, hit: Hit) -> None:
        """Show a failure that strikes now to the observer."""
        if self._observer is not None:
            self._observer.failure(self.now, hit)

    def _share(self, cause: str, transfer: Transfer, volume: float, moved: Moved | None) -> Process:
        """Do work beside background transfers, with which it shares the links."""
        assert self._fabric is not None
        flow = self._fabric.open(transfer, self.now, volume)
        self.news = False
        while True:
            failed = yield from self._step(flow, moved)
            if flow.ends_at <= self.now:
                return volume
            if failed or (self.news and cause == "train"):
                self._fabric.close(flow, self.now)
                return flow.done

    def _step(self, foreground: Flow | None = None, moved: Moved | None = None) -> Process:
        """Go on to the next end of any transfer or the next failure; whether it is a failure."""
        assert self._fabric is not None
        start, end, strike = self.now, self._fabric.next_end_s, self._cursor.next_s
        self.now = min(end, strike)
        yield self._timeout(self.now - start)
        self.settle(foreground, moved)
        return strike < end

    def _leave(self, flow: Flow, completed: bool) -> _Background:
        """A background transfer ends."""
        left = self.background.pop(flow)
        if self._observer is not None and left.task is not None:
            self._observer.background(left.task, left.start_s, self.now, completed)
        return left

    def _charge(self, cause: str, start_s: float) -> None:
        """The time from `start_s` to now went to `cause`."""
        self.spent[cause] += self.now - start_s
        if self._observer is not None:
            self._observer.span(cause, start_s, self.now)
