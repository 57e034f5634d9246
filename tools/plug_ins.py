"""`python -m tools.plug_ins NAME ARGS`: install libraries as a page says; run the tests with them.

`NAME` is `torchrec` or `adapters`. The lines of pip on its page are installed into an environment
in `.venv/NAME`, which sees all of `.venv` and changes nothing there. They are installed again when
the page changes them.
"""

import platform
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final, NamedTuple

from tools.paths import DOCS, ROOT

#: The Python of continuous integration, for which there are wheels.
SURE: Final = ("3.11", "Linux", "x86_64")
_PIP: Final = re.compile(r"^ {4}pip (install .*)$", re.MULTILINE)
_NO_WHEEL: Final = re.compile(r"No matching distribution found for \S+")


class PlugIn(NamedTuple):
    """A page that installs libraries, the tests that need them, and arguments of pytest."""

    page: Path
    tests: tuple[str, ...]
    pytest: tuple[str, ...]

    @property
    def installs(self) -> list[list[str]]:
        """The arguments of each call of pip on the page."""
        return [shlex.split(each) for each in _PIP.findall(self.page.read_text(encoding="utf-8"))]


#: The adapters are those with a library that is not in `.venv`.
PLUG_INS: Final = {
    "torchrec": PlugIn(
        DOCS / "plug-into-torchrec.md", ("tests/trainer/test_torchrec*.py",), ("-m", "")
    ),
    "adapters": PlugIn(
        DOCS / "plug-into-other-trainers.md",
        tuple(
            f"tests/hooks/test_{each}.py"
            for each in ("orbax", "huggingface", "lightning", "ray", "torchft")
        ),
        ("-n", "2", "--dist", "worksteal", "-m", "not nightly"),
    ),
}


def main(name: str, *arguments: str) -> None:
    """Install the libraries, unless they are there, and run the tests that need them."""
    plug_in = PLUG_INS[name]
    environment = Path(sys.prefix, name)
    lacking = missing(environment, plug_in.installs)
    if lacking:
        sys.stdout.write(f"The tests of {name} are not run: {lacking}\n")
        return
    tests = sorted(str(path) for glob in plug_in.tests for path in ROOT.glob(glob))
    pytest = [environment / "bin" / "python", "-m", "pytest", *plug_in.pytest, *tests, *arguments]
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
    """Return pip's line on a missing wheel, where there may be none; exit on any other report."""
    version = ".".join(platform.python_version_tuple()[:2])
    here = (version, platform.system(), platform.machine())
    found = _NO_WHEEL.search(report)
    if found is None or here == SURE:
        raise SystemExit(report)
    return f"{found[0]} on {here[1]} {here[2]} with Python {version}"


if __name__ == "__main__":
    main(*sys.argv[1:])
