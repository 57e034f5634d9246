"""Samples made up: a teacher that can be learned, and rows as popular as in production."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.job.workload import Table
from cprsim.rows.skew import Skew
from cprsim.trainer.data.contract import Batch, Data

#: Rows of the tables, if nobody says: three large ones, three of middle size and two small ones,
#: about the spread of Criteo's, at a size that 100,000 samples can teach something about.
ROWS = (20_000, 10_000, 5_000, 2_000, 1_000, 500, 100, 10)
#: Standard deviations of what dense features, rows and pairs of rows add to the teacher's logit,
#: were all rows alike popular. Chosen so that rows carry most of what can be learned.
_DENSE, _ROW, _PAIR = 0.7, 2.0, 1.0
#: The teacher's logit of an average sample: a third of the labels or so are 1.
_BIAS = -1.0
_LATENT = 4


@dataclass(frozen=True)
class Planted(Data):
    """Samples whose labels a planted teacher draws; the default, which needs no file.

    `seed`: of all: the teacher, and the samples. `rows`: rows of each table. `dim`: numbers of a
    row. `skew`: how unequally the rows of each table are accessed. Others: see `Data`.

    Notes
    -----
    A label is 1 with probability 1 / (1 + exp(-z)); z is a sum of the dense features' effects, of
    an effect of each row, and of the inner products of the rows' latent vectors, which the dot
    interaction of a DLRM can represent. All effects are normal. Which rows are popular has nothing
    to do with their ids.
    """

    samples: int = 100_000
    test_samples: int = 20_000
    batch_size: int = 512
    seed: int = 0
    rows: tuple[int, ...] = ROWS
    dim: int = 16
    dense: int = 4
    skew: Skew = field(default_factory=lambda: Skew(name="dlrm-production"))

    def __post_init__(self) -> None:
        for name in ("samples", "test_samples"):
            if getattr(self, name) < self.batch_size:
                raise UsageError(
                    f"{name} = {getattr(self, name)}: fewer than a batch of {self.batch_size}"
                )

    @cached_property
    def tables(self) -> tuple[Table, ...]:  # type: ignore[override]
        """`table0` and so on."""
        return tuple(
            Table(name=f"table{number}", rows=rows, dim=self.dim)
            for number, rows in enumerate(self.rows)
        )

    def _batch(self, step: int) -> Batch:
        """The batch of that step, drawn from the stream of this step."""
        rng = np.random.default_rng((self.seed, 1, step))
        dense = rng.standard_normal((self.batch_size, self.dense), dtype=np.float32)
        sparse = self._draws.rows(rng, self.batch_size)
        labels = rng.random(self.batch_size) < self._teacher.probability(dense, sparse)
        return Batch(dense, sparse, labels.astype(np.float32))

    @cached_property
    def _draws(self) -> "_Draws":
        return _Draws(self.rows, self.skew)

    @cached_property
    def _teacher(self) -> "_Teacher":
        return _Teacher(self.rows, self.dense, np.random.default_rng((self.seed, 0)))


class _Draws:
    """Accesses of all tables: first a class of equally popular rows, then one of its rows.

    The classes of all tables are in one array, `_up_to` being table + share of the accesses that
    goes to this class and those before it.
    """

    def __init__(self, rows: tuple[int, ...], skew: Skew) -> None:
        popular = [skew.popularity(each) for each in rows]
        counts = [each.rows.astype(np.int64) for each in popular]
        shares = [np.cumsum(each.rows * each.share) for each in popular]
        self._counts = np.concatenate(counts)
        self._first = np.concatenate([np.cumsum(each) - each for each in counts])
        self._up_to = np.concatenate([n + each / each[-1] for n, each in enumerate(shares)])
        self._last = np.cumsum([each.size for each in counts]) - 1
        self._rows = np.array(rows)
        self._strides = np.array([_stride(each) for each in rows])

    def rows(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        tables = self._rows.size
        places = rng.random((count, tables)) + np.arange(tables)
        classes = np.searchsorted(self._up_to, places, side="right")
        classes = np.minimum(classes, self._last)  # a place may be rounded up to the next table
        within = (rng.random((count, tables)) * self._counts[classes]).astype(np.int64)
        ids: NDArray[np.int64] = (self._first[classes] + within) * self._strides % self._rows
        return ids


class _Teacher:
    """Effects of dense features and of rows, and latent vectors of rows."""

    def __init__(self, rows: tuple[int, ...], dense: int, rng: np.random.Generator) -> None:
        self._starts = np.cumsum((0, *rows[:-1]))
        self._dense = rng.standard_normal(dense) * (_DENSE / dense**0.5)
        self._effects = rng.standard_normal(sum(rows)) * (_ROW / len(rows) ** 0.5)
        pairs = len(rows) * (len(rows) - 1) / 2
        scale = (_PAIR / (max(pairs, 1) * _LATENT) ** 0.5) ** 0.5
        self._latent = rng.standard_normal((sum(rows), _LATENT)) * scale
        self._norms = np.square(self._latent).sum(axis=1)

    def probability(
        self, dense: NDArray[np.float32], sparse: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        ids = sparse + self._starts
        latent = np.take(self._latent, ids, axis=0)
        together = latent.sum(axis=1)
        # The inner products of all pairs: (|sum|^2 - sum of |each|^2) / 2.
        pairs = np.einsum("ij,ij->i", together, together) - np.take(self._norms, ids).sum(axis=1)
        effects = np.take(self._effects, ids).sum(axis=1)
        logits = _BIAS + dense @ self._dense + effects + pairs / 2
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
        return chances


def _stride(rows: int) -> int:
    """A step that leads through all of so many rows, near the golden ratio of them (Knuth)."""
    stride = max(1, round(rows * 0.618))
    while np.gcd(stride, rows) != 1:
        stride += 1
    return stride
