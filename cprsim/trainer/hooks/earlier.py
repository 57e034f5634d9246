"""Loads a job from the checkpoints of the processes that it had before."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cprsim.errors import RunError
from cprsim.trainer.hooks.job_folder import RowSpan, row_spans
from cprsim.trainer.hooks.layout import Layout, Live, RowRange
from cprsim.trainer.hooks.nested import from_bytes, unpacked
from cprsim.trainer.hooks.observer import warn_of_spoilt
from cprsim.trainer.hooks.sharded import merged
from cprsim.trainer.hooks.start import Source
from cprsim.trainer.members.array_files import read_chain
from cprsim.trainer.members.manifests import SpoiltError
from cprsim.trainer.members.parameters import Arrays
from cprsim.trainer.members.store import checkpoints_in


class EarlierCheckpoints:
    """The checkpoints of all processes before, of which this process takes what it holds now.

    Parameters
    ----------
    sources
        Where they are; nothing there is changed.
    layout
        The rows of this process.
    live
        Gives the tensors in use.
    take_dense
        Takes over a dense part, with the accounts of the job in it.
    takes_counts
        Whether this process goes on from what all of them have counted.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        layout: Layout,
        live: Callable[[], Live],
        take_dense: Callable[[Mapping[str, Any]], None],
        takes_counts: bool,
    ) -> None:
        self._sources, self._layout, self._takes_counts = sources, layout, takes_counts
        self._live, self._take_dense = live, take_dense
        self._steps = sorted(set.intersection(*(each.steps for each in sources)), reverse=True)

    @property
    def newest(self) -> int:
        """The last step of which all of them have a checkpoint; -1 without one."""
        return max(self._steps, default=-1)

    def load(self, at_most: int) -> tuple[int, int]:
        """Load the last sound checkpoint up to a step.

        Returns its step, and the bytes read. Raises `RunError` where none is sound. Rows that no
        checkpoint has keep their values.
        """
        spoilt: list[str] = []
        try:
            for step in [each for each in self._steps if each <= at_most]:
                try:
                    size = self._load(step)
                except SpoiltError as error:
                    spoilt.append(str(error))
                else:
                    warn_of_spoilt(spoilt, step)
                    return step, size
        except OSError as error:
            raise RunError(f"a checkpoint can't be read now: {error}; try again") from error
        folders = ", ".join(str(each.process.folder) for each in self._sources)
        raise RunError(
            f"{folders}: no sound checkpoint is left of all of it "
            f"({'; '.join(spoilt) or 'they are of different steps'}); begin in another folder"
        )

    def _load(self, step: int) -> int:
        # The dense part first: an optimizer that loads may make the state of rows again.
        dense = [_read(source.dense, step) for source in self._sources]
        whole = [unpacked(arrays) for arrays, _ in dense]
        of_all = merged(whole) | {
            "job": _accounts([each["job"] for each in whole], self._takes_counts)
        }
        self._take_dense(of_all)
        size = sum(size for _, size in dense)
        live = self._live()
        for source in self._sources:
            blocks = row_spans(source.process.tables).items()
            for (kinds, held), folder in zip(blocks, source.rows, strict=True):
                wanted = [*_shared(self._layout.parts, kinds, held)]
                if not wanted:
                    continue
                arrays, read = _read(folder, step)
                size += read
                for part, to, at, rows in wanted:
                    for mine, stored in zip(live[part], arrays, strict=True):
                        shape = (rows, *mine.shape[1:])
                        mine[to : to + rows] = from_bytes(stored[at : at + rows], mine.dtype, shape)
        return size


def _shared(
    parts: Sequence[RowRange], kinds: Any, held: Sequence[RowSpan]
) -> Iterator[tuple[RowRange, int, int, int]]:
    """Of rows that both have: the part, where in it, where in the arrays, and how many."""
    for part, other in itertools.product(parts, held):
        if part.table != other.table or part.kinds != kinds:
            continue
        first = max(part.first, other.first)
        rows = min(part.first + part.rows, other.first + other.rows) - first
        if rows > 0:
            yield part, first - part.first, first - other.first + other.at, rows


def _read(folder: Path, step: int) -> tuple[Arrays, int]:
    """The arrays of a step, and the bytes of their files."""
    spoilt = SpoiltError(f"{folder}: has no checkpoint of step {step}")
    for manifest in checkpoints_in(folder):
        if manifest.step == step:
            try:
                files = manifest.files
                return read_chain(folder, files).arrays, sum(each.size for each in files)
            except SpoiltError as error:
                spoilt = error
    raise spoilt


def _accounts(all_said: Sequence[dict[str, Any]], takes_counts: bool) -> dict[str, Any]:
    """The accounts of the job, for one process to go on from.

    Each process counts for itself what `TrainerHooks.job_summary` adds up, so one takes the counts
    of all, and the others begin at 0.
    """
    job, counted = all_said[0], all_said if takes_counts else []
    updates, counts = dict(job["updates"]), dict(job["counts"])
    for name in ("made", "lost", "unsaved"):
        updates[name] = sum(each["updates"][name] for each in counted)
    for name in ("bytes_saved", "bytes_loaded"):
        counts[name] = sum(each["counts"][name] for each in counted)
    lost = sum(each["lost_steps"] for each in counted)
    return job | {"lost_steps": lost, "updates": updates, "counts": counts}
