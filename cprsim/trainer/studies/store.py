"""Runs of a study that are done: a file each, so that whatever happens to a study, they stay."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cprsim.basics.files import check_writable, finish_others, write_all
from cprsim.trainer.studies.design import Run

#: What a file says of itself: the run, and a hash of all else that it says.
_KEY, _HASH = "key", "sha256"


class RunStore:
    """A folder of runs, by their keys. A damaged file is no run: it is trained again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, runs: Sequence[Run]) -> None:
        """Raise `UsageError` where these can't be put; finish what was begun before."""
        check_writable(self._folder, [self.path(run).name for run in runs])
        finish_others(self._folder)

    def find(self, run: Run) -> dict[str, Any] | None:
        """Return the result of a run; None if it is missing or its file is damaged."""
        try:
            found = json.loads(self.path(run).read_bytes())
        except (FileNotFoundError, IsADirectoryError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.pop(_HASH, None) != _digest(found):
            return None
        return found if found.pop(_KEY, None) == run.key else None

    def done(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """Return the results of those that are done."""
        return [document for document in map(self.find, runs) if document is not None]

    def put(self, run: Run, document: dict[str, Any]) -> None:
        """Keep a run; it is there whole, or not at all."""
        path = self.path(run)
        if path.exists() and self.find(run) is None:  # it may be a file of the user's
            number = 1
            while (kept := path.with_suffix(f".damaged-{number}")).exists():
                number += 1
            path.rename(kept)
        content = {**document, _KEY: run.key}
        content |= {_HASH: _digest(content)}
        text = json.dumps(content, indent=2, allow_nan=False) + "\n"
        write_all(self._folder, {path.name: text.encode()})

    def path(self, run: Run) -> Path:
        """The file of a run."""
        return self._folder / f"{run.key}.json"


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
