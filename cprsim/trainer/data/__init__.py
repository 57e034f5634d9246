"""Samples to train on: made-up samples with a planted teacher, Criteo's logs, MovieLens-100K.

    data = Planted(samples=100_000, seed=1)
    data = read_criteo(Path("train.txt.gz"), folder=Path("criteo"))
    dense, sparse, labels = data.batch(0)

All are `Data`: values whose batches depend on the seed and the step alone.
"""

from cprsim.trainer.data.contract import Data, DataError
from cprsim.trainer.data.criteo import read_criteo
from cprsim.trainer.data.planted import Planted
from cprsim.trainer.data.recorded import Recorded

__all__ = ["Data", "DataError", "Planted", "Recorded", "read_criteo"]
