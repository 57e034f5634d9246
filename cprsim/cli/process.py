"""The process of a command: the streams that it has, and how it can be ended from outside."""

import io
import os
import signal
import sys
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any

from cprsim.basics.interrupts import INTERRUPTS

#: For the end of a command that was interrupted twice; then the system ends it.
_PATIENCE_S = 3
#: Until an interrupt comes again that could not be raised.
_MOMENT_S = 0.01
_INITIALISERS = {
    getattr(ExtensionFileLoader, name).__code__ for name in ("create_module", "exec_module")
}
_HANGUP = getattr(signal, "SIGHUP", None)
_STREAMS = ("stdin", "stdout", "stderr")


def open_streams() -> None:
    """Streams that were closed are there, and lead nowhere; no file takes their place."""
    for number, name in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    # Results go to files and stdout: a command that has written them has not failed.
    lossy = io.BufferedWriter(_Lossy(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(lossy, sys.stderr.encoding, errors="replace", line_buffering=True)


class _Lossy(io.FileIO):
    """A stream that drops what the system refuses: a full disk, a reader that has ended."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            written = super().write(data)
            if written is not None:  # else the stream does not wait, and its reader does
                return written
        return memoryview(data).nbytes


class Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP, which are a `KeyboardInterrupt`.

    After the second one the process ends soon, whatever it does, and with the third at once.
    """

    def __init__(self) -> None:
        self.came = 0
        #: All is done: an interrupt now just ends the process. Set it without any call in between.
        self.over = False

    def heed(self) -> None:
        """From now on; those that are ignored stay ignored, for nohup or in the background."""
        self._heeded = [each for each in INTERRUPTS if signal.getsignal(each) is not signal.SIG_IGN]
        for each in self._heeded:
            signal.signal(each, self._interrupt)
        self._complain = sys.unraisablehook
        sys.unraisablehook = self._dropped

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.came and number == _HANGUP:
            return  # a terminal that closes sends several, and nobody there is in a hurry
        self.came += 1  # before anything is called: the next one may come at any call
        if self.over or self.came > 1:
            for each in self._heeded:
                signal.signal(each, signal.SIG_DFL)
        if self.over:
            signal.raise_signal(number)
        self._raise(frame)

    def _raise(self, frame: FrameType | None) -> None:
        if _initialises(frame):
            self._raise_later()
            return
        if self.came > 1 and hasattr(signal, "alarm"):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_PATIENCE_S)
        raise KeyboardInterrupt

    def _raise_later(self) -> None:
        def again(_: int, frame: FrameType | None) -> None:
            if not self.over:
                self._raise(frame)

        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, _MOMENT_S)

    def _dropped(self, unraisable: Any) -> None:
        """Take an error that Python couldn't raise: an interrupt comes again, others are shown."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._raise_later()
        else:
            self._complain(unraisable)


def _initialises(frame: FrameType | None) -> bool:
    """Return whether a library in C is being imported: many turn an interrupt into an error."""
    while frame is not None:
        if frame.f_code in _INITIALISERS:
            return True
        frame = frame.f_back
    return False
