"""`python -m tools.lowest`: try the lowest versions that pyproject.toml declares, without torch.

uv resolves each declared dependency to its lower bound, for every Python in `PYTHONS`, from wheels
alone: a bound without a wheel is an error. Then it installs these versions for the running Python
into an environment outside the repository, where every command answers.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cprsim.cli.command import app
from tools.paths import ROOT
from tools.tried_wheel import tried

#: Versions of Python for which every lower bound has a wheel.
PYTHONS: Final = ("3.11", "3.12", "3.13")
#: Extras that are small enough to install; the bounds of `cluster` are resolved alone.
INSTALLED: Final = ("metrics", "parquet", "xarray")
RESOLVED: Final = ("cluster", *INSTALLED)
#: Each after those before it, in one empty folder; one of them compiles the batch engine.
TRIALS: Final = (
    *(f"{command.name or command.callback.__name__} --help" for command in app.registered_commands
      if command.callback is not None),
    "--help",
    "run quickstart --replications 8 --out result --json",
    "run quickstart --replications 8 --policy full --engine batch",
    "advise quickstart --system full --system partial --json",
    "scenarios failures.csv --copy failures.csv",
    "fit failures.csv --plot fit.png",
    "sweep quickstart --vary cluster.parameter_servers=10,20 --replications 8 --out sweep --json",
    "export sweep --format parquet --out sweep.parquet",
    "export result --format prometheus",
    "figure interval --out interval.svg",
)  # fmt: skip
_BOUND: Final = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)\s*>=(?P<version>[\d.]+)")
_RESOLVED: Final = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[\d.]+)", re.MULTILINE)


def bounds(project: Mapping[str, Any], extras: Sequence[str]) -> dict[str, str]:
    """Return the lower bound of each dependency, also of these extras, by name."""
    declared = [*project["dependencies"]]
    for extra in extras:
        declared += project["optional-dependencies"][extra]
    found = [_BOUND.match(each) for each in declared]
    without = [each for each, match in zip(declared, found, strict=True) if match is None]
    if without:
        raise SystemExit(f"pyproject.toml: {', '.join(without)}: declare a lower bound with >=")
    return {match["name"]: match["version"] for match in found if match is not None}


def missed(declared: Mapping[str, str], resolution: str) -> list[str]:
    """Return each dependency whose lowest version with a wheel is above its bound, in words."""
    found = {match["name"]: match["version"] for match in _RESOLVED.finditer(resolution)}
    return [
        f"{name}>={version} is resolved to {found.get(name, 'no version')}: raise the bound"
        for name, version in declared.items()
        if _parts(found.get(name, "")) != _parts(version)
    ]


def _parts(version: str) -> str:
    return re.sub(r"(\.0)+$", "", version)


def main() -> None:
    """Resolve the bounds, install them, and try every command."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = bounds(project, RESOLVED)
    extras = [part for extra in RESOLVED for part in ("--extra", extra)]
    for python in PYTHONS:
        resolution = _uv(
            *("compile", "--python-version", python, "--only-binary", ":all:", "--no-header"),
            *("--no-annotate", "--resolution", "lowest-direct", *extras, "pyproject.toml"),
        )
        wrong = missed(declared, resolution)
        if wrong:
            raise SystemExit("\n".join(f"pyproject.toml, Python {python}: {it}" for it in wrong))
    with tempfile.TemporaryDirectory() as folder:
        environment, work = Path(folder, "venv"), Path(folder, "work")
        work.mkdir()
        subprocess.run([*_UV, "venv", "--python", sys.executable, environment], check=True)
        # Not editable: the machine code that Numba keeps goes with the environment.
        _uv(
            *("install", "--python", str(environment), "--resolution", "lowest-direct"),
            f"{ROOT}[{','.join(INSTALLED)}]",
        )
        for trial in TRIALS:
            tried(environment / "bin" / "cprsim", trial.split(), work)
    sys.stdout.write(f"{len(TRIALS)} commands tried with the lowest versions declared\n")


_UV: Final = (sys.executable, "-m", "uv", "--quiet")


def _uv(*arguments: str) -> str:
    """Return what `uv pip` prints; raise `SystemExit` with its report if it fails."""
    done = subprocess.run(
        [*_UV, "pip", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"uv pip {' '.join(arguments)}: failed\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
