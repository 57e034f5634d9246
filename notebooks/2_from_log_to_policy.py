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
# # From failure log to policy
#
# **The question.** You have a log of your cluster's failures, and a job to plan. Which law do the
# failures follow, which policy follows from that, and is the log long enough to be sure?
#
# **The log** is `scenarios/failures.csv`: five months of 28 nodes, one line a failure, with the
# time, the node and its rack. It is made up, drawn from known laws. Put your own in its place;
# `cprsim.fit` reads raw LANL data, Failure Trace Archive traces and spot logs as well (`reader=`).
#
# **The job** is `scenarios/quickstart.toml` on the 8 servers and 20 trainers of the log.

# %%
# %matplotlib inline
import math
import tempfile
import tomllib
from pathlib import Path

import pandas as pd

import cprsim

HOUR_S = 3600.0
LOG = "../scenarios/failures.csv"
pd.read_csv(LOG).head()

# %% [markdown]
# ## Which law?
#
# Nodes of a rack sometimes fail together. The job stops once for all of them, so failures within
# five minutes are made one. Then four laws are fitted to the gaps between failures.

# %%
fitted = cprsim.fit(LOG, coalesce="5 min")
pd.DataFrame(
    {
        each.law.distribution: {
            "mean, h": each.law.expected_s / HOUR_S,
            "largest distance, %": 100 * each.ks,
            "AIC": each.aic,
        }
        for each in fitted.fits
    }
).T.round(1)

# %%
fitted.figure()

# %% [markdown]
# Top left is the share of gaps that last longer than so many hours: steps are the log with its
# band, lines the laws. Gaps are more uneven than an exponential law has them, many short ones and
# some long. What one should know before one uses the best law:

# %%
for note in fitted.notes:
    print("-", note)

# %% [markdown]
# ## The scenario
#
# `toml()` is the block of a scenario for the log. It has the times of repairs, as `repair` of its
# causes. Here other machines take over after 12 minutes, as the scenario says, so repairs are left
# out. The nodes that failures hit stay as they were.

# %%
print(fitted.toml())

tables = tomllib.loads(Path("../scenarios/quickstart.toml").read_text(encoding="utf-8"))
tables["title"] = "A four-day job on the cluster of the log"
tables["cluster"]["parameter_servers"] = 8
hits = tables["failures"]["hits"]


def job(**failures: object) -> cprsim.Scenario:
    """The job with these failures."""
    return cprsim.Scenario(**tables | {"failures": failures | {"hits": hits}})


law = tomllib.loads(fitted.toml())["failures"]
del law["causes"]
scenario = job(**law)

# %% [markdown]
# ## Which policy?

# %%
POLICIES = ["full", "async", "cpr"]
REPLICATIONS = 400

result = cprsim.run(scenario, POLICIES, replications=REPLICATIONS, seed=0)
result.figure("breakdown")

# %% [markdown]
# If no learning may be lost, write checkpoints in the background (`async`). If 2 % of the samples
# may be, `cpr` costs half of that.
#
# ## Does it hang on the law?
#
# The same job with exponential failures of the same mean, and with the log's own gaps in random
# order, without any law.

# %%
gaps_s = fitted.view.sample.durations_s
mean = f"{gaps_s.mean()} s"
laws = {
    "the best law": scenario,
    "exponential": job(distribution="exponential", mean=mean),
    "the log's gaps": job(distribution="empirical", durations=[f"{gap_s} s" for gap_s in gaps_s]),
}
runs = {name: cprsim.run(each, POLICIES, REPLICATIONS) for name, each in laws.items()}
overhead = pd.DataFrame({name: each.summary["overhead"] for name, each in runs.items()})
(100 * overhead).round(2).rename_axis("overhead, %")

# %% [markdown]
# They differ by no more than chance, which is checked below: for a job that meets five failures,
# how many there are counts for more than how they are spread. The order of the policies is the
# same in each.
#
# ## Is the log long enough?
#
# The mean gap is known to within a fifth or so, no better. So ask at both ends of its interval:

# %%
low_h, high_h = (end_s / HOUR_S for end_s in fitted.best.mean_interval_s)
ends = [f"{low_h:.1f} h", law["mean"], f"{high_h:.1f} h"]
with tempfile.TemporaryDirectory() as folder:
    sweep = cprsim.sweep(
        scenario, folder, {"failures.mean": ends}, POLICIES, replications=REPLICATIONS
    )
    lossless, any_loss = sweep.best(max_updates_lost=0), sweep.best()

best = pd.concat({"no learning lost": lossless, "up to the target": any_loss}, names=["if", None])
columns = ["policy", "overhead", "runner_up", "margin", "margin_low", "margin_high", "verdict"]
best.set_index(best["failures.mean_s"].div(HOUR_S).rename("MTBF, h").round(1), append=True)[
    columns
].droplevel(1).round(4)

# %% [markdown]
# Wherever in its interval the mean is, the choice is the same, and sure: the margin's interval
# allows for chance. Only what it costs is uncertain, by about a fifth. Five months of log are
# enough for this decision, and wouldn't be for a promise of how long the job takes.
#
# ## What must be so

# %%
by_law = {each.law.distribution: each for each in fitted.fits}

# Of an exponential law the likeliest mean is the mean of the data.
assert math.isclose(by_law["exponential"].law.expected_s, gaps_s.mean(), rel_tol=1e-6)

# A Weibull law with shape 1 is exponential: with its shape free it can't be less likely.
assert by_law["weibull"].log_likelihood >= by_law["exponential"].log_likelihood

# The law does for the log: overheads differ by no more than chance, three standard errors.
for policy in POLICIES:
    one, other = (runs[name].of(policy)["overhead"] for name in ("the best law", "the log's gaps"))
    error = math.sqrt((one.var() + other.var()) / REPLICATIONS)
    assert abs(one.mean() - other.mean()) < 3 * error, policy

# The choice doesn't hang on what the log leaves open.
assert (best["verdict"] == "best").all()
assert lossless["policy"].nunique() == any_loss["policy"].nunique() == 1

# More failures cost more, of every policy's.
assert lossless["overhead"].is_monotonic_decreasing
assert any_loss["overhead"].is_monotonic_decreasing

# %% [markdown]
# ## Change it
#
# - `cprsim.fit(LOG, view="job", nodes=16)` fits what a job on 16 random nodes meets,
#   `view="uptime"` the life of each node.
# - Where no law is good enough, `toml()` replays the log itself.
# - A shorter log: take part of it, `window="0:0.3"`, and see whether the choice is still clear.
