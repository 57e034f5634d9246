"""Progress where stderr is no terminal: lines of a thread, by a clock of the test's own."""

import threading
from pathlib import Path

import pytest

from cprsim.cli import command, common
from cprsim.cli.common import EVERY_S, ProgressBar, ProgressLines
from cprsim.fitting import fit_log
from tests.mistakes import GOOD


def test_a_line_says_what_how_much_and_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "EVERY_S", EVERY_S)
    told: list[str] = []
    now_s = [100.0]

    def wait(limit_s: float) -> bool:
        now_s[0] += limit_s
        if now_s[0] > 100 + 2 * EVERY_S:
            lines.what, lines.count = "drawing", ""
        return now_s[0] > 100 + 3 * EVERY_S

    lines = ProgressLines(told.append, lambda: now_s[0], wait)
    lines.what, lines.count = "simulating", ": 3,000 of 10,000 replications (30 %)"
    lines.run()

    assert told == [
        f"cprsim: simulating: 3,000 of 10,000 replications (30 %), {EVERY_S:.0f} s so far",
        f"cprsim: simulating: 3,000 of 10,000 replications (30 %), {2 * EVERY_S:.0f} s so far",
        f"cprsim: drawing, {3 * EVERY_S:.0f} s so far",
    ]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A thread that writes a line at once, and then waits; set: the line is written."""
    written = threading.Event()
    plain = ProgressLines.__init__

    def made(self: ProgressLines, tell, clock=lambda: 0.0, wait=None) -> None:
        def first(_: float) -> bool:
            if written.is_set():
                return self._done.wait()
            return False

        def telling(text: str) -> None:
            tell(text)
            written.set()

        plain(self, telling, clock, first)

    monkeypatch.setattr(common.ProgressLines, "__init__", made)
    return written


@pytest.mark.parametrize(
    ("unit", "updates", "line"),
    [
        ("runs", [], "cprsim: working, 0 s so far\n"),
        ("runs", [(1, 3)], "cprsim: working: 1 of 3 runs (33 %), 0 s so far\n"),
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


def test_a_run_has_lines_on_stderr(folder: Path, capsys, monkeypatch, at_once) -> None:
    from cprsim.runs import runner

    Path("job.toml").write_text(GOOD)
    run = runner.run

    def slow(*arguments, progress, **named):
        at_once.wait()
        return run(*arguments, progress=progress, **named)

    monkeypatch.setattr(runner, "run", slow)

    assert command._main(["run", "job.toml", "--replications", "4"]) == 0
    assert capsys.readouterr().err == "cprsim: simulating, 0 s so far\n"
