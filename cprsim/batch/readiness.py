"""The state of the compiled machine, and its compilation in a background process."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

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
    loaded = getattr(sys.modules.get("cprsim.batch.play"), "play_runs", None)
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
    from cprsim.batch.engine import make_ready  # noqa: PLC0415  (loads Numba)
    from cprsim.batch.play import play_runs  # noqa: PLC0415

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
