"""Ctrl-C, SIGTERM and SIGHUP end every command in order; two of them end it soon, whatever it does.

Interrupts come at calls of functions that are counted, see `tests.interrupted`.
"""

import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.basics.interrupts import INTERRUPTS
from tests.compiled import compiled
from tests.interrupted import SOURCE, Ended, interrupted
from tests.tiers import one_of_each
from tests.waiting import HANGS_S

SCENARIOS = Path(__file__).parents[1] / "scenarios"
QUICKSTART = str(SCENARIOS / "quickstart.toml")
#: Of everything but what needs torch, long enough to be at work when it is interrupted.
COMMANDS = {
    "run": ["run", QUICKSTART, "--replications", "300", "--out", "{}/out"],
    "run in workers": [
        *("run", QUICKSTART, "--replications", "100", "--workers", "2"),
        *("--engine", "sim", "--out", "{}/out"),
    ],
    "sweep": [
        *("sweep", QUICKSTART, "--vary", "failures.mean=10 h,20 h", "--replications", "300"),
        *("--workers", "1", "--out", "{}/out"),
    ],
    "sweep in workers": [
        *("sweep", QUICKSTART, "--vary", "failures.mean=10 h,20 h", "--replications", "300"),
        *("--workers", "2", "--engine", "sim", "--out", "{}/out"),
    ],
    "advise": ["advise", QUICKSTART, "--system", "full", "--system", "partial"],
    "fit": ["fit", str(SCENARIOS / "failures.csv"), "--plot", "{}/out/fit.png"],
    "figure": ["figure", "policy-breakdown", "--out", "{}/out/figure.png"],
    "timeline": ["timeline", QUICKSTART, "--policy", "full", "--out", "{}/out/it.png"],
}
_SHORT = [
    *(str(SCENARIOS / "train-quick.toml"), "--policy", "full", "--out", "{}/out"),
    *("--set", "job.samples=20_480", "--set", "trainer.test_samples=2_048"),
]
WITH_TORCH = {"train": ["train", *_SHORT], "validate": ["validate", *_SHORT]}
#: Each signal once, and one that comes alone.
TIMES = len(INTERRUPTS) + 1
_NEVER = -1  # a call that never comes


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return compiled(SOURCE, tmp_path_factory.mktemp("interrupted"))


def ended(library: Path, folder: Path, arguments: list[str], *interrupts: int) -> Ended:
    place = Path(tempfile.mkdtemp(dir=folder))  # what one has done isn't there for the next
    return interrupted(library, place, [each.format(place) for each in arguments], *interrupts)


def check(found: Ended, number: int) -> None:
    if not found.sent:  # it was done before
        assert found.code == 0, found.err
        return
    assert "Traceback" not in found.err
    # By itself, or in the moment before its end by the system (Python ends itself by SIGINT where
    # an interrupt is raised as it exits), or since it didn't listen.
    assert found.code in (1, -number, -signal.SIGINT, -signal.SIGALRM), found
    if found.code == 1:
        assert found.err.splitlines()[-1].startswith("cprsim: interrupted")


def interrupt_now_and_then(
    library: Path, folder: Path, arguments: list[str], times: int, counted: Callable[[str], None]
) -> None:
    calls = ended(library, folder, arguments, _NEVER, _NEVER).calls
    drawn = random.Random(0)
    longest_s, sent = 0.0, 0
    for i in range(times):
        number = INTERRUPTS[i % len(INTERRUPTS)]
        first = drawn.randrange(1, calls)
        second = int(10 ** drawn.uniform(0, 4)) if i < times - 1 else _NEVER
        found = ended(library, folder, arguments, first, second, number)
        check(found, number)
        longest_s, sent = max(longest_s, found.took_s), sent + found.sent
    assert sent >= times / 2  # else they would have been done before
    counted(f"{times} times, {sent} interrupts: ended after {longest_s:.1f} s at most")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", one_of_each(("timeline", "sweep in workers"), COMMANDS))
def test_two_interrupts_end_a_command(name, library, tmp_path, counted):
    interrupt_now_and_then(library, tmp_path, COMMANDS[name], TIMES, counted)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", one_of_each(("train",), WITH_TORCH))
def test_two_interrupts_end_members_too(name, library, tmp_path, counted):
    pytest.importorskip("torch")
    interrupt_now_and_then(library, tmp_path, WITH_TORCH[name], TIMES, counted)


def python(script: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)


DEAF = """
import os, signal, time
from cprsim.cli.process import Interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, perhaps, in the background
Interrupts().heed()
for number in NUMBERS:
    try:
        os.kill(os.getpid(), number)
        time.sleep(0)
    except KeyboardInterrupt:
        pass
print("heard nothing of it", flush=True)
if len(NUMBERS) > 1:
    while True:
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGINT], 0),
        ([signal.SIGINT, signal.SIGTERM], -signal.SIGALRM),
        ([signal.SIGINT] * 3, -signal.SIGINT),
        ([signal.SIGHUP], 0),
    ],
)
def test_who_doesnt_listen_is_ended_by_the_system(numbers, code):
    script = DEAF.replace("NUMBERS", str([int(each) for each in numbers]))
    done = python(script)

    assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_a_terminal_that_closes_interrupts_once(tmp_path):
    script = DEAF.replace("NUMBERS", str([int(signal.SIGHUP)] * 5)).replace("while True", "while 0")
    done = python(script)

    assert (done.returncode, done.stdout) == (0, "heard nothing of it\n")


DROPPED = {
    "a finalizer": """
class Final:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        print("not dropped", flush=True)  # it is here that Python can't raise it
def act():
    Final()
""",
    "a library in C that is being imported": """
import importlib.machinery
def act():
    importlib.machinery.ExtensionFileLoader("it", "it.so").exec_module(importlib)
def sent(_):
    os.kill(os.getpid(), signal.SIGINT)
    print("not raised here", flush=True)
importlib._bootstrap_external._imp = type("Imp", (), {"exec_dynamic": staticmethod(sent)})
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("where", DROPPED)
def test_an_interrupt_that_cant_be_raised_comes_later(where):
    script = f"""
import os, signal
from cprsim.cli.process import Interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
Interrupts().heed()
{DROPPED[where]}
try:
    act()
    while True:
        signal.pause()
except KeyboardInterrupt:
    print("it came")
"""
    done = python(script)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "it came"


@pytest.mark.slow
def test_nohup_is_respected():
    script = (
        "import os, signal\nfrom cprsim.cli.process import Interrupts\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nInterrupts().heed()\n"
        "os.kill(os.getpid(), signal.SIGHUP)\nprint('goes on')"
    )
    done = python(script)

    assert (done.returncode, done.stdout) == (0, "goes on\n")
