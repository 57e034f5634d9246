"""Streams of random numbers, one for each cause, so that draws in one move nothing in another."""

from enum import IntEnum

import numpy as np


class Cause(IntEnum):
    """What a stream decides; the numbers are part of every result's identity: never reuse one."""

    FAILURE_TIME = 0
    VICTIM = 1
    RESCHEDULE = 2
    NODE_LIFE = 3
    REPLAY = 4
    BURST_TIME = 5
    BURST_VICTIM = 6
    SEVERITY = 7


def stream(seed: int, replication: int, cause: Cause, entity: int = 0) -> np.random.Generator:
    """The generator of one cause (and entity of it) in one replication."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replication, int(cause), entity))
    return np.random.Generator(np.random.PCG64(sequence))
