"""Models by name: rows of each table, embedding dimension, dense part, how rows are accessed."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from cprsim.rows.skew import Name as SkewName

PresetName = Literal["criteo-kaggle", "criteo-terabyte", "dlrm-production", "ecrec-criteo"]


@dataclass(frozen=True)
class ModelPreset:
    """float32 tables, each of `rows` rows of dimension `dim`.

    `pooling`: rows of a table that a sample looks up; `tracked_tables`: how many of the largest are
    saved by priority. How the rows of Criteo's tables are accessed isn't published with them:
    their skew is that of Meta's production traces, an assumption that `[model] skew` replaces.
    """

    rows: tuple[int, ...]
    dim: int
    optimizer_slots: int = 0
    skew: SkewName = "dlrm-production"
    pooling: float = 1.0
    tracked_tables: int | None = None


# Rows per table and embedding dimension of the two DLRM benchmarks: facebookresearch/dlrm,
# tools/visualize.py and bench/dlrm_s_criteo_{kaggle,terabyte}.sh (Terabyte: data sub-sampled by
# 0.875, max-ind-range 1e7). SGD (no optimizer state).
_KAGGLE_ROWS = (
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27,
    14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572,
)  # fmt: skip
_TERABYTE_ROWS = (
    9980333, 36084, 17217, 7378, 20134, 3, 7112, 1442, 61, 9758201, 1333352, 313829, 10, 2208,
    11156, 122, 4, 970, 14, 9994222, 7267859, 9946608, 415421, 12420, 101, 36,
)  # fmt: skip
PRESETS: dict[str, ModelPreset] = {
    "criteo-kaggle": ModelPreset(
        rows=_KAGGLE_ROWS,
        dim=16,
        tracked_tables=7,  # CPR's choice: 99.58 % of the rows; six would hold 99.16 %
    ),
    "criteo-terabyte": ModelPreset(
        rows=_TERABYTE_ROWS,
        dim=64,
        tracked_tables=7,  # 99.12 %
    ),
    # facebookresearch/dlrm_datasets, embedding_bag/2021, fbgemm_t856_bs65536: 856 tables, here as
    # one, 887,017,990 lookups of 128,435,723 different rows by 65,536 samples. Rows that those
    # samples didn't touch aren't known, nor is the dimension: 128 is an assumption.
    "dlrm-production": ModelPreset(rows=(128_435_723,), dim=128, pooling=887_017_990 / 65_536),
    # K. Zhang et al., ECRec: about 200 M rows of dimension 128 with Adagrad's state, 220 GB in all;
    # how they are spread over the 26 tables isn't known: here they are one.
    "ecrec-criteo": ModelPreset(rows=(200_000_000,), dim=128, optimizer_slots=1, pooling=26.0),
}
assert set(get_args(PresetName)) == set(PRESETS)


def _mlp_parameters(*widths: int) -> int:
    """Weights and biases of a fully connected network with these layer widths."""
    return sum(a * b + b for a, b in pairwise(widths))


# Layer widths from the same scripts. The top network reads the bottom's output and the dot
# products of all pairs of 27 vectors (26 tables and the bottom's output): 351 of them.
DENSE_PARAMETERS: dict[str, int] = {
    "criteo-kaggle": _mlp_parameters(13, 512, 256, 64, 16) + _mlp_parameters(367, 512, 256, 1),
    "criteo-terabyte": _mlp_parameters(13, 512, 256, 64) + _mlp_parameters(415, 512, 512, 256, 1),
}
