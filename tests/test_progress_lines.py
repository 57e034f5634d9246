"""Progress where stderr is no terminal: lines of a thread, by a clock of the test's own."""

import threading
from pathlib import Path

import pytest

from cprsim.cli import command, common
from cprsim.cli.common import ProgressBar
from cprsim.fitting import fit_log


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A thread that writes a line at once, and then waits; set: the line is written."""
    written = threading.Event()
    echo = common.echo

    def telling(text: str = "", *, err: bool = False) -> None:
        echo(text, err=err)
        if "so far" in text:
            monkeypatch.setattr(common, "EVERY_S", 1000.0)
            written.set()

    monkeypatch.setattr(common, "EVERY_S", 0.0)
    monkeypatch.setattr(common, "echo", telling)
    return written


@pytest.mark.parametrize(
    ("unit", "updates", "line"),
    [
        ("runs", [], "cprsim: working, 0 s so far\n"),
        ("runs", [(1, 3)], "cprsim: working: 1 of 3 runs (33 %), 0 s so far\n"),
        ("runs", [(3000, 10000)], "cprsim: working: 3,000 of 10,000 runs (30 %), 0 s so far\n"),
        ("", [(1, 3), (2, 3, "settings")], "cprsim: settings: 2 of 3 (67 %), 0 s so far\n"),
        ("", [(0, 0)], "cprsim: working: 0 of 0, 0 s so far\n"),
    ],
)
def test_a_bar_without_a_terminal_writes_lines(unit, updates, line, at_once, capsys) -> None:
    bar = ProgressBar("working", unit)
    for each in updates:
        bar.update(*each)
    with bar:
        at_once.wait()

    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_fit_has_lines_on_stderr_and_none_beside_json(
    as_json: bool, folder: Path, capsys, monkeypatch, at_once
) -> None:
    rows = "".join(f"{3600 * hour * hour},{hour % 7}\n" for hour in range(1, 40))
    Path("log.csv").write_text(f"time_s,node\n{rows}", encoding="utf-8")
    fit = fit_log.fit

    def slow(*arguments, **named):
        if not as_json:
            at_once.wait()
        return fit(*arguments, **named)

    monkeypatch.setattr(fit_log, "fit", slow)

    assert command._main(["fit", "log.csv", *["--json"] * as_json]) == 0
    assert capsys.readouterr().err == ("" if as_json else "cprsim: fitting, 0 s so far\n")
