"""Merge the deltas of checkpoints into new bases, in a process other than the one that trains.

    python -m cprsim.trainer.merge checkpoints --every "10 min"

It may be killed at any instant. A new base is there whole or not at all, and nothing is removed
that a load may need: the trainer builds its next save on the new base, and removes what that makes
superfluous. A chain that lacks a file is never merged.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cprsim.basics.files import locked, sync_folder
from cprsim.basics.units import parse_duration
from cprsim.errors import CprsimError, UsageError
from cprsim.trainer.hooks.observer import HooksWarning
from cprsim.trainer.store.files import (
    PARTIAL,
    Manifest,
    Name,
    SpoiltError,
    read_chain,
    write_arrays,
    written,
)
from cprsim.trainer.store.store import checkpoints_in


def merge_deltas(folder: str | Path) -> int:
    """Merge the newest chain of deltas of each block of rows in a folder of checkpoints.

    Returns the number of new bases. `folder`: that of `TrainerHooks`, or one that has those of
    several processes.

    Raises
    ------
    UsageError
        If there are no checkpoints of rows in it.
    """
    stores = sorted(each for each in Path(folder).rglob("rows-*-*") if each.is_dir())
    if not stores:
        raise UsageError(f"folder {folder}: has no checkpoints of rows; give that of TrainerHooks")
    merged = 0
    for each in stores:
        with suppress(FileNotFoundError):  # the trainer has replaced that store meanwhile
            merged += _merge(each)
    return merged


def _merge(folder: Path) -> bool:
    """Merge the newest chain of a store, unless that was done; returns whether it was now."""
    with locked(folder):  # of two mergers one waits, and finds it done
        newest = next(iter(checkpoints_in(folder)), None)
        if newest is None or len(newest.files) == 1:
            return False
        last = newest.files[-1]
        named = Name.of(last.name)
        assert named is not None
        manifest = Name(named.serial, "json", merged=True)
        if (folder / str(manifest)).exists():
            return False
        try:
            arrays, _ = read_chain(folder, newest.files)
        except SpoiltError as error:
            if (folder / newest.name).exists():  # else the trainer no longer needs it
                warnings.warn(f"{error}; the chain is not merged", HooksWarning, stacklevel=2)
            return False
        for left in folder.glob(f"*m.*{PARTIAL}"):  # by a merger that was killed
            left.unlink(missing_ok=True)
        try:
            base = write_arrays(folder / str(manifest._replace(kind="npys")), arrays)
            # The manifest comes last: without one, the trainer takes no notice of a base.
            with written(folder / str(manifest)) as file:
                file.write(Manifest(named.serial, newest.step, (base, last)).content())
        except FileNotFoundError:  # a trainer that starts has removed what was half written
            return False
        sync_folder(folder)
        return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Merge once, or again and again; a mistake of the user's is one line and exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m cprsim.trainer.merge")
    parser.add_argument("folder", type=Path, help="of the checkpoints of TrainerHooks")
    parser.add_argument("--every", help='merge again after so long, e.g. "10 min"')
    given = parser.parse_args(arguments)
    try:
        every_s = None if given.every is None else parse_duration(given.every)
        if every_s is not None and every_s <= 0:
            raise UsageError(f"--every {given.every!r} is out of range: it must be > 0")
        while True:
            try:
                sys.stdout.write(f"{merge_deltas(given.folder)} new bases\n")
                sys.stdout.flush()
            except OSError as error:  # a full disk, say: the next time may do
                if every_s is None:
                    parser.exit(1, f"{parser.prog}: {error}\n")
                sys.stderr.write(f"{parser.prog}: {error}; trying again in {given.every}\n")
            if every_s is None:
                return
            time.sleep(every_s)
    except CprsimError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130)


if __name__ == "__main__":
    main()
