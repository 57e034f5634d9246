import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweeps.processes import SCENARIO


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> Iterator[None]:
    """Ctrl-C is as on a terminal in whatever is started here: sweeps, workers, dask.

    Whoever runs the tests in the background of a script has it ignored, which children inherit.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def out(tmp_path) -> Path:
    """A folder that is still to be made."""
    return tmp_path / "out"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """The scenario of sweeps that are harmed."""
    path = tmp_path_factory.mktemp("scenario") / "s.toml"
    path.write_text(SCENARIO)
    return path
