"""Silent faults: they corrupt what is trained, and a verification alone finds them."""

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution, Name
from cprsim.basics.streams import Cause, stream


class SilentLaw(Distribution):
    """Faults that corrupt training, and that nobody notices.

    The time between them is training, that which is done again included. `distribution`: its law,
    exponential if not given; the other keys are those of any law.
    """

    distribution: Name = "exponential"


def faults_s(law: Distribution, seed: int, replication: int, count: int) -> NDArray[np.float64]:
    """Training by each of the first of them, s, shape (count,)."""
    return np.cumsum(law.sample(stream(seed, replication, Cause.SILENT), count))
