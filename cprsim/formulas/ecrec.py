"""Costs of ECRec's erasure coding, calibrated on its paper.

Zhang et al., "ECRec" (PVLDB 16(11), 2023), the successor of ECRM (arXiv 2104.01981, 2021): 5
servers, Criteo models from 220 GB ("Original") to 1760 GB ("8S"). Everything here is calibrated:
laws of a plain form, each through as many of the paper's figures as it has constants, the others
being left to test it. Rows of figures 5 and 12 are digitised, to 0.3 points and 0.3 min.
"""

from dataclasses import dataclass
from statistics import fmean

from cprsim.formulas.checks import check_duration, check_positive

_GB = 1e9
_MINUTE_S = 60.0
_SERVERS = 5

# Slowdown of training at 220 GB, k = 4: all of it, without replicated dense part, and without
# two-phase commit as well (the ablation, in the text).
_WHOLE, _WITHOUT_REPLICATION, _CODING_ALONE = 0.182, 0.052, 0.026
# The whole of it with k = 2 and k = 4, at 220 GB and with twice the rows (figure 5).
_AT_220_GB = (0.180, 0.182)
_AT_440_GB = (0.206, 0.204)

_REPLICATION = _WHOLE - _WITHOUT_REPLICATION
_COMMIT = _WITHOUT_REPLICATION - _CODING_ALONE
# Slowdown of the embedding part grows by `growth (1 - 1/rows_scale)`, half of it from 220 to 440.
# That it grows as 1 - 1/rows, up to this, is a free choice: two sizes were measured.
_GROWTH = 2 * (fmean(_AT_440_GB) - fmean(_AT_220_GB))

# Minutes until one lost server of 5 is rebuilt, by model in GB and k: two rows of figure 12, and
# one that follows from a ratio in the text (31.4 min / 9.8).
_REBUILT_MIN = {(1760, 2): 17.8, (1760, 4): 33.7, (220, 2): 3.2}

# Checkpoints to HDFS, the baseline: overhead of one every 30 min, by model in GB (figure 5), and a
# load of the largest (figure 12, mean of 11.1 and 11.4 min).
_CKPT_30 = {220: 0.089, 1760: 0.648}
_LOAD_1760_GB_MIN = 11.25


def save_s(checkpoint_bytes: float) -> float:
    """Return the time for which one checkpoint to HDFS stops training, the paper's baseline, s.

    `a + b checkpoint_bytes`, a = 16 s, 1 / b = 1.53 GB/s, of the whole model. Calibrated on the
    overhead of a checkpoint every 30 min at 220 and 1760 GB.
    """
    check_duration(checkpoint_bytes=checkpoint_bytes)
    (small, of_small), (large, of_large) = _CKPT_30.items()
    per_gb = 30 * _MINUTE_S * (of_large - of_small) / (large - small)
    return 30 * _MINUTE_S * of_small + per_gb * (checkpoint_bytes / _GB - small)


def load_s(checkpoint_bytes: float) -> float:
    """Return the time of a load of the whole model from HDFS, the paper's baseline, s.

    At 2.6 GB/s; calibrated at 1760 GB.
    """
    check_duration(checkpoint_bytes=checkpoint_bytes)
    return _LOAD_1760_GB_MIN * _MINUTE_S * checkpoint_bytes / (1760 * _GB)


def coding_slowdown(rows_scale: float, width_scale: float = 1.0) -> float:
    """Training time that updating the parities adds, as a share of the useful time.

    0.026 for the 220 GB model; ECRM's whole slowdown. `rows_scale`: embedding rows over those of
    that model (198 million), >= 1; below that the law is unknown: it would turn negative.
    `width_scale`: width of a row over that model's (128 floats), > 0.

    `width (coding + growth/2 (1 - 1/rows))`, calibrated. The number of coded updates per step
    doesn't depend on the number of rows, nor on k; what grows is the share of those whose rows miss
    the caches. `commit_slowdown` has its part of the growth in proportion. All parts together meet
    880 and 1760 GB within 0.4 points; rows and width both doubled give 28.2 %, where the paper has
    27 %.
    """
    return _embedding_part(_CODING_ALONE, rows_scale, width_scale)


def commit_slowdown(rows_scale: float, width_scale: float = 1.0) -> float:
    """Training time that committing each step in two phases adds, as a share of the useful time.

    0.026 for the 220 GB model; ECRM (2021) had none. Parameters as of `coding_slowdown`.
    """
    return _embedding_part(_COMMIT, rows_scale, width_scale)


def replication_slowdown() -> float:
    """Training time that replicating the dense part adds, as a share of the useful time.

    0.130 for the paper's Criteo model, whatever the embedding's size. ECRM (2021) had none.
    """
    return _REPLICATION


def _embedding_part(at_220_gb: float, rows_scale: float, width_scale: float) -> float:
    if not rows_scale >= 1:
        raise ValueError(f"rows_scale must be >= 1, where it is calibrated, got {rows_scale}")
    check_positive(width_scale=width_scale)
    check_duration(width_scale=width_scale)
    growth = _GROWTH * at_220_gb / _WITHOUT_REPLICATION
    return width_scale * (at_220_gb + growth * (1 - 1 / rows_scale))


@dataclass(frozen=True, slots=True)
class RebuildConstants:
    """The parts of the time to rebuild a lost server.

    `fixed_s`: the part that doesn't depend on the size. `read_bytes_per_s`: rate at which the k
    shards are read, one after the other. `write_bytes_per_s`: rate at which the rebuilt one is
    written, left over by the calibration and not the speed of a link.
    """

    fixed_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float


def rebuild_constants() -> RebuildConstants:
    """Constants of `rebuild_s`, solved from three of the paper's figures.

    About 67 s, 0.74 GB/s and 7.5 GB/s.
    """
    large, small = 1760 * _GB / _SERVERS, 220 * _GB / _SERVERS
    k2_s, k4_s, small_s = (
        _REBUILT_MIN[row] * _MINUTE_S for row in ((1760, 2), (1760, 4), (220, 2))
    )
    read = (k4_s - k2_s) / (2 * large)  # seconds per byte
    write = (k2_s - small_s) / (large - small) - 2 * read
    return RebuildConstants(small_s - small * (2 * read + write), 1 / read, 1 / write)


def rebuild_s(
    shard_bytes: float, shards_read: int, constants: RebuildConstants | None = None
) -> float:
    """Return the time until a lost server's shard is whole, one lock at a time, during training, s.

    `c + k shard/read + shard/write`. `shard_bytes`: entries and optimiser state of one server, the
    parities it holds left out. `shards_read`: shards that are read for it, the code's k, >= 1.
    `constants`: those of `rebuild_constants` by default.
    """
    check_duration(shard_bytes=shard_bytes)
    if not shards_read >= 1:
        raise ValueError(f"shards_read must be >= 1, got {shards_read}")
    part = rebuild_constants() if constants is None else constants
    read_s = shards_read * shard_bytes / part.read_bytes_per_s
    return part.fixed_s + read_s + shard_bytes / part.write_bytes_per_s
