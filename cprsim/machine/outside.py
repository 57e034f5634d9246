"""Those outside who watch a run, or decide in it. The compiled engine leaves these calls out."""

from typing import Any

from cprsim.machine.rows import Running


def span(it: Running, cause: int, start_s: float, end_s: float) -> None:
    """Tell where time went."""
    it.outside.span(cause, start_s, end_s)


def slowed(it: Running, by_s: float) -> None:
    """Tell by how much the training of the last span was slowed."""
    it.outside.slowed(by_s)


def failure(it: Running) -> None:
    """Tell of a failure that strikes now: those in the list of the struck."""
    it.outside.failure()


def answered(it: Running, answer: int) -> None:
    """Tell what is done about the last failure, or about a silent fault."""
    it.outside.answered(answer)


def ended(it: Running, flow: Any, completed: bool) -> None:
    """Tell of a flow that ends or is given up."""
    it.outside.ended(flow, completed)


def given_up(it: Running, why: int) -> None:
    """Tell why the run is given up."""
    it.outside.given_up(why)


# --- To a controller of its own ------------------------------------------------------------------


def decide(it: Running) -> None:
    """Do what it asks for."""
    it.outside.decide()


def answer(it: Running, down: int) -> int:
    """Ask it about who is down, in a list; the number of its answer."""
    number: int = it.outside.answer(down)
    return number


def by_rule(it: Running, down: int) -> int:
    """The number of the answer that the plan's rule has."""
    number: int = it.outside.by_rule(down)
    return number


def noticed(it: Running, deadline_s: float, alarm: int) -> None:
    """A failure of the struck is announced, or that false alarm comes."""
    it.outside.noticed(deadline_s, alarm)


def saved(it: Running, save: int, stored: bool) -> None:
    """Training may go on after a save."""
    it.outside.saved(save, stored)


def landed(it: Running, save: int) -> None:
    """The last byte of a background save is stored."""
    it.outside.landed(save)


def skipped(it: Running, save: int) -> None:
    """A save has turned out void, and is not tried again."""
    it.outside.skipped(save)


def unusable(it: Running, tier: int, corrupt: bool) -> None:
    """A tier's last checkpoint is of no use."""
    it.outside.unusable(tier, corrupt)


def resumed(it: Running, tier: int, anew: bool) -> None:
    """Training goes on after a recovery, or in another allocation."""
    it.outside.resumed(tier, anew)


# --- To a timeline of another kind ----------------------------------------------------------------


def begin_failures(it: Running) -> None:
    """The job runs from now on."""
    it.outside.begin_failures()


def look_ahead(it: Running) -> None:
    """List whom the next failure is to take down."""
    it.outside.look_ahead()


def strike(it: Running) -> None:
    """List whom the failure at this instant takes down."""
    it.outside.strike()


def replace(it: Running, nodes: int) -> None:
    """The nodes of a list are placed anew."""
    it.outside.replace(nodes)


def resume(it: Running) -> None:
    """The job can be hit again."""
    it.outside.resume()


def pause(it: Running) -> None:
    """The job runs on no nodes."""
    it.outside.pause()


def go_on(it: Running) -> None:
    """It runs again after a pause."""
    it.outside.go_on()
