"""What a command that is killed leaves: no process soon, and no folder after the next start."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cprsim.basics.files import locked_tempdir
from tests.interrupted import session
from tests.studies.small import SMALL
from tests.waiting import HANGS_S, wait_until

ROOT = Path(__file__).parents[1]
QUICKSTART = str(ROOT / "scenarios/quickstart.toml")
TRAINED = str(ROOT / "scenarios/train-quick.toml")
_LONG = ("--replications", "1000000", "--engine", "sim", "--workers", "2")
#: Commands with processes of their own, and how many there are with all at work.
COMMANDS = {
    "run": (["run", QUICKSTART, *_LONG], 4),
    "sweep": (["sweep", QUICKSTART, "--vary", "costs.save=1 min,2 min", "--out", "s", *_LONG], 4),
    "train": (["train", TRAINED], 5),
    "validate": (["validate", TRAINED], 5),
    "study": (["study", "small.toml", "--out=s", "--workers=2", "--set=study.seeds=20"], 8),
}
#: The command, which heeds Ctrl-C also where the tests run in the background.
_COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from cprsim.cli import main
main()
"""
_NEED_TORCH = ("train", "validate", "study")
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: What is not nightly: a kill of each command, which alone can't clean up, and each other signal.
_QUICK = {
    "run": _SIGNALS,
    "sweep": (signal.SIGKILL,),
    "train": (signal.SIGKILL, signal.SIGINT),
    "validate": (signal.SIGKILL,),
    "study": (signal.SIGKILL, signal.SIGTERM),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=[pytest.mark.nightly] * (number not in _QUICK[name]))
        for name in COMMANDS
        for number in _SIGNALS
    ],
)
def test_a_command_that_is_ended_leaves_nothing(
    name: str, number: int, tmp_path: Path, short_folder: Path, counted
) -> None:
    if name in _NEED_TORCH:
        pytest.importorskip("torch")
    arguments, processes = COMMANDS[name]
    (tmp_path / "small.toml").write_text(SMALL)
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(short_folder), "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            wait_until(lambda: len(session(process.pid)) >= processes or process.poll())
            assert process.poll() is None
            process.send_signal(number)
            process.wait(HANGS_S)
            ended_s = time.monotonic()
            wait_until(lambda: not session(process.pid), "processes are left")
            counted(f"{name}: no process {time.monotonic() - ended_s:.1f} s after its end")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    with locked_tempdir(short_folder):
        pass
    assert [*short_folder.iterdir()] == []
