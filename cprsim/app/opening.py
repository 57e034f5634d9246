"""The page's address handed to the browser, and to nobody who can list processes."""

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

_PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>cprsim</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">The what-if page</a></p></html>
"""


@contextmanager
def opened(address: str, *, wanted: bool) -> Iterator[None]:
    """The browser shows the address, if that is wanted.

    Arguments of a browser's process can be read by all users, and the address has a token. So the
    browser is given a file that leads there, which its owner alone can read, and which goes in the
    end.
    """
    if not wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="cprsim-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        page.write_text(_PAGE.format(address=escape(address)), encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield
