"""Runs of a study that are done: a file each, so that whatever happens to a study, they stay."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cprsim.basics.files import check_writable, finish_others, write_all
from cprsim.studies.design import Run
from cprsim.trainer.members.array_files import read_small
from cprsim.trainer.members.manifests import SpoiltError

#: What a file says of itself, beside what came of the run.
_KEY, _HASH = "key", "sha256"
#: What a run has, of which types. That the ones of older versions are whole, only this can tell.
_KINDS: dict[str, type | tuple[type, ...]] = {
    "auc": (float, type(None)),
    "log_loss": float,
    "pls": (float, int),
    "updates_lost": (float, int),
    "predictions_sha256": str,
    "versions": dict,
}


class Kept(NamedTuple):
    """What is kept of a run.

    `state`: it is `missing`, `damaged`, `old`, of a version that kept no hash, or `sound`.
    `document`: what came of it, if it is one of the last two.
    """

    state: Literal["missing", "damaged", "old", "sound"]
    document: dict[str, Any] | None = None


class RunStore:
    """A folder of runs, by their keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, runs: Sequence[Run]) -> None:
        """Raise `UsageError` where these can't be put; finish what was begun before."""
        check_writable(self._folder, [self.path(run).name for run in runs])
        finish_others(self._folder)

    def find(self, run: Run) -> Kept:
        """What is kept of a run; whatever stands in its file, never anything else."""
        path = self.path(run)
        if not path.exists():
            return Kept("missing")
        try:
            found = json.loads(read_small(path))
            if not isinstance(found, dict):
                return Kept("damaged")
            digest, key = found.pop(_HASH, None), found.pop(_KEY, None)
            if digest is None and key is None:
                return Kept("old", found) if _is_whole(found, run) else Kept("damaged")
            if (digest, key) != (_digest(run, found), run.key):
                return Kept("damaged")
        except (SpoiltError, ValueError, RecursionError):
            return Kept("damaged")
        return Kept("sound", found)

    def done(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """What came of those that are done."""
        found = [self.find(run).document for run in runs]
        return [document for document in found if document is not None]

    def notes(self, runs: Sequence[Run], so_far: bool) -> list[str]:
        """What to say of files that aren't as this version leaves them; a line of each kind."""
        by_state: dict[str, list[Path]] = {}
        for run in runs:
            by_state.setdefault(self.find(run).state, []).append(self.path(run))
        notes = []
        if "damaged" in by_state:
            then = "left out" if so_far else "trained again"
            notes.append(f"{_listed(by_state['damaged'])}: damaged, and {then}")
        if "old" in by_state:
            notes.append(
                f"{_listed(by_state['old'])}: of an older version, without a hash, and taken as "
                "found; delete what is to be trained again"
            )
        return notes

    def put(self, run: Run, document: dict[str, Any]) -> None:
        """Keep a run; it is there whole, or not at all."""
        path = self.path(run)
        if self.find(run).state == "damaged":
            _move_aside(path)  # it may be a file of the user's
        kept = {**document, _KEY: run.key, _HASH: _digest(run, document)}
        text = json.dumps(kept, indent=2, allow_nan=False) + "\n"
        write_all(self._folder, {path.name: text.encode()})

    def path(self, run: Run) -> Path:
        """The file of a run."""
        return self._folder / f"{run.key}.json"


def _move_aside(path: Path) -> None:
    """Rename a file to one with another ending that is not there yet."""
    number = 1
    while os.path.lexists(kept := path.with_suffix(f".damaged-{number}")):
        number += 1
    path.rename(kept)


def _digest(run: Run, document: dict[str, Any]) -> str:
    """Of all that a file says but this; raises `ValueError` for what no file of ours says."""
    text = json.dumps(
        {**document, _KEY: run.key}, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _is_whole(document: dict[str, Any], run: Run) -> bool:
    return document.items() >= run.facts.items() and all(
        isinstance(document.get(name, ...), kind) and not isinstance(document[name], bool)
        for name, kind in _KINDS.items()
    )


def _listed(paths: Sequence[Path]) -> str:
    return f"{paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}"
