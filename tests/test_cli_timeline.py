"""`cprsim timeline` as a user meets it."""

import gzip
import json
from pathlib import Path

import pytest

from cprsim.cli import command as cli

SCENARIO = str(Path(__file__).parents[1] / "scenarios" / "criteo-kaggle.toml")


pytestmark = pytest.mark.usefixtures("folder")


def timeline(*arguments: str) -> int:
    return cli._main(["timeline", SCENARIO, *arguments])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("b/c.SVG", b"<?xml"), ("d.pdf", b"%PDF")]
)
def test_pictures(name, start, folder):
    assert timeline("--policy", "cpr", "--out", name) == 0
    assert (folder / name).read_bytes().startswith(start)


def test_a_trace_of_the_run_that_was_asked_for(folder, capsys):
    options = ("--seed", "5", "--replication", "3", "--set", "failures.exactly=0")
    assert timeline("--policy", "partial", *options, "--out", "run.json.gz") == 0
    trace = json.loads(gzip.decompress((folder / "run.json.gz").read_bytes()))

    about = trace["otherData"]
    assert about["scenario"] == "CPR emulation, Criteo Kaggle (calibrated)"
    assert (about["policy"], about["seed"], about["replication"]) == ("partial", 5, 3)
    # Nothing fails, so nothing is saved; the useful time is all that passes.
    assert about["ledger"]["wall"] == 56 * 3600
    assert capsys.readouterr().out == (
        "partial, seed 5, replication 3: 56 h for 56 h of training (overhead 0 %), 0 failures\n"
    )
