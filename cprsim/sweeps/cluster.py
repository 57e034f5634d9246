"""Tasks on a dask.distributed cluster, known by its scheduler's address (extra `cluster`)."""

import logging
import re
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from cprsim.errors import RunError, UsageError

P = ParamSpec("P")
T = TypeVar("T")

#: Tasks in flight; enough for some hundred workers, and few to do again.
WINDOW = 256
_CONNECT_S = 5.0
_WORKERS_S = 15.0  # for the first worker to be there, when the sweep starts
#: Each has another level in dask's configuration.
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+:\d+")


class DaskCluster:
    """A running cluster, connected to when it is first needed and again when it was lost.

    `address`: of the scheduler, `tcp://HOST:PORT`; with `tls://` the certificates are those that
    dask's configuration names. `patience_s`: how long a scheduler that was there may be gone, or be
    without workers.
    """

    def __init__(self, address: str, patience_s: float = 600.0) -> None:
        if not _ADDRESS.fullmatch(address):
            raise UsageError(f"--scheduler {address!r}: write tcp://HOST:PORT or tls://HOST:PORT")
        try:
            import distributed  # noqa: PLC0415  (an extra)
        except ImportError:
            raise UsageError(
                "--scheduler needs dask.distributed: pip install 'cprsim[cluster]'"
            ) from None
        for name in _LOGGERS:  # a sweep reports what is lost; tracebacks of dask's threads add none
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._client_of: Any = distributed.Client
        self._address, self._patience_s, self._met = address, patience_s, False

    def open(self) -> Executor:
        """Return a new connection.

        Raises `UsageError` if nothing answers at the address, or workers lack this cprsim,
        `RunError` if the scheduler was there and stays away.
        """
        deadline_s = time.monotonic() + (self._patience_s if self._met else _WORKERS_S)
        while (left_s := deadline_s - time.monotonic()) > 0:
            try:
                client = self._connected(left_s)
            except (TypeError, ValueError) as error:  # of dask's configuration, such as no TLS
                raise UsageError(f"--scheduler {self._address}: {error}") from None
            except OSError:
                if not self._met:
                    break
                time.sleep(1.0)
            else:
                self._met = True
                return _OnCluster(client)
        if self._met:
            raise RunError(
                f"scheduler {self._address}: gone for {self._patience_s:.0f} s; what was stored is "
                "safe: give the same command again when it is back"
            )
        raise UsageError(
            f"--scheduler {self._address}: no scheduler with workers answers; start them with "
            "dask scheduler and dask worker"
        )

    def _connected(self, patience_s: float) -> Any:
        """A client, once there are workers; `OSError` (a `TimeoutError` is one) if not in time."""
        timeout_s = max(min(patience_s, _CONNECT_S), 1.0)
        client = self._client_of(self._address, timeout=timeout_s, set_as_default=False)
        try:
            client.wait_for_workers(1, timeout=max(patience_s, 1.0))
            client.run(_imported)  # of another version `perform` says so
        except BaseException as error:
            client.close(timeout=1)
            if isinstance(error, ImportError | AttributeError):
                raise UsageError(
                    f"--scheduler: its workers can't import this cprsim ({error}); install it there"
                ) from None
            raise
        return client


class _OnCluster(Executor):
    """dask's own executor, and the client that it came from."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Not pure: dask is to keep no result for a task that is submitted again.
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        if self._client.status != "running":
            raise ConnectionError(f"the scheduler is gone ({self._client.status})")
        return self._executor.submit(fn, *args, **kwargs)  # type: ignore[no-any-return]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        self._client.close(timeout=1)  # the scheduler forgets a client's tasks with it


def _imported() -> None:
    """Do nothing; a worker imports it by its name."""
