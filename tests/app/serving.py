"""A server of the page in this process, and requests that a browser would not send."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.app.answers import Answering
from cprsim.app.page_model import PageModel
from cprsim.app.server import AppServer
from tests.waiting import HANGS_S

SCENARIOS = Path(__file__).parents[2] / "scenarios"
QUICKSTART = SCENARIOS / "quickstart.toml"
KAGGLE = SCENARIOS / "criteo-kaggle.toml"


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@contextmanager
def served(scenario: Path = QUICKSTART) -> Iterator[AppServer]:
    """The page about a scenario."""
    with AppServer(Answering(PageModel.read(scenario))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(HANGS_S)
            assert server.tabs.close(HANGS_S)


def get(server: AppServer, path: str, method: str = "GET", **headers: str) -> Got:
    """A request as it stands; `Host` is the server's own, if no other is given."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANGS_S)
    try:
        connection.request(method, path, headers=told)
        answer = connection.getresponse()
        return Got(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


def parts(server: AppServer, query: str = "", until: str = "done") -> list[dict[str, Any]]:
    """The parts of an answer, up to the first of that name; then the tab has gone."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANGS_S)
    connection.request("GET", f"/{server.token}/answer?{query}&tab=one")
    answer = connection.getresponse()
    assert answer.status == 200
    found = []
    for line in answer:
        found.append(json.loads(line))
        if found[-1]["part"] in (until, "faults"):
            break
    connection.close()
    server.tabs.take("one")
    return found
