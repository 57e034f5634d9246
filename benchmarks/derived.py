"""Derived costs over measured ones: of bytes, and of the lab's own servers.

A row is the derived time over the measured one, both with the memory bandwidth of this run: that of
one process which copies as many bytes.
"""

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

_ROUNDS = 9
_ROWS, _DIM, _IDS = 400_000, 64, 20_000
#: Bytes of a row with its number of Adagrad's state, float32.
_ROW_B = (_DIM + 1) * 4


def main() -> None:
    """Print a row for each cost that the lab can show."""
    for row in _rows():
        print(row)


def ratios() -> dict[str, float]:
    """Derived over measured time, by what is measured."""
    import torch  # noqa: PLC0415  (only who measures needs it)

    from cprsim.trainer.hooks.nested import as_bytes  # noqa: PLC0415
    from cprsim.trainer.lab.model import Shard  # noqa: PLC0415

    torch.set_num_threads(1)
    shard = Shard(_ROWS, _DIM, 0, 0.05, 0.05)

    def snapshot() -> list[np.ndarray]:
        return [as_bytes(each) for each in (shard.weights, shard.squares)]

    rng = np.random.default_rng(0)
    ids = torch.from_numpy(np.sort(rng.choice(_ROWS, _IDS, replace=False)))
    gradients = torch.rand(_IDS, _DIM)
    source = np.ones(_ROWS * _ROW_B // 4, np.float32)
    copied_s = _median_s(source.copy)  # as a snapshot: into memory that is new
    bandwidth = source.nbytes / copied_s
    buffer = np.empty(_IDS * _ROW_B // 4, np.float32)
    held = _bandwidth(buffer)
    return {
        "snapshot of a shard": _ROWS * _ROW_B / bandwidth / _median_s(snapshot),
        "an update of rows, once more": _IDS
        * _ROW_B
        / held
        / _median_s(lambda: shard.update(ids, gradients)),
    }


def _bandwidth(buffer: np.ndarray) -> float:
    """Bytes a second of a copy into memory that is there already."""
    target = np.empty_like(buffer)
    return buffer.nbytes / _median_s(lambda: np.copyto(target, buffer))


def _rows() -> Iterator[str]:
    for what, ratio in ratios().items():
        yield f"{f'derived / measured: {what}':<58} {'':>12} {'':>12} {ratio:7.2f}   0.7 to 1.3"


def _median_s(does: Callable[[], object]) -> float:
    does()
    found = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        does()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


if __name__ == "__main__":
    main()
