"""`cprsim app` from the terminal: the address, mistakes in one line, and how it ends."""

import http.client
import os
import signal
import stat
import subprocess
import sys
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cprsim.app.server import opened
from tests.app.serving import QUICKSTART
from tests.waiting import HANGS_S

#: The command, where Ctrl-C isn't ignored as it is in the background.
HEEDING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cprsim.cli", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_answers_and_ends_with_ctrl_c(number):
    asked = [sys.executable, "-c", HEEDING, "app", str(QUICKSTART), "--no-browser"]
    process = subprocess.Popen(
        asked,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": ""},
    )
    try:
        address = urlsplit(process.stdout.readline().strip())
        assert (address.scheme, address.hostname) == ("http", "127.0.0.1")
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=HANGS_S)
        connection.request("GET", f"{address.path}answer?tab=one")
        answer = connection.getresponse()
        assert answer.readline().startswith(b'{"part": "asked"')  # it is at work now
        process.send_signal(number)
        out, err = process.communicate(timeout=HANGS_S)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out) == (0, "")
    assert err == f"cprsim: the page is about {QUICKSTART}; Ctrl-C ends it\n"


def test_the_browser_is_given_a_file_that_nobody_else_can_read(monkeypatch):
    """Other users see the arguments of processes, so the token is none of them."""
    seen = []

    def look(address):
        path = Path(urlsplit(address).path)
        seen.append((address, path.read_text(), stat.S_IMODE(path.parent.stat().st_mode)))
        return True

    monkeypatch.setattr(webbrowser, "open", look)
    with opened("http://127.0.0.1:1/secret/", wanted=True):
        pass
    ((address, page, mode),) = seen
    assert address.startswith("file://")
    assert "secret" not in address
    assert 'url=http://127.0.0.1:1/secret/"' in page
    assert mode == stat.S_IRWXU
    assert not Path(urlsplit(address).path).exists()
    with opened("http://127.0.0.1:1/secret/", wanted=False):
        assert len(seen) == 1
