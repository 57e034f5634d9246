"""Counts that no machine serves are refused, with the limit and the way out."""

from pathlib import Path

import pytest

from cprsim.cli import command
from cprsim.runs import runner
from tests.mistakes import GOOD
from tests.studies.test_command import SMALL
from tests.test_cli import QUICKSTART

WORKERS = (
    "cprsim: workers {}: each is a process; the most are 32 here, 16 for each core; "
    "give as many as there are cores\n"
)
VARIED = ("--vary", "costs.save=1 min", "--replications", "2", "--out", "out")
ASKED = {
    "run": ("run", QUICKSTART, "--workers", "33"),
    "fleet": ("run", "production-fleet", "--replications", "2", "--workers", "1000"),
    "sweep": ("sweep", QUICKSTART, *VARIED, "--workers", "100000"),
    "study": ("study", "small.toml", "--out", "out", "--workers", "99999999999999999999"),
}


@pytest.mark.parametrize("name", ASKED)
def test_more_workers_than_cores_can_run(
    name: str, folder: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "study":
        pytest.importorskip("torch")
    monkeypatch.setattr(runner, "cores", lambda: 2)
    Path("small.toml").write_text(SMALL)

    assert command._main([*ASKED[name]]) == 2
    assert capsys.readouterr().err == WORKERS.format(f"{int(ASKED[name][-1]):,}")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "asked", [("run", "job.toml"), ("advise", "job.toml", "--closed-form"),
              ("sweep", "job.toml", *VARIED), ("run", "job.toml", "--policy", "full")],
    ids=lambda asked: " ".join(asked[:3]),
)  # fmt: skip
def test_more_policies_than_a_table_can_show(asked: tuple[str, ...], folder: Path, capsys) -> None:
    more = "".join(f'[policies.p{number}]\nsystem = "full"\n' for number in range(1000))
    Path("job.toml").write_text(f"{GOOD}{more}")

    assert command._main([*asked]) == 2
    assert capsys.readouterr().err == (
        "cprsim: policies: 1,001 are given; the most are 1,000: divide them among several files\n"
    )
    assert not Path("out").exists()
