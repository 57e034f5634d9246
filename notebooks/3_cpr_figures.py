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
# # The CPR paper's figures
#
# **The question.** *CPR: Understanding and Improving Failure Tolerant Training for Deep Learning
# Recommendation with Partial Recovery* (Maeng et al., MLSys 2021) argues that only the servers
# that fail should go back to a checkpoint, and that checkpoints should be as rare as a target on
# the portion of lost samples (PLS) allows. What do its pictures look like, drawn from simulated
# jobs?
#
# **What is assumed.** The costs in `scenarios/criteo-kaggle.toml` and `production.toml` are
# calibrated: they solve the paper's equations for two numbers of its abstract. So these two numbers
# prove nothing; other numbers that follow from the costs do. Accuracy isn't modelled; the share of
# updates lost is shown instead.
# [docs/reproduction.md](../docs/reproduction.md) compares every picture with the published numbers.

# %%
# %matplotlib inline
import math

import cprsim
from cprsim.report.gallery.registry import PICTURES

{name: picture.explains for name, picture in PICTURES.items()}

# %% [markdown]
# Each of these is also a command, `cprsim figure NAME`. Here `found()` simulates what a picture
# shows, and `figure()` draws it.
#
# ## Where the time goes
#
# The emulation on Criteo Kaggle: 56 hours on 8 servers, with two failures. Full recovery saves
# every 2.3 hours and repeats what a failure undoes. Partial recovery at the same interval repeats
# nothing. CPR saves once. Its three variants with priorities spend about the same seconds on the
# rows that are used most, and lose about a fifth as many updates. The slim grey bars are what it
# would take to train all lost updates again: so counted CPR is about as dear as full recovery, its
# variants are not.

# %%
breakdown = PICTURES["policy-breakdown"].found()
breakdown.figure()

# %% [markdown]
# On 18 servers with five failures of four servers each, the paper reports 91 % less overhead.

# %%
production = PICTURES["production"].found()
production.figure()

# %% [markdown]
# ## More servers
#
# More servers fail more often. The paper has two models of the MTBF: in inverse proportion to
# their number, and from a chance to fail in an hour that each has by itself. Under both, full
# recovery grows about as the square root of their number. CPR starts far below, and its saves
# hardly get more frequent: one of many servers holds fewer samples. What grows is the waiting for
# new servers, and loading.

# %%
scaling = PICTURES["scaling"].found()
scaling.figure()

# %% [markdown]
# ## More failures, and larger ones
#
# CPR grows in proportion to the failures, and full recovery slower, from much higher up. A failure
# that takes half of the servers loses four samples where one server loses one; CPR answers with
# shorter intervals.

# %%
sensitivity = PICTURES["sensitivity"].found()
sensitivity.figure()

# %% [markdown]
# ## What the time is paid with
#
# Each curve is a policy over targets from 0.5 to 10 %. At the same overhead, policies that save
# hot rows more often lose fewer updates than CPR without priorities (right); PLS, which counts
# samples and not updates of rows, sees no difference (left).

# %%
tradeoff = PICTURES["tradeoff"].found()
tradeoff.figure()

# %% [markdown]
# ## What must be so
#
# The paper's equations, on the calibrated costs:

# %%
HOURS, SAVE, RECOVERY, MTBF, SERVERS, PLS = 56, 5.62 / 60, 5.39 / 60, 28, 8, 0.1

# (E3) and (E1): full recovery at its best interval; (E6) and (E2): CPR at the one of its target.
best = math.sqrt(2 * SAVE * MTBF)
full = SAVE / best + (RECOVERY + best / 2) / MTBF
allowed = 2 * PLS * SERVERS * MTBF
cpr = SAVE / allowed + RECOVERY / MTBF
assert math.isclose(full, 0.085, rel_tol=0.01)  # of the abstract, and calibrated
assert math.isclose(cpr, 0.0053, rel_tol=0.01)

decision = cprsim.decide(cprsim.load_scenario("../scenarios/criteo-kaggle.toml"))
assert math.isclose(decision.full.expected.overhead, full, rel_tol=1e-6)
assert math.isclose(decision.partial.expected.overhead, cpr, rel_tol=1e-6)

# CPR saves once in 56 hours and recovers twice, whenever the failures come: no chance is left.
jobs = breakdown.replications.pivot(index="replication", columns="policy", values="overhead")
assert jobs["cpr"].max() < (SAVE + 2 * RECOVERY) / HOURS + 1e-9

# Every policy beats the one before it on the same failures, by more than chance.
for dear, cheap in (("full", "partial"), ("partial", "cpr")):
    saved = jobs[dear] - jobs[cheap]
    assert saved.mean() > 1.96 * saved.std() / math.sqrt(len(saved))

# With priorities fewer updates are lost.
lost = breakdown.summary["updates_lost"]
assert lost[["cpr-mfu", "cpr-ssu", "cpr-scar"]].max() < lost["cpr"]

# 16 times the servers with 16 times the failures: sqrt(16) = 4 times full recovery's overhead to
# first order, and more in truth, since failures strike work that is done again.
linear = scaling.rows[scaling.rows["varied"] == "linear"].set_index(["policy", "value"])
grown = linear["overhead"]["full"]
assert 4 < grown[128] / grown[8] < 16

# CPR saves once, and recovers once per MTBF, whatever the number of servers: within 3 standard
# errors, of which the 95 % interval has 1.96 to either side.
for row in linear.loc["cpr"].itertuples():
    expected = (1 + SAVE / HOURS) * (1 + RECOVERY * row.Index / (MTBF * SERVERS)) - 1
    assert abs(row.overhead - expected) < 3 / 1.96 * (row.overhead_high - row.overhead)

# Twenty times the failures: (E1) has sqrt(20) for all but the recoveries, (E2) and (E6) have 20.
count = sensitivity.rows[sensitivity.rows["varied"] == "failures"]
grown = count.pivot(index="value", columns="policy", values="overhead")
ratio = grown.loc[40] / grown.loc[2]
assert math.sqrt(20) < ratio["full"] < ratio["cpr"]
assert math.isclose(ratio["cpr"], 20, rel_tol=0.1)  # saves come in whole numbers

# (E5): PLS is the target, where there are many saves; again within 3 standard errors.
curve = tradeoff.rows[tradeoff.rows["policy"] == "cpr"].set_index("target")
for target in (0.005, 0.01, 0.02):
    row = curve.loc[target]
    assert abs(row["pls"] - target) < 3 / 1.96 * (row["pls_high"] - row["pls"])

# %% [markdown]
# ## Change it
#
# Each picture takes a scenario of yours: `PICTURES["scaling"].figure(Path("mine.toml"))`, or
# `cprsim figure scaling mine.toml --out scaling.png`.
