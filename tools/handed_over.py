"""Which runs the batch engine hands over to the simulator, as it plays them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from cprsim.batch.engine import Runs

Values = np.ndarray[Any, Any]


@contextmanager
def watching() -> Iterator[list[Values]]:
    """Which runs are handed over to `cprsim.sim`: a mask for each policy and chunk, as played."""
    masks: list[Values] = []
    play = Runs.play

    def watched(runs: Runs) -> tuple[Values, Values]:
        values, handed = play(runs)
        masks.append(handed)
        return values, handed

    with patch.object(Runs, "play", watched):
        yield masks
