"""Time from a move on the what-if page to its answer, and of a plain run of the same."""

import http.client
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cprsim
from cprsim.app.answers import Answering
from cprsim.app.page_model import PageModel
from cprsim.app.server import AppServer

#: The key that moves, by scenario, and how its values are written.
_MOVES = {
    "quickstart": ("failures.mean", "{} h"),
    "criteo-kaggle": ("costs.save", "{} min"),
    "all-systems": ("failures.mean", "{} h"),
}
_ROUNDS = 15
#: Between two moves, s: the advisor has begun with the one before.
_PAUSE_S = 1.0


def rows() -> list[tuple[str, ...]]:
    """Measure moves of shipped scenarios: medians, ms."""
    return [_row(name) for name in _MOVES]


def _row(name: str) -> tuple[str, ...]:
    path = Path(f"scenarios/{name}.toml")
    key, form = _MOVES[name]
    times_s = []
    with _served(path) as server:
        _answer(server, "")
        for number in range(_ROUNDS):
            value = form.format(5 + number / 2)
            query = f"{key}={value.replace(' ', '+')}"
            times_s.append((*_answer(server, query), _run(path, key, value)))
            time.sleep(_PAUSE_S)
    medians = [1e3 * statistics.median(each) for each in zip(*times_s, strict=True)]
    return name, *(f"{ms:,.0f}" for ms in medians), f"{medians[1] / medians[2]:.1f}"


def _run(path: Path, key: str, value: str) -> float:
    """Return the time of a thousand replications and their summary, s."""
    start = time.perf_counter()
    scenario = cprsim.load_scenario(path, [f"{key}={value}"])
    _ = cprsim.run(scenario, engine="batch").summary
    return time.perf_counter() - start


def _answer(server: AppServer, query: str) -> tuple[float, float]:
    """Return the time to the first answer and to the sharp one, s; the advisor still works."""
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
