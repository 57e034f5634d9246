"""Libraries in C that tests load into a process."""

import subprocess
from pathlib import Path

import pytest


def compiled(source: Path, folder: Path) -> Path:
    """The library, in the folder; skips the test where there is no compiler."""
    library = folder / f"{source.stem}.so"
    command = ["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler for {source.name}: {error}")
    return library
