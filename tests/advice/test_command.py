"""`cprsim advise` as a user meets it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.runs.selection.certificate import Certificate, certify
from tests.advice.conftest import SCENARIOS
from tests.waiting import HANGS_S

QUICKSTART = str(SCENARIOS / "quickstart.toml")
FEW = ["--system", "full", "--system", "partial", "--system", "replication"]
JOB = """
[job]
useful_time = "8 d"
[cluster]
parameter_servers = 8
[costs]
save = "6 min"
load = "4 min"
[failures]
distribution = "exponential"
mean = "20 h"
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return str(path)


def test_no_policies_are_needed(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._main(["advise", job, *FEW, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    names = {each["system"] for each in document["candidates"]}
    assert names == {"full", "partial", "replication"}
    assert document["verdict"] == "best"
    assert set(document["robustness"]) == {"MTBF", "save bandwidth", "parameter servers"}


def test_details_come_where_they_are_wanted(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._main(["advise", job, *FEW]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out.splitlines()) <= 24
    assert "Compared with" not in out
    assert cli._main(["advise", job, *FEW, "--details"]) == 0
    more = capsys.readouterr().out
    assert more.startswith(out)
    assert "Compared with" in more


def test_the_closed_form_is_told_at_once(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._main(["advise", job, "--closed-form", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    decision = cprsim.decide(cprsim.load_scenario(QUICKSTART))

    assert document.keys() == decision.document().keys()


@pytest.mark.slow
def test_the_closed_form_loads_no_engine(job: str) -> None:
    script = (
        "import sys; from cprsim.cli import command; "
        f"command._main(['advise', {job!r}, '--closed-form']); "
        "print({'numba', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS_S, check=True
    )

    assert done.stdout.splitlines()[-1] == "set()"


WRONG = {
    "--objective speed": (
        "objective 'speed' is not known; known: time, machine-time, cost, retrained"
    ),
    "--objective cost": (
        'objective "cost" needs prices of machines: give [prices], e.g. trainer = "2.5 USD/h"'
    ),
    "--max-pls 2": "max_pls 2 is not a share from 0 to 1, e.g. 0.1 for 10 %",
    "--max-pls -0.1": "max_pls -0.1 is not a share from 0 to 1, e.g. 0.1 for 10 %",
    "--max-pls little": "--max-pls 'little' is not a number: write 0.01 or 1%",
    "--max-pls nan": "max_pls nan is not a share from 0 to 1, e.g. 0.1 for 10 %",
    "--max-updates-lost 110%": (
        "max_updates_lost 1.1 is not a share from 0 to 1, e.g. 0.1 for 10 %"
    ),
    "--max-learning-lost 2": "max_learning_lost 2 is not a share from 0 to 1, e.g. 0.1 for 10 %",
    "--max-learning-lost-p95 -1": (
        "max_learning_lost_p95 -1 is not a share from 0 to 1, e.g. 0.1 for 10 %"
    ),
    "--max-auc-drop 0.01": (
        "max_auc_drop: what accuracy falls by is not known; give [accuracy] (docs/accuracy.md)"
    ),
    "--max-auc-drop 3": "max_auc_drop 3 is not a share from 0 to 1, e.g. 0.1 for 10 %",
    "--max-memory -1": (
        "max_memory -1 is out of range: it must be >= 0, e.g. 0.5 for half of the rows"
    ),
    "--max-memory inf": (
        "max_memory inf is out of range: it must be >= 0, e.g. 0.5 for half of the rows"
    ),
    "--set model.embedding=1TB --set cluster.memory=100GB": (
        "cluster: the model needs 125 GB on each parameter server, which has 100 GB, so no policy "
        "fits; use more machines, or larger ones"
    ),
    "--system replication --set model.embedding=1TB --set cluster.memory=200GB": (
        "no policy can be compared: replication needs 250 GB on each parameter server, which has "
        "200 GB"
    ),
    "--system replication --deployable": (
        "no policy can be compared: replication needs a trainer of one's own: copies on other "
        "servers and training while lost nodes are replaced"
    ),
    "--max-spares -2": "max_spares -2 is out of range: it must be >= 0, e.g. 2",
    "--system fll": "system 'fll' is not known; did you mean 'full'?",
    "--system full --system x": (
        "system 'x' is not known; known: accepted-loss, async, autopilot, check-n-run, cpr-mfu, "
        "cpr-scar, cpr-ssu, cpr-vanilla, delta, ecrm, elastic, full, hot-swap, partial, "
        "partial-experts, peer-memory, replication, tiered, twin-groups"
    ),
    "--system hot-swap": (
        "no policy can be compared: hot-swap needs iteration: give it in a [policies.NAME]"
    ),
    "--system replication --max-memory 0": (
        "no policy can be compared: replication needs 100 % more table memory; your limit is 0 %"
    ),
    "--sure 1": "sure 1 is out of range: > 0 and < 1, e.g. 0.95 for 95 %",
    "--sure 0": "sure 0 is out of range: > 0 and < 1, e.g. 0.95 for 95 %",
    "--sure very": "--sure 'very' is not a number: write 0.01 or 1%",
    "--within 0": "within 0 is out of range: > 0 and < 1, e.g. 0.001 for 0.1 %",
    "--within 100%": "within 1 is out of range: > 0 and < 1, e.g. 0.001 for 0.1 %",
    "--target-pls 0": (
        "target PLS 0 is out of range: it is a share, > 0 and <= 1, e.g. 0.1 for 10 %"
    ),
    "--target-pls much": "--target-pls 'much' is not a number: write 0.01 or 1%",
    "--quality auc": "quality 'auc' is not known; known: pls, updates",
    "--seed -1": "seed -1 is not a whole number >= 0",
    "--closed-form --max-pls 0.1": (
        "--closed-form asks CPR's equations alone: it goes with --target-pls and --quality; "
        "leave it or the others out"
    ),
    "--closed-form --quality auc": "quality 'auc' is not known; known: pls, updates",
    "--set failures.mean=3": ('failures.mean: 3 has no unit: write a string with one, e.g. "3 h"'),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_is_wrong_is_told_in_one_line(
    arguments: str, job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli._main(["advise", job, *arguments.split()]) == 2
    assert capsys.readouterr() == ("", f"cprsim: {WRONG[arguments]}\n")


def test_interrupted_while_settings_are_searched_it_says_what_leads(
    job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cprsim.advice import search

    played, looks = search._played, iter([False, True])

    def interrupted(*arguments: Any) -> Iterator[Any]:
        if next(looks):
            raise KeyboardInterrupt
        return played(*arguments)

    monkeypatch.setattr(search, "_played", interrupted)
    assert cli._main(["advise", job, "--system", "partial"]) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"cprsim: interrupted; known so far: partial \(.*interval .*\) leads with [\d.]+ % in "
        r"[\d,]+ replications; nothing is certain yet\n",
        said,
    ), said


def test_interrupted_it_says_what_is_known(
    job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cprsim.advice import advising

    def interrupted(*arguments: Any, **more: Any) -> Iterator[Certificate]:
        yield next(certify(*arguments, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(advising, "certify", interrupted)
    assert cli._main(["advise", job, *FEW]) == 1
    assert capsys.readouterr().err.startswith("cprsim: interrupted; known so far: Use ")
