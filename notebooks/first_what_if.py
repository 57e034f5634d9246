# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Your first what-if
#
# How much time does a training job lose to failures, and what would another policy save? Open this
# file as a notebook with Jupytext, or run it as a script from the repository's root.

# %%
import cprsim

scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")

# %% [markdown]
# First the estimate, which costs nothing: full recovery at its best interval, partial recovery at
# the same one, and partial recovery at the interval that a target on lost samples (PLS) allows.

# %%
advice = cprsim.advise(scenario, target_pls=0.1)
print(f"full {advice.full.expected.overhead:.2%}, partial {advice.partial.expected.overhead:.2%}")
print(f"recommended: {advice.recommendation}, {advice.benefit:.1%} less overhead")

# %% [markdown]
# Then the simulation. Every policy meets the same failures, so their difference is not luck.

# %%
result = cprsim.run(scenario, replications=200, seed=0)
print(result.summary[["overhead", "save", "lost", "pls", "interval_s"]].round(4))

# %% [markdown]
# What if failures came four times as often? Any value can be changed; here the whole table.

# %%
worse = cprsim.load_scenario("scenarios/criteo-kaggle.toml", ["failures.exactly=8"])
often = cprsim.run(worse, replications=200, seed=0)
growth = often.summary["overhead"] / result.summary["overhead"]
print(growth.round(2))

# %% [markdown]
# Full recovery's overhead grows like the square root of the failures while saves and lost work
# dominate. CPR's grows in proportion, as its interval follows the target; it stays far cheaper.

# %%
assert 1.8 < growth["full"] < 2.4
assert 3 < growth["cpr"] < 5
assert often.summary.loc["cpr", "overhead"] < 0.2 * often.summary.loc["full", "overhead"]
