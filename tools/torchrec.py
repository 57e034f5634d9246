"""`python -m tools.torchrec ARGS`: install TorchRec as its page says; run the tests that need it.

What the page has pip install goes into an environment in `.venv/torchrec`, which sees all of
`.venv` and changes nothing there. It is installed again when the page says something else.
"""

import platform
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from tools.paths import DOCS, ROOT

PAGE: Final = DOCS / "plug-into-torchrec.md"
#: The Python of continuous integration, for which there are wheels.
SURE: Final = ("3.11", "Linux", "x86_64")
_PIP: Final = re.compile(r"^ {4}pip (install .*)$", re.MULTILINE)
_NO_WHEEL: Final = re.compile(r"No matching distribution found for \S+")


def installs(page: str) -> list[list[str]]:
    """What pip is given, line by line."""
    return [shlex.split(each) for each in _PIP.findall(page)]


def main() -> None:
    """Install it where that has to be, and run the tests."""
    environment = Path(sys.prefix, "torchrec")
    lacking = missing(environment, installs(PAGE.read_text(encoding="utf-8")))
    if lacking:
        sys.stdout.write(f"TorchRec's tests are not run: {lacking}\n")
        return
    tests = sorted(str(each) for each in Path("tests/trainer").glob("test_torchrec*.py"))
    pytest = [environment / "bin" / "python", "-m", "pytest", "-m", "", *tests, *sys.argv[1:]]
    raise SystemExit(subprocess.run(pytest, cwd=ROOT, check=False).returncode)


def missing(environment: Path, wanted: list[list[str]]) -> str:
    """Install all of it; return the package that has no wheel for this Python, or nothing."""
    stamp = environment / "installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == str(wanted):
        return ""
    venv.create(environment, clear=True, symlinks=True)
    python = environment / "bin" / "python"
    (above,) = Path(sys.prefix).glob("lib/python3*/site-packages")
    (below,) = environment.glob("lib/python3*/site-packages")
    (below / "above.pth").write_text(f"{above}\n", encoding="utf-8")
    for line in wanted:
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *line]
        ended = subprocess.run(pip, capture_output=True, text=True, check=False)
        if ended.returncode:
            return _excused(ended.stdout + ended.stderr)
    stamp.write_text(str(wanted), encoding="utf-8")
    return ""


def _excused(report: str) -> str:
    """That there is no wheel, where there may be none; all else ends it."""
    version = ".".join(platform.python_version_tuple()[:2])
    here = (version, platform.system(), platform.machine())
    found = _NO_WHEEL.search(report)
    if found is None or here == SURE:
        raise SystemExit(report)
    return f"{found[0]} on {here[1]} {here[2]} with Python {version}"


if __name__ == "__main__":
    main()
