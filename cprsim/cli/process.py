"""The process of a command: the streams that it has, and how it can be ended from outside."""

import io
import os
import signal
import sys
from typing import NoReturn

from cprsim.basics.interrupts import INTERRUPTS

#: For the end of a command that was interrupted twice; then the system ends it.
_PATIENCE_S = 3
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
    """Ctrl-C, SIGTERM and SIGHUP are a `KeyboardInterrupt`; after the second one it ends soon."""
    for each in INTERRUPTS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # of nohup, or in the background
            signal.signal(each, _interrupt)


def heed_no_more() -> None:
    """Who is interrupted when all is done just ends."""
    for each in INTERRUPTS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)


def _interrupt(*_: object) -> NoReturn:
    for each in INTERRUPTS:
        if signal.getsignal(each) is _interrupt:
            # A terminal that closes sends several, and nobody is there who is in a hurry.
            of_terminal = each == getattr(signal, "SIGHUP", None)
            signal.signal(each, signal.SIG_IGN if of_terminal else _interrupt_again)
    raise KeyboardInterrupt


def _interrupt_again(*_: object) -> NoReturn:
    heed_no_more()  # the third one ends at once
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_PATIENCE_S)
    raise KeyboardInterrupt
