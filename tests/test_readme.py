"""The README's commands print what it shows, and its Python runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ cprsim (.*?)\n(.*?)```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[c for c, _ in CONSOLE])
def test_a_command_prints_what_the_readme_shows(command: str, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cprsim.cli", *shlex.split(command)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert _lines(done.stdout or done.stderr) == _lines(shown)


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")

    exec(compile("".join(PYTHON), "README.md", "exec"), {})

    assert (tmp_path / "breakdown.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_shows_both_commands() -> None:
    assert "make demo" in README
    assert "make test" in README
    assert len(CONSOLE) == 3
