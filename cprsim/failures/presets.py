"""Failure models from the literature and from public logs, by name.

Each says where its numbers come from. Those fitted with this package's own `cprsim fit` have the
command next to them, and a test fits them again where the log is available.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """Keys of a `[failures]` table, and where they come from.

    `keys` are those of a scenario file; keys in the file next to `preset` win over them.
    """

    keys: Mapping[str, Any]
    source: str


def _per_node(failures_per_1000_node_days: float) -> dict[str, Any]:
    """Nodes that fail at a constant rate."""
    mean = f"{1000 / failures_per_1000_node_days:.6g} d"
    return {"distribution": "exponential", "mean": mean, "per": "node"}


_META = (
    "A. Kokolis et al., 'Revisiting Reliability in Large-Scale Machine Learning Research "
    "Clusters', HPCA 2025: failures per 1000 node-days, a node being a server of 8 GPUs"
)
_LANL = (
    "LANL release LA-UR-05-7318; B. Schroeder and G. A. Gibson, 'A large-scale study of failures "
    "in high-performance computing systems', DSN 2006"
)

PRESETS: dict[str, Preset] = {
    "cpr-production": Preset(
        {"distribution": "gamma", "shape": 0.675, "mean": "22 h", "per": "job", "ages": "new"},
        "K. Maeng et al., 'CPR', MLSys 2021: MTBF of 14 to 30 h over the workloads, of which 22 h "
        "is the middle (set `mean` to your own), medians of 8 to 17 h; both ends of these ranges "
        "give a gamma law of this shape, of times from the start of a job",
    ),
    "lanl-20": Preset(
        {"distribution": "gamma", "shape": 0.614068, "mean": "24.2374 h", "per": "job"},
        f"{_LANL}: all 512 nodes of system 20 in the second half of its life, "
        "`cprsim fit LOG --reader lanl --system 20 --window 0.5:1`",
    ),
    "lanl-18": Preset(
        {"distribution": "weibull", "shape": 0.816989, "mean": "7.40144 h", "per": "job"},
        f"{_LANL}: all 1024 nodes of system 18 over its whole life, "
        "`cprsim fit LOG --reader lanl --system 18`",
    ),
    "rsc-1": Preset(_per_node(6.50), f"{_META}: 6.50 on RSC-1"),
    "rsc-2": Preset(_per_node(2.34), f"{_META}: 2.34 on RSC-2"),
    "titan-old": Preset(
        {
            "distribution": "gamma",
            "shape": 4.20788,
            "mean": "59416.5 h",
            "per": "node",
            "ages": "new",
        },
        "G. Ostrouchov et al., 'GPU Lifetimes on Titan Supercomputer: Survival Analysis and "
        "Reliability', SC 2020: lives of the GPUs of the old batch, 73 % of which did not "
        "fail while watched; wears out, so all nodes are new at the start of the job",
    ),
}
