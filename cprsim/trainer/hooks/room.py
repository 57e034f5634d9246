"""Whether disks have room for the checkpoints of a job, before it trains."""

import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from cprsim.basics.units import format_bytes
from cprsim.errors import RunError
from cprsim.trainer.hooks.checkpointed import Image
from cprsim.trainer.hooks.ranks import Ranks, everyone
from cprsim.trainer.members.store import most_bytes


def check_room(
    folder: Path, images: Sequence[Image], by_rows: bool, freed: int, ranks: Ranks
) -> None:
    """Check that the disk of each process has room for all checkpoints that are kept at a time.

    Parameters
    ----------
    folder
        That of this process.
    images
        What a checkpoint of everything stores: of each block of rows, and last of the dense part.
    by_rows
        Whether saves are of some rows, which are kept on top of earlier ones.
    freed
        Bytes of older checkpoints, which go once the first new one is stored.
    ranks
        The processes of the job, which all call this.

    Raises
    ------
    RunError
        In all processes, where one disk has too little room: from some save on, all would fail.
    """
    *rows, dense = (sum(each.nbytes for each in image.arrays) for image in images)
    most = sum(most_bytes(size, by_rows) for size in rows) + most_bytes(dense, deltas=False)
    need = max(sum(rows) + dense, most - freed)
    folder.mkdir(parents=True, exist_ok=True)
    free, disk = shutil.disk_usage(folder).free, f"{platform.node()} {folder.stat().st_dev}"
    mine = {"need": need, "free": free, "disk": disk, "folder": str(folder)}
    all_said = everyone(ranks, mine)
    for each in all_said:
        needed = sum(other["need"] for other in all_said if other["disk"] == each["disk"])
        if needed > each["free"]:
            raise RunError(
                f"folder {each['folder']}: checkpoints take {format_bytes(needed)} on its disk, "
                "older ones and the one that is written included, and it has "
                f"{format_bytes(each['free'])}; make room, or give another folder"
            )
