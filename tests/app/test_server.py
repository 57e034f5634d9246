"""Who may ask: the page itself, on this machine, with the token; nobody else learns anything."""

import socket

import pytest

from cprsim.app.answers import Answering
from cprsim.app.page_model import PageModel
from cprsim.app.server import AppServer
from cprsim.errors import UsageError
from tests.app.serving import QUICKSTART, get, served
from tests.waiting import HANGS_S

NO_TOKEN = "cprsim app: this address lacks its token; take the one the command printed\n"
NOT_OURS = "cprsim app: another page asks; open the address that the command printed\n"
NAMES = ["", "app.js", "controls", "answer", "report.html", "scenario.toml", "nothing"]


@pytest.fixture(scope="module")
def server():
    with served() as running:
        yield running


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert len(server.token) >= 32


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", ["", "/", "/wrong/", "/wrong", "/%C3%A9/", "//"])
def test_without_the_token_there_is_nothing(server, token, name):
    got = get(server, f"{token}{name}" or "/")

    assert (got.status, got.text) == (403, NO_TOKEN)
    assert server.token not in str(got)


@pytest.mark.parametrize(
    "line", [b"GET /\xff\xfe/ HTTP/1.1", b"GET http://evil.example/ HTTP/1.1", b"GET * HTTP/1.0"]
)
def test_odd_requests_get_no_further(server, line):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=HANGS_S) as own:
        own.sendall(line + b"\r\n\r\n")
        answer = b"".join(iter(lambda: own.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.0 403 ")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},  # DNS rebinding
        {"Host": "127.0.0.1"},  # of another port
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["", "controls", "answer", "report.html"])
def test_a_page_of_another_origin_gets_nothing_even_with_the_token(server, headers, name):
    got = get(server, f"/{server.token}/{name}", **headers)

    assert (got.status, got.text) == (403, NOT_OURS)
    assert not [each for each in got.headers if each.startswith("Access-Control")]


def test_the_page_opens_from_the_file_that_leads_there(server):
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    document = led | {"Sec-Fetch-Dest": "document"}

    assert get(server, f"/{server.token}/", **document).status == 200
    assert get(server, f"/{server.token}/controls", **document).status == 403


@pytest.mark.parametrize("name", ["", "app.css", "app.js", "words.js", "controls"])
def test_everything_is_sent_with_headers_that_keep_others_out(server, name):
    own = {"Host": f"localhost:{server.server_port}", "Sec-Fetch-Site": "same-origin"}
    got = get(server, f"/{server.token}/{name}", **own)

    assert got.status == 200
    policy = dict(
        part.strip().split(" ", 1) for part in got.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert got.headers["Referrer-Policy"] == "no-referrer"
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert got.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in got.headers


def test_what_is_sent_names_no_other_host(server):
    for name in ("", "app.css", "app.js", "controls.js", "pictures.js", "words.js"):
        text = get(server, f"/{server.token}/{name}").text
        assert "//" not in text.replace("http://www.w3.org/2000/svg", "").replace("// ", "")


def test_nothing_but_get_is_answered(server):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        got = get(server, f"/{server.token}/", method)
        assert got.status == 501
        assert "Content-Security-Policy" in got.headers


def test_what_there_is_not_is_said(server):
    for name in ("nothing", "../server.py", "page/app.js", "%2e%2e/server.py"):
        got = get(server, f"/{server.token}/{name}")
        assert (got.status, got.text) == (404, "cprsim app: no such page\n")
    got = get(server, f"/{server.token}/scenario.toml?failures.mean=14")
    assert got.status == 400
    assert got.text.startswith("cprsim app: failures.mean: 14 has no unit")


def test_a_port_that_cannot_be_had_is_told():
    answers = Answering(PageModel.read(QUICKSTART))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as error:
            AppServer(answers, port)
    assert str(error.value) == f"--port {port}: is taken; leave it out for a free one"
    with pytest.raises(UsageError) as error:
        AppServer(answers, 70_000)
    assert str(error.value) == "--port 70000: is no port; give one from 1 to 65535"


def test_an_older_question_that_comes_late_is_not_answered(server):
    newer = server.tabs.take("late", 3)
    ask = f"/{server.token}/answer?tab=late&seed=x&number="

    assert (get(server, f"{ask}2").status, get(server, f"{ask}2").text) == (200, "")
    newer.check()
    for number in ("4", "9" * 5000, "", "x"):
        assert "seed 'x' is not a whole number" in get(server, ask + number).text


@pytest.mark.parametrize("name", ["answer", "report.html", "scenario.toml"])
@pytest.mark.parametrize("key", ["seed", "replications", "failures.mean", "unknown"])
def test_a_value_too_long_is_refused(server, name, key):
    got = get(server, f"/{server.token}/{name}?{key}={'9' * 5000}")

    assert (got.status, got.text) == (400, f"cprsim app: {key}: has more than 1,000 characters\n")


def test_a_seed_of_many_digits_is_answered(server):
    assert get(server, f"/{server.token}/answer?failures.mean=x&seed={'9' * 1000}").body
