"""The adapter of docs/plug-into-dlrm.md on a model with the attributes of dlrm_s_pytorch.py."""

from pathlib import Path

import pytest
import torch
from torch import nn

from cprsim.errors import UsageError
from cprsim.trainer import TrainerHooks
from tests.trainer.jobs import job_of
from tools.pages.walkthroughs import code

PAGE = Path(__file__).parents[2] / "docs/plug-into-dlrm.md"
ROWS, DIM, BATCH, STEPS = (60, 40, 10), 4, 8, 20


class DLRM_Net(nn.Module):  # noqa: N801  (its name there)
    """What the script's model is to an adapter: `emb_l`, `bot_l`, `top_l`."""

    def __init__(self, seed=0):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.emb_l = nn.ModuleList(
                nn.EmbeddingBag(rows, DIM, mode="sum", sparse=True) for rows in ROWS
            )
            self.bot_l = nn.Sequential(nn.Linear(3, DIM), nn.ReLU())
            self.top_l = nn.Sequential(nn.Linear(4 * DIM, 1), nn.Sigmoid())

    def forward(self, dense_x, lS_o, lS_i):  # noqa: N803
        rows = [
            table(ids, offsets) for table, ids, offsets in zip(self.emb_l, lS_i, lS_o, strict=True)
        ]
        return self.top_l(torch.cat([self.bot_l(dense_x), *rows], dim=1))


class RowWise(torch.optim.Optimizer):
    """Its state is that of the script's RWSAdagrad, made in the first step unless a flag is set."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        self.momentum_initialized = False
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["step"] = 0

    @torch.no_grad()
    def step(self):
        for p in (p for group in self.param_groups for p in group["params"]):
            state, grad = self.state[p], p.grad.to_dense() if p.grad.is_sparse else p.grad
            name = "momentum" if p.grad.is_sparse else "sum"
            if not self.momentum_initialized:
                state[name] = torch.zeros(len(p)) if p.grad.is_sparse else torch.zeros_like(p)
            state["step"] += 1
            if p.grad.is_sparse:
                state[name] += grad.pow(2).mean(dim=1)
                p.sub_(0.1 * grad / (state[name].sqrt() + 1e-10).unsqueeze(1))
            else:
                state[name] += grad.pow(2)
                p.sub_(0.1 * grad / (state[name].sqrt() + 1e-10))
        self.momentum_initialized = True


class Prepared(RowWise):
    """The same with the page's recipe."""

    def __init__(self, params, lr):
        params = list(params)
        super().__init__(params, lr)
        names = {}
        exec(code(PAGE.read_text(encoding="utf-8"), "rwsadagrad.py"), names)
        model = DLRM_Net()
        count = len(model.emb_l)
        for mine, theirs in zip(model.emb_l, params[:count], strict=True):
            mine.weight = theirs
        names["make_state"](model, self)


@pytest.fixture(scope="module")
def adapter():
    names = {}
    exec(code(PAGE.read_text(encoding="utf-8"), "dlrm_adapter.py"), names)
    return names["DlrmAdapter"]


def batch(step, stacked):
    """As the script's loader gives it: two rows of each table a sample, and where samples begin."""
    drawn = torch.Generator().manual_seed(step)
    X = torch.rand(BATCH, 3, generator=drawn)  # noqa: N806
    lS_o = torch.arange(0, 2 * BATCH, 2).repeat(3, 1)  # noqa: N806
    lS_i = [torch.randint(rows, (2 * BATCH,), generator=drawn) for rows in ROWS]  # noqa: N806
    return X, lS_o, torch.stack(lS_i) if stacked else lS_i, (X.sum(1, keepdim=True) > 1.5).float()


def scenario():
    full = {"system": "full", "interval": "5 s"}
    cpr = {"system": "cpr-mfu", "interval": "8 s", "fraction": 0.25}
    return job_of(STEPS, ROWS, DIM, batch=BATCH, full=full, cpr=cpr)


class Script:
    """The loop of the script, as far as hooks have to do with it."""

    def __init__(self, adapter, optimiser, policy, folder, seed=0):
        self.dlrm = DLRM_Net(seed)
        self.optimizer = optimiser(self.dlrm.parameters(), lr=0.1)
        self.adapter = adapter(self.dlrm, self.optimizer, 2)
        self.hooks = TrainerHooks(scenario(), policy, self.adapter, folder, STEPS)

    def train(self, end=STEPS, stacked=True):
        skip_upto_batch = self.hooks.restore()
        for j in range(end):
            if j < skip_upto_batch:
                continue
            X, lS_o, lS_i, T = batch(j, stacked)  # noqa: N806
            E = nn.functional.binary_cross_entropy(self.dlrm(X, lS_o, lS_i), T)  # noqa: N806
            self.optimizer.zero_grad()
            E.backward()
            self.optimizer.step()
            self.hooks.after_step(lS_i)
        return skip_upto_batch

    def learned(self):
        return [each.detach().clone() for each in self.dlrm.parameters()]


@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adagrad, Prepared])
@pytest.mark.parametrize("stacked", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_script_that_starts_again_ends_as_one_that_was_never_stopped(
    adapter, optimiser, stacked, tmp_path
):
    clean = Script(adapter, optimiser, "full", tmp_path / "clean")
    clean.train(stacked=stacked)
    Script(adapter, optimiser, "full", tmp_path / "it").train(13, stacked)
    again = Script(adapter, optimiser, "full", tmp_path / "it", seed=1)

    assert again.train(stacked=stacked) == 10
    assert all(map(torch.equal, again.learned(), clean.learned()))


@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adagrad])
def test_a_lost_shard_comes_back_alone(adapter, optimiser, tmp_path):
    script = Script(adapter, optimiser, "cpr", tmp_path)
    script.train(11)
    tables = [table.weight.detach() for table in script.dlrm.emb_l]
    kept = tables[1].clone()
    for number in (0, 2):  # tables of shard 0
        tables[number].fill_(float("nan"))

    assert script.hooks.on_failure({0}) == 11
    assert all(table.isfinite().all() for table in tables)
    assert torch.equal(tables[1], kept)


def test_without_the_recipe_the_first_step_says_what_is_to_be_done(adapter, tmp_path):
    script = Script(adapter, RowWise, "full", tmp_path)
    with pytest.raises(UsageError, match="make the state of the optimiser before restore"):
        script.train(1)
