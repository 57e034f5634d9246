"""Files of runs that were damaged: each is a run as it was kept, or none at all."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.errors import UsageError
from cprsim.trainer.studies import play
from cprsim.trainer.studies.design import Run
from cprsim.trainer.studies.play import RunStore
from tests.studies.test_design import planned

VERSIONS = {"cprsim": "0.1.0", "git": "abc", "torch": "2.13"}


def document(run: Run, auc: float = 0.8) -> dict:
    """What came of a run that nobody has trained."""
    return {
        **run.facts,
        "auc": auc + 0.001 * run.seed - 0.01 * run.failures / 8,
        "log_loss": 0.4,
        "pls": run.failures / 8,
        "updates_lost": 0.1,
        "predictions_sha256": f"{run.seed:064d}",
        "versions": VERSIONS,
    }


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """All runs of a plan, made up."""
    store = RunStore(tmp_path / "runs")
    for run in planned():
        store.put(run, document(run))
    return store


#: Contents of the file of a run, from what it had and what that of another run has.
SPOILT = {
    "empty": lambda its, other: b"",
    "null": lambda its, other: b"null",
    "a list": lambda its, other: b"[]",
    "cut": lambda its, other: its[:1],
    "no UTF-8": lambda its, other: b"\xff\xfe\x00",
    "too deep": lambda its, other: b"[" * 100_000,
    "no hash": lambda its, other: b"{}",
    "another run": lambda its, other: other,
    "another value": lambda its, other: its.replace(b"0.4", b"0.5", 1),
    "another name": lambda its, other: its.replace(b"log_loss", b"log_lost", 1),
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_file_is_no_run(store: RunStore, spoilt: Callable[[bytes, bytes], bytes]) -> None:
    run, other = planned()[:2]
    its = store.path(run).read_bytes()
    store.path(run).write_bytes(spoilt(its, store.path(other).read_bytes()))
    assert store.find(run) is None
    assert store.done([run, other]) == [document(other)]
    store.path(run).write_bytes(its)
    assert store.find(run) == document(run)


def test_what_is_no_file_is_no_run(store: RunStore) -> None:
    run, *_ = planned()
    store.path(run).unlink()
    assert store.find(run) is None
    store.path(run).mkdir()
    assert store.find(run) is None
    with pytest.raises(UsageError, match=f"{store.path(run)} is a folder"):
        store.check(planned())  # before anything is trained


def test_a_file_of_0_1_0_is_a_run(store: RunStore) -> None:
    """The hash is as it was: of all that the file says but the hash, as compact sorted JSON."""
    kept = json.loads(store.path(planned()[0]).read_text())
    told = kept.pop("sha256")
    compact = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    assert told == hashlib.sha256(compact.encode()).hexdigest()


def test_a_damaged_run_is_trained_again(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = planned()
    store.path(runs[2]).write_bytes(b"[]")
    trained, told = [], []

    class Here:
        """Does at once what a pool of workers would."""

        def __init__(self, _: int) -> None:
            pass

        def submit(self, _: object, run: Run) -> "play.Future[dict]":
            trained.append(run)
            future: play.Future[dict] = play.Future()
            future.set_result(document(run))
            return future

        def shutdown(self, **_: object) -> None:
            pass

    monkeypatch.setattr(play, "Workers", Here)
    play.play(runs, store, 2, lambda *counts: told.append(counts))

    assert trained == [runs[2]]
    assert told == [(14, 15), (15, 15)]
    assert all(store.find(run) == document(run) for run in runs)


def test_a_file_that_is_no_run_is_kept_under_another_name(store: RunStore) -> None:
    run = planned()[0]
    path = store.path(run)
    for _ in range(2):
        path.write_bytes(b"# my own")
        store.put(run, document(run))

    assert store.find(run) == document(run)
    assert path.with_suffix(".damaged-2").read_bytes() == b"# my own"
