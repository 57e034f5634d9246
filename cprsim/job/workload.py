"""The job: how long it trains, and how much state its model holds."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    Field,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from cprsim.basics import units
from cprsim.basics.schema import (
    A_SIZE,
    OF_SCENARIO,
    Bytes,
    PositiveSeconds,
    Rate,
    Section,
    Share,
    a_list,
    text_of,
)
from cprsim.job.platform import ByServer, shares_of
from cprsim.job.presets import DENSE_PARAMETERS, PRESETS, PresetName
from cprsim.rows.names import OptimizerRule
from cprsim.rows.skew import Skew

if TYPE_CHECKING:
    from cprsim.rows.model import RowModel


class Job(Section):
    """The work to be trained.

    `useful_time`: training time without failures or checkpoints. `samples`: how many samples it
    trains on. `final_save`: whether the job ends with one more save, charged to overhead.
    `network`: bytes per second that trainers pull from the parameter servers while training at full
    speed, all servers together; as many are pushed back. Without it training is not slowed by other
    traffic. `allocation`: how long it may hold its nodes at a stretch; it stops in time for a last
    save and its shutdown, and continues in another allocation. By default it has one allocation.
    """

    useful_time_s: PositiveSeconds = Field(alias="useful_time")
    samples: Annotated[int, Field(gt=0)] | None = None
    final_save: bool = False
    network: Rate | None = None
    allocation_s: PositiveSeconds | None = Field(None, alias="allocation", examples=["24 h"])


#: Bytes of one element, by dtype.
DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


#: Optimizers by name, whose state follows from the rows.
OptimizerName = Literal["sgd", "adagrad", "rowwise-adagrad", "adam"]
#: Values of state for each element. Adagrad keeps the sum of squared gradients (Duchi, Hazan and
#: Singer, JMLR 2011; `sum` of `torch.optim.Adagrad`), Adam two moments (Kingma and Ba, ICLR 2015;
#: `exp_avg` and `exp_avg_sq` of `torch.optim.Adam`), all of the element's type.
_VALUES: Final[Mapping[OptimizerName, int]] = {"sgd": 0, "adagrad": 1, "adam": 2}
#: State of a row under row-wise Adagrad, B: one float32, the sum over updates of the mean squared
#: gradient (FBGEMM, `EXACT_ROWWISE_ADAGRAD`; Khudia et al., arXiv 2101.05615).
_ROWWISE_BYTES: Final = 4.0


def _values_of(optimizer: OptimizerName | None) -> int:
    return 0 if optimizer is None else _VALUES.get(optimizer, 0)


def _size_or_name(
    value: object, checked: Callable[[object], Any], info: ValidationInfo
) -> float | str:
    if value in get_args(OptimizerName):
        return str(checked(value))
    try:
        size = units.parse(value, units.BYTES, info.context is OF_SCENARIO)
    except ValueError as error:
        raise ValueError(f"{error}; or one of {', '.join(get_args(OptimizerName))}") from None
    if size < 0:
        raise ValueError(f"{value!r} is out of range: it must be >= 0")
    return units.AsWritten(checked(size), str(value))


def _size_or_name_text(value: float | str, info: SerializationInfo) -> str:
    return value if isinstance(value, str) else text_of(units.BYTES, value, info)


#: The size of the optimizer state of all rows, B, or the optimizer that it follows from.
Optimizer = Annotated[
    float | OptimizerName,
    WrapValidator(_size_or_name),
    PlainSerializer(_size_or_name_text),
    WithJsonSchema({"anyOf": [{"enum": [*get_args(OptimizerName)]}, A_SIZE]}),
]


class Table(Section):
    """One embedding table.

    `name`: what it is called; for people alone. `rows`: how many it has. `dim`: elements of a row.
    `dtype`: type of an element. `optimizer_slots`: values of optimizer state for each element, of
    the same type; those of the model's `optimizer` if not given, else 0.
    `skew`: how unequally its rows are accessed. `pooling`: rows of it that one sample looks up.
    `updates`: how its updates spread over the parameter servers, as `cluster.updates`; where what
    saves leave unsaved lies follows from it if the model has a `batch` or `gradient_directions`.
    """

    name: str = ""
    rows: Annotated[int, Field(gt=0, examples=[10_000_000])]
    dim: Annotated[int, Field(gt=0, examples=[64])]
    dtype: Literal["float64", "float32", "float16", "bfloat16", "int8"] = "float32"
    optimizer_slots: Annotated[int, Field(ge=0, examples=[1])] | None = None
    skew: Skew = Skew(name="uniform")
    pooling: Annotated[float, Field(gt=0)] = 1.0
    updates: Annotated[ByServer, Field(examples=[[3, 1, 1, 1]])] | None = None

    @property
    def embedding_bytes(self) -> float:
        """Size of the rows without optimizer state, B."""
        return float(self.rows) * self.dim * DTYPE_BYTES[self.dtype]

    def optimizer_bytes(self, optimizer: OptimizerName | None) -> float:
        """Return the size of the rows' optimizer state, B.

        `optimizer`: the model's, which counts where the table has no `optimizer_slots`.
        """
        if self.optimizer_slots is not None:
            return self.embedding_bytes * self.optimizer_slots
        if optimizer == "rowwise-adagrad":
            return _ROWWISE_BYTES * self.rows
        return self.embedding_bytes * _values_of(optimizer)


#: Of a row's gradients: of more, all rows come equally far.
MOST_DIRECTIONS = 64


class Model(Section):
    """The state that a checkpoint holds: by preset, by table, or by total sizes.

    `preset`: a known model, with its tables. `tables`: each embedding table, as `[[model.tables]]`.
    `embedding`: size of all embedding rows, which are sharded over the parameter servers.
    `optimizer`: size of their optimizer state, which lies with them, or the optimizer that it
    follows from: `"sgd"` (none), `"adagrad"` (a value for each element), `"rowwise-adagrad"` (a
    float32 for each row) or `"adam"` (two values for each element). `dense`: size of the part that
    every trainer holds a copy of, with its optimizer state. `skew`: how unequally the rows of a
    preset's tables are accessed, in place of the preset's skew.
    `tracked_tables`: how many of the largest tables are saved by priority; those that hold 99 % of
    the rows if not given. `optimizer_rule`: how far an update moves its row, all alike (`"sgd"`) or
    the k-th by 1 / sqrt(k) of the first (`"adagrad"`); that of `optimizer` if not given.
    `gradient_directions`: how many a row's gradients have, independent of each other; all updates
    of a row point one way if not given.
    `batch`: samples of one, in which a row with such gradients moves once and a list of SSU sees it
    once, where ids aren't renewed; each sample is a batch if not given. `renewed`: share of
    the ids, by their popularity, that new ones replace in a day of training.
    """

    preset: PresetName | None = None
    tables: (
        Annotated[
            tuple[Table, ...],
            a_list("give each table as [[model.tables]] with rows and dim"),
            Field(examples=[[{"rows": 10_000_000, "dim": 64}]]),
        ]
        | None
    ) = None
    embedding: Bytes | None = None
    optimizer: Annotated[Optimizer, Field(examples=["2.16 GB", "adagrad"])] | None = None
    dense: Bytes | None = None
    skew: Annotated[Skew, Field(examples=["dlrm-production", {"zipf": 0.95}])] | None = None
    tracked_tables: Annotated[int, Field(gt=0, examples=[7])] | None = None
    optimizer_rule: OptimizerRule | None = None
    gradient_directions: Annotated[int, Field(ge=1, le=MOST_DIRECTIONS, examples=[2])] | None = None
    batch: Annotated[int, Field(ge=1, examples=[2048])] | None = None
    renewed: Share | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [key for key in ("preset", "tables", "embedding") if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"give one of preset, tables, embedding; found {found}")
        if self.tables and isinstance(self.optimizer, float):
            raise ValueError(
                "give the tables their optimizer_slots instead of a size for optimizer, or give "
                'its name, e.g. optimizer = "adagrad"'
            )
        if self.embedding is not None and self.optimizer == "rowwise-adagrad":
            raise ValueError(
                "optimizer = 'rowwise-adagrad' keeps one value for each row, but embedding gives "
                "no number of rows; give [[model.tables]] instead of embedding, or the size, e.g. "
                'optimizer = "2 GB"'
            )
        if self.skew is not None and self.preset is None:
            raise ValueError("'skew' goes with preset; give each of the tables its own")
        tables = self.each_table
        if self.optimizer_rule not in (None, "sgd") and tables is None:
            raise ValueError("'optimizer_rule' goes with preset or tables; leave it out")
        for key in ("gradient_directions", "batch", "renewed", "tracked_tables"):
            if getattr(self, key) is not None and tables is None:
                raise ValueError(f"{key!r} goes with preset or tables; leave it out")
        if (self.tracked_tables or 0) > len(tables or ()):
            raise ValueError(
                f"tracked_tables = {self.tracked_tables} is more than there are; the model has "
                f"{len(tables or ())} tables"
            )
        return self

    @cached_property
    def rows(self) -> "RowModel | None":
        """Its rows, table by table; None where only total sizes are given."""
        tables = self.each_table
        if tables is None:
            return None
        from cprsim.rows.model import RowModel, TableRows  # noqa: PLC0415  (where rows are known)

        # Optimizer state that is given as a size next to a preset lies with the rows.
        spread = self.shard_bytes / sum(map(self._table_bytes, tables))
        return RowModel(
            tuple(
                TableRows(
                    rows=table.rows,
                    skew=table.skew,
                    lookups=table.pooling,
                    row_bytes=table.embedding_bytes / table.rows,
                    saved_bytes=self._table_bytes(table) * spread,
                    updates=shares_of(table.updates),
                )
                for table in tables
            ),
            self.tables_tracked,
            self._rule,
            self.renewed or 0.0,
            self.gradient_directions,
            self.batch,
        )

    @property
    def _named(self) -> OptimizerName | None:
        """The optimizer, where its name is given."""
        return self.optimizer if isinstance(self.optimizer, str) else None

    @property
    def _rule(self) -> OptimizerRule:
        """The given rule, else that of the optimizer; Adam's steps are of about one length."""
        if self.optimizer_rule is not None:
            return self.optimizer_rule
        return "adagrad" if self._named in ("adagrad", "rowwise-adagrad") else "sgd"

    def _table_bytes(self, table: Table) -> float:
        return table.embedding_bytes + table.optimizer_bytes(self._named)

    @property
    def tables_tracked(self) -> int | None:
        """Number of the largest tables that are saved by priority; None where that is not said."""
        if self.tracked_tables is None and self.preset is not None:
            return PRESETS[self.preset].tracked_tables
        return self.tracked_tables

    @cached_property
    def each_table(self) -> tuple[Table, ...] | None:
        """Its tables, those of a preset too; None where only total sizes are given."""
        if self.preset is None:
            return self.tables
        preset = PRESETS[self.preset]
        skew = self.skew if self.skew is not None else Skew(name=preset.skew)
        return tuple(
            Table(
                rows=rows,
                dim=preset.dim,
                optimizer_slots=preset.optimizer_slots if self._named is None else None,
                skew=skew,
                pooling=preset.pooling,
            )
            for rows in preset.rows
        )

    @cached_property
    def shard_bytes(self) -> float:
        """Embedding rows and their optimizer state, all parameter servers together, B."""
        given = self.optimizer if isinstance(self.optimizer, float) else 0.0
        if self.each_table is not None:
            return sum(map(self._table_bytes, self.each_table)) + given
        return (self.embedding or 0.0) * (1 + _values_of(self._named)) + given

    @property
    def dense_bytes(self) -> float:
        """The dense part with its optimizer state, B."""
        if self.dense is not None:
            return self.dense
        if self.preset is None:
            return 0.0
        return 4.0 * DENSE_PARAMETERS.get(self.preset, 0) * (1 + _values_of(self._named))

    @property
    def checkpoint_bytes(self) -> float:
        """Everything that one full checkpoint writes, B."""
        return self.shard_bytes + self.dense_bytes

    def saved_share(self, portion: float) -> float:
        """Bytes of a save of `portion` of the rows, as a share of a full checkpoint.

        Tables that are too small to be tracked and the dense part are saved whole.
        """
        if self.rows is None:
            return portion
        tracked = self.rows.tracked_bytes / self.checkpoint_bytes
        return 1 - (1 - portion) * tracked
