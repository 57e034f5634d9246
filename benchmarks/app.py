"""What the what-if page takes to answer a move, beside a plain run of what it plays."""

import http.client
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import cprsim
from cprsim.app.answers import Answering
from cprsim.app.page_model import PageModel
from cprsim.app.server import AppServer

#: What is moved of each, and how its values are written.
_MOVES = {
    "quickstart": ("failures.mean", "{} h"),
    "criteo-kaggle": ("costs.save", "{} min"),
    "all-systems": ("failures.mean", "{} h"),
}
_ROUNDS = 15
#: Between two moves, s: the advisor has begun with the one before.
_PAUSE_S = 1.0


class Move(NamedTuple):
    """Medians of some moves, ms: to the first answer, to the sharp one, and of the run alone."""

    scenario: str
    first_ms: float
    sharp_ms: float
    run_ms: float


def moves() -> list[Move]:
    """Of shipped scenarios."""
    return [_moved(name) for name in _MOVES]


def _moved(name: str) -> Move:
    path = Path(f"scenarios/{name}.toml")
    key, form = _MOVES[name]
    with _served(path) as server:
        _answer(server, "")
        told = []
        for number in range(_ROUNDS):
            value = form.format(5 + number / 2)
            told.append(
                (*_answer(server, f"{key}={value.replace(' ', '+')}"), _run(path, key, value))
            )
            time.sleep(_PAUSE_S)
    first, sharp, alone = (1e3 * statistics.median(each) for each in zip(*told, strict=True))
    return Move(name, first, sharp, alone)


def _run(path: Path, key: str, value: str) -> float:
    """A thousand replications and their summary, s."""
    start = time.perf_counter()
    scenario = cprsim.load_scenario(path, [f"{key}={value}"])
    _ = cprsim.run(scenario, engine="batch").summary
    return time.perf_counter() - start


def _answer(server: AppServer, query: str) -> tuple[float, float]:
    """To the first answer and to the sharp one, s; the advisor goes on."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    start = time.perf_counter()
    connection.request("GET", f"/{server.token}/answer?{query}&tab=bench")
    first = None
    for line in connection.getresponse():
        part = json.loads(line)
        if part["part"] == "coarse":
            first = time.perf_counter() - start
        if part.get("sharp"):
            break
    assert first is not None
    return first, time.perf_counter() - start


@contextmanager
def _served(path: Path) -> Iterator[AppServer]:
    answers = Answering(PageModel.read(path))
    answers.warm_up()
    with AppServer(answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            server.tabs.close(60)
