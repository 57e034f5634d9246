"""A page in headless Chromium, watched over the DevTools protocol: requests, console, layout."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANGS_S, wait_until

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here; Debian has it: apt-get install chromium"
)
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # root has none in a container
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)

#: Texts whose contrast to what lies behind them is below what WCAG 2 AA wants.
FAINT = """
(() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = numbers(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const both = [luminance(ink), luminance(ground(element))].sort((a, b) => b - a);
    if ((both[0] + 0.05) / (both[1] + 0.05) < 4.5) found.push(texts.currentNode.textContent);
  }
  return found;
})()
"""


class Tab:
    """A page that is driven: what is evaluated in it, keys that are pressed, what it has done."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session
        self.events = browser.seen.setdefault(session, [])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, to this page."""
        return self._browser.call(method, self._session, **parameters)

    def close(self) -> None:
        """Be gone, and whatever it still waits for."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def open(self, address: str) -> None:
        """Go there."""
        self.call("Page.navigate", url=address)

    def resize(self, width_px: int, height_px: int = 900) -> None:
        """Be so wide."""
        size = {"width": width_px, "height": height_px, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def scheme(self, name: str) -> None:
        """Be `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, awaited if it is a promise."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Until it is true; its value then."""
        return wait_until(lambda: self.evaluate(expression), expression)

    def press(self, key: str, text: str = "", modifiers: int = 0) -> None:
        """A key, down and up; `text`: what it writes."""
        code = _KEYS.get(key, ord(key[0].upper()))
        both = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **both)
        self.call("Input.dispatchKeyEvent", type="keyUp", **both)

    def write(self, text: str) -> None:
        """Type a text where the keyboard is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, whole: bool = True) -> bytes:
        """A picture of the page, or of what of it can be seen."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    @property
    def width_px(self) -> int:
        """Return the width of the page."""
        width_px: int = self.evaluate("document.documentElement.scrollWidth")
        return width_px

    @property
    def requests(self) -> list[str]:
        """Addresses that it asked for."""
        sent = [each for each in self.events if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    @property
    def console(self) -> list[str]:
        """What the console said."""
        names = ("Runtime.consoleAPI", "Runtime.exception", "Log.entryAdded")
        return [json.dumps(each) for name in names for each in self._told(name)]

    def _told(self, name: str) -> list[dict[str, Any]]:
        return [each["params"] for each in self.events if each["method"].startswith(name)]


#: Windows' numbers of keys, which the protocol wants.
_KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Delete": 46,
}


class Browser:
    """A running Chromium; commands and events go as JSON over two pipes."""

    def __init__(self, commands: FileIO, events: FileIO) -> None:
        self._commands, self._events = commands, events
        #: What happened in tabs that are driven, by their sessions.
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self._number = 0
        self._read_ahead = b""

    def tab(self, width_px: int) -> Tab:
        """A new tab of that width, which watches what its page does."""
        target: str = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        tab = Tab(self, target, attached["sessionId"])
        for domain in ("Network", "Runtime", "Log", "Page"):
            tab.call(f"{domain}.enable")
        tab.resize(width_px)
        return tab

    def look(self, page: Path, width_px: int) -> Tab:
        """Open a page in a tab of that width, and watch it until it is loaded."""
        tab = self.tab(width_px)
        tab.open(page.as_uri())
        tab.wait("document.readyState === 'complete'")
        # Scripts that wait have their turn; then whatever came has been told.
        tab.evaluate("new Promise(done => setTimeout(done, 200))")
        return tab

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer to a command; what happens until it comes goes to its tab's events."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        self._commands.write(json.dumps(command).encode() + b"\0")
        while (message := self._read()).get("id") != self._number:
            seen = self.seen.get(message.get("sessionId", ""))
            if seen is not None and "method" in message:
                seen.append(message)
        assert "error" not in message, message
        result: dict[str, Any] = message["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._read_ahead:
            part = self._events.read(2**16)
            assert part, "Chromium has gone"
            self._read_ahead += part
        text, _, self._read_ahead = self._read_ahead.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


def _high_pipe() -> list[int]:
    """A pipe whose ends are none of the numbers that Chromium wants them to have."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium with a profile of its own, which is gone afterwards."""
    assert CHROMIUM is not None
    (commands_out, commands_in), (events_out, events_in) = _high_pipe(), _high_pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # It reads commands at 3 and writes events at 4.
        pipes = f'exec "$@" 3<&{commands_out} 4>&{events_in}'
        command = ["bash", "-c", pipes, "bash", CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}"]
        running = subprocess.Popen(
            command,
            pass_fds=(commands_out, events_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_out)
        os.close(events_in)
        try:
            with FileIO(commands_in, "wb") as commands, FileIO(events_out, "rb") as events:
                yield Browser(commands, events)
        finally:
            running.terminate()
            running.wait(HANGS_S)
