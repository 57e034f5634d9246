"""The files of `run --out`: replications, the scenario as resolved, a manifest, the picture."""

import hashlib
import json
import platform
import subprocess
from importlib.metadata import version
from typing import Any

import cprsim
from cprsim.results import Result

_LIBRARIES = ("simpy", "numpy", "scipy", "pandas", "matplotlib", "pydantic")


NAMES = ("results.csv", "scenario.toml", "manifest.json", "breakdown.png")


def contents(result: Result) -> dict[str, bytes]:
    """Name and bytes of each file; the same result gives the same bytes."""
    from cprsim.figures import save_bytes  # noqa: PLC0415  (matplotlib is slow to import)

    scenario = result.scenario.to_toml()
    files = (
        result.replications.to_csv(index=False, lineterminator="\n").encode(),
        scenario.encode(),
        (json.dumps(manifest(result, scenario), indent=2) + "\n").encode(),
        save_bytes(result.figure("breakdown"), "png"),
    )
    return dict(zip(NAMES, files, strict=True))


def manifest(result: Result, scenario: str) -> dict[str, Any]:
    """What it takes to get the same result again."""
    return {
        "cprsim": cprsim.__version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "git": _git_state(),
        "scenario_sha256": hashlib.sha256(scenario.encode()).hexdigest(),
        "policies": list(result.plans),
        "replications": int(result.replications["replication"].nunique()),
        "seed": result.seed,
        "engine": result.engine,
    }


def _git_state() -> dict[str, Any] | None:
    """Commit of the current folder's repository and whether it has changes; None outside one."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
