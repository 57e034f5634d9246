"""Processes that are forked from one that has torch imported, which takes four seconds.

`python -m tests.trainer.forks` forks a process for each line that it reads, a JSON list: `start`, a
file for what the process says, a module with a function `main`, and its arguments; it is answered
by the id of the process. Or `wait` and such an id, which is answered by its exit code.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

_ROOT = Path(__file__).parents[2]


class Forks:
    """The server of forks, as tests use it."""

    def __init__(self, folder):
        self._folder, self._said, self._left = folder, {}, set()
        command = [sys.executable, "-m", __name__]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._server = subprocess.Popen(command, cwd=_ROOT, **pipes)

    def start(self, module, *given):
        """The id of a process that runs `main` of a module."""
        said = self._folder / str(len(self._said))
        paths = [str(each) if isinstance(each, Path) else each for each in given]
        process = self._ask("start", str(said), module, *paths)
        self._said[process] = said
        self._left.add(process)
        return process

    def ended(self, process):
        """The exit code of a process, and what it said."""
        code = self._ask("wait", process)
        self._left.remove(process)
        return code, self._said[process].read_text()

    def close(self):
        for each in self._left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._server.communicate()

    def _ask(self, *order):
        self._server.stdin.write(f"{json.dumps(order)}\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


def forked(said, module, *given):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with Path(said).open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        importlib.import_module(module).main(*given)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve():
    import torch

    from tests.trainer import elastic, foreign_loops, gloo_job  # noqa: F401

    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.disable()
    elastic.warm()
    for line in sys.stdin:
        order, *given = json.loads(line)
        found = forked(*given) if order == "start" else os.waitpid(*given, 0)[1]
        code = found if order == "start" else os.waitstatus_to_exitcode(found)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
