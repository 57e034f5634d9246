"""Runs of a study that are done: a file each, so that whatever happens to a study, they stay."""

import json
from pathlib import Path
from typing import Any

from cprsim.basics.files import write_all
from cprsim.errors import UsageError
from cprsim.studies.design import Run


class RunStore:
    """A folder of runs, by their keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, run: Run) -> bool:
        """Whether that run is done."""
        return self._path(run).is_file()

    def put(self, run: Run, document: dict[str, Any]) -> None:
        """Keep a run; it is there whole, or not at all."""
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        write_all(self._folder, {self._path(run).name: text.encode()})

    def get(self, run: Run) -> dict[str, Any]:
        """What is kept of a run.

        Raises
        ------
        UsageError
            Where the file is no JSON: somebody has changed it.
        """
        path = self._path(run)
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{path}: {error}; delete it, and start the study again") from None
        return found

    def _path(self, run: Run) -> Path:
        return self._folder / f"{run.key}.json"
