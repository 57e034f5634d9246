"""The cost of adapters: `python -m benchmarks.adapters`, in an environment with their libraries.

`make adapters` makes one in `.venv/adapters`. A step without a save, of an MLP of 1.3 million
weights and batches of 512 under `full`: processor time in the adapter, and of all the rest of the
same training, the trainer's own code included.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import cprsim
from cprsim.hooks.decider import Decider

_STEPS, _WIDTH, _BATCH = 200, 1024, 512


class Stopwatch:
    """Processor time since it was made, and of it that in the calls of one method."""

    def __init__(self, timed: Any, name: str) -> None:
        self.s, self._began_s = 0.0, time.process_time()
        method = getattr(timed, name)

        def measured(*given: Any, **named: Any) -> Any:
            began_s = time.process_time()
            result = method(*given, **named)
            self.s += time.process_time() - began_s
            return result

        setattr(timed, name, measured)

    def row(self, name: str) -> str:
        """A line of the table, of all steps."""
        rest_s = time.process_time() - self._began_s - self.s
        return (
            f"{name:<12} {rest_s / _STEPS * 1e3:8.2f} {self.s / _STEPS * 1e6:10.1f} "
            f"{self.s / rest_s:8.3%}"
        )


def decider() -> Decider:
    """Wants no save in all the steps."""
    job = cprsim.Scenario(
        job={"useful_time": "1 h"},
        cluster={"parameter_servers": 1},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={"full": {"system": "full", "interval": "100 h"}},
    )
    made = Decider("full", steps=_STEPS, scenario=job)
    assert made.due(1) is None  # it has its plan
    return made


def mlp() -> Any:
    """Return the model of both trainers of PyTorch."""
    import torch  # noqa: PLC0415  (each trainer is measured where it is installed)

    torch.set_num_threads(1)
    return torch.nn.Sequential(
        torch.nn.Linear(256, _WIDTH), torch.nn.ReLU(), torch.nn.Linear(_WIDTH, _WIDTH),
        torch.nn.ReLU(), torch.nn.Linear(_WIDTH, 1),
    )  # fmt: skip


def orbax(folder: str) -> str:
    """Measure Orbax's policy object in a loop with a `CheckpointManager`."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415
    import orbax.checkpoint as ocp  # noqa: PLC0415

    from cprsim.hooks.orbax import OrbaxPolicy  # noqa: PLC0415

    policy = OrbaxPolicy(decider())
    options = ocp.CheckpointManagerOptions(save_decision_policy=policy, preservation_policy=policy)
    weights, inputs = jnp.ones((_WIDTH, _WIDTH)), jnp.ones((_BATCH, _WIDTH))
    step = jax.jit(lambda w: w - 1e-3 * jax.grad(lambda v: jnp.tanh(inputs @ v).sum())(w))
    step(weights).block_until_ready()  # compiled
    with ocp.CheckpointManager(Path(folder), options=options) as manager:
        watch = Stopwatch(policy, "should_save")
        for number in range(_STEPS):
            weights = step(weights).block_until_ready()
            manager.save(number + 1, args=ocp.args.StandardSave({"weights": weights}))
        return watch.row("orbax")


def huggingface(folder: str) -> str:
    """Measure the callback of Hugging Face's Trainer."""
    import torch  # noqa: PLC0415
    from transformers import Trainer, TrainingArguments  # noqa: PLC0415

    from cprsim.hooks.huggingface import HuggingFaceCallback  # noqa: PLC0415

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = mlp()

        def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": (self.layers(inputs).squeeze(1) - labels).square().mean()}

    callback = HuggingFaceCallback(decider())
    arguments = TrainingArguments(
        folder, max_steps=_STEPS, per_device_train_batch_size=_BATCH, save_strategy="no",
        use_cpu=True, disable_tqdm=True, report_to="none",
    )  # fmt: skip
    samples = [{"inputs": torch.rand(256), "labels": torch.rand(())} for _ in range(4 * _BATCH)]
    trainer = Trainer(Model(), arguments, train_dataset=samples, callbacks=[callback])
    watch = Stopwatch(callback, "on_step_end")
    trainer.train()
    return watch.row("huggingface")


def lightning(folder: str) -> str:
    """Measure the callback of Lightning."""
    import torch  # noqa: PLC0415
    from lightning.pytorch import LightningModule, Trainer  # noqa: PLC0415

    from cprsim.hooks.lightning import LightningCallback  # noqa: PLC0415

    class Model(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = mlp()

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.layers(batch).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters())

    callback = LightningCallback(decider(), folder)
    trainer = Trainer(
        max_steps=_STEPS, callbacks=[callback], accelerator="cpu", logger=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(torch.rand(4 * _BATCH, 256), _BATCH)
    watch = Stopwatch(callback, "on_train_batch_end")
    trainer.fit(Model(), loader)
    return watch.row("lightning")


def main() -> None:
    print(f"{'adapter':<12} {'step ms':>8} {'adapter us':>10} {'ratio':>8}")
    for measured in (orbax, huggingface, lightning):
        with tempfile.TemporaryDirectory() as folder:
            print(measured(folder))


if __name__ == "__main__":
    main()
