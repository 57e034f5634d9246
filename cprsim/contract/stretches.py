"""What a controller sees of its job from one save to the next."""

from typing import NamedTuple

from cprsim.contract.actions import Clock


class Piece(NamedTuple):
    """Useful seconds of training, and what the wall clock showed beyond them."""

    trained_s: float
    saving_s: float


class Stretches:
    """Cuts the time of a job where it is told to."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = Clock(0.0, 0.0)

    def cut(self, now: Clock) -> Piece:
        """The stretch that ends now; the next begins."""
        trained_s = now.progress_s - self._since.progress_s
        saving_s = now.wall_s - self._since.wall_s - trained_s
        self._since = now
        return Piece(trained_s, saving_s)
