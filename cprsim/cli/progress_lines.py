"""How far a command is, on a stream that is no terminal: a line now and then."""

import threading
import time
from collections.abc import Callable

#: Between two lines, s.
EVERY_S = 20.0


class ProgressLines:
    """Lines from a thread, so that work without steps has them as well.

    `tell` writes a line; `clock` gives seconds; `wait` returns whether all is done, after so many
    seconds at most.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._tell, self._clock = tell, clock
        self._done = threading.Event()
        self._wait = self._done.wait if wait is None else wait
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._began_s = clock()
        self.what = self.count = ""

    def start(self) -> None:
        """Write lines from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._done.set()
        self._thread.join()

    def run(self) -> None:
        """Write a line now and then until all is done."""
        while not self._wait(EVERY_S):
            seconds = self._clock() - self._began_s
            self._tell(f"cprsim: {self.what}{self.count}, {seconds:,.0f} s so far")
