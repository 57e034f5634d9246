"""Compilation of the machine in a process that does nothing else."""

import os
import time
from contextlib import suppress
from pathlib import Path

from cprsim.batch.engine import make_ready
from cprsim.batch.play import play_runs
from cprsim.batch.readiness import mark

#: Seconds after which a compilation counts as stopped; it takes about twenty.
_COMPILES_S = 300.0


def compile_alone() -> None:
    """Compile the machine at the lowest priority, unless another process does so."""
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
