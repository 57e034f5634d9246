"""What all tests share."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.gated import Gate, started

# The same examples on every machine and in every run: a test that passes must pass again, however
# slow the machine is.
settings.register_profile(
    "cprsim",
    derandomize=True,
    deadline=None,
    print_blob=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cprsim")
# Into what it draws, Hypothesis mixes numbers and words that stand in the project's modules, of
# those that happen to be imported; so a file drew other examples alone than among others. There is
# no setting for it. `test_draws.py` holds that this is the place.
providers._get_local_constants = Constants


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and no repository: files have bare names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gate(tmp_path) -> Callable[..., Gate]:
    """Makes gates, each in a folder of its own."""
    made: list[Gate] = []

    def another(after: int, **more: bool) -> Gate:
        made.append(Gate.make(tmp_path / f"gate-{len(made)}", after, **more))
        return made[-1]

    return another


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts the command with a gate; what is left of it in the end is killed."""
    with ExitStack() as stack:
        yield lambda gate, *arguments: stack.enter_context(started(gate, *arguments))
