"""The job: how long it trains, and how much state its model holds."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from cprsim.schema import Bytes, PositiveSeconds, Rate, Section


class Job(Section):
    """What is to be trained.

    `useful_time_s`: training time without failures or checkpoints, s. `samples`: samples in it.
    `final_save`: the job ends with one more save, charged to overhead. `network`: bytes per second
    that trainers pull from the parameter servers while training at full speed, all servers
    together; as many are pushed back. Without it training is not slowed by other traffic.
    """

    useful_time_s: PositiveSeconds = Field(alias="useful_time")
    samples: Annotated[int, Field(gt=0)] | None = None
    final_save: bool = False
    network: Rate | None = None


#: Bytes of one element, by dtype.
DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


class Table(Section):
    """One embedding table; each element has `optimizer_slots` values of optimizer state."""

    name: str = ""
    rows: Annotated[int, Field(gt=0)]
    dim: Annotated[int, Field(gt=0)]
    dtype: Literal["float64", "float32", "float16", "bfloat16", "int8"] = "float32"
    optimizer_slots: Annotated[int, Field(ge=0)] = 0

    @property
    def embedding_bytes(self) -> float:
        """Size of the rows without optimizer state, B."""
        return float(self.rows) * self.dim * DTYPE_BYTES[self.dtype]

    @property
    def optimizer_bytes(self) -> float:
        """Size of the optimizer state of the rows, B."""
        return self.embedding_bytes * self.optimizer_slots


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list; write each table as [[model.tables]]")
    if not value:
        raise ValueError("is empty; give each table, e.g. [[model.tables]] with rows and dim")
    return tuple(value)


class Model(Section):
    """The state that a checkpoint holds: by preset, by table, or by total sizes.

    `embedding` and `optimizer` (of the embedding rows) are sharded over the parameter servers;
    `dense` is the part that every trainer holds a copy of.
    """

    preset: Literal["criteo-kaggle", "criteo-terabyte"] | None = None
    tables: Annotated[tuple[Table, ...], BeforeValidator(_listed)] | None = None
    embedding: Bytes | None = None
    optimizer: Bytes | None = None
    dense: Bytes | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [key for key in ("preset", "tables", "embedding") if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"give one of preset, tables, embedding; found {found}")
        if self.tables and self.optimizer is not None:
            raise ValueError("give the tables their optimizer_slots instead of optimizer")
        return self

    @property
    def shard_bytes(self) -> float:
        """Embedding rows and their optimizer state, all parameter servers together, B."""
        if self.tables is not None:
            return sum(table.embedding_bytes + table.optimizer_bytes for table in self.tables)
        if self.preset is not None:
            rows, dim = PRESET_ROWS[self.preset]
            return 4.0 * sum(rows) * dim + (self.optimizer or 0.0)
        return (self.embedding or 0.0) + (self.optimizer or 0.0)

    @property
    def dense_bytes(self) -> float:
        """The dense part, B."""
        if self.dense is not None:
            return self.dense
        return 4.0 * PRESET_DENSE_PARAMETERS[self.preset] if self.preset else 0.0

    @property
    def checkpoint_bytes(self) -> float:
        """Everything that one full checkpoint writes, B."""
        return self.shard_bytes + self.dense_bytes


# Rows per table and embedding dimension of the two DLRM benchmarks: facebookresearch/dlrm,
# tools/visualize.py and bench/dlrm_s_criteo_{kaggle,terabyte}.sh (Terabyte: data sub-sampled by
# 0.875, max-ind-range 1e7). float32, SGD (no optimizer state).
PRESET_ROWS: dict[str, tuple[tuple[int, ...], int]] = {
    "criteo-kaggle": (
        (
            1460,
            583,
            10131227,
            2202608,
            305,
            24,
            12517,
            633,
            3,
            93145,
            5683,
            8351593,
            3194,
            27,
            14992,
            5461306,
            10,
            5652,
            2173,
            4,
            7046547,
            18,
            15,
            286181,
            105,
            142572,
        ),
        16,
    ),
    "criteo-terabyte": (
        (
            9980333,
            36084,
            17217,
            7378,
            20134,
            3,
            7112,
            1442,
            61,
            9758201,
            1333352,
            313829,
            10,
            2208,
            11156,
            122,
            4,
            970,
            14,
            9994222,
            7267859,
            9946608,
            415421,
            12420,
            101,
            36,
        ),
        64,
    ),
}


def _mlp_parameters(*widths: int) -> int:
    """Weights and biases of a fully connected network with these layer widths."""
    return sum(a * b + b for a, b in pairwise(widths))


# Layer widths from the same scripts. The top network reads the bottom's output beside the dot
# products of all pairs of 27 vectors (26 tables and the bottom's output): 351 of them.
PRESET_DENSE_PARAMETERS: dict[str, int] = {
    "criteo-kaggle": _mlp_parameters(13, 512, 256, 64, 16) + _mlp_parameters(367, 512, 256, 1),
    "criteo-terabyte": _mlp_parameters(13, 512, 256, 64) + _mlp_parameters(415, 512, 512, 256, 1),
}
