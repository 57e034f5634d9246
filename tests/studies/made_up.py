"""Tables of runs with known answers."""

import numpy as np
import pandas as pd

#: AUC that a unit of PLS costs, by policy.
SLOPES = {"cpr-vanilla": 0.02, "cpr-mfu": 0.005, "full": 0.0}


def run(seed: int, policy: str, failures: int, pls: float, drop: float, hit: int = 1) -> dict:
    return {
        "seed": seed,
        "policy": policy,
        "system": policy,
        "failures": failures,
        "servers_hit": hit,
        "servers": 4,
        "auc": 0.8 + 0.01 * seed - drop,
        "pls": pls,
        "updates_lost": pls / 2,
        "predictions_sha256": f"{seed} {drop}",
    }


def study(seeds: int = 6, noise: float = 0.0) -> pd.DataFrame:
    """Drops in proportion to PLS, which differs by seed, and normal noise."""
    rng = np.random.default_rng(3)
    rows = []
    for seed in range(seeds):
        rows.append(run(seed, "cpr-vanilla", 0, 0.0, 0.0))
        for policy, slope in SLOPES.items():
            for failures in (8, 32):
                pls = 0.0 if policy == "full" else failures / 32 * (1 + 0.1 * seed / seeds)
                drop = slope * pls + (noise * rng.standard_normal() if pls else 0.0)
                rows.append(run(seed, policy, failures, pls, drop))
        for hit in (2, 4):
            pls = hit / 4
            rows.append(run(seed, "cpr-vanilla", 8, pls, 0.03 * pls, hit))
    return pd.DataFrame(rows)
