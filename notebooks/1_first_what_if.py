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
# # Your first what-if
#
# **The question.** A training job runs for days on machines that fail now and then. How much
# longer does it take because of that, and what would another way of dealing with failures save?
# And what if machines failed more often, or the store were faster?
#
# **The job** is `scenarios/quickstart.toml`: four days of training if nothing failed, 2.4 TB of
# embeddings and optimizer state on 10 parameter servers, 20 trainers, a store that takes 8 GB/s,
# and a failure every 20 hours on average. All of it is made up. The file explains each line, and
# each is yours to change.

# %%
# %matplotlib inline
import math

import pandas as pd

import cprsim

HOUR_S = 3600.0

scenario = cprsim.load_scenario("../scenarios/quickstart.toml")
{name: policy.system for name, policy in scenario.policies.items()}

# %% [markdown]
# Four policies, each a table of the file:
#
# - `full` stops to save everything; after a failure the whole job goes back to the last
#   checkpoint.
# - `async` does the same, but writes in the background.
# - `cpr` lets only the lost servers go back (partial recovery). That costs learning and not time:
#   the portion of lost samples, PLS, for which its target is 2 %.
# - `replication` keeps every shard on two servers, so memory doubles. The job goes back only if
#   both are down at once, and then to its start: here it never saves.
#
# ## First, an estimate
#
# `decide` compares full and partial recovery by the CPR paper's equations, in no time.

# %%
decision = cprsim.decide(scenario)
pd.DataFrame(
    {
        "save every, h": {
            "full": decision.full.interval_s / HOUR_S,
            "partial": decision.partial.interval_s / HOUR_S,
        },
        "overhead, %": {
            "full": 100 * decision.full.expected.overhead,
            "partial": 100 * decision.partial.expected.overhead,
        },
        "PLS, %": {
            "full": 100 * decision.full.expected.pls,
            "partial": 100 * decision.partial.expected.pls,
        },
    }
).round(2)

# %% [markdown]
# ## Then, the simulation
#
# Each replication draws new failures; all policies meet the same ones. The picture has the extra
# time by cause, and on the right the share of all updates that are lost for good.

# %%
REPLICATIONS = 400

result = cprsim.run(scenario, replications=REPLICATIONS, seed=0)
result.figure("breakdown")

# %% [markdown]
# How sure is the order? Two policies that meet the same failures are best compared failure by
# failure: the mean of their differences, with its 95 % interval.


# %%
def saved(result: cprsim.Result, policy: str, than: str) -> tuple[float, float]:
    """By how much the overhead of `policy` is less than that of another, and half the interval."""
    overhead = result.replications.pivot(index="replication", columns="policy", values="overhead")
    differences = overhead[than] - overhead[policy]
    return differences.mean(), 1.96 * differences.std() / math.sqrt(len(differences))


for policy in ("async", "cpr", "replication"):
    mean, half = saved(result, policy, than="full")
    print(f"{policy:11} saves {100 * mean:.2f} ± {100 * half:.2f} points of overhead over full")

# %% [markdown]
# ## What if?
#
# Any value can be set by its dotted key, as the file has it. Two questions: failures four times as
# often, and a store twice as fast.

# %%
QUESTIONS = {
    "as it is": [],
    "failures 4 times as often": ["failures.mean=5 h"],
    "a store twice as fast": ["storage.write=16 GB/s", "storage.read=32 GB/s"],
}
answers = {
    question: cprsim.run(
        cprsim.load_scenario("../scenarios/quickstart.toml", changes),
        replications=REPLICATIONS,
        seed=0,
    )
    for question, changes in QUESTIONS.items()
}
overhead = pd.DataFrame({name: each.summary["overhead"] for name, each in answers.items()})
(100 * overhead).round(2).rename_axis("overhead, %")

# %% [markdown]
# Four times the failures cost `full` a bit more than twice as much: saves and work that is done
# again grow with the square root of the failure rate, since the best interval is shorter then;
# only waiting for new nodes grows in proportion. Under `cpr` all of it grows in proportion, for
# its target has to be kept. A faster store helps whoever saves, and `full` most, which stops for
# it; `replication` never uses it.
#
# ## What must be so
#
# Numbers that can be had without a simulation, and the order of the policies:

# %%
plans = {question: each.summary.loc["full", "interval_s"] for question, each in answers.items()}

# A save takes 2.4 TB / 8 GB/s = 300 s (and 20 MB more); Young's interval is sqrt(2 save MTBF).
save_s = (2.4e12 + 20e6) / 8e9
young_s = math.sqrt(2 * save_s * 20 * HOUR_S)
assert math.isclose(plans["as it is"], young_s)
assert math.isclose(plans["failures 4 times as often"], young_s / 2)
assert math.isclose(plans["a store twice as fast"], young_s / math.sqrt(2))

# Whatever takes time has a cause: the causes add up to the overhead.
causes = ["save", "load", "lost", "reschedule", "detect", "slowdown", "stall"]
for each in answers.values():
    assert (each.summary[causes].sum(axis=1) - each.summary["overhead"]).abs().max() < 1e-9

# Every policy beats `full` in every question, by more than chance.
for each in answers.values():
    for policy in ("async", "cpr", "replication"):
        mean, half = saved(each, policy, than="full")
        assert mean > half, policy

# What grows with the square root of the failure rate grows less than what grows with the rate.
growth = overhead["failures 4 times as often"] / overhead["as it is"]
assert growth["full"] < growth["cpr"]

# (E5): a failure takes a server in a third of the cases, of 10, and half of the 24 h between saves.
# Failures aren't quite uniform between saves, so the mean has to fit within 3 standard errors.
cpr = result.of("cpr")
expected_pls = cpr["failures"] * (1 / 3) * (12 / 96) / 10
assert abs((cpr["pls"] - expected_pls).mean()) < 3 * cpr["pls"].std() / math.sqrt(REPLICATIONS)

# %% [markdown]
# ## Change it
#
# Set your own sizes and bandwidths in the second cell (`cprsim.load_scenario(file,
# ["model.embedding=3 TB"])`), or write down what you measured (`"costs.save=6 min"`), which wins
# over what is derived. Then: `2_from_log_to_policy` takes failures from a log in place of a guess,
# `5_your_own_policy` adds a policy that isn't there.
