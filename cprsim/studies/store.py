"""Runs of a study that are done: a file each, so that whatever happens to a study, they stay."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cprsim.basics.files import check_writable, finish_others, write_all
from cprsim.studies.design import Run
from cprsim.trainer.store.files import read_small
from cprsim.trainer.store.manifests import SpoiltError

#: What a file says of itself, beside what came of the run.
_KEY, _HASH = "key", "sha256"


class RunStore:
    """A folder of runs, by their keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, runs: Sequence[Run]) -> None:
        """Raise `UsageError` where these can't be put; finish what was begun before."""
        check_writable(self._folder, [self.path(run).name for run in runs])
        finish_others(self._folder)

    def find(self, run: Run) -> dict[str, Any] | None:
        """What came of a run; None if it is missing or its file is damaged."""
        try:
            found = json.loads(read_small(self.path(run)))
            if found.pop(_HASH) == _digest(found) and found.pop(_KEY) == run.key:
                return dict(found)
        except (SpoiltError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
            pass
        return None

    def done(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """What came of those that are done."""
        return [document for document in map(self.find, runs) if document is not None]

    def notes(self, runs: Sequence[Run], so_far: bool) -> list[str]:
        """What to say of damaged files."""
        damaged = [self.path(run) for run in runs if self._is_damaged(run)]
        if not damaged:
            return []
        listed = f"{damaged[0]}{f' and {len(damaged) - 1} more' if damaged[1:] else ''}"
        return [f"{listed}: damaged, and {'left out' if so_far else 'trained again'}"]

    def put(self, run: Run, document: dict[str, Any]) -> None:
        """Keep a run; it is there whole, or not at all."""
        path = self.path(run)
        if self._is_damaged(run):  # it may be a file of the user's
            number = 1
            while os.path.lexists(kept := path.with_suffix(f".damaged-{number}")):
                number += 1
            path.rename(kept)
        kept_document = {**document, _KEY: run.key}
        kept_document |= {_HASH: _digest(kept_document)}
        text = json.dumps(kept_document, indent=2, allow_nan=False) + "\n"
        write_all(self._folder, {path.name: text.encode()})

    def path(self, run: Run) -> Path:
        """The file of a run."""
        return self._folder / f"{run.key}.json"

    def _is_damaged(self, run: Run) -> bool:
        return self.path(run).exists() and self.find(run) is None


def _digest(said: dict[str, Any]) -> str:
    """Of all that a file says but this; raises `ValueError` for what no file of ours says."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
