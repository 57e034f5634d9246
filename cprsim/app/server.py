"""The page's server: this machine alone, and nobody there who doesn't know the token."""

import errno
import json
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files as resources
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from cprsim.app import files
from cprsim.app.answers import Answering
from cprsim.app.controls import UNITS
from cprsim.app.turns import ReplacedError, Tabs
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.errors import CprsimError, UsageError
from cprsim.figures.parts.style import CAUSE_COLOURS, SYSTEM_COLOURS, TRAINING_COLOUR

HOST: Final = "127.0.0.1"
#: Files of the page by their names in the address, and their media types.
_FILES: Final = {
    "": ("index.html", "text/html; charset=utf-8"),
    "app.css": ("app.css", "text/css; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in ("app.js", "controls.js", "pictures.js", "words.js")
    },
}
#: With everything that is sent. Scripts and styles are the page's own files, whatever a scenario
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
_NO_TOKEN: Final = "cprsim app: this address lacks its token; take the one the command printed\n"
_NOT_OURS: Final = "cprsim app: another page asks; open the address that the command printed\n"
#: A client that sends or takes nothing for so long has gone, s.
_PATIENCE_S: Final = 10
_MOST_PORT: Final = 65535
#: Keys of an address that are the page's own; the rest is the question.
_PAGES_OWN: Final = ("tab", "number", "policy")
#: Of a question's number.
_MOST_DIGITS: Final = 9
#: Of a value in an address.
_MOST_LETTERS: Final = 1_000
#: Requests that have a thread at a time; further connections are closed.
_MOST_THREADS: Final = 64
#: Questions that are answered, or wait for the cores, at a time; others are refused.
_MOST_QUESTIONS: Final = 16
_BUSY: Final = (
    f"cprsim app: {_MOST_QUESTIONS} questions are being answered; ask again in a moment\n"
)


class AppServer(ThreadingHTTPServer):
    """Serves the page about one scenario, from `127.0.0.1` alone; a thread a request.

    Raises
    ------
    UsageError
        Where the port can't be had.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: Answering, port: int = 0) -> None:
        self.answers, self.tabs, self.token = answers, Tabs(), secrets.token_urlsafe(24)
        self.questions = threading.BoundedSemaphore(_MOST_QUESTIONS)
        self._places = threading.BoundedSemaphore(_MOST_THREADS)
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
        """Of the page, with its token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def origins(self) -> tuple[str, str]:
        """That of the page, by both names of this machine."""
        return f"http://{HOST}:{self.server_port}", f"http://localhost:{self.server_port}"

    def warm_up(self, ready: Callable[[], None]) -> None:
        """Have `ready` done in the background, with the cores to itself."""

        def first() -> None:
            with self.tabs.computing:
                ready()

        threading.Thread(target=first, daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a request, or close it where too many are under way."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except Exception:  # no thread was started; who is interrupted can't tell, and ends
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a request, and give its place to the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who has gone is no error, and no other says anything on the terminal."""


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
            self._send(HTTPStatus.FORBIDDEN, _NO_TOKEN.encode())
        elif not self._is_ours(name):
            self._send(HTTPStatus.FORBIDDEN, _NOT_OURS.encode())
        elif not asked.path.startswith(f"/{token}/"):
            self._send(HTTPStatus.NOT_FOUND, b"cprsim app: no such page\n")
        elif name in _FILES:
            file, kind = _FILES[name]
            content = resources("cprsim.app").joinpath("page", file).read_bytes()
            self._send(HTTPStatus.OK, content, kind)
        else:
            self._answer(name, asked.query)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal is the user's, and addresses hold the token."""

    def send_error(
        self, code: int, message: str | None = None, _explain: str | None = None
    ) -> None:
        """In plain words, with the headers that everything has."""
        status = HTTPStatus(code)
        self._send(status, f"cprsim app: {message or status.phrase}\n".encode())

    def _is_ours(self, name: str) -> bool:
        """Whether the page itself asks, or somebody opens it.

        A name of another host that was made to lead here (DNS rebinding) shows in `Host`, a page
        of another origin in `Origin`, or in `Sec-Fetch-Site`.
        """
        hosts = [origin.removeprefix("http://") for origin in self.server.origins]
        if self.headers.get("Host") not in hosts:
            return False
        if self.headers.get("Origin", self.server.origins[0]) not in self.server.origins:
            return False
        if self.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none"):
            return True
        opened = self.headers.get("Sec-Fetch-Mode"), self.headers.get("Sec-Fetch-Dest")
        return not name and opened == ("navigate", "document")

    def _answer(self, name: str, query: str) -> None:
        pairs = parse_qsl(query, keep_blank_values=True)
        asked = [pair for pair in pairs if pair[0] not in _PAGES_OWN]
        own = dict.fromkeys(_PAGES_OWN, "") | dict(pairs)
        number, question = own["number"][:_MOST_DIGITS], urlencode(asked)
        if name == "controls":
            self._send(HTTPStatus.OK, _json(_told(self.server.answers)), "application/json")
        elif name != "answer" and name not in files.NAMES:
            self._send(HTTPStatus.NOT_FOUND, b"cprsim app: no such page\n")
        elif too_long := [(key, len(value)) for key, value in asked if len(value) > _MOST_LETTERS]:
            key, letters = too_long[0]
            self._refuse(
                f"{key[:_MOST_LETTERS]}: has {letters:,} characters; the most are "
                f"{_MOST_LETTERS:,}: give a shorter value"
            )
        elif not self.server.questions.acquire(blocking=False):
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY.encode(), more={"Retry-After": "1"})
        else:
            try:
                if name == "answer":
                    self._stream(question, own["tab"], int(number) if number.isdecimal() else None)
                else:
                    self._file(name, question, own["policy"])
            finally:
                self.server.questions.release()

    def _stream(self, question: str, tab: str, number: int | None) -> None:
        """Parts of an answer as they come, a line of JSON each."""
        turn = self.server.tabs.take(tab, number)
        self._begin(HTTPStatus.OK, "application/x-ndjson")

        def send(part: dict[str, Any]) -> None:
            turn.check()
            self.wfile.write(_json(part) + b"\n")

        with suppress(ReplacedError, ConnectionError, TimeoutError):
            self.server.answers.answer(question, turn, send)

    def _file(self, name: str, question: str, policy: str) -> None:
        turn = self.server.tabs.take(f"file-{secrets.token_hex(8)}")
        try:
            content = files.contents(self.server.answers, question, name, policy, turn)
        except CprsimError as error:
            self._refuse(str(error))
            return
        saved = {"Content-Disposition": f'attachment; filename="{name}"'}
        self._send(HTTPStatus.OK, content, files.NAMES[name], saved)

    def _refuse(self, why: str) -> None:
        self._send(HTTPStatus.BAD_REQUEST, f"cprsim app: {why}\n".encode())

    def _send(
        self,
        status: HTTPStatus,
        content: bytes,
        kind: str = "text/plain; charset=utf-8",
        more: dict[str, str] | None = None,
    ) -> None:
        with suppress(ConnectionError, TimeoutError):
            self._begin(status, kind, {"Content-Length": str(len(content))} | (more or {}))
            self.wfile.write(content)

    def _begin(self, status: HTTPStatus, kind: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for header, value in {"Content-Type": kind, **_HEADERS, **(more or {})}.items():
            self.send_header(header, value)
        self.end_headers()


def _told(answers: Answering) -> dict[str, Any]:
    """What the page has to know before it asks."""
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
