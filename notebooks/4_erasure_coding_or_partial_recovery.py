# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Erasure coding or partial recovery?
#
# **The question.** Two ways to spare a job the rollback. *Partial recovery* (CPR, MLSys 2021) lets
# only the lost server go back to its checkpoint; what it had learned since is lost. *Erasure
# coding* (ECRM 2021, ECRec 2023) keeps parities of the rows on other servers; nothing is lost, and
# every update pays for it, failure or not. Which one is cheaper, and where is it worth neither?
#
# **The job** is `scenarios/ecrm.toml`: ECRec's 880 GB model on its 5 servers and 15 workers. What
# saves, loads and parities cost is calibrated to its paper. How often servers fail is assumed, and
# so it is varied here. All erasure coding below saves every 8 hours as well, for the case that two
# servers are down at once.

# %%
# %matplotlib inline
import math
import tempfile
import tomllib
from itertools import pairwise
from pathlib import Path

import cprsim
from cprsim.report.gallery.registry import PICTURES

HOUR_S = 3600.0
tables = tomllib.loads(Path("../scenarios/ecrm.toml").read_text(encoding="utf-8"))
tables["title"] = "880 GB on ECRec's cluster"
ecrec = {"system": "ecrm", "parity": 4, "interval": "8 h"}
tables["policies"] = {
    "full": {"system": "full"},
    "ecrec": ecrec,
    "ecrm": ecrec | {"two_phase_commit": False, "nn_replication": False},
    "cpr": {"system": "cpr-vanilla", "target_pls": 0.1},
}
scenario = cprsim.Scenario(**tables)

# %% [markdown]
# ## At one failure every 20 hours

# %%
result = cprsim.run(scenario, replications=100, seed=0)
result.figure("breakdown")

# %% [markdown]
# `slowdown` is the time of the parities. ECRec also commits each step in two phases and keeps a
# second copy of the dense part, which the paper measured as most of its overhead. The earlier ECRM
# does without; it is the one to compare from here on.
#
# ## Where is which one best?
#
# Two circumstances decide: how often servers fail, and how long a save takes.

# %%
with tempfile.TemporaryDirectory() as folder:
    sweep = cprsim.sweep(
        scenario,
        folder,
        {"failures.mean": "log(4 h, 128 h, 6)", "costs.save": ["150 s", "5 min", "10 min"]},
        ["full", "ecrm", "cpr"],
        replications=60,
    )
    anything, lossless = sweep.best(), sweep.best(max_updates_lost=0)
    where = sweep.figure("phase", max_updates_lost=0)
where

# %% [markdown]
# That is the map if no learning may be lost: `full` where failures are rare and saves quick,
# erasure coding elsewhere. Pale cells are too close to call. If 10 % of the samples may be lost,
# there is nothing to draw:

# %%
anything["policy"].value_counts().rename("best at so many of 18 points")

# %% [markdown]
# ## So how much learning may be lost?
#
# The question becomes the target. CPR's saves get more frequent as it falls, and cost more than
# the parities at some point; where they cost more than full recovery does, CPR is full recovery.

# %%
TARGETS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
with tempfile.TemporaryDirectory() as folder:
    targets = cprsim.sweep(
        scenario,
        folder,
        {"policies.cpr.target_pls": TARGETS},
        ["full", "ecrm", "cpr"],
        replications=200,
    )
    table = targets.table
    played = {point.values["policies.cpr.target_pls"]: point.number for point in targets.points}
    jobs = {
        target: targets.replications(point).pivot(
            index="replication", columns="policy", values="overhead"
        )
        for target, point in played.items()
    }
    curves = PICTURES["tradeoff"].figure(Path(folder))
curves

# %%
wide = table.pivot(index="policies.cpr.target_pls", columns="policy", values="overhead")
wide.index.name = "target"
(100 * wide).round(2)

# %% [markdown]
# By the paper's equations CPR costs save / interval + recovery / MTBF with an interval of 2 PLS
# servers MTBF. Set equal to what erasure coding costs, and solve for PLS:

# %%
context = scenario.context
ecrm = result.summary.loc["ecrm", "overhead"]
recovery_s = (5.63 + 5) * 60
break_even = context.save_s / (2 * context.servers * (ecrm * context.mtbf_s - recovery_s))
print(f"a target of {100 * break_even:.1f} % costs what erasure coding does, {100 * ecrm:.1f} %")

# %% [markdown]
# So: **partial recovery, if a job may lose more than that, and erasure coding if it may not.**
# Where servers fail once in some days and saves take minutes, neither: full recovery.
#
# ## What must be so

# %%
# No row of erasure coding or full recovery is lost, and time is lost to every failure.
assert (result.summary.loc[["full", "ecrec", "ecrm"], "updates_lost"] == 0).all()
assert (result.summary["overhead"] > 0).all()


def on_paper(mtbf_s: float, save_s: float) -> dict[str, float]:
    """Overheads to first order: Young's optimum, and the slowdown with a save every 8 h."""
    return {
        "full": math.sqrt(2 * save_s / mtbf_s) + recovery_s / mtbf_s,
        "ecrm": scenario.plan("ecrm").slowdown + save_s / (8 * HOUR_S),
    }


# Wherever the two differ by a fifth or more on paper, the simulation agrees on the cheaper one.
compared = 0
for row in lossless.to_dict("records"):
    paper = on_paper(row["failures.mean_s"], row["costs.save_s"])
    cheap, dear = sorted(paper, key=paper.__getitem__)
    if paper[dear] > 1.2 * paper[cheap]:
        compared += 1
        assert row["policy"] == cheap, row
assert compared >= 9
assert set(lossless["policy"]) == {"full", "ecrm"}

# Where saves for the target cost more than full recovery on paper (E7), CPR is full recovery; from
# there on a higher target costs less, on the same failures.
away = recovery_s / context.mtbf_s
cheapest = on_paper(context.mtbf_s, context.save_s)["full"]
saves = {pls: context.save_s / (2 * pls * context.servers * context.mtbf_s) for pls in TARGETS}
kept = [pls for pls in TARGETS if saves[pls] + away < cheapest]
assert 0 < len(kept) < len(TARGETS)
for pls in set(TARGETS) - set(kept):
    assert (jobs[pls]["cpr"] == jobs[pls]["full"]).all(), pls
for low, high in pairwise(kept):
    more = jobs[low]["cpr"] - jobs[high]["cpr"]
    assert more.mean() > 1.96 * more.std() / math.sqrt(len(more)), (low, high)

# The order turns at the break-even point.
for target in TARGETS:
    difference = jobs[target]["ecrm"] - jobs[target]["cpr"]
    half = 1.96 * difference.std() / math.sqrt(len(difference))
    if target > 1.3 * break_even:
        assert difference.mean() > half, target
    if target < break_even / 1.3:
        assert difference.mean() < -half, target
assert min(TARGETS) < break_even / 1.3 < 1.3 * break_even < max(TARGETS)

# %% [markdown]
# ## Change it
#
# - Memory counts, too: `result.summary["memory_overhead"]` has the quarter that the parities take.
# - `parity = 2` rebuilds in half the time and takes twice the memory.
# - Your own cluster: measure `coding` and `degraded`
#   ([docs/systems/ecrm.md](../docs/systems/ecrm.md)).
