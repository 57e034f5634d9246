"""Policies that the compiled engine can play, and whether it is compiled, without loading it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from cprsim.contract.plan import user_code
from cprsim.machine import codes
from cprsim.scenario import Scenario
from cprsim.sim.failure_draws import source_of

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
#: Modules whose functions are compiled.
COMPILED = tuple(
    sorted(f"cprsim.machine.{path.stem}" for path in (_ROOT / "machine").glob("[!_]*.py"))
)
#: Modules whose numbers are compiled in.
_NUMBERS = ("cprsim.basics.periods", "cprsim.job.platform")
#: Settings of Numba for commands that start in a folder.
_NUMBA_FILE = ".numba_config.yaml"

#: Seconds after which a compilation counts as stopped; it takes about twenty.
_COMPILES_S = 300.0


def refusals(scenario: Scenario, policies: Iterable[str]) -> dict[str, str | None]:
    """Return why each policy can't be played, or None."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    if source_of(cohort) == codes.OTHER:
        kind = type(cohort).__name__
        return dict.fromkeys(policies, f"the compiled engine does not know failures of kind {kind}")
    return {name: user_code(scenario.plan(name)) for name in policies}


def why_uncompiled() -> str | None:
    """Return why nothing can be compiled, or None; the simulator is quicker then."""
    if find_spec("numba") is None:
        return "Numba can't be imported"
    switched_off = False
    with suppress(ValueError):  # Numba takes a value that is no number for 0
        switched_off = bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    # Numba takes half a second to import, so only if it is loaded already or reads its own file.
    if not switched_off and ("numba" in sys.modules or Path(_NUMBA_FILE).exists()):
        switched_off = import_module("numba").config.DISABLE_JIT
    return "NUMBA_DISABLE_JIT is set" if switched_off else None


def is_compiled() -> bool:
    """Return whether the present sources are compiled, in this process or on disk."""
    # Another thread may be importing that module now.
    loaded = getattr(sys.modules.get("cprsim.batch.compiled"), "play_runs", None)
    if loaded is not None and loaded.signatures:
        return True
    own, name = os.environ.get("NUMBA_CACHE_DIR"), mark()
    if own is not None:
        return any(Path(own).glob(f"*/{name}"))
    if (_HERE / "__pycache__" / name).exists():
        return True
    # Numba's folder where it may not write next to the source.
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return any((of_user / "numba").glob(f"*/{name}"))


def note_compiled(folder: Path) -> None:
    """Mark a folder as one with machine code of these sources."""
    with suppress(OSError):
        (folder / mark()).touch()


@cache
def start_compiling() -> None:
    """Start a process that compiles the machine, once; it outlives this one."""
    if not sys.executable:
        return
    script = "from cprsim.batch.readiness import compile_alone; compile_alone()"
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=null, stdout=null, stderr=null, start_new_session=True
    )
    Thread(target=process.wait, daemon=True).start()


def compile_alone() -> None:
    """Compile the machine at the lowest priority, unless another process does so."""
    from cprsim.batch.compiled import play_runs  # noqa: PLC0415
    from cprsim.batch.engine import make_ready  # noqa: PLC0415  (loads Numba)

    if hasattr(os, "nice"):
        os.nice(19)
    under_way = Path(play_runs.stats.cache_path or os.devnull) / f"{mark()}.begun"
    with suppress(OSError):
        if time.time() - under_way.stat().st_mtime < _COMPILES_S:
            return
    with suppress(OSError):
        under_way.parent.mkdir(parents=True, exist_ok=True)
        under_way.touch()
        try:
            make_ready()
        finally:
            under_way.unlink()


@cache
def sources() -> str:
    """Return a digest of all sources that are compiled."""
    modules = [
        _ROOT / f"{name.removeprefix('cprsim.').replace('.', '/')}.py"
        for name in (*COMPILED, *_NUMBERS)
    ]
    paths = [*_HERE.glob("*.py"), *modules]
    return sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def mark() -> str:
    """Return the name of the file that marks a folder with machine code of these sources."""
    python = sys.implementation.cache_tag
    return f"compiled-{python}-numba-{version('numba')}-{sources()[:16]}"
