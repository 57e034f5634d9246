"""docs/plug-into-other-trainers.md's Hugging Face Trainer and Accelerate, with the libraries."""

from pathlib import Path
from typing import Any

import pytest

from cprsim.hooks.decider import Decider
from tests.hooks.scripts import KILLED, Script, alone, killed_and_resumed, needs
from tests.hooks.test_decider import Loop, job
from tests.hooks.test_whole_saves import Watch

pytestmark = [*needs("transformers"), *needs("accelerate")]
TORCHRUN = (
    *("torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"),
    "-m",
)


@pytest.mark.parametrize("name", ["huggingface_job.py", "accelerate_job.py"])
def test_a_killed_job_ends_with_the_same_weights(name: str, tmp_path: Path) -> None:
    import torch

    plain, hit = (torch.load(each / "weights.pt") for each in killed_and_resumed(name, tmp_path))

    assert plain.keys() == hit.keys()
    assert all(torch.equal(plain[each], hit[each]) for each in plain)


def test_torchrun_ends_all_ranks_and_all_return_to_the_last_save(tmp_path: Path) -> None:
    """The ranks save at the steps of rank 0: each has its own random state in a checkpoint."""
    import torch

    plain, hit = (Script("huggingface_job.py", tmp_path / each) for each in ("plain", "hit"))
    saved = plain.run_restarted(0, *TORCHRUN)
    assert saved == alone(plain.folder)
    assert hit.run_restarted(KILLED, *TORCHRUN) == [20, *alone(plain.folder, begun=20)]

    for step in saved:
        states = (hit.folder / f"checkpoints/checkpoint-{step}").glob("rng_state_*.pth")
        assert sorted(each.name for each in states) == ["rng_state_0.pth", "rng_state_1.pth"]
    weights, others = (torch.load(each.folder / "weights.pt") for each in (plain, hit))
    assert all(torch.equal(weights[each], others[each]) for each in weights)


def train(folder: Path, decider: Decider, until: int, **more: Any) -> list[int]:
    """Train, 1 s of the clock a step, 5 s a save, 100 s an evaluation; the steps of all saves."""
    import torch
    from transformers import Trainer, TrainingArguments

    from cprsim.hooks.huggingface import HuggingFaceCallback

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.top = torch.nn.Linear(1, 1)

        def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            decider.clock.now_s += 1.0 if self.training else 100.0
            return {"loss": (self.top(inputs) - labels).square().mean()}

    class SlowTrainer(Trainer):  # type: ignore[misc]
        def save_model(self, *given: Any, **named: Any) -> None:
            decider.clock.now_s += 5.0
            super().save_model(*given, **named)

    arguments = TrainingArguments(
        str(folder), max_steps=until, per_device_train_batch_size=4, save_strategy="no",
        use_cpu=True, disable_tqdm=True, report_to="none", **more,
    )  # fmt: skip
    samples = [{"inputs": torch.rand(1), "labels": torch.rand(1)} for _ in range(40)]
    trainer = SlowTrainer(
        Model(),
        arguments,
        train_dataset=samples,
        eval_dataset=samples[:1],
        callbacks=[HuggingFaceCallback(decider)],
    )
    trainer.train()
    return sorted(int(each.name.partition("-")[2]) for each in folder.glob("checkpoint-*"))


def test_it_saves_where_the_decider_alone_says(tmp_path: Path) -> None:
    loop = Loop(200, mtbf="100 s", save_s=5.0)
    decider = Decider(steps=200, mtbf="100 s", clock=Watch())

    assert train(tmp_path, decider, 80) == loop.run(80)
    assert decider.learned == loop.decider.learned


def test_an_evaluation_before_a_save_is_no_part_of_it(tmp_path: Path) -> None:
    plan = job(full={"system": "full", "interval": "500 s"})
    decider = Decider("full", steps=200, scenario=plan, clock=Watch())

    assert train(tmp_path, decider, 12, eval_strategy="steps", eval_steps=10) == [10]
    assert decider.learned.save_s == 5.0
