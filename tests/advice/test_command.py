"""`cprsim advise` as a user meets it."""

import json
import re
import subprocess
import sys

import pytest
import tomli_w

import cprsim
from cprsim.runs.selection.certificate import certify
from tests.advice.given import MEASURED
from tests.waiting import HANGS_S

FEW = ["--system", "full", "--system", "partial", "--system", "replication"]


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(tomli_w.dumps(MEASURED))
    return str(path)


def test_no_policies_are_needed(job, called):
    document = json.loads(called("advise", job, *FEW, "--json").out)

    names = {each["system"] for each in document["candidates"]}
    assert names == {"full", "partial", "replication"}
    assert document["verdict"] == "best"
    assert set(document["robustness"]) == {
        *("MTBF", "save bandwidth", "rescheduling", "parameter servers")
    }


def test_details_come_where_they_are_wanted(job, called):
    out, err = called("advise", job, *FEW)
    assert err == ""
    assert len(out.splitlines()) <= 24
    assert "Compared with" not in out
    more = called("advise", job, *FEW, "--details").out
    assert more.startswith(out)
    assert "Compared with" in more


def test_the_closed_form_is_told_at_once(job, called):
    document = json.loads(called("advise", job, "--closed-form", "--json").out)

    assert document.keys() == cprsim.decide("quickstart").document().keys()


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


def test_interrupted_while_settings_are_searched_it_says_what_leads(job, called, monkeypatch):
    from cprsim.advice import search

    played, looks = search._played, iter([False, True])

    def interrupted(*arguments):
        if next(looks):
            raise KeyboardInterrupt
        return played(*arguments)

    monkeypatch.setattr(search, "_played", interrupted)
    said = called("advise", job, "--system", "partial", code=1).err
    assert re.fullmatch(
        r"cprsim: interrupted; known so far: partial \(.*interval .*\) leads with [\d.]+ % in "
        r"[\d,]+ replications; nothing is certain yet\n",
        said,
    ), said


def test_interrupted_it_says_what_is_known(job, called, monkeypatch):
    from cprsim.advice import advising

    def interrupted(*arguments, **more):
        yield next(certify(*arguments, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(advising, "certify", interrupted)
    said = called("advise", job, *FEW, code=1).err
    assert said.startswith("cprsim: interrupted; known so far: Use ")


@pytest.mark.parametrize(("more", "number"), [([], "7200"), (["--steps"], "720")])
def test_one_number_for_a_shell_script(more, number, job, called):
    """The interval of the file is as good as any: two hours of a hundred, in which 36,000 steps."""
    sets = (
        *("job.useful_time=100 h", "job.samples=36_000_000", "costs.load=6 min"),
        *("cluster.parameter_servers=4", "model={tables=[{rows=1000, dim=8}], batch=1000}"),
        'policies={full={system="full", interval="2 h"}}',
    )
    asked = ["advise", job, "--system", "full", "--print", "interval", *more]

    assert called(*asked, *(f"--set={each}" for each in sets)).out == f"{number}\n"
