"""docs/plug-into-other-trainers.md's Ray Train, with the real library."""

from pathlib import Path

import pytest

from tests.hooks.scripts import KILLED, STEPS, Script, alone, needs

#: Nightly: Ray takes processes of its own, a minute on two quiet cores and many on busy ones.
pytestmark = [*needs("ray"), pytest.mark.nightly]


def test_a_worker_that_is_killed_is_replaced_and_ends_with_the_weights_of_the_bare_loop(
    tmp_path: Path,
) -> None:
    import torch

    script = Script("ray_job.py", tmp_path / "job")
    assert script.run_restarted(KILLED) == [20, *alone(script.folder, begun=20)]
    assert (script.folder / "killed.txt").exists()

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(1, STEPS + 1):
        inputs = torch.rand(32, 8, generator=torch.Generator().manual_seed(step))
        (model(inputs).squeeze(1) - inputs.sum(dim=1)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    weights = torch.load(script.folder / "weights.pt")
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())
