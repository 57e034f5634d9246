"""The process of a command: the streams that it has, and how it can be ended from outside."""

import io
import os
import signal
import sys

from cprsim.basics.interrupts import INTERRUPTS

#: For the end of a command that was interrupted twice; then the system ends it.
_PATIENCE_S = 3
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


def heed_interrupts() -> None:
    """Ctrl-C, SIGTERM and SIGHUP are a `KeyboardInterrupt`.

    After the second one the process ends soon, whatever it does, and with the third at once.
    """
    came = 0

    def interrupt(number: int, _: object) -> None:
        nonlocal came
        if came and number == _HANGUP:
            return  # a terminal that closes sends several, and nobody there is in a hurry
        came += 1  # before anything is called: the next one may come at any call
        if came > 1:
            heed_no_more()
            if hasattr(signal, "alarm"):
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(_PATIENCE_S)
        raise KeyboardInterrupt

    for each in INTERRUPTS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # of nohup, or in the background
            signal.signal(each, interrupt)


def heed_no_more() -> None:
    """Who is interrupted when all is done just ends."""
    for each in INTERRUPTS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)
