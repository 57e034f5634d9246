"""`cprsim study`: it goes on where it was killed, and leaves what other commands take."""

import json
import signal
from pathlib import Path

import pytest

from cprsim.cli.command import _main
from cprsim.trainer.studies import findings
from tests.gated import ended
from tests.studies.small import SMALL
from tests.trainer.sources import criteo_lines
from tests.waiting import HANGS_S, wait_until

SHIPPED = Path(__file__).parents[2] / "scenarios"


def asked(config: Path, out: Path) -> list[str]:
    return ["study", str(config), f"--out={out}", "--workers=1"]


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a machine that does much else
def test_a_study_that_is_killed_goes_on_and_loses_no_run(
    tmp_path: Path, tmp_path_factory, monkeypatch, gate, start
) -> None:
    """And what it had in the folder of temporary files goes at the next start."""
    temporary = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(temporary))
    config, out = tmp_path / "small.toml", tmp_path / "out"
    config.write_text(SMALL)
    shut = gate(1)
    killed = start(shut, *asked(config, out))
    wait_until(shut.waiting)  # in the midst of the second run
    killed.kill()
    killed.communicate(timeout=HANGS_S)  # all that it had started has gone as well
    assert len([*temporary.glob(".cprsim_*/*")]) > 1  # sockets and checkpoints of its servers
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in out.glob("runs/*")}
    assert sum(path.suffix == ".json" for path in before) == 1

    unhindered = gate(6)
    done = start(unhindered, *asked(config, out))
    printed, errors = done.communicate(timeout=800)

    assert done.returncode == 0, errors
    assert [*temporary.glob(".cprsim_*")] == []
    for path, (changed_ns, content) in before.items():
        if path.suffix == ".json":
            assert (path.stat().st_mtime_ns, path.read_bytes()) == (changed_ns, content)
    runs = findings.read_runs(out / "runs.csv")
    assert len(runs) == len([*out.glob("runs/*.json")]) == 6  # 2 seeds x (none, full, vanilla)
    hashes = runs.pivot_table("predictions_sha256", "seed", ["policy", "failures"], "first")
    assert (hashes["full", 3] == hashes["full", 0]).all()
    assert (hashes["cpr-vanilla", 3] != hashes["full", 0]).all()
    assert (runs.loc[runs["policy"] == "cpr-vanilla", "pls"] > 0).all()
    assert "AUC of policies at the same failures" in printed
    assert json.loads((out / "manifest.json").read_text())["source"] == "a small one"
    assert "[accuracy]" in (out / "accuracy.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)]
)
def test_an_interrupt_ends_a_study_that_can_go_on(number, tmp_path: Path, gate, start) -> None:
    config, out = tmp_path / "small.toml", tmp_path / "out"
    config.write_text(SMALL)
    shut = gate(1)
    study = start(shut, *asked(config, out))
    wait_until(shut.waiting)  # in the midst of the second run, which never ends
    study.send_signal(number)
    code, errors = ended(study)

    assert code == 1
    assert len([*out.glob("runs/*.json")]) == 1
    assert errors.strip().splitlines()[-1] == (
        f"cprsim: interrupted; what is done is in {out}: give the same command again to go on"
    )


@pytest.mark.slow
def test_any_file_in_criteos_form_can_be_studied(tmp_path: Path, capsys) -> None:
    """That of `make study DATA=criteo`, on a small made-up file and with fewer runs."""
    lines = tmp_path / "mine.txt"
    lines.write_text("\n".join(criteo_lines(900)) + "\n")
    given = {
        "trainer.data.criteo": lines,
        "job.samples": 640,
        "trainer.test_samples": 256,
        "trainer.batch": 64,
        "study.seeds": 2,
        "study.parts": '{ it = { policies = ["cpr-vanilla", "cpr-mfu"], failures = [3] } }',
        "title": '"clicks of mine"',
    }
    changed = [f"--set={key}={value}" for key, value in given.items()]

    out = tmp_path / "out"
    assert _main([*asked(SHIPPED / "train-criteo.toml", out), *changed]) == 0

    told = capsys.readouterr()
    assert told.err.startswith(
        "cprsim: differences between policies: 1 to test, none of which 2 seeds can find "
        "significant; give 6 seeds or more\n"
    )
    runs = findings.read_runs(out / "runs.csv")
    assert len(runs) == 2 * 3
    lossy = runs[runs["failures"] > 0]
    assert (lossy["pls"] > 0).all()
    assert lossy["learning_lost"].notna().all()
    assert 'source = "clicks of mine"' in (out / "accuracy.toml").read_text()


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (
            SMALL,
            ["--so-far"],
            "the study: 0 seeds have all their runs and one without failures; two are needed at "
            "least",
        ),
        (
            SMALL.replace("study", "sturdy"),
            [],
            "study: the block [study] is missing, with seeds and [study.parts.NAME]",
        ),
    ],
)
def test_what_is_refused(text: str, more: list[str], said: str, tmp_path: Path, capsys) -> None:
    config = tmp_path / "small.toml"
    config.write_text(text)

    assert _main([*asked(config, tmp_path / "out"), *more]) == 2
    assert capsys.readouterr().err == f"cprsim: {said}\n"
    assert not (tmp_path / "out").exists()
