"""A command whose streams are closed, whose files vanish, or which calls code that ends Python."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cprsim.runs import runner
from tests.test_cli import KAGGLE, QUICKSTART
from tests.waiting import HANGS_S

FILES = {"breakdown.png", "manifest.json", "report.html", "results.csv", "scenario.toml"}


def shell(redirected: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """`cprsim` with streams as a shell redirects them."""
    script = f'"$0" -m cprsim.cli "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", script, sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(closed, tmp_path):
    """And none of the files that are written takes the place of one."""
    done = shell(closed, "run", QUICKSTART, "--replications", "3", f"--out={tmp_path / 'out'}")

    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert done.stderr.count("\n") == (closed == ">&-")  # what was written
    assert bool(done.stdout) == (closed == "2>&-")


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["run", KAGGLE, "--replications", "2"], ["--help"]])
def test_a_reader_who_has_seen_enough_is_told_nothing(asked):
    done = shell("| true", *asked)

    assert done.stderr == ""


def _without_reader() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


def _full_and_not_waiting() -> int:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, bytes(4096))
    _KEPT.append(read)
    return write


#: Ends of pipes that nobody reads, open until the tests end.
_KEPT: list[int] = []
#: Streams that take no line.
REFUSING = {
    "full": lambda: os.open("/dev/full", os.O_WRONLY),
    "without reader": _without_reader,
    "full pipe": _full_and_not_waiting,
    "read-only": lambda: os.open(os.devnull, os.O_RDONLY),
}


@pytest.mark.slow
@pytest.mark.parametrize("stream", REFUSING)
@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (["run", QUICKSTART, "--replications=3", "--policy=full", "--out=out"], 0),
        (["scenarios", "quickstart", "--copy", "out"], 0),
        (["run", "nowhere.toml"], 2),
    ],
    ids=["run", "scenarios", "wrong"],
)
def test_what_stderr_refuses_changes_no_exit_code(asked, code, stream, folder):
    refusing = REFUSING[stream]()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cprsim.cli", *asked],
            stdout=subprocess.PIPE,
            stderr=refusing,
            check=False,
            timeout=HANGS_S,
        )
    finally:
        os.close(refusing)

    assert done.returncode == code
    assert Path("out").exists() == (code == 0)


def test_a_link_that_leads_nowhere_is_no_folder(folder, called):
    Path("out").symlink_to("nowhere")

    assert called("run", KAGGLE, "--replications", "1", "--out", "out", code=2).err == (
        "cprsim: --out out: out is a link to nowhere, which does not exist; remove that link\n"
    )


@pytest.mark.slow
def test_mistakes_are_mistakes_with_closed_streams_too():
    done = shell("<&- >&-", "run", "nowhere.toml")

    assert (done.returncode, done.stderr) == (2, "cprsim: nowhere.toml: no such file\n")


@pytest.mark.slow
def test_a_scenario_is_read_once(folder, called, monkeypatch):
    """Whoever deletes it while it runs loses nothing, nor who deletes the log that it names."""
    Path("log.csv").write_text("time_s,node\n3600,0\n9000,1\n30000,0\n")
    text = Path(QUICKSTART).read_text()
    before, _, after = text.partition("[failures]")
    after = "[" + after.partition("\n[")[2]
    Path("job.toml").write_text(f'{before}[failures]\ntrace = "log.csv"\n{after}')
    run = runner.run

    def deleting(*arguments, **named):
        Path("job.toml").unlink()
        Path("log.csv").unlink()
        return run(*arguments, **named)

    monkeypatch.setattr(runner, "run", deleting)

    called("run", "job.toml", "--replications", "2", "--out", "out")
    assert {path.name for path in Path("out").iterdir()} == FILES


def test_sys_exit_in_code_that_is_called_is_told(called, monkeypatch):
    def ends(*_):
        sys.exit()

    monkeypatch.setattr("cprsim.sim.driver.Player.process", ends)

    assert called("run", KAGGLE, "--replications", "1", "--policy", "full", code=1) == (
        "",
        "cprsim: code that it called ended it by sys.exit(None)\n",
    )
