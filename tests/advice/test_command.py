"""`cprsim advise` as a user meets it."""

import json
import re
import subprocess
import sys

import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.runs.selection.certificate import certify
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
def job(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return str(path)


def test_no_policies_are_needed(job, capsys):
    assert cli._main(["advise", job, *FEW, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    names = {each["system"] for each in document["candidates"]}
    assert names == {"full", "partial", "replication"}
    assert document["verdict"] == "best"
    assert set(document["robustness"]) == {"MTBF", "save bandwidth", "parameter servers"}


def test_details_come_where_they_are_wanted(job, capsys):
    assert cli._main(["advise", job, *FEW]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out.splitlines()) <= 24
    assert "Compared with" not in out
    assert cli._main(["advise", job, *FEW, "--details"]) == 0
    more = capsys.readouterr().out
    assert more.startswith(out)
    assert "Compared with" in more


def test_the_closed_form_is_told_at_once(job, capsys):
    assert cli._main(["advise", job, "--closed-form", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    decision = cprsim.decide(cprsim.load_scenario(QUICKSTART))

    assert document.keys() == decision.document().keys()


@pytest.mark.slow
def test_the_closed_form_loads_no_engine(job):
    script = (
        "import sys; from cprsim.cli import command; "
        f"command._main(['advise', {job!r}, '--closed-form']); "
        "print({'numba', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=HANGS_S, check=True
    )

    assert done.stdout.splitlines()[-1] == "set()"


def test_interrupted_while_settings_are_searched_it_says_what_leads(job, capsys, monkeypatch):
    from cprsim.advice import search

    played, looks = search._played, iter([False, True])

    def interrupted(*arguments):
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


def test_interrupted_it_says_what_is_known(job, capsys, monkeypatch):
    from cprsim.advice import advising

    def interrupted(*arguments, **more):
        yield next(certify(*arguments, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(advising, "certify", interrupted)
    assert cli._main(["advise", job, *FEW]) == 1
    assert capsys.readouterr().err.startswith("cprsim: interrupted; known so far: Use ")


@pytest.mark.parametrize(("more", "number"), [([], "7200"), (["--steps"], "720")])
def test_one_number_for_a_shell_script(more, number, job, capsys):
    """The interval of the file is as good as any: two hours of a hundred, in which 36,000 steps."""
    sets = (
        *("job.useful_time=100 h", "job.samples=36_000_000", "costs.load=6 min"),
        *("cluster.parameter_servers=4", "model={tables=[{rows=1000, dim=8}], batch=1000}"),
        'policies={full={system="full", interval="2 h"}}',
    )
    asked = ["advise", job, "--system", "full", "--print", "interval", *more]

    assert cli._main([*asked, *(f"--set={each}" for each in sets)]) == 0
    assert capsys.readouterr().out == f"{number}\n"
