"""The same sweep on a real dask cluster on loopback, whose parts are killed."""

import itertools
import subprocess
import sys

import pytest

from cprsim import errors
from cprsim.cli.command import _main
from tests.gated import ended
from tests.sweeps.processes import ASKED, cprsim, dask, exported, kill
from tests.waiting import wait_until

pytest.importorskip("distributed", reason="needs the extra cluster")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def alone(file) -> str:
    """What the sweep exports without a cluster."""
    folder = file.parent / "alone"
    assert cprsim("sweep", str(file), *ASKED, "--out", str(folder)).returncode == 0
    return exported(folder)


@pytest.fixture
def cluster(tmp_path, gate):
    """A scheduler and a worker, whose gate is shut from the first task on."""
    with dask(tmp_path, gate(0)) as found:
        yield found


@pytest.fixture
def running(file, tmp_path, cluster, start):
    """A sweep on the cluster whose worker is at work, and can't go on."""
    out = ("--out", str(tmp_path / "out"), "--scheduler", cluster.address)
    process = start(cluster.gate, "sweep", str(file), *ASKED, *out)
    wait_until(cluster.gate.waiting)
    return process


def test_a_dask_worker_that_is_killed_changes_no_byte(alone, tmp_path, cluster, running):
    (worker,) = cluster.workers
    assert cluster.gate.waiting() == [worker.pid]
    cluster.start_worker()
    kill(worker)
    cluster.gate.open()
    code, err = ended(running)

    assert code == 0, err
    assert exported(tmp_path / "out") == alone


def test_a_scheduler_that_goes_and_comes_back_changes_no_byte(alone, tmp_path, cluster, running):
    kill(cluster.scheduler)
    # It has noticed once it says so; before that it may say how far it is.
    told = next(line for line in running.stderr if "of 6 points" not in line)
    cluster.start_scheduler()
    cluster.start_worker()
    cluster.gate.open()
    code, err = ended(running)

    assert code == 0, err
    assert told.startswith("cprsim: workers were lost (")
    assert exported(tmp_path / "out") == alone


def test_a_scheduler_that_stays_away_ends_the_sweep_which_can_go_on_without(cluster):
    from cprsim.sweeps.cluster import DaskCluster
    from cprsim.sweeps.driver import Driver, Pool
    from cprsim.sweeps.tasks import Task

    task = Task(0, "{}", (), 1, None, 0)  # a fault, but a quick one
    cluster.gate.open()
    pool = Pool(2, DaskCluster(cluster.address, patience_s=1.0).open)
    outcomes = Driver(pool, itertools.repeat(task), lambda _: None).outcomes()
    next(each for each in outcomes if each is not None)
    kill(cluster.scheduler)
    with pytest.raises(errors.RunError) as error:
        for _ in outcomes:
            pass

    assert str(error.value) == (
        f"scheduler {cluster.address}: gone for 1 s; what was stored is safe: give the same "
        "command again when it is back"
    )


def test_a_scheduler_that_is_not_there_is_refused(file, tmp_path, monkeypatch, capsys):
    from cprsim.sweeps import cluster as module

    monkeypatch.setattr(module, "_CONNECT_S", 1.0)
    out = ("--out", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1")

    assert _main(["sweep", str(file), *ASKED, *out]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "cprsim: --scheduler tcp://127.0.0.1:1: no scheduler with workers answers; start them with "
        "dask scheduler and dask worker"
    )


def test_a_scheduler_behind_tls_needs_certificates(cluster):
    from cprsim.sweeps.cluster import DaskCluster

    with pytest.raises(errors.UsageError, match=r"^--scheduler tls://127.0.0.1:1: .*TLS"):
        DaskCluster("tls://127.0.0.1:1").open()


_LOGS = """
import asyncio, gc, logging, sys
from cprsim.sweeps.cluster import DaskCluster
DaskCluster("tcp://127.0.0.1:1")

async def ends():
    raise ConnectionError("the client was interrupted")

async def forgets():
    task = asyncio.ensure_future(ends())
    await asyncio.sleep(0)
    del task

if sys.argv[1] == "a task":
    asyncio.run(forgets())
    gc.collect()
else:
    try:
        raise ConnectionError("the client was interrupted")
    except ConnectionError:
        logging.getLogger(sys.argv[1]).exception("lost")
"""


@pytest.mark.parametrize(
    "logger",
    ["a task", "distributed.core", "distributed.comm.tcp", "distributed.client",
     "tornado.application"],
)  # fmt: skip
def test_what_an_interrupt_leaves_in_dasks_thread_writes_no_traceback(logger: str) -> None:
    pytest.importorskip("distributed")
    done = subprocess.run(
        [sys.executable, "-c", _LOGS, logger], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
