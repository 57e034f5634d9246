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
# # Write and test your own policy
#
# **The question.** CPR saves as rarely as a target on the portion of lost samples (PLS) allows.
# The target holds for the mean of many jobs. A job with bad luck loses two or three times as much.
# What would it cost to hold *every* job to it?
#
# **The policy** of this notebook is CPR with a budget. It keeps count of what each failure would
# lose. As long as the budget lasts, only the lost servers go back to the last checkpoint; a
# failure that would break the budget takes the whole job back, which costs time and no learning.
#
# [docs/write-a-policy.md](../docs/write-a-policy.md) says what the parts are, and how to make a
# package of it.

# %%
# %matplotlib inline
import math
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import matplotlib.pyplot as plt
import numpy as np

import cprsim
from cprsim.contract import (
    Action,
    Clock,
    Context,
    Event,
    Failed,
    Loss,
    Plan,
    Recover,
    Resumed,
    Saved,
    ScheduledController,
)
from cprsim.policies.cpr import Cpr
from cprsim.testing import PolicyConformance, Recording, play

# %% [markdown]
# ## Three classes
#
# **The policy** is the table of a scenario. It inherits CPR's keys (`target_pls`, `interval`) and
# CPR's interval, (E6) of the paper. `plan` resolves every number; it may look at the job and the
# cluster, and never at when failures come.
#
# **The plan** is those numbers: CPR's own, and what one lost second of a server adds to PLS.
#
# **The controller** is the state of one run. Its `tell` gets each event, its `ask` and `answer`
# return what to do. The controller that every plan has decides when to save; this one only chooses
# the answer to a failure.


# %%
class Budgeted(Cpr):
    """CPR whose target holds for every job: a failure that would break it takes all back."""

    system: Literal["budgeted"]

    def plan(self, context: Context) -> Plan:
        """Partial recovery at CPR's interval, with the target as a budget."""
        plan = self.partial(context, self.interval_s(context))
        pls_per_s = 1 / (context.useful_time_s * context.servers)
        return BudgetedPlan(
            plan.recovery,
            plan.schedules,
            plan.recover,
            budget=self.target_pls,
            pls_per_s=pls_per_s,
        )


@dataclass(frozen=True, slots=True)
class BudgetedPlan(Plan):
    """`pls_per_s`: what a server adds to PLS for each second of training that it loses."""

    budget: float = 0.0
    pls_per_s: float = 0.0

    def start(self) -> "BudgetedController":
        """A controller with the whole budget."""
        return BudgetedController(self)


class BudgetedController:
    """Saves by the plan's schedule; rolls back lost servers, or all once the budget is spent."""

    def __init__(self, plan: BudgetedPlan) -> None:
        self.plan, self.left = plan, plan.budget
        self.schedule = ScheduledController(plan.schedules, self.answer)
        self.saved_s = self.failed_s = 0.0  # progress at the last save, and at the last failure
        self.counted: frozenset[int] = frozenset()  # servers that are down and paid for
        self.all_back = False

    def tell(self, event: Event) -> None:
        """Note where the job was saved, where it failed, and that it trains again."""
        self.schedule.tell(event)
        if isinstance(event, Saved):
            self.saved_s = event.now.progress_s
        elif isinstance(event, Failed):
            self.failed_s = event.now.progress_s
        elif isinstance(event, Resumed):
            self.counted, self.all_back = frozenset(), False

    def ask(self, now: Clock) -> Action:
        """Return the action of the schedule."""
        return self.schedule.ask(now)

    def answer(self, loss: Loss) -> Recover:
        """Roll back the lost servers if the budget allows it, or all."""
        hit = len(loss.servers - self.counted)  # one that fails while it is loaded is paid for
        price = hit * (self.failed_s - self.saved_s) * self.plan.pls_per_s
        self.all_back = self.all_back or price > self.left
        if self.all_back:
            return Recover(rollback="all")
        self.left -= price
        self.counted |= loss.servers
        return Recover(rollback="lost")


cprsim.register(Budgeted)

# %% [markdown]
# ## A run worked by hand
#
# Before any statistics: 100 s of training on 4 servers, a save of 8 s every 40 s, and a budget of
# 5 %. Each server holds a quarter of the samples, so a server that loses 10 s of 100 s adds 10 /
# (100 × 4) = 2.5 %.
#
# - At 10 s of the clock server 0 fails, and loses 10 s: 2.5 %, within the budget. Training resumes
#   at 22 s, after 10 s of waiting and 2 s of loading.
# - 30 s later, at 52 s, 40 s are done and are saved, until 60 s.
# - At 72 s server 1 fails, and would lose 12 s: 3 %, and only 2.5 % are left. The job goes back to
#   40 s; the 12 s are done again.
#
# From 84 s on it trains the remaining 60 s, with a save of 8 s in between: it ends at 152 s.

# %%
with tempfile.TemporaryDirectory() as folder:
    log = Path(folder, "log.csv")
    log.write_text("time_s,node\n10,0\n72,1\n")
    by_hand = cprsim.Scenario(
        job={"useful_time": "100 s"},
        cluster={"parameter_servers": 4},
        costs={"save": "8 s", "load": "2 s", "reschedule": "10 s"},
        failures={"trace": str(log)},
        policies={"it": {"system": "budgeted", "target_pls": 0.05, "interval": "40 s"}},
    )
    seen = Recording()
    ledger = play(by_hand, "it", seed=0, replication=0, observer=seen)

for cause, start_s, end_s in seen.spans:
    print(f"{cause:10} {start_s:5.0f} s to {end_s:3.0f} s")

# %% [markdown]
# ## The suite that every policy passes
#
# `PolicyConformance` plays the policy under ten conditions: the plan is pure, every loss is
# answered, time adds up, the controller doesn't see the future, other policies' numbers don't
# change. It is meant for pytest (subclass it in a test file); here its tests are called one by
# one.


# %%
class BudgetedConforms(PolicyConformance):
    """The suite, of this policy."""

    policy: ClassVar = {"system": "budgeted", "target_pls": 0.02, "interval": "2 h"}


suite = BudgetedConforms()
passed = [
    name for name in dir(suite) if name.startswith("test_") and getattr(suite, name)() is None
]
print(len(passed), "tests passed")

# %% [markdown]
# ## What does it cost?
#
# A job of the CPR paper's emulation (56 hours, 8 servers), under failures that come in clusters as
# they do in production: a gamma law of shape 0.675, one every 14 hours on average.

# %%
TARGET = 0.1
REPLICATIONS = 400

tables = tomllib.loads(Path("../scenarios/criteo-kaggle.toml").read_text(encoding="utf-8"))
tables["title"] = "CPR with a budget"
tables["failures"] = {
    "distribution": "gamma",
    "mean": "14 h",
    "shape": 0.675,
    "hits": {"parameter_servers": 1},
}
tables["policies"] = {
    "full": {"system": "full"},
    "cpr": {"system": "cpr-vanilla", "target_pls": TARGET},
    "budgeted": {"system": "budgeted", "target_pls": TARGET},
}
scenario = cprsim.Scenario(**tables)
result = cprsim.run(scenario, replications=REPLICATIONS, seed=0)
result.figure("breakdown")

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
share = np.arange(REPLICATIONS, 0, -1) / REPLICATIONS
for policy in ("cpr", "budgeted"):
    axes.step(100 * np.sort(result.of(policy)["pls"]), 100 * share, where="post", label=policy)
axes.axvline(100 * TARGET, color="0.5", linestyle=":", label="target")
axes.set(xlabel="portion of lost samples, %", ylabel="jobs that lose more, %", ylim=(0, 100))
axes.legend()
plt.show()

# %%
cpr, budgeted, full = (
    result.of(policy).set_index("replication") for policy in ("cpr", "budgeted", "full")
)
price = budgeted["overhead"] - cpr["overhead"]
half = 1.96 * price.std() / math.sqrt(REPLICATIONS)
print(f"jobs beyond the target: {100 * (cpr['pls'] > TARGET).mean():.0f} % under cpr, none here")
print(f"price: {100 * price.mean():.2f} ± {100 * half:.2f} points of overhead in the mean")

# %% [markdown]
# The guarantee holds, at a terrible price. The interval is to blame: 22 hours suit servers that go
# back alone, and a job that goes back as a whole does half of that again.
#
# ## A better interval
#
# The closed form isn't made for this policy, so try: a sweep over intervals, on the same failures.

# %%
KEY = "policies.budgeted.interval"
with tempfile.TemporaryDirectory() as folder:
    sweep = cprsim.sweep(
        scenario, folder, {KEY: "log(2 h, 20 h, 5)"}, ["budgeted"], replications=REPLICATIONS
    )
    found, best = sweep.table, sweep.best().iloc[0]
    tuned = sweep.replications(best["point"]).set_index("replication")

found.assign(hours=(found["interval_s"] / 3600).round(1)).set_index("hours")[
    ["overhead", "overhead_low", "overhead_high", "lost", "save", "pls", "pls_p95"]
].round(4)

# %%
for name, jobs in {"full": full, "cpr": cpr, "budgeted, 22 h": budgeted, "tuned": tuned}.items():
    print(
        f"{name:14} overhead {100 * jobs['overhead'].mean():6.2f} %,"
        f" PLS {100 * jobs['pls'].mean():5.2f} % in the mean,"
        f" {100 * jobs['pls'].max():5.2f} % at most"
    )

# %% [markdown]
# With shorter intervals failures lose less, so the budget lasts longer, and what it doesn't cover
# costs less time. A limit on every job costs a point more of overhead than a limit on the mean,
# and far less than full recovery. (The best of a sweep looks a little better than it is: it was
# picked by these very jobs. Check it with another `seed`.)
#
# ## What must be so

# %%
# As worked by hand.
assert [span for span in seen.spans if span[0] == "save"] == [
    ("save", 52.0, 60.0),
    ("save", 124.0, 132.0),
]
assert (ledger.lost, ledger.wall, ledger.pls) == (12.0, 152.0, 0.025)
assert passed

# What it is for: no job loses more than the budget, while many do under CPR.
assert budgeted["pls"].max() <= TARGET * (1 + 1e-9)
assert (cpr["pls"] > TARGET).any()

# A job that CPR brings home within the budget goes the same way here, to the second.
within = cpr["pls"] <= TARGET * (1 - 1e-9)
assert within.any()
assert (price[within].abs() < 1e-9).all()
assert np.allclose(budgeted["pls"][within], cpr["pls"][within])

# The others pay: on the same failures, in the mean by more than chance.
paid = price[~within]
assert paid.mean() > 1.96 * paid.std() / math.sqrt(len(paid))

# The tuned one stays within the budget as well, between CPR and full recovery.
assert tuned["pls"].max() <= TARGET * (1 + 1e-9)
for dearer, cheaper in ((full, tuned), (tuned, cpr), (budgeted, tuned)):
    saved = dearer["overhead"] - cheaper["overhead"]
    assert saved.mean() > 1.96 * saved.std() / math.sqrt(REPLICATIONS)

# %% [markdown]
# ## Change it
#
# - Halve `TARGET`, or let `failures.mean` be a week.
# - Spend the budget evenly: allow at any time only the share of it that the progress has earned.
