"""The page's server: this machine alone, and only requests that know the token."""

import errno
import json
import secrets
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from cprsim.app.answers import FILES, Answering
from cprsim.app.controls import UNITS
from cprsim.app.requests import ReplacedError, Sessions
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.errors import CprsimError, UsageError
from cprsim.figures.style import CAUSE_COLOURS, SYSTEM_COLOURS, TRAINING_COLOUR

HOST: Final = "127.0.0.1"
#: Files of the page by their names in the address, and their media types.
_PAGE: Final = {
    "": ("index.html", "text/html; charset=utf-8"),
    "app.css": ("app.css", "text/css; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in ("app.js", "controls.js", "pictures.js", "words.js")
    },
}
#: Sent with everything. Scripts and styles are the page's own files, whatever a scenario
#: holds; no other page may hold it in a frame, embed what it sends, or learn its address.
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NO_TOKEN: Final = b"cprsim app: this address lacks its token; take the one the command printed\n"
_NOT_OURS: Final = b"cprsim app: another page asks; open the address that the command printed\n"
_NO_PAGE: Final = b"cprsim app: no such page\n"
#: A client that sends or takes nothing for so long has gone, s.
_PATIENCE_S: Final = 10
_MOST_PORT: Final = 65535
#: Keys of an address that are the page's own; the rest is the question.
_PAGES_OWN: Final = ("tab", "number", "policy")
#: Digits of a question's number.
_MOST_DIGITS: Final = 9
#: Characters of a value; Python makes no number of more than 4,300 digits.
_MOST_LETTERS: Final = 1_000
_OPENER: Final = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>cprsim</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">The what-if page</a></p></html>
"""


class AppServer(ThreadingHTTPServer):
    """Serves the page about one scenario, from `127.0.0.1` alone; a thread a request.

    Raises `UsageError` for a port that can't be had.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: Answering, port: int = 0) -> None:
        self.answers, self.tabs, self.token = answers, Sessions(), secrets.token_urlsafe(24)
        if not 0 <= port <= _MOST_PORT:
            raise UsageError(f"--port {port}: is no port; give one from 1 to {_MOST_PORT}")
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is taken" if taken else f"can't be had: {error.strerror}"
            raise UsageError(f"--port {port}: {why}; leave it out for a free one") from None

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def origins(self) -> tuple[str, str]:
        """The origin of the page, by both names of this machine."""
        return f"http://{HOST}:{self.server_port}", f"http://localhost:{self.server_port}"

    def warm_up(self, ready: Callable[[], None]) -> None:
        """Have `ready` done in the background, with the cores to itself."""

        def first() -> None:
            with self.tabs.computing:
                ready()

        threading.Thread(target=first, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that has gone is no error."""


@contextmanager
def opened(address: str, *, wanted: bool) -> Iterator[None]:
    """Show the address in the browser, if that is wanted.

    Arguments of a browser's process can be read by all users, and the address has a token. So the
    browser is given a file that leads there, which its owner alone can read, and which goes in the
    end.
    """
    if not wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="cprsim-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        page.write_text(_OPENER.format(address=escape(address)), encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: AppServer
    server_version, sys_version = "cprsim", ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Send a file of the page, or answer a question."""
        asked = urlsplit(self.path)
        token, _, name = asked.path.lstrip("/").partition("/")
        if not compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.FORBIDDEN, _NO_TOKEN)
        elif not self._is_ours(name):
            self._send(HTTPStatus.FORBIDDEN, _NOT_OURS)
        elif not asked.path.startswith(f"/{token}/"):
            self._send(HTTPStatus.NOT_FOUND, _NO_PAGE)
        elif name in _PAGE:
            file, kind = _PAGE[name]
            content = resources("cprsim.app").joinpath("page", file).read_bytes()
            self._send(HTTPStatus.OK, content, kind)
        elif name == "controls":
            self._send(HTTPStatus.OK, _json(controls(self.server.answers)), "application/json")
        elif name == "answer" or name in FILES:
            pairs = parse_qsl(asked.query, keep_blank_values=True)
            question = urlencode([pair for pair in pairs if pair[0] not in _PAGES_OWN])
            own = dict.fromkeys(_PAGES_OWN, "") | dict(pairs)
            long = next((key for key, value in pairs if len(value) > _MOST_LETTERS), None)
            if long is not None and long not in _PAGES_OWN:
                self._refuse(f"{long}: has more than {_MOST_LETTERS:,} characters")
            elif name == "answer":
                self._stream(question, own["tab"], own["number"][:_MOST_DIGITS])
            else:
                self._file(name, question, own["policy"])
        else:
            self._send(HTTPStatus.NOT_FOUND, _NO_PAGE)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal is the user's, and addresses hold the token."""

    def send_error(
        self, code: int, message: str | None = None, _explain: str | None = None
    ) -> None:
        """Send an error in plain words, with the headers that everything has."""
        status = HTTPStatus(code)
        self._send(status, f"cprsim app: {message or status.phrase}\n".encode())

    def _is_ours(self, name: str) -> bool:
        """Return whether the page itself asks, or the user opens it.

        A name of another host that was made to lead here (DNS rebinding) shows in `Host`, a page
        of another origin in `Origin`, or in `Sec-Fetch-Site`.
        """
        hosts = {each.removeprefix("http://") for each in self.server.origins}
        if self.headers.get("Host") not in hosts:
            return False
        if self.headers.get("Origin", self.server.origins[0]) not in self.server.origins:
            return False
        if self.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none"):
            return True
        opened_by = self.headers.get("Sec-Fetch-Mode"), self.headers.get("Sec-Fetch-Dest")
        return not name and opened_by == ("navigate", "document")

    def _stream(self, question: str, tab: str, number: str) -> None:
        """Parts of an answer as they come, a line of JSON each."""
        turn = self.server.tabs.take(tab, int(number) if number.isdecimal() else None)
        self._begin(HTTPStatus.OK, {"Content-Type": "application/x-ndjson"})

        def send(part: dict[str, Any]) -> None:
            turn.check()
            self.wfile.write(_json(part) + b"\n")

        with suppress(ReplacedError, ConnectionError, TimeoutError):
            self.server.answers.answer(question, turn, send)

    def _file(self, name: str, question: str, policy: str) -> None:
        turn = self.server.tabs.take(f"file-{secrets.token_hex(8)}")
        try:
            content = self.server.answers.file(question, name, policy, turn)
        except CprsimError as error:
            self._refuse(str(error))
            return
        saved = {"Content-Disposition": f'attachment; filename="{name}"'}
        self._send(HTTPStatus.OK, content, FILES[name], saved)

    def _refuse(self, why: str) -> None:
        self._send(HTTPStatus.BAD_REQUEST, f"cprsim app: {why}\n".encode())

    def _send(
        self,
        status: HTTPStatus,
        content: bytes,
        kind: str = "text/plain; charset=utf-8",
        more: Mapping[str, str] | None = None,
    ) -> None:
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **(more or {})}
        with suppress(ConnectionError, TimeoutError):
            self._begin(status, headers)
            self.wfile.write(content)

    def _begin(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for header, value in {**_HEADERS, **headers}.items():
            self.send_header(header, value)
        self.end_headers()


def controls(answers: Answering) -> dict[str, Any]:
    """Return the data that the page needs before its first question."""
    subject = answers.subject
    return {
        "title": subject.title,
        "path": str(subject.path),
        "policies": subject.policies,
        "controls": [vars(each) for each in subject.controls],
        "objectives": answers.objectives,
        "units": {kind: units.largest_first for kind, units in UNITS.items()},
        "colours": {
            "causes": CAUSE_COLOURS,
            "systems": SYSTEM_COLOURS,
            "training": TRAINING_COLOUR,
        },
        "causes": CAUSE_LABELS,
    }


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode()
