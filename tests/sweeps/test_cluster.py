"""The same sweep on a real dask cluster on loopback, whose parts are killed."""

import time
from pathlib import Path

import pytest

from cprsim import errors
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.store import NAME
from tests.sweeps.processes import (
    ASKED,
    Dask,
    cprsim,
    dask,
    ended,
    exported,
    kill,
    started,
    wait_until,
)

pytest.importorskip("distributed", reason="needs the extra cluster")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def alone(file) -> str:
    """What the sweep exports without a cluster."""
    folder = file.parent / "alone"
    assert cprsim("sweep", str(file), *ASKED, "--out", str(folder)).returncode == 0
    return exported(folder)


@pytest.fixture
def cluster(tmp_path):
    with dask(tmp_path) as found:
        yield found


def running(file: Path, folder: Path, cluster: Dask):
    process = started(
        "sweep", str(file), *ASKED, "--out", str(folder), "--scheduler", cluster.address
    )
    wait_until((folder / NAME).exists)
    time.sleep(2.0)  # connected, and at work
    return process


def test_a_dask_worker_that_is_killed_changes_no_byte(file, alone, tmp_path, cluster):
    process = running(file, tmp_path / "out", cluster)
    kill(cluster.workers[0])
    code, err = ended(process)

    assert code == 0, err
    assert exported(tmp_path / "out") == alone


def test_a_scheduler_that_goes_and_comes_back_changes_no_byte(file, alone, tmp_path, cluster):
    process = running(file, tmp_path / "out", cluster)
    kill(cluster.scheduler)
    time.sleep(1.0)
    cluster.start_scheduler()
    cluster.workers.append(cluster.start_worker())
    code, err = ended(process)

    assert code == 0, err
    assert "cprsim: workers were lost (" in err
    assert exported(tmp_path / "out") == alone


def test_a_scheduler_that_stays_away_ends_the_sweep_which_can_go_on_without(
    file, alone, tmp_path, cluster, monkeypatch
):
    from cprsim.sweeps.cluster import Cluster
    from cprsim.sweeps.driver import Driver
    from cprsim.sweeps.tasks import Task

    class Endless:
        def next(self) -> Task:
            return Task("", "{}", (), 0, 1, 0)  # a fault, but a quick one

    pool = Cluster(cluster.address, patience_s=3.0)
    outcomes = Driver(pool, Endless(), lambda _: None).outcomes()
    next(each for each in outcomes if each is not None)
    kill(cluster.scheduler)
    with pytest.raises(errors.RunError) as error:
        for _ in outcomes:
            pass

    assert str(error.value) == (
        f"scheduler {cluster.address}: gone for 3 s; what was stored is safe: give the same "
        "command again when it is back"
    )


def test_a_cluster_with_another_model_is_refused(tmp_path, cluster, monkeypatch):
    from cprsim.sweeps import cluster as module

    monkeypatch.setattr(module, "MODEL_VERSION", 77)
    with pytest.raises(errors.UsageError) as error:
        module.Cluster(cluster.address).open()

    assert str(error.value).endswith(
        f"has model version {MODEL_VERSION}, not 77; install this cprsim on all workers"
    )


def test_a_scheduler_that_is_not_there_is_refused(file, tmp_path):
    done = cprsim(
        "sweep", str(file), *ASKED, "--out", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"
    )

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "cprsim: --scheduler tcp://127.0.0.1:1: no scheduler with workers answers; start them with "
        "dask scheduler and dask worker"
    )
