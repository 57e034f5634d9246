"""docs/plug-into-other-trainers.md's Lightning, with the real library."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cprsim.hooks.decider import Decider
from tests.hooks.scripts import killed_and_resumed, needs
from tests.hooks.test_decider import Loop, job
from tests.hooks.test_whole_saves import Watch

pytestmark = [
    *needs("lightning"),
    # Lightning's own code, next to this torch.
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated"),
]


def test_a_killed_job_ends_with_the_same_weights(tmp_path: Path) -> None:
    import torch

    folders = killed_and_resumed("lightning_job.py", tmp_path)
    plain, hit = (torch.load(each / "weights.pt") for each in folders)

    assert plain.keys() == hit.keys()
    assert all(torch.equal(plain[each], hit[each]) for each in plain)


class Job:
    """Training on a clock: 1 s a step, 5 s a save; `before_step` is called with the clock."""

    def __init__(self, folder: Path, decider: Decider, before_step: Any = lambda step: None):
        from cprsim.hooks.lightning import LightningCallback

        self.decider, self.before_step, self.folder = decider, before_step, folder
        self.callback = LightningCallback(decider, folder)

    def fit(self, until: int, **more: Any) -> list[int]:
        """Train from the last checkpoint on; the steps of all checkpoints there are."""
        import torch
        from lightning.pytorch import LightningModule, Trainer

        job = self

        class Model(LightningModule):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.top = torch.nn.Linear(1, 1)

            def training_step(self, batch: torch.Tensor) -> torch.Tensor:
                job.before_step(self.global_step)
                job.decider.clock.now_s += 1.0
                return self.top(batch).square().mean()

            def configure_optimizers(self) -> torch.optim.Optimizer:
                return torch.optim.SGD(self.parameters(), 0.1)

            def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
                job.decider.clock.now_s += 5.0

        class Batches:
            def __len__(self) -> int:
                return 1000

            def __iter__(self) -> Iterator[torch.Tensor]:
                return (torch.ones(2, 1) for _ in range(1000))

            def state_dict(self) -> dict[str, Any]:
                return {}

            def load_state_dict(self, state: dict[str, Any]) -> None:
                pass

        trainer = Trainer(
            max_steps=until, callbacks=[self.callback], accelerator="cpu", logger=False,
            enable_progress_bar=False, enable_model_summary=False, **more,
        )  # fmt: skip
        trainer.fit(Model(), Batches(), ckpt_path=self.callback.last)
        return sorted(int(each.stem.partition("-")[2]) for each in self.folder.glob("*.ckpt"))


def test_it_saves_where_the_decider_alone_says(tmp_path: Path) -> None:
    loop = Loop(200, mtbf="100 s", save_s=5.0)
    decider = Decider(steps=200, mtbf="100 s", clock=Watch())

    assert Job(tmp_path, decider).fit(80) == loop.run(80)
    assert decider.learned == loop.decider.learned


def test_an_error_is_a_failure_where_the_same_process_fits_again(tmp_path: Path) -> None:
    def fail_once(step: int) -> None:
        if step == 60 and not failed:
            failed.append(step)
            raise RuntimeError("a GPU is lost")

    failed: list[int] = []
    loop = Loop(200, mtbf="100 s", save_s=5.0)
    decider = Decider(steps=200, mtbf="100 s", clock=Watch())
    job = Job(tmp_path, decider, fail_once)
    with pytest.raises(RuntimeError, match="a GPU is lost"):
        job.fit(100)
    loop.run(60)
    decider.clock.now_s += 30.0  # until it is mended
    loop.fail(30.0)

    assert job.fit(100) == loop.run(100)
    assert decider.learned == loop.decider.learned
    assert (decider.learned.failures, decider.learned.away_s) == (1, 30.0)


def test_after_a_sigterm_it_saves_at_once(tmp_path: Path) -> None:
    def notice(step: int) -> None:
        if step == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    decider = Decider(steps=200, clock=Watch())
    with pytest.raises(SystemExit):
        Job(tmp_path, decider, notice).fit(80)

    assert [each.name for each in tmp_path.iterdir()] == ["step-5.ckpt"]
    assert decider.learned.failures == 0


def test_the_policy_says_how_many_are_kept_and_batches_that_accumulate_are_no_steps(
    tmp_path: Path,
) -> None:
    keys = {"system": "full", "interval": "500 s", "keep": 2}
    decider = Decider("full", steps=200, scenario=job(full=keys), clock=Watch())

    assert Job(tmp_path, decider).fit(45, accumulate_grad_batches=2) == [30, 40]
