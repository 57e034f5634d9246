"""The first import of the process that members are forked from: it watches the starter.

Python's fork server learns that its starter has ended only after its last import, and torch takes
seconds. Until then a thread looks; `preloading.done`, the last import, stops the thread, since
members are not to be forked from a process with threads.
"""

import os
import threading

from cprsim.trainer.lab.forking import STARTER

_AGAIN_S = 0.2

_imported = threading.Event()


def _watch(starter: int) -> None:
    while not _imported.wait(_AGAIN_S):
        if os.getppid() != starter:
            os._exit(1)


def stop() -> None:
    """Stop watching the starter; return when the thread has ended."""
    _imported.set()
    _thread.join()


_thread = threading.Thread(target=_watch, args=(int(os.environ[STARTER]),), daemon=True)
_thread.start()
