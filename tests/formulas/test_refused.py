"""Arguments that make no sense are refused by name, with their values."""

import math
import re

import pytest

from cprsim.formulas.attempts import mean_attempts, skipped_age_s
from cprsim.formulas.ecrec import coding_slowdown, commit_slowdown, load_s, rebuild_s, save_s
from cprsim.formulas.experts import checkpoint_share, rotation_left_s
from cprsim.formulas.intervals import (
    checkfreq_settled,
    checkfreq_steps,
    exact_interval_s,
    young_interval_s,
)
from cprsim.formulas.makespan import blocking_makespan_s, blocking_segment_s, segment_count
from cprsim.formulas.pls import expected_pls, mean_pls, pls_interval_s

NAN, INF = math.nan, math.inf


@pytest.mark.whole
@pytest.mark.parametrize(
    ("form", "arguments", "text"),
    [
        (mean_attempts, (-0.1,), "fails must be from 0 to below 1, got -0.1"),
        (mean_attempts, (1.0,), "fails must be from 0 to below 1, got 1.0"),
        (mean_attempts, (NAN,), "fails must be from 0 to below 1, got nan"),
        (skipped_age_s, (1.0, 0.0, 0.1), "total_s must be > 0, got 0.0"),
        (skipped_age_s, (1.0, 9.0, 1.0), "fails must be from 0 to below 1, got 1.0"),
        (expected_pls, (1, -1.0, 8), "mtbf_s must be > 0, got -1.0"),
        (expected_pls, (NAN, 1, 8), "interval_s must be > 0, got nan"),
        (pls_interval_s, (0.0, 1.0, 8), "target_pls must be > 0, got 0.0"),
        (pls_interval_s, (0.1, 1.0, 0), "servers must be >= 1, got 0"),
        (pls_interval_s, (0.1, 1.0, 8, 9.0), "servers_hit must be from 0 to servers=8, got 9.0"),
        (pls_interval_s, (0.1, 1.0, 8, NAN), "servers_hit must be from 0 to servers=8, got nan"),
        (mean_pls, (9, 5, NAN, 8), "mtbf_s must be > 0, got nan"),
        (young_interval_s, (-3.0, 1.0), "save_s must be >= 0, got -3.0"),
        (young_interval_s, (INF, 1.0), "save_s must be finite, got inf"),
        (exact_interval_s, (1.0, 0.0), "mtbf_s must be > 0, got 0.0"),
        (exact_interval_s, (1.0, NAN), "mtbf_s must be > 0, got nan"),
        (checkfreq_steps, (-1.0, 1.0, 1.0), "save_s must be >= 0, got -1.0"),
        (checkfreq_steps, (1.0, 0.0, 1.0), "step_s must be > 0, got 0.0"),
        (checkfreq_steps, (1.0, 1.0, INF), "cpu_snapshot_s must be finite, got inf"),
        (checkfreq_steps, (1.0, 1.0, 1.0, NAN), "gpu_snapshot_s must be >= 0, got nan"),
        (checkfreq_settled, (0, 1.0, 1.0), "first must be > 0, got 0"),
        (checkfreq_settled, (1, 1.0, 1.0, 0.0), "max_overhead must be > 0, got 0.0"),
        (blocking_segment_s, (-1.0, 5, 100, 10), "work_s must be >= 0, got -1.0"),
        (blocking_segment_s, (50, 5, 100, NAN), "recovery_s must be >= 0, got nan"),
        (blocking_segment_s, (50, 5, 100, 1, -2.0), "downtime_s must be >= 0, got -2.0"),
        (blocking_segment_s, (INF, 5, 100, 1), "work_s must be finite, got inf"),
        (segment_count, (0.0, 50), "useful_time_s must be > 0, got 0.0"),
        (segment_count, (100, -3.0), "interval_s must be > 0, got -3.0"),
        (blocking_makespan_s, (9, 10, -5.0, 9, 1, 0), "save_s must be >= 0, got -5.0"),
        (checkpoint_share, (1.1, 8, 1), "expert_share must be from 0 to 1, got 1.1"),
        (checkpoint_share, (0.5, 0, 1), "experts must be >= 1, got 0"),
        (rotation_left_s, (8, 9, 1.0), "per_save must be from 1 to experts=8, got 9"),
        (rotation_left_s, (8, 1, INF), "period_s must be finite, got inf"),
        (rotation_left_s, (8, 1, 1.0, 0), "saves must be >= 1, got 0"),
        (coding_slowdown, (0.5,), "rows_scale must be >= 1, where it is calibrated, got 0.5"),
        (commit_slowdown, (1, INF), "width_scale must be finite, got inf"),
        (rebuild_s, (1.0, 0), "shards_read must be >= 1, got 0"),
        (save_s, (-1.0,), "checkpoint_bytes must be >= 0, got -1.0"),
        (load_s, (INF,), "checkpoint_bytes must be finite, got inf"),
    ],
)
def test_refused(form, arguments, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        form(*arguments)
