"""Interrupts at any instant: no lock is left taken, so what is under way can end."""

import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from itertools import count, repeat

import pytest

from cprsim.basics.interrupts import Ended, Threads
from cprsim.sweeps.driver import Driver
from cprsim.sweeps.tasks import Task
from tests.waiting import HANGS_S


def interrupted(instant: int, act: Callable[[], None]) -> int:
    """At that one of the instants at which this thread calls something, or has called it.

    An interrupt that comes while something in C is called is raised once that has returned. Returns
    how many instants there were.
    """
    met = 0

    def note(_frame: object, _event: str, _argument: object) -> None:
        nonlocal met
        met += 1
        if met == instant + 1:
            signal.raise_signal(signal.SIGINT)

    with suppress(KeyboardInterrupt):
        sys.setprofile(note)
        try:
            act()
        finally:
            sys.setprofile(None)
    return met


def at_any_instant(make: Callable[[], tuple[Callable[[], None], Callable[[], None]]]) -> int:
    """Interrupt one thing at each of its instants, and see that the other comes to an end."""
    for instant in count():
        act, end = make()
        # Whoever runs the tests in the background has them ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            met = interrupted(instant, act)
        finally:
            signal.signal(signal.SIGINT, before)
        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        thread.join(HANGS_S)
        assert not thread.is_alive(), f"interrupted at instant {instant}, something hangs"
        if met <= instant:
            return instant
    raise AssertionError


@pytest.mark.slow
def test_futures_that_are_watched_can_end():
    def make():
        futures = [Future(), Future()]

        def watch():
            ended = Ended[int]()
            for each in futures:
                ended.watch(each)
            ended.next_within(0.0)

        def end():
            for each in futures:
                each.set_result(1)

        return watch, end

    assert at_any_instant(make) > 20


def test_who_was_interrupted_may_wait_again():
    def make():
        ended, futures = Ended[int](), [Future(), Future()]
        for each in futures:
            ended.watch(each)
            each.set_result(1)

        def wait():
            for each in futures:
                ended.wait(each)
                assert each in ended

        return wait, wait

    assert at_any_instant(make) > 5


@pytest.mark.slow
def test_threads_can_end():
    def make():
        threads = Threads(2)
        return lambda: threads.submit(int) and None, threads.shutdown

    assert at_any_instant(make) > 20


class Never(Executor):
    """Ends no task before it is shut down, then all."""

    def __init__(self) -> None:
        self._futures: list[Future[int]] = []

    def submit(self, _fn, /, *_args, **_kwargs):
        self._futures.append(Future())
        return self._futures[-1]

    def shutdown(self, wait=True, *, cancel_futures=False):
        end = threading.Thread(target=self.end, daemon=True)
        end.start()
        end.join(HANGS_S)
        assert not end.is_alive()

    def end(self) -> None:
        for each in self._futures:
            each.set_result(1)


class OfNever:
    """A pool of it."""

    window = 2

    def open(self) -> Executor:
        return Never()


@pytest.mark.slow
def test_a_sweep_can_end():
    def make():
        outcomes = Driver(OfNever(), repeat(Task(0, "", ("full",), 1, None, 0)), print).outcomes()
        return lambda: next(outcomes) and None, outcomes.close

    assert at_any_instant(make) > 40


def test_results_come_in_the_order_in_which_they_are_asked_for():
    ended, futures = Ended[int](), [Future(), Future(), Future()]
    for each in futures:
        ended.watch(each)
    for number in (2, 0, 1):
        futures[number].set_result(number)

    assert [ended.result(each) for each in futures] == [0, 1, 2]


def test_next_is_in_the_order_in_which_they_end():
    ended, futures = Ended[int](), [Future(), Future()]
    for each in futures:
        ended.watch(each)
    futures[1].set_result(1)

    assert ended.next() is futures[1]
    assert ended.next_within(0.0) is None
