"""Cost of hooks: `python -m benchmarks.hooks`, ratios of two times of the same run.

A step without a save: processor times of a DLRM of 26 tables in one process, batches of 512, sparse
Adagrad; the loop and the hooks take turns, so that whatever else the machine does meets both. A
save: 8 MB of rows in 128 shards over the same in one, by the wall clock, as it waits for disks.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

import cprsim
from cprsim.trainer import TablePart, TrainerHooks, split_rows

_TABLES, _ROWS, _DIM, _BATCH, _STEPS, _WARM = 26, 40_000, 16, 512, 60, 10
_SAVES = 15


class Loop:
    """Tables in one process, each whole in a shard, or cut into as many parts as there are."""

    def __init__(self, shards: int, cut: bool) -> None:
        self.shards_of_it, self.cut = shards, cut
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(_ROWS, _DIM, mode="sum", sparse=True) for _ in range(_TABLES)
        )
        self.mlp = nn.Sequential(nn.Linear(_TABLES * _DIM, 64), nn.ReLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adagrad(self.parameters(), lr=0.05)

    def parameters(self) -> list[nn.Parameter]:
        """Tables and MLP."""
        return [*self.tables.parameters(), *self.mlp.parameters()]

    def step(self, ids: torch.Tensor) -> None:
        """Train on one batch, one row of each table a sample."""
        rows = [table(ids[n].unsqueeze(1)) for n, table in enumerate(self.tables)]
        logits = self.mlp(torch.cat(rows, dim=1)).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, torch.ones(_BATCH))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def shards(self) -> dict[int, list[TablePart]]:
        """Rows and sums of Adagrad."""
        found: dict[int, list[TablePart]] = {n: [] for n in range(self.shards_of_it)}
        for number, table in enumerate(self.tables):
            part = TablePart(number, table.weight, (self.optimizer.state[table.weight]["sum"],))
            if self.cut:
                for shard, each in enumerate(split_rows(part, self.shards_of_it)):
                    found[shard].append(each)
            else:
                found[number % self.shards_of_it].append(part)
        return found

    def dense(self) -> dict[str, nn.Module]:
        """The MLP."""
        return {"mlp": self.mlp}

    def lookups(self, ids: torch.Tensor) -> dict[int, torch.Tensor]:
        """By table."""
        return dict(enumerate(ids))


def main() -> None:
    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.disable()
    print(f"{'policy':<10} {'a table':<12} {'step ms':>8} {'hook ms':>8} {'ratio':>7}")
    for cut in (False, True):
        for policy in ("full", "cpr-mfu", "cpr-ssu", "cpr-scar"):
            step_s, hook_s = _measured(policy, cut)
            place = "in 8 shards" if cut else "in one shard"
            print(
                f"{policy:<10} {place:<12} {step_s * 1e3:8.2f} {hook_s * 1e3:8.3f} "
                f"{hook_s / step_s:7.1%}"
            )
    print(saves_of_many_shards())


def saves_of_many_shards() -> str:
    """A save of 8 MB in 128 shards, against one in a single shard."""
    with tempfile.TemporaryDirectory() as many, tempfile.TemporaryDirectory() as one:
        held = [_Rows(128, Path(many)), _Rows(1, Path(one))]
        times: list[list[float]] = [[], []]
        for _ in range(_SAVES):
            for each, seconds in zip(held, times, strict=True):
                start_s = time.perf_counter()
                each.save()
                seconds.append(time.perf_counter() - start_s)
    ours_s, theirs_s = (statistics.median(each) for each in times)
    return (
        f"{'8 MB saved in 128 shards (in one)':<36} {ours_s * 1e3:8.1f} ms "
        f"{theirs_s * 1e3:8.1f} ms {ours_s / theirs_s:7.2f}   <= 2"
    )


class _Rows:
    """32,000 rows of 64 floats, 8 MB, in so many shards; no step of training between saves."""

    def __init__(self, shards: int, folder: Path) -> None:
        whole = TablePart(0, torch.rand(32_000, 64))
        self._parts = dict(enumerate([each] for each in split_rows(whole, shards)))
        job = cprsim.Scenario(
            job={"useful_time": f"{_SAVES + 1} s"},
            model={"tables": [{"rows": 32_000, "dim": 64}]},
            cluster={"parameter_servers": shards, "trainers": 1},
            costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
            failures={"exactly": 1},
            policies={"full": {"system": "full", "interval": "1 s"}},
        )
        self._hooks: TrainerHooks[None] = TrainerHooks(job, "full", self, folder, _SAVES + 1)
        self._hooks.restore()

    def shards(self) -> dict[int, list[TablePart]]:
        """The table, cut."""
        return self._parts

    def dense(self) -> dict[str, nn.Module]:
        """Nothing."""
        return {}

    def lookups(self, _batch: None) -> dict[int, torch.Tensor]:
        """None: the policy doesn't ask."""
        return {}

    def save(self) -> None:
        """A step, after which a save is due."""
        self._hooks.after_step(None)


def _measured(policy: str, cut: bool) -> tuple[float, float]:
    scenario = cprsim.Scenario(
        job={"useful_time": "1 h", "samples": _STEPS * _BATCH},
        model={"tables": [{"rows": _ROWS, "dim": _DIM}] * _TABLES},
        cluster={"parameter_servers": 8, "trainers": 1},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={policy: {"system": policy, "interval": "100 h"}},
    )
    loop, (steps, hooks) = Loop(8, cut), ([], [])
    with tempfile.TemporaryDirectory() as folder:
        it: TrainerHooks[torch.Tensor] = TrainerHooks(scenario, policy, loop, folder, _STEPS)
        it.restore()
        for _ in range(_STEPS):
            ids = (torch.rand(_TABLES, _BATCH) ** 4 * _ROWS).long()
            with _timed(steps):
                loop.step(ids)
            with _timed(hooks):
                it.after_step(ids)
        assert it.summary.saves == 0
    return statistics.median(steps[_WARM:]), statistics.median(hooks[_WARM:])


@contextmanager
def _timed(times: list[float]) -> Iterator[None]:
    start_s = time.process_time()
    yield
    times.append(time.process_time() - start_s)


if __name__ == "__main__":
    main()
