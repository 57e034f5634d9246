"""Files of runs that were damaged: each is a run as it was kept, or none at all."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from cprsim.cli.command import _main
from cprsim.errors import UsageError
from cprsim.studies import play
from cprsim.studies.design import Run
from cprsim.studies.store import RunStore
from tests.studies.test_command import SMALL
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


def test_a_run_is_found_as_it_was_put(tmp_path: Path) -> None:
    first, second, *_ = planned()
    RunStore(tmp_path / "runs").put(first, document(first))

    store = RunStore(tmp_path / "runs")
    assert store.find(first) == document(first)
    assert store.find(second) is None
    assert store.done([first, second]) == [document(first)]


SPOILT = (
    *(b"", b"null", b"[]", b"7", b'"x"', b"{", b"\xff\xfe\x00", b"[" * 100_000, b"9" * 10_000),
    *(b"{}", b'{"sha256": 7, "key": []}', b'{"auc": NaN}', b'{"auc": 1e999, "sha256": ""}'),
)


def spoil(rng: random.Random, path: Path, others: list[Path]) -> None:
    content = bytearray(path.read_bytes())
    at, how = rng.randrange(len(content)), rng.randrange(8)
    if how == 0:
        content[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        content = content[:at]
    elif how == 2:
        content[at : at + 30] = bytes(len(content[at : at + 30]))
    elif how == 3:
        content = bytearray(rng.choice(SPOILT))
    elif how == 4:  # a run in the place of another
        content = bytearray(rng.choice(others).read_bytes())
    elif how == 5:
        lines = content.splitlines(keepends=True)
        del lines[rng.randrange(len(lines))]
        content = bytearray(b"".join(lines))
    elif how == 6:
        said = json.loads(content)
        said[rng.choice(sorted(said))] = rng.choice((None, 1, "x", [], {}, True, -1.5))
        content = bytearray(json.dumps(said).encode())
    else:
        digit = rng.choice([n for n, each in enumerate(content) if chr(each).isdigit()])
        content[digit] = ord(str((int(chr(content[digit])) + 1) % 10))
    path.write_bytes(content)


def fuzzed(store: RunStore, trials: int, seed: int) -> Counter[str]:
    """Spoil files; each is found as it was put, or not at all."""
    rng, counts, runs = random.Random(seed), Counter[str](), planned()
    whole = {run.key: store.path(run).read_bytes() for run in runs}
    paths = [store.path(run) for run in runs]
    for _ in range(trials):
        run = rng.choice(runs)
        for _ in range(rng.choice((1, 1, 3))):
            if store.path(run).stat().st_size:
                try:
                    spoil(rng, store.path(run), paths)
                except (ValueError, TypeError, IndexError, RecursionError):
                    continue  # nothing of that kind is left to be spoilt
        found = store.find(run)
        counts["damaged" if found is None else "sound"] += 1
        assert found in (None, document(run))
        store.path(run).write_bytes(whole[run.key])
    return counts


@pytest.mark.parametrize(
    ("trials", "seed"), [(200, 0), pytest.param(2000, 1, marks=pytest.mark.slow)]
)
def test_a_spoilt_file_is_no_run(store: RunStore, counted, trials: int, seed: int) -> None:
    counts = fuzzed(store, trials, seed)
    counted(f"damaged runs: {dict(counts)}")
    assert counts["damaged"] > 150


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


@pytest.mark.parametrize("content", [b"# my own", b"", b'{"key": 1}'])
def test_a_file_that_is_no_run_is_kept_under_another_name(store: RunStore, content: bytes) -> None:
    run = planned()[0]
    path = store.path(run)
    for _ in range(2):
        path.write_bytes(content)
        store.put(run, document(run))

    assert store.find(run) == document(run)
    kept = [path.with_suffix(f".damaged-{number}") for number in (1, 2)]
    assert [each.read_bytes() for each in kept] == [content, content]


def test_a_study_says_which_files_it_passes_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out = tmp_path / "small.toml", tmp_path / "out"
    config.write_text(SMALL.replace("seeds = 2", "seeds = 4"))
    asked = ["study", str(config), f"--out={out}", "--so-far"]
    kept: list[Run] = []
    monkeypatch.setattr("cprsim.studies.store.RunStore.check", lambda _, runs: kept.extend(runs))
    assert _main(asked) == 2  # it has no runs, but these would be its
    monkeypatch.undo()
    store = RunStore(out / "runs")
    for run in kept:
        store.put(run, document(run))
    for run in kept[:2]:
        store.path(run).write_bytes(b"{")
    capsys.readouterr()

    assert _main(asked) == 0
    assert capsys.readouterr().err == (
        f"cprsim: {store.path(kept[0])} and 1 more: damaged, and left out\n"
        f"cprsim: wrote 3 files into {out}: runs.csv, accuracy.toml, manifest.json\n"
    )
    assert json.loads((out / "manifest.json").read_text())["runs"] == len(kept) - 2
    store.path(kept[1]).unlink()
    assert store.notes(kept, so_far=False) == [f"{store.path(kept[0])}: damaged, and trained again"]


def test_a_folder_in_the_place_of_a_run_is_refused_before_anything_is_trained(
    store: RunStore,
) -> None:
    run = planned()[0]
    store.path(run).unlink()
    store.path(run).mkdir()

    with pytest.raises(UsageError, match=f"{store.path(run)} is a folder"):
        store.check(planned())
