"""`python -m tools.tried_wheel WHEEL`: use a wheel as a user does, outside the repository.

It is installed with its dependencies into a new environment, where every command has to work with
the files that the package ships.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

#: Each after those before it, in one empty folder; those with `--json` have to print it.
TRIALS: Final = (
    "--version",
    "scenarios",
    "scenarios quickstart --copy my-job.toml",
    "run my-job.toml --replications 8 --out result --json",
    "run quickstart --replications 8 --policy full",
    "advise quickstart --system full --system partial --json",
    "scenarios failures.csv --copy failures.csv",
    "fit failures.csv --toml",
    "fit failures.csv --json",
    "sweep my-job.toml --vary cluster.parameter_servers=10,20 --replications 8 --out sweep --json",
    "sweep sweep",
    "figure interval --out interval.svg",
    "timeline quickstart --policy full --out timeline.svg",
    "rows criteo-kaggle",
    "schema",
)
#: What they leave behind.
LEFT: Final = ("result/report.html", "interval.svg", "timeline.svg")
_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+/\S+/")
#: For one command, which may compile what simulates, s.
_PATIENCE_S: Final = 300


def main() -> None:
    """Try the one that is named."""
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        environment, work = Path(folder, "venv"), Path(folder, "work")
        work.mkdir()
        venv.create(environment, with_pip=True)
        _pip(environment, "install", "-qq", str(wheel))
        _pip(environment, "check")
        command = environment / "bin" / "cprsim"
        for trial in TRIALS:
            tried(command, trial.split(), work)
        missing = [name for name in LEFT if not Path(work, name).stat().st_size]
        if missing:
            raise SystemExit(f"empty: {', '.join(missing)}")
        _page(command, work)
    sys.stdout.write(f"{wheel.name}: {len(TRIALS) + 1} commands tried in a new environment\n")


def _pip(environment: Path, *arguments: str) -> None:
    python = environment / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(pip, check=True, env=_plain(), stdout=subprocess.DEVNULL)


def _plain() -> dict[str, str]:
    """The environment without what would lead Python back into the repository."""
    return {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}


def tried(command: Path, arguments: list[str], work: Path) -> None:
    """Run `cprsim` in a folder; raise `SystemExit` if it fails, or `--json` prints no document."""
    ended = subprocess.run(
        [command, *arguments],
        cwd=work,
        env=_plain(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(
            f"cprsim {' '.join(arguments)}: exit code {ended.returncode}\n{ended.stderr}"
        )
    if "--json" in arguments:
        json.loads(ended.stdout)


def _page(command: Path, work: Path) -> None:
    """`cprsim app` serves its page, and ends with Ctrl-C."""
    with _opened(command, work) as served:
        assert served.stdout is not None
        found = _ADDRESS.search(served.stdout.readline())
        if found is None:
            raise SystemExit("cprsim app: prints no address")
        with urllib.request.urlopen(found[0], timeout=_PATIENCE_S) as page:
            if b"app.js" not in page.read():
                raise SystemExit("cprsim app: serves another page")
        served.send_signal(signal.SIGINT)
        if served.wait(_PATIENCE_S):
            raise SystemExit(f"cprsim app: exit code {served.returncode}")


@contextmanager
def _opened(command: Path, work: Path) -> Iterator[subprocess.Popen[str]]:
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    served = subprocess.Popen(
        [command, "app", "--no-browser"],
        cwd=work,
        env=_plain(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield served
    finally:
        signal.signal(signal.SIGINT, heeded)
        served.kill()
        served.wait()


if __name__ == "__main__":
    main()
